#include "library.h"
#include "elf_linking.h"

#include "store/common/version.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#define TRIPLET "x86_64-linux-gnu"
#else
#define TRIPLET "aarch64-linux-gnu"
#endif
#define NAME "libkerncast.so"
#define AUDIT_NAME "libkerncast-audit.so"

int kc_library_self(char *out, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", out, size - 1);

	if (n < 0)
		return -errno;
	out[n] = '\0';
	return 0;
}

int kc_library_is(const char *path)
{
	const char *name = strrchr(path, '/');

	return !strcmp(name ? name + 1 : path, NAME);
}

/* The version of a library; that of libraries without a note is all zero. */
static struct kc_version version_of(const char *library)
{
	struct kc_version version = {0};
	struct kc_elf_file elf;
	const void *note;

	if (kc_elf_open(library, &elf) < 0)
		return version;
	note = kc_elf_note(&elf, KC_VERSION_NOTE, KC_VERSION_NOTE_TYPE, sizeof(version));
	if (note)
		memcpy(&version, note, sizeof(version));
	kc_elf_close(&elf);
	return version;
}

static int is_of_own_version(const char *library)
{
	const struct kc_version its = version_of(library);
	char own[KC_VERSION_TEXT_BYTES], other[KC_VERSION_TEXT_BYTES];

	return strcmp(kc_version_text(own), kc_version_text_of(&its, other)) == 0;
}

void kc_library_refusal(int rc, const char *library, char *why, size_t size)
{
	char own[KC_VERSION_TEXT_BYTES], its[KC_VERSION_TEXT_BYTES];
	struct kc_version version;

	if (rc != -EPROTO) {
		snprintf(why, size, "%s is missing", library);
		return;
	}
	version = version_of(library);
	snprintf(why, size, "%s is of another version (%s) than this command (%s)", library,
		 version.release[0] ? kc_version_text_of(&version, its) : "it does not tell which",
		 kc_version_text(own));
}

int kc_library_find(char *out, size_t size)
{
	static const char *const places[] = {"", "../lib/kerncast/", "../lib/", "../lib/" TRIPLET "/"};
	char folder[PATH_MAX], path[PATH_MAX + 64], *resolved;

	if (kc_library_self(folder, sizeof(folder)) < 0)
		folder[0] = '\0';
	if (strrchr(folder, '/'))
		strrchr(folder, '/')[1] = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		snprintf(path, sizeof(path), "%s%s" NAME, folder, places[i]);
		resolved = realpath(path, NULL);
		if (!resolved)
			continue;
		snprintf(out, size, "%s", resolved);
		free(resolved);
		return is_of_own_version(out) ? 0 : -EPROTO;
	}
	snprintf(out, size, "%s" NAME, folder);
	return -ENOENT;
}

int kc_library_find_audit(char *out, size_t size)
{
	char library[PATH_MAX];
	int rc = kc_library_find(library, sizeof(library));

	snprintf(out, size, "%.*s" AUDIT_NAME, (int)(strrchr(library, '/') ? strrchr(library, '/') + 1 - library : 0),
		 library);
	return rc == 0 && access(out, R_OK) < 0 ? -ENOENT : rc;
}

#include "library.h"

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

int kc_library_find(char *out, size_t size)
{
	static const char *const places[] = {"", "../lib/", "../lib/" TRIPLET "/"};
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
		return 0;
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

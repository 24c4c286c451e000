/* What fuzz targets share: reading an input bit by bit, and files, which are in a folder of the process below TMPDIR.
 * scripts/fuzz names one in memory and removes it. */
#ifndef KC_FUZZING_H
#define KC_FUZZING_H

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* What no input may change. */
#define KC_FUZZ_MUST(condition)                                                                                        \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                \
			abort();                                                                                       \
		}                                                                                                      \
	} while (0)

struct kc_fuzz_input {
	const uint8_t *at;
	size_t left;
};

/* Copies the next bytes; zeros behind the end. */
static inline void kc_fuzz_take(struct kc_fuzz_input *input, void *out, size_t bytes)
{
	size_t there = bytes < input->left ? bytes : input->left;

	memset(out, 0, bytes);
	memcpy(out, input->at, there);
	input->at += there;
	input->left -= there;
}

static inline uint8_t kc_fuzz_byte(struct kc_fuzz_input *input)
{
	uint8_t byte;

	kc_fuzz_take(input, &byte, sizeof(byte));
	return byte;
}

struct kc_fuzz_path {
	char text[PATH_MAX];
};

static inline struct kc_fuzz_path kc_fuzz_path(const char *name)
{
	static char folder[PATH_MAX / 2];
	struct kc_fuzz_path path;
	const char *where = getenv("TMPDIR");

	if (!*folder) {
		snprintf(folder, sizeof(folder), "%s/kerncast-fuzz-XXXXXX", where && *where ? where : "/tmp");
		KC_FUZZ_MUST(mkdtemp(folder));
	}
	snprintf(path.text, sizeof(path.text), "%s/%s", folder, name);
	return path;
}

struct kc_fuzz_file {
	uint8_t *bytes;
	size_t length;
};

static inline struct kc_fuzz_file kc_fuzz_read(const char *path)
{
	FILE *f = fopen(path, "re");
	struct kc_fuzz_file file = {0};

	KC_FUZZ_MUST(f && fseek(f, 0, SEEK_END) == 0);
	file.length = (size_t)ftell(f);
	file.bytes = malloc(file.length + 1);
	rewind(f);
	KC_FUZZ_MUST(file.bytes && fread(file.bytes, 1, file.length, f) == file.length);
	fclose(f);
	return file;
}

static inline void kc_fuzz_write(const char *path, const void *bytes, size_t length)
{
	FILE *f = fopen(path, "we");

	KC_FUZZ_MUST(f && fwrite(bytes, 1, length, f) == length);
	KC_FUZZ_MUST(fclose(f) == 0);
}

#endif

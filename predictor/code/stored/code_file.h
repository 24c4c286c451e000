/*
 * A part of a file with GPU code in it, read by its offset: as a process loaded it,
 * or later by another one, which must find the same bytes there.
 */
#ifndef KC_CODE_FILE_H
#define KC_CODE_FILE_H

#include <stddef.h>
#include <stdint.h>

struct kc_code_file {
	int fd; /* to be closed by whoever opened it */
	uint64_t offset, length;
};

/* Opens a regular file for reading. What the path names may have been chosen by somebody else: a link, a device and
 * whatever waits for a writer are not opened. 0; -EINVAL: the path is not absolute, or names no regular file; -ESTALE:
 * the file does not have that part; or another -errno. */
int kc_code_file_open(struct kc_code_file *file, const char *path, uint64_t offset, uint64_t length);
/* The bytes from `at` on of the part, at most those that it has. 0; -EIO. file: struct kc_code_file; the function is a
 * kc_thin_read. */
int kc_code_file_read(void *file, uint64_t at, void *to, size_t length);
/* A hash of the part: of all its bytes up to 256 KiB, else of its length and of samples. A change in code of that size
 * moves nearly all that follows. 0; -EIO. */
int kc_code_file_hash(struct kc_code_file *file, uint64_t *hash);

#endif

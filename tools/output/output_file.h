/* A file that appears whole or not at all: it is written under another name in the same folder and renamed at the
 * end. Anything but a regular file (/dev/stdout, a pipe) is written directly. */
#ifndef KC_OUTPUT_FILE_H
#define KC_OUTPUT_FILE_H

#include <limits.h>
#include <stdio.h>

struct kc_output_file {
	FILE *to;
	int fd; /* of the temporary file, beside that of `to` */
	int compress;
	char path[PATH_MAX];
	char temporary[PATH_MAX + 16]; /* "": written directly */
};

enum {
	KC_OUTPUT_COMPRESSED = 1, /* by gzip, if path is a regular file whose name ends in ".gz" */
	KC_OUTPUT_PRIVATE = 2,    /* mode 0600, as the database has: command lines may have secrets in them */
};

/* path NULL or "-": standard output. how: of the above. -EEXIST: path is an SQLite database, which is never
 * overwritten; -EISDIR; -errno. */
int kc_output_file_open(struct kc_output_file *file, const char *path, unsigned how);
/* Renames it. 0; -errno: the file is then as it was before. */
int kc_output_file_finish(struct kc_output_file *file);
/* Discards what was written. */
void kc_output_file_drop(struct kc_output_file *file);

/* Whether a file is an SQLite database. */
int kc_output_is_database(const char *path);

#endif

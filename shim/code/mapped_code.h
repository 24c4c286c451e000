/*
 * GPU code in the files that are mapped when recording begins. Of a file its section
 * headers are read, and of each fatbin in it the headers of its entries: a library's
 * 2 GB have some 10,000 of them.
 */
#ifndef KC_SHIM_MAPPED_CODE_H
#define KC_SHIM_MAPPED_CODE_H

#include "predictor/code/stored/code_file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A walk through one file. */
struct kc__walk {
	struct kc_code_file file;
	uint64_t at, end; /* the section with its fatbins, from here on */
	uint64_t gap;     /* since the last of them */
	uint32_t left;    /* entries that may still be looked at */
	/* Bytes of the file that are in memory: */
	uint64_t window_at;
	size_t window_bytes;
	char window[128]; /* of a large library, each header is on a page of its own */
};

/* false: there is no GPU code in it. Otherwise kc__walk_end() must follow. */
bool kc__walk_begin(struct kc__walk *walk, const char *path);
/* On to the next fatbin with PTX that can be compiled for the architecture. 1: this one; 0: not yet, so that the reader
 * may do something else; -ENOENT: there are no more. */
int kc__walk_on(struct kc__walk *walk, uint32_t architecture, uint64_t *offset, size_t *length);
void kc__walk_end(struct kc__walk *walk);

/* Notes which files are mapped; the program itself comes first. Takes the loader's lock. */
void kc__mapped_note(void);
char *kc__mapped_take(void);  /* reader: the path of the next one, to be freed; NULL: there are no more */
void kc__mapped_forget(void); /* fork child */

#endif

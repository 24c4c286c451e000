/*
 * GPU code in the files that are mapped when recording begins. Of a file its section
 * headers are read, and of each fatbin in it the headers of its entries: a library's
 * 2 GB have some 10,000 of them.
 */
#ifndef KC_SHIM_MAPPED_CODE_H
#define KC_SHIM_MAPPED_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Notes which files are mapped. Takes the loader's lock. */
void kc__mapped_note(void);
/* Looks through a file, and calls `found` for each fatbin with PTX that can be compiled for the architecture; `ends`
 * says in between whether to stop. */
void kc__mapped_look(const char *path, uint32_t architecture,
		     void (*found)(const char *path, uint64_t offset, size_t length), bool (*ends)(void));
/* Reader. The same for one of the files. 1: there may be more. */
int kc__mapped_step(uint32_t architecture, void (*found)(const char *path, uint64_t offset, size_t length),
		    bool (*ends)(void));
void kc__mapped_forget(void); /* fork child */

#endif

/*
 * As much of an ELF file as tells how it is linked: interpreter, needed
 * libraries, whether it carries device code. The file is mapped; every offset
 * taken from it is checked against its size, since it may be cut or made up.
 */
#ifndef KC_ELF_FILE_H
#define KC_ELF_FILE_H

#include <stddef.h>
#include <stdint.h>

struct kc_elf_file {
	const uint8_t *bytes;
	size_t size;
	int bits;                               /* 32 or 64 */
	int foreign;                            /* not this processor's, or not 64-bit: nothing below is known */
	int has_interpreter;                    /* PT_INTERP: a loader resolves its libraries */
	int is_loader;                          /* it is the loader itself (ld.so APP) */
	int has_device_code;                    /* a section .nv_fatbin: nvcc built it */
	uint64_t dynamic_offset, dynamic_bytes; /* 0: none */
};

/* 0; -ENOEXEC where it is not ELF; -EILSEQ where it is cut or damaged (what was
 * read of it is closed again); -errno. */
int kc_elf_open(const char *path, struct kc_elf_file *out);
/* Every DT_NEEDED, in order. */
void kc_elf_needed(const struct kc_elf_file *elf, void (*fn)(const char *name, void *arg), void *arg);
void kc_elf_close(struct kc_elf_file *elf);

#endif

/* The parts of an ELF file that tell how it is linked: interpreter, needed libraries, whether it contains device
 * code. The file is mapped; every offset in it is checked against its size, since the file may be truncated or
 * forged. */
#ifndef KC_ELF_LINKING_H
#define KC_ELF_LINKING_H

#include <stddef.h>
#include <stdint.h>

struct kc_elf_file {
	const uint8_t *bytes;
	size_t size;
	int bits;                               /* 32 or 64 */
	int foreign;                            /* for another processor, or not 64-bit: nothing below is filled in */
	int has_interpreter;                    /* PT_INTERP: a loader resolves its libraries */
	const char *interpreter;                /* the loader's path, NULL: not readable */
	int is_loader;                          /* it is the loader itself (ld.so APP) */
	int has_device_code;                    /* a section .nv_fatbin: nvcc built it */
	uint64_t dynamic_offset, dynamic_bytes; /* 0: none */
};

/* 0; -ENOEXEC: not ELF; -EILSEQ: truncated or damaged; -errno. Nothing is left open after an error. */
int kc_elf_open(const char *path, struct kc_elf_file *out);
/* Every DT_NEEDED, in order. */
void kc_elf_needed(const struct kc_elf_file *elf, void (*fn)(const char *name, void *arg), void *arg);
/* What the note of that name and type holds, bytes long; NULL: there is no such note, or it is of another length. */
const void *kc_elf_note(const struct kc_elf_file *elf, const char *name, uint32_t type, size_t bytes);
void kc_elf_close(struct kc_elf_file *elf);

#endif

/*
 * ELF files of 64 bits, little endian: cubins, and the executables, shared
 * objects and object files that contain fatbins. Only sections are read: a cubin
 * has no segments that matter, and fatbins are found by their section.
 */
#ifndef KC_ELF_FILE_H
#define KC_ELF_FILE_H

#include "bytes.h"
#include "refusal.h"

#define KC_ELF_MAGIC 0x464c457fu
#define KC_ELF_MACHINE_X86_64 62u
#define KC_ELF_MACHINE_AARCH64 183u
#define KC_ELF_MACHINE_CUDA 190u

struct kc_elf {
	struct kc_bytes bytes;
	uint16_t type, machine;
	uint8_t abi_version;
	uint32_t flags;
	uint64_t sections_at;
	uint32_t section_count;
	struct kc_bytes names; /* of sections */
};

struct kc_elf_section {
	const char *name;
	uint32_t type, link, info;
	uint64_t flags, size;
	uint64_t entry_bytes;
	struct kc_bytes bytes; /* empty if the file holds none (SHT_NOBITS) */
};

int kc__elf_is(const struct kc_bytes *bytes);
/* 0, -EBADMSG */
int kc__elf_open(struct kc_elf *elf, const struct kc_bytes *bytes, struct kc_refusal *refusal);
int kc__elf_section(const struct kc_elf *elf, uint32_t index, struct kc_elf_section *section,
		    struct kc_refusal *refusal);
/* 90 of a cubin for sm_90, and for sm_90a: a cubin does not tell them apart */
uint32_t kc__elf_sm(const struct kc_elf *elf);
/* The string at `at` of a table that ends in a NUL; "" beyond it. */
const char *kc__elf_string(const struct kc_bytes *table, uint64_t at);

/* Length of an ELF file of which only the address is known: up to the end of the
 * last part that its headers name. 0: more than limit_bytes, or no ELF file. */
size_t kc__elf_length(const void *image, size_t limit_bytes);

#endif

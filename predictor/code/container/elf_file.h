/*
 * ELF files of 64 bits, little endian: cubins, and the executables, shared
 * objects and object files that carry fatbins. Sections only: a cubin has no
 * use for segments, and fatbins are found by their section.
 */
#ifndef KC_CODE_ELF_H
#define KC_CODE_ELF_H

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
	uint64_t size;
	uint64_t entry_bytes;
	struct kc_bytes bytes; /* none where the file holds nothing of it (SHT_NOBITS) */
};

int kc__elf_is(const struct kc_bytes *bytes);
/* 0, -EBADMSG */
int kc__elf_open(struct kc_elf *elf, const struct kc_bytes *bytes, struct kc_refusal *refusal);
int kc__elf_section(const struct kc_elf *elf, uint32_t index, struct kc_elf_section *section,
		    struct kc_refusal *refusal);
/* 90 of a cubin for sm_90 (and sm_90a: a cubin does not say) */
uint32_t kc__elf_sm(const struct kc_elf *elf);
/* Of a table of strings whose last byte is 0; "" beyond it. */
const char *kc__elf_string(const struct kc_bytes *table, uint64_t at);

/* Bytes up to the end of the last thing that the headers name, for an image of
 * which only its address is known; 0: more than limit_bytes, or no such file. */
size_t kc__elf_length(const void *image, size_t limit_bytes);

#endif

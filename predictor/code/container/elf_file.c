#include "elf_file.h"

#include <elf.h>
#include <stddef.h>
#include <string.h>

#define FIELD(type, field) offsetof(type, field)
#define EHDR(field) FIELD(Elf64_Ehdr, field)
#define SHDR(field) FIELD(Elf64_Shdr, field)

int kc__elf_is(const struct kc_bytes *bytes)
{
	return bytes->length >= SELFMAG && !memcmp(bytes->first, ELFMAG, SELFMAG);
}

const char *kc__elf_string(const struct kc_bytes *table, uint64_t at)
{
	return at < table->length ? (const char *)table->first + at : "";
}

/* If there are more sections than e_shnum can count, the numbers are in the header of the first section. */
static uint32_t extended(const struct kc_elf *elf, uint32_t plain, uint32_t reserved, size_t field, unsigned size)
{
	if (plain != reserved)
		return plain;
	return size == 8 ? (uint32_t)kc__bytes_u64(&elf->bytes, elf->sections_at + field)
			 : kc__bytes_u32(&elf->bytes, elf->sections_at + field);
}

static int read_names(struct kc_elf *elf, struct kc_refusal *refusal)
{
	uint32_t index = extended(elf, kc__bytes_u16(&elf->bytes, EHDR(e_shstrndx)), SHN_XINDEX, SHDR(sh_link), 4);
	struct kc_elf_section names;
	int result;

	if (!elf->section_count)
		return 0;
	result = kc__elf_section(elf, index, &names, refusal);
	if (result)
		return result;
	if (!names.bytes.length || names.bytes.first[names.bytes.length - 1])
		return kc__refuse(refusal, names.bytes.offset, "ELF section names do not end within their section");
	elf->names = names.bytes;
	return 0;
}

int kc__elf_open(struct kc_elf *elf, const struct kc_bytes *bytes, struct kc_refusal *refusal)
{
	const uint8_t *ident = bytes->first;
	struct kc_bytes sections;

	*elf = (struct kc_elf){.bytes = *bytes};
	if (!kc__elf_is(bytes) || bytes->length < sizeof(Elf64_Ehdr))
		return kc__refuse(refusal, bytes->offset, "incomplete ELF header");
	if (ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != ELFDATA2LSB)
		return kc__refuse(refusal, bytes->offset + EI_CLASS, "not a 64-bit little-endian ELF file");
	elf->abi_version = ident[EI_ABIVERSION];
	elf->type = kc__bytes_u16(bytes, EHDR(e_type));
	elf->machine = kc__bytes_u16(bytes, EHDR(e_machine));
	elf->flags = kc__bytes_u32(bytes, EHDR(e_flags));
	elf->sections_at = kc__bytes_u64(bytes, EHDR(e_shoff));
	if (!elf->sections_at)
		return 0;
	if (kc__bytes_u16(bytes, EHDR(e_shentsize)) != sizeof(Elf64_Shdr))
		return kc__refuse(refusal, bytes->offset + EHDR(e_shentsize), "ELF section headers of %u bytes",
				  kc__bytes_u16(bytes, EHDR(e_shentsize)));
	elf->section_count = extended(elf, kc__bytes_u16(bytes, EHDR(e_shnum)), 0, SHDR(sh_size), 8);
	if (!kc__bytes_part(bytes, elf->sections_at, elf->section_count * (uint64_t)sizeof(Elf64_Shdr), &sections))
		return kc__refuse(refusal, bytes->offset + EHDR(e_shoff),
				  "ELF section headers (%u from %llu on) beyond the end", elf->section_count,
				  (unsigned long long)elf->sections_at);
	return read_names(elf, refusal);
}

/* Shared memory of a relocatable cubin, as written by nvcc 13.0: a size without bytes, like SHT_NOBITS. */
#define SHT_CUDA_SHARED 0x7000000au

static int has_bytes(uint32_t type)
{
	return type != SHT_NULL && type != SHT_NOBITS && type != SHT_CUDA_SHARED;
}

int kc__elf_section(const struct kc_elf *elf, uint32_t index, struct kc_elf_section *section,
		    struct kc_refusal *refusal)
{
	uint64_t at = elf->sections_at + index * (uint64_t)sizeof(Elf64_Shdr), from;
	struct kc_bytes header;

	*section = (struct kc_elf_section){.name = ""};
	if (index >= elf->section_count || !kc__bytes_part(&elf->bytes, at, sizeof(Elf64_Shdr), &header))
		return kc__refuse(refusal, elf->bytes.offset + EHDR(e_shnum),
				  "ELF section %u does not exist, there are %u", index, elf->section_count);
	section->name = kc__elf_string(&elf->names, kc__bytes_u32(&header, SHDR(sh_name)));
	section->type = kc__bytes_u32(&header, SHDR(sh_type));
	section->link = kc__bytes_u32(&header, SHDR(sh_link));
	section->info = kc__bytes_u32(&header, SHDR(sh_info));
	section->flags = kc__bytes_u64(&header, SHDR(sh_flags));
	section->size = kc__bytes_u64(&header, SHDR(sh_size));
	section->entry_bytes = kc__bytes_u64(&header, SHDR(sh_entsize));
	from = kc__bytes_u64(&header, SHDR(sh_offset));
	if (!has_bytes(section->type))
		return 0;
	if (!kc__bytes_part(&elf->bytes, from, section->size, &section->bytes))
		return kc__refuse(refusal, header.offset, "ELF section %u (%llu bytes from %llu on) beyond the end",
				  index, (unsigned long long)section->size, (unsigned long long)from);
	return 0;
}

/* From version 8 of NVIDIA's ABI on, the architecture is in the second byte of e_flags instead of the first. */
#define CUDA_ABI_SM_MOVED 8

uint32_t kc__elf_sm(const struct kc_elf *elf)
{
	return elf->abi_version >= CUDA_ABI_SM_MOVED ? elf->flags >> 8 & 0xff : elf->flags & 0xff;
}

static uint64_t later(uint64_t end, uint64_t at, uint64_t length)
{
	uint64_t other;

	if (__builtin_add_overflow(at, length, &other))
		return UINT64_MAX;
	return other > end ? other : end;
}

size_t kc__elf_length(const void *image, size_t limit_bytes)
{
	struct kc_bytes bytes = {image, sizeof(Elf64_Ehdr), 0};
	uint64_t sections_at, end = sizeof(Elf64_Ehdr);
	uint32_t count;

	if (limit_bytes < sizeof(Elf64_Ehdr) || !kc__elf_is(&bytes))
		return 0;
	sections_at = kc__bytes_u64(&bytes, EHDR(e_shoff));
	count = kc__bytes_u16(&bytes, EHDR(e_shnum));
	end = later(end, kc__bytes_u64(&bytes, EHDR(e_phoff)),
		    kc__bytes_u16(&bytes, EHDR(e_phnum)) * (uint64_t)sizeof(Elf64_Phdr));
	end = later(end, sections_at, (count ? count : 1) * (uint64_t)sizeof(Elf64_Shdr));
	if (end > limit_bytes)
		return 0;
	bytes.length = end;
	if (!count && sections_at) {
		uint64_t more = kc__bytes_u64(&bytes, sections_at + SHDR(sh_size));

		if (more > limit_bytes / sizeof(Elf64_Shdr))
			return 0;
		count = (uint32_t)more;
		end = later(end, sections_at, count * (uint64_t)sizeof(Elf64_Shdr));
	}
	if (end > limit_bytes)
		return 0;
	bytes.length = end;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t header = sections_at + i * (uint64_t)sizeof(Elf64_Shdr);

		if (has_bytes(kc__bytes_u32(&bytes, header + SHDR(sh_type))))
			end = later(end, kc__bytes_u64(&bytes, header + SHDR(sh_offset)),
				    kc__bytes_u64(&bytes, header + SHDR(sh_size)));
	}
	return end > limit_bytes ? 0 : end;
}

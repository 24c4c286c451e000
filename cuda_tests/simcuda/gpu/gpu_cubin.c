/*
 * Cubins: ELF files whose sections tell what a kernel needs. Bounds are checked,
 * a cubin may be cut off or foreign.
 */
#include "gpu_image.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define MACHINE_CUDA 190
#define NEW_ABI 8        /* from this ABI on, bits 8 to 15 of e_flags hold the architecture, before it bits 0 to 7 */
#define OTHER_ENTRY 0x10 /* st_other of a kernel */
#define RESERVED_FROM 90 /* lowest sm_ whose shared memory sections begin with the part reserved by the system */
#define RESERVED_BYTES 1024
#define OTHER_MANAGED 0x4 /* st_other of a __managed__ variable */
#define FORMAT_SIZED 4
#define INFO_MAX_THREADS 0x05
#define INFO_FRAME_SIZE 0x11
#define INFO_PARAM 0x17
#define INFO_REGISTERS 0x2f

struct elf {
	const uint8_t *data;
	size_t bytes;
	Elf64_Ehdr head;
	const char *names; /* of sections */
	size_t names_bytes;
};

struct record { /* of an info section */
	uint32_t attribute, bytes;
	const uint8_t *data;
};

uint32_t sim_cubin_sm(const uint8_t *data)
{
	Elf64_Ehdr head;

	memcpy(&head, data, sizeof(head));
	return head.e_ident[EI_ABIVERSION] >= NEW_ABI ? head.e_flags >> 8 & 0xff : head.e_flags & 0xff;
}

static Elf64_Shdr section_at(const uint8_t *data, const Elf64_Ehdr *head, unsigned i)
{
	Elf64_Shdr section;

	memcpy(&section, data + head->e_shoff + (size_t)i * sizeof(section), sizeof(section));
	return section;
}

size_t sim_cubin_bytes(const uint8_t *data)
{
	Elf64_Ehdr head;
	uint64_t end;
	unsigned i;

	memcpy(&head, data, sizeof(head));
	end = head.e_shoff + (uint64_t)head.e_shnum * sizeof(Elf64_Shdr);
	if (head.e_phnum && head.e_phoff + (uint64_t)head.e_phnum * sizeof(Elf64_Phdr) > end)
		end = head.e_phoff + (uint64_t)head.e_phnum * sizeof(Elf64_Phdr);
	for (i = 0; i < head.e_shnum; i++) {
		Elf64_Shdr section = section_at(data, &head, i);

		if (section.sh_type != SHT_NOBITS && section.sh_offset + section.sh_size > end)
			end = section.sh_offset + section.sh_size;
	}
	return end;
}

/* Returns section i; its sh_type is SHT_NULL where its contents are not inside the file. */
static Elf64_Shdr section_of(const struct elf *elf, unsigned i)
{
	Elf64_Shdr none = {.sh_type = SHT_NULL}, section;

	if (i >= elf->head.e_shnum)
		return none;
	section = section_at(elf->data, &elf->head, i);
	if (section.sh_type != SHT_NOBITS &&
	    (section.sh_offset > elf->bytes || section.sh_size > elf->bytes - section.sh_offset))
		return none;
	return section;
}

static const char *string_at(const char *table, size_t bytes, size_t at)
{
	return at < bytes && memchr(table + at, '\0', bytes - at) ? table + at : "";
}

static const char *section_name(const struct elf *elf, const Elf64_Shdr *section)
{
	return string_at(elf->names, elf->names_bytes, section->sh_name);
}

static int open_elf(struct elf *elf, const uint8_t *data, size_t bytes)
{
	Elf64_Shdr names;

	elf->data = data;
	elf->bytes = bytes;
	if (bytes < sizeof(elf->head))
		return 0;
	memcpy(&elf->head, data, sizeof(elf->head));
	if (elf->head.e_machine != MACHINE_CUDA || elf->head.e_shentsize != sizeof(Elf64_Shdr) ||
	    elf->head.e_shoff > bytes || elf->head.e_shnum > (bytes - elf->head.e_shoff) / sizeof(Elf64_Shdr))
		return 0;
	names = section_of(elf, elf->head.e_shstrndx);
	if (names.sh_type != SHT_STRTAB)
		return 0;
	elf->names = (const char *)data + names.sh_offset;
	elf->names_bytes = names.sh_size;
	return 1;
}

static Elf64_Shdr find_section(const struct elf *elf, const char *prefix, const char *name)
{
	Elf64_Shdr none = {.sh_type = SHT_NULL};
	size_t length = strlen(prefix);
	unsigned i;

	for (i = 0; i < elf->head.e_shnum; i++) {
		Elf64_Shdr section = section_of(elf, i);
		const char *is = section_name(elf, &section);

		if (section.sh_type != SHT_NULL && !strncmp(is, prefix, length) && !strcmp(is + length, name))
			return section;
	}
	return none;
}

static int next_record(const uint8_t **at, const uint8_t *end, struct record *record)
{
	uint16_t length;
	uint8_t format;

	if (end - *at < 4)
		return 0;
	format = (*at)[0];
	record->attribute = (*at)[1];
	memcpy(&length, *at + 2, sizeof(length));
	record->bytes = format == FORMAT_SIZED ? length : 0;
	record->data = *at + 4;
	if (record->bytes > (size_t)(end - record->data))
		return 0;
	*at = record->data + record->bytes;
	return 1;
}

static uint32_t u32(const struct record *record, unsigned i)
{
	uint32_t value = 0;

	if (record->bytes >= 4 * (i + 1))
		memcpy(&value, record->data + 4 * (size_t)i, 4);
	return value;
}

static void read_kernel_info(const struct elf *elf, struct sim_kernel *kernel)
{
	Elf64_Shdr info = find_section(elf, ".nv.info.", kernel->name);
	const uint8_t *at = elf->data + info.sh_offset, *end = at + info.sh_size;
	struct record record;

	if (info.sh_type == SHT_NULL || info.sh_type == SHT_NOBITS)
		return;
	while (next_record(&at, end, &record)) {
		if (record.attribute == INFO_PARAM && record.bytes >= 12)
			sim_kernel_set_param(kernel, u32(&record, 1) & 0xffff, u32(&record, 1) >> 16,
					     u32(&record, 2) >> 18);
		else if (record.attribute == INFO_MAX_THREADS && record.bytes >= 12)
			kernel->max_threads = u32(&record, 0) * u32(&record, 1) * u32(&record, 2);
	}
}

static void read_module_info(const struct elf *elf, uint32_t symbol, struct sim_kernel *kernel)
{
	Elf64_Shdr info = find_section(elf, ".nv.info", "");
	const uint8_t *at = elf->data + info.sh_offset, *end = at + info.sh_size;
	struct record record;

	if (info.sh_type == SHT_NULL || info.sh_type == SHT_NOBITS)
		return;
	while (next_record(&at, end, &record)) {
		if (record.bytes < 8 || u32(&record, 0) != symbol)
			continue;
		if (record.attribute == INFO_REGISTERS)
			kernel->registers = u32(&record, 1);
		else if (record.attribute == INFO_FRAME_SIZE)
			kernel->local_bytes = u32(&record, 1);
	}
}

static int read_kernel(const struct elf *elf, struct sim_code *code, uint32_t symbol, const Elf64_Sym *entry,
		       const char *name)
{
	struct sim_kernel *kernel = sim_code_add_kernel(code, name, strlen(name));
	Elf64_Shdr text = section_of(elf, entry->st_shndx), shared;

	if (!kernel)
		return 0;
	kernel->registers = text.sh_info >> 24;
	kernel->ptx_version = sim_cubin_sm(elf->data);
	shared = find_section(elf, ".nv.shared.", kernel->name);
	kernel->static_shared_bytes = shared.sh_type == SHT_NULL ? 0 : shared.sh_size;
	if (kernel->ptx_version >= RESERVED_FROM && kernel->static_shared_bytes >= RESERVED_BYTES)
		kernel->static_shared_bytes -= RESERVED_BYTES;
	read_module_info(elf, symbol, kernel);
	read_kernel_info(elf, kernel);
	return 1;
}

static int read_global(const struct elf *elf, struct sim_code *code, const Elf64_Sym *entry, const char *name)
{
	Elf64_Shdr section = section_of(elf, entry->st_shndx);
	struct sim_global *global = sim_code_add_global(code, name, strlen(name), entry->st_size);

	if (!global)
		return 0;
	global->managed = (entry->st_other & OTHER_MANAGED) != 0;
	if (section.sh_type == SHT_NOBITS || entry->st_value > section.sh_size ||
	    entry->st_size > section.sh_size - entry->st_value)
		return 1;
	global->initial = malloc(entry->st_size);
	if (!global->initial)
		return 0;
	memcpy(global->initial, elf->data + section.sh_offset + entry->st_value, entry->st_size);
	return 1;
}

static int is_variable_section(const char *name)
{
	return !strncmp(name, ".nv.global", 10) || !strcmp(name, ".nv.constant3");
}

static int read_symbols(const struct elf *elf, struct sim_code *code)
{
	Elf64_Shdr symbols = find_section(elf, ".symtab", ""), strings = section_of(elf, symbols.sh_link), section;
	const char *table = (const char *)elf->data + strings.sh_offset, *name;
	uint32_t i;

	if (symbols.sh_type != SHT_SYMTAB || strings.sh_type != SHT_STRTAB)
		return 0;
	for (i = 0; i < symbols.sh_size / sizeof(Elf64_Sym); i++) {
		Elf64_Sym entry;
		int ok = 1;

		memcpy(&entry, elf->data + symbols.sh_offset + (size_t)i * sizeof(entry), sizeof(entry));
		name = string_at(table, strings.sh_size, entry.st_name);
		section = section_of(elf, entry.st_shndx);
		if (!*name || entry.st_shndx == SHN_UNDEF || section.sh_type == SHT_NULL)
			continue;
		if (ELF64_ST_TYPE(entry.st_info) == STT_FUNC && (entry.st_other & OTHER_ENTRY))
			ok = read_kernel(elf, code, i, &entry, name);
		else if (ELF64_ST_TYPE(entry.st_info) == STT_OBJECT && entry.st_size &&
			 is_variable_section(section_name(elf, &section)))
			ok = read_global(elf, code, &entry, name);
		if (!ok)
			return 0;
	}
	return 1;
}

int sim_cubin_read(struct sim_code *code, const uint8_t *data, size_t bytes)
{
	struct elf elf;

	return open_elf(&elf, data, bytes) && read_symbols(&elf, code);
}

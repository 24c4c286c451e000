#include "cubin.h"

#include "predictor/code/container/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define OTHER_ENTRY 0x10u         /* st_other of a kernel */
#define SYSTEM_SHARED_SM 90u      /* from here on shared memory begins with the system's */
#define SYSTEM_SHARED_BYTES 1024u /* CUDA C++ Programming Guide, compute capability 9.x */
#define RECORD_BYTES KC__INFO_RECORD_BYTES
#define INFO_MAX_THREADS 0x05u /* x, y, z */
#define INFO_FRAME_BYTES 0x11u /* symbol, bytes */
#define INFO_PARAM 0x17u       /* index, ordinal and offset, size << 18 */
#define INFO_PARAM_SIZE_SHIFT 18u
#define INFO_REGISTERS 0x2fu /* symbol, registers */
#define NO_KERNEL UINT32_MAX

struct reader {
	struct kc_cubin *cubin;
	struct kc_elf elf;
	struct kc_elf_section symbols;
	struct kc_bytes names; /* of the symbols */
	uint32_t *symbol_of;   /* kernel: its symbol, ascending */
	uint32_t *kernel_in;   /* section with code: kernel */
	size_t unread;         /* bytes of the file; sections that hold more must overlap, and are refused */
	struct kc_refusal *refusal;
};

struct record {
	uint8_t attribute;
	uint32_t barriers;
	struct kc_bytes data;
};

static int no_room(const struct reader *reader, size_t offset)
{
	kc__refuse(reader->refusal, offset, "needs more than the %zu bytes allowed", reader->cubin->arena.limit_bytes);
	return -ENOMEM;
}

static int spend(struct reader *reader, const struct kc_bytes *bytes)
{
	if (bytes->length > reader->unread)
		return kc__refuse(reader->refusal, bytes->offset, "sections of the cubin overlap");
	reader->unread -= bytes->length;
	return 0;
}

/* --- symbols: the kernels */

static uint32_t symbol_count(const struct reader *reader)
{
	return (uint32_t)(reader->symbols.bytes.length / sizeof(Elf64_Sym));
}

static Elf64_Sym symbol_at(const struct reader *reader, uint32_t index)
{
	Elf64_Sym symbol;

	memcpy(&symbol, reader->symbols.bytes.first + index * sizeof(symbol), sizeof(symbol));
	return symbol;
}

static int is_kernel(const Elf64_Sym *symbol)
{
	return ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_other & OTHER_ENTRY &&
	       symbol->st_shndx != SHN_UNDEF;
}

static int find_symbols(struct reader *reader)
{
	struct kc_elf_section strings;
	int result = 0;

	for (uint32_t i = 0; !result && i < reader->elf.section_count; i++) {
		result = kc__elf_section(&reader->elf, i, &reader->symbols, reader->refusal);
		if (!result && reader->symbols.type == SHT_SYMTAB)
			break;
		reader->symbols = (struct kc_elf_section){0};
	}
	if (result || !reader->symbols.bytes.length)
		return result;
	result = kc__elf_section(&reader->elf, reader->symbols.link, &strings, reader->refusal);
	if (result)
		return result;
	if (!strings.bytes.length || strings.bytes.first[strings.bytes.length - 1])
		return kc__refuse(reader->refusal, strings.bytes.offset,
				  "symbol names do not end within their section");
	reader->names = strings.bytes;
	return 0;
}

/* In cubins with more sections than a symbol can number, a separate table has the numbers. */
static int find_far_sections(struct reader *reader, struct kc_bytes *numbers)
{
	struct kc_elf_section section;
	int result;

	*numbers = (struct kc_bytes){0};
	for (uint32_t i = 0; i < reader->elf.section_count; i++) {
		result = kc__elf_section(&reader->elf, i, &section, reader->refusal);
		if (result)
			return result;
		if (section.type == SHT_SYMTAB_SHNDX)
			*numbers = section.bytes;
	}
	return 0;
}

static int take_kernel(struct reader *reader, uint32_t index, const struct kc_bytes *far_sections)
{
	struct kc_cubin *cubin = reader->cubin;
	struct kc_cubin_kernel *kernel = &cubin->kernels[cubin->kernel_count];
	Elf64_Sym symbol = symbol_at(reader, index);
	const char *name = kc__elf_string(&reader->names, symbol.st_name);
	uint32_t section = symbol.st_shndx;

	if (section == SHN_XINDEX)
		section = kc__bytes_u32(far_sections, index * sizeof(uint32_t));
	if (section >= reader->elf.section_count)
		return kc__refuse(reader->refusal, reader->symbols.bytes.offset + index * sizeof(symbol),
				  "kernel in section %u of %u", section, reader->elf.section_count);
	kernel->name = kc_arena_text(&cubin->arena, name, strlen(name));
	if (!kernel->name)
		return no_room(reader, reader->names.offset + symbol.st_name);
	reader->symbol_of[cubin->kernel_count] = index;
	reader->kernel_in[section] = cubin->kernel_count++;
	return 0;
}

static int read_symbols(struct reader *reader)
{
	struct kc_arena *arena = &reader->cubin->arena;
	uint32_t symbols = symbol_count(reader), kernels = 0;
	struct kc_bytes far_sections;
	Elf64_Sym symbol;
	int result = find_far_sections(reader, &far_sections);

	for (uint32_t i = 0; i < symbols; i++) {
		symbol = symbol_at(reader, i);
		kernels += is_kernel(&symbol);
	}
	reader->cubin->kernels = kc_arena_array(arena, kernels, sizeof(*reader->cubin->kernels));
	reader->symbol_of = kc_arena_array(arena, kernels, sizeof(*reader->symbol_of));
	reader->kernel_in = kc_arena_array(arena, reader->elf.section_count, sizeof(*reader->kernel_in));
	if (!reader->cubin->kernels || !reader->symbol_of || !reader->kernel_in)
		return no_room(reader, reader->symbols.bytes.offset);
	memset(reader->kernel_in, 0xff, reader->elf.section_count * sizeof(*reader->kernel_in));
	for (uint32_t i = 0; !result && i < symbols; i++) {
		symbol = symbol_at(reader, i);
		if (is_kernel(&symbol))
			result = take_kernel(reader, i, &far_sections);
	}
	return result;
}

static int by_number(const void *left, const void *right)
{
	const uint32_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static struct kc_cubin_kernel *kernel_of_symbol(const struct reader *reader, uint32_t symbol)
{
	const uint32_t *found =
	    bsearch(&symbol, reader->symbol_of, reader->cubin->kernel_count, sizeof(symbol), by_number);

	return found ? &reader->cubin->kernels[found - reader->symbol_of] : NULL;
}

static struct kc_cubin_kernel *kernel_of_section(const struct reader *reader, uint32_t section)
{
	uint32_t kernel = section < reader->elf.section_count ? reader->kernel_in[section] : NO_KERNEL;

	return kernel == NO_KERNEL ? NULL : &reader->cubin->kernels[kernel];
}

/* --- .nv.info */

/* 1: *record is the next; 0: there are no more; -EBADMSG */
static int next_record(const struct reader *reader, struct kc_bytes *rest, struct record *record)
{
	struct kc_bytes head;
	size_t length;

	if (!rest->length)
		return 0;
	if (!kc__bytes_part(rest, 0, RECORD_BYTES, &head))
		return kc__refuse(reader->refusal, rest->offset, "truncated record in .nv.info");
	length = head.first[0] == KC__INFO_SIZED ? kc__bytes_u16(&head, 2) : 0;
	record->attribute = head.first[1];
	record->barriers = kc__cubin_info_barriers(head.first);
	if (!kc__bytes_part(rest, RECORD_BYTES, length, &record->data))
		return kc__refuse(reader->refusal, rest->offset,
				  "record of %zu bytes in .nv.info, but only %zu are left", length,
				  rest->length - RECORD_BYTES);
	kc__bytes_part(rest, RECORD_BYTES + length, rest->length - RECORD_BYTES - length, rest);
	return 1;
}

static int read_module_info(struct reader *reader, struct kc_bytes rest)
{
	struct record record;
	int result;

	while ((result = next_record(reader, &rest, &record)) > 0) {
		struct kc_cubin_kernel *kernel = kernel_of_symbol(reader, kc__bytes_u32(&record.data, 0));

		if (kernel && record.attribute == INFO_REGISTERS)
			kernel->registers = kc__bytes_u32(&record.data, 4);
		else if (kernel && record.attribute == INFO_FRAME_BYTES)
			kernel->local_bytes = kc__bytes_u32(&record.data, 4);
	}
	return result;
}

static int read_param(const struct reader *reader, struct kc_cubin_kernel *kernel, const struct record *record)
{
	uint32_t place = kc__bytes_u32(&record->data, 4), ordinal = place & 0xffff;

	if (ordinal >= kernel->param_count)
		return kc__refuse(reader->refusal, record->data.offset, "parameter %u of %u", ordinal,
				  kernel->param_count);
	kernel->params[ordinal].offset_bytes = place >> 16;
	kernel->params[ordinal].bytes = kc__bytes_u32(&record->data, 8) >> INFO_PARAM_SIZE_SHIFT;
	return 0;
}

static int read_kernel_info(struct reader *reader, struct kc_cubin_kernel *kernel, const struct kc_bytes *info)
{
	struct kc_bytes rest = *info;
	struct record record;
	int result;

	kernel->param_count = 0;
	while ((result = next_record(reader, &rest, &record)) > 0)
		kernel->param_count += record.attribute == INFO_PARAM;
	if (result)
		return result;
	kernel->params = kc_arena_array(&reader->cubin->arena, kernel->param_count, sizeof(*kernel->params));
	if (!kernel->params)
		return no_room(reader, info->offset);
	rest = *info;
	while (!result && next_record(reader, &rest, &record) > 0) {
		if (record.attribute == INFO_PARAM)
			result = read_param(reader, kernel, &record);
		if (record.barriers > kernel->barriers)
			kernel->barriers = record.barriers;
		for (uint32_t i = 0; record.attribute == INFO_MAX_THREADS && i < 3; i++)
			kernel->max_threads[i] = kc__bytes_u32(&record.data, i * sizeof(uint32_t));
	}
	return result;
}

/* --- sections */

/* In linked cubins the system's shared memory comes before the kernel's. */
static uint32_t own_shared_bytes(const struct kc_cubin *cubin, uint64_t size)
{
	int has_system = cubin->sm >= SYSTEM_SHARED_SM && !cubin->relocatable && size >= SYSTEM_SHARED_BYTES;

	if (size > UINT32_MAX)
		return UINT32_MAX;
	return (uint32_t)(has_system ? size - SYSTEM_SHARED_BYTES : size);
}

static int starts_with(const char *name, const char *prefix)
{
	return !strncmp(name, prefix, strlen(prefix));
}

static int read_info(struct reader *reader, const struct kc_elf_section *section)
{
	struct kc_cubin_kernel *kernel = kernel_of_section(reader, section->info);
	int result = spend(reader, &section->bytes);

	if (result)
		return result;
	if (!strcmp(section->name, ".nv.info"))
		return read_module_info(reader, section->bytes);
	return kernel ? read_kernel_info(reader, kernel, &section->bytes) : 0;
}

static int read_code(struct reader *reader, struct kc_cubin_kernel *kernel, const struct kc_elf_section *section)
{
	const struct kc_bytes *code = &section->bytes;
	uint32_t barriers = kc__cubin_flag_barriers(section->flags);
	int result = spend(reader, code);

	if (result)
		return result;
	if (barriers > kernel->barriers)
		kernel->barriers = barriers;
	kernel->code_bytes = code->length > UINT32_MAX ? UINT32_MAX : (uint32_t)code->length;
	kc__sass_count(&kernel->sass, code, reader->cubin->sm);
	return 0;
}

static int read_section(struct reader *reader, uint32_t index)
{
	struct kc_cubin_kernel *coded = kernel_of_section(reader, index), *shared;
	struct kc_elf_section section;
	int result = kc__elf_section(&reader->elf, index, &section, reader->refusal);

	if (result)
		return result;
	if (coded)
		return read_code(reader, coded, &section);
	if (!strcmp(section.name, ".nv.info") || starts_with(section.name, ".nv.info."))
		return read_info(reader, &section);
	shared = starts_with(section.name, ".nv.shared.") ? kernel_of_section(reader, section.info) : NULL;
	if (shared)
		shared->static_shared_bytes = own_shared_bytes(reader->cubin, section.size);
	return 0;
}

int kc_cubin_read(struct kc_cubin *cubin, const void *bytes, size_t length, size_t memory_bytes,
		  struct kc_refusal *refusal)
{
	struct kc_bytes all = {bytes, length, 0};
	struct reader reader = {.cubin = cubin, .unread = length, .refusal = refusal};
	int result;

	*cubin = (struct kc_cubin){0};
	kc_arena_init(&cubin->arena, memory_bytes);
	result = kc__elf_open(&reader.elf, &all, refusal);
	if (result)
		goto out;
	if (reader.elf.machine != KC_ELF_MACHINE_CUDA) {
		result = kc__refuse(refusal, offsetof(Elf64_Ehdr, e_machine), "ELF file for machine %u, not for CUDA",
				    reader.elf.machine);
		goto out;
	}
	cubin->sm = kc__elf_sm(&reader.elf);
	cubin->relocatable = reader.elf.type == ET_REL;
	result = find_symbols(&reader);
	if (!result)
		result = read_symbols(&reader);
	for (uint32_t i = 0; !result && i < reader.elf.section_count; i++)
		result = read_section(&reader, i);
out:
	if (result)
		kc_cubin_free(cubin);
	return result;
}

void kc_cubin_free(struct kc_cubin *cubin)
{
	kc_arena_free(&cubin->arena);
	cubin->kernels = NULL;
	cubin->kernel_count = 0;
}

/*
 * A library's cubin may be larger than the memory that reading it may take, so it is
 * unpacked part by part: once for its section headers, which are at its end, once for
 * their names, once for the code of the kernels that are wanted.
 */
#include "features.h"

#include "predictor/code/container/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define CODE_PREFIX ".text."
#define INFO_PREFIX ".nv.info."
#define IMAGE_MAX_BYTES ((size_t)256 << 20) /* of an unpacked cubin; a larger one is not looked at */

/* --- a part of the image, kept */

struct kept {
	uint64_t at, length; /* in the image */
	uint64_t given;      /* of the image so far */
	uint8_t *bytes;
};

/* Where a part of the image and the bytes just given overlap: *from in those, *to in the part. Their number. */
static uint64_t overlap(uint64_t at, uint64_t length, uint64_t given, size_t given_length, uint64_t *from, uint64_t *to)
{
	uint64_t first = at > given ? at : given, end = given + given_length;

	end = at + length < end ? at + length : end;
	*from = first - given;
	*to = first - at;
	return end > first ? end - first : 0;
}

static int keep(void *arg, const char *bytes, size_t length)
{
	struct kept *kept = arg;
	uint64_t from, to, count = overlap(kept->at, kept->length, kept->given, length, &from, &to);

	if (count)
		memcpy(kept->bytes + to, bytes + from, count);
	kept->given += length;
	return kept->given >= kept->at + kept->length ? -ECANCELED : 0;
}

struct cubin {
	const struct kc_image *image;
	struct kc_arena arena;
	size_t unpacking_bytes; /* memory left for it */
	struct kc_refusal *refusal;
	struct kc_bytes headers, names;
	uint32_t section_count, sm;
};

static int no_room(struct cubin *cubin)
{
	kc__refuse(cubin->refusal, cubin->image->offset, "the cubin's sections need more than the %zu bytes allowed",
		   cubin->arena.limit_bytes);
	return -ENOMEM;
}

/* The part from `at` on, which must be within the image. 0, -EBADMSG, -ENOMEM */
static int read_part(struct cubin *cubin, uint64_t at, uint64_t length, struct kc_bytes *part)
{
	struct kept kept = {.at = at, .length = length};
	int rc;

	if (length > cubin->image->length || at > cubin->image->length - length)
		return kc__refuse(cubin->refusal, cubin->image->offset, "a part of the cubin lies beyond its end");
	kept.bytes = kc_arena_take(&cubin->arena, length ? length : 1);
	if (!kept.bytes)
		return no_room(cubin);
	rc = kc_image_stream(cubin->image, cubin->unpacking_bytes, keep, &kept, cubin->refusal);
	if (rc == -ECANCELED)
		rc = 0;
	*part = (struct kc_bytes){kept.bytes, length, cubin->image->offset + at};
	return rc;
}

/* --- sections */

static uint32_t header_u32(const struct cubin *cubin, uint32_t section, size_t field)
{
	return kc__bytes_u32(&cubin->headers, section * (uint64_t)sizeof(Elf64_Shdr) + field);
}

static uint64_t header_u64(const struct cubin *cubin, uint32_t section, size_t field)
{
	return kc__bytes_u64(&cubin->headers, section * (uint64_t)sizeof(Elf64_Shdr) + field);
}

static int read_headers(struct cubin *cubin)
{
	struct kc_bytes head, first;
	uint64_t at, count;
	struct kc_elf elf;
	uint32_t names;
	int rc = read_part(cubin, 0, sizeof(Elf64_Ehdr), &head);

	if (rc)
		return rc;
	at = kc__bytes_u64(&head, offsetof(Elf64_Ehdr, e_shoff));
	count = kc__bytes_u16(&head, offsetof(Elf64_Ehdr, e_shnum));
	names = kc__bytes_u16(&head, offsetof(Elf64_Ehdr, e_shstrndx));
	if (!kc__elf_is(&head) || kc__bytes_u16(&head, offsetof(Elf64_Ehdr, e_machine)) != KC_ELF_MACHINE_CUDA ||
	    kc__bytes_u16(&head, offsetof(Elf64_Ehdr, e_shentsize)) != sizeof(Elf64_Shdr))
		return kc__refuse(cubin->refusal, cubin->image->offset, "not a cubin of 64 bits");
	elf = (struct kc_elf){.abi_version = head.first[EI_ABIVERSION],
			      .flags = kc__bytes_u32(&head, offsetof(Elf64_Ehdr, e_flags))};
	cubin->sm = kc__elf_sm(&elf);
	if (!count || names == SHN_XINDEX) { /* numbers that the header cannot hold are in that of the first section */
		rc = read_part(cubin, at, sizeof(Elf64_Shdr), &first);
		if (rc)
			return rc;
		count = count ? count : kc__bytes_u64(&first, offsetof(Elf64_Shdr, sh_size));
		names = names != SHN_XINDEX ? names : kc__bytes_u32(&first, offsetof(Elf64_Shdr, sh_link));
	}
	if (count > cubin->image->length / sizeof(Elf64_Shdr) || names >= count)
		return kc__refuse(cubin->refusal, cubin->image->offset, "the cubin has no names of sections");
	cubin->section_count = (uint32_t)count;
	rc = read_part(cubin, at, count * sizeof(Elf64_Shdr), &cubin->headers);
	if (!rc)
		rc = read_part(cubin, header_u64(cubin, names, offsetof(Elf64_Shdr, sh_offset)),
			       header_u64(cubin, names, offsetof(Elf64_Shdr, sh_size)), &cubin->names);
	if (!rc && (!cubin->names.length || cubin->names.first[cubin->names.length - 1]))
		rc = kc__refuse(cubin->refusal, cubin->names.offset, "names of sections do not end within theirs");
	return rc;
}

/* --- the sections of the kernels that are wanted */

struct piece {
	uint64_t at, length; /* in the image */
	struct kc_features_wanted *kernel;
	uint8_t is_info;
	uint32_t barriers; /* by the section's flags */
};

struct scan {
	struct cubin *cubin;
	struct piece *pieces; /* in the order of the image, without overlap */
	uint32_t piece_count, piece;
	uint64_t given;
	/* of the current piece */
	struct kc_sass sass;
	uint8_t unit[KC__SASS_BYTES]; /* an instruction, or the head of a record, of which only a part was given */
	uint32_t unit_bytes, index;
	uint64_t skip; /* bytes that follow a record's head */
};

static int by_name(const void *left, const void *right)
{
	const struct kc_features_wanted *const *a = left, *const *b = right;

	return strcmp((*a)->name, (*b)->name);
}

static int by_place(const void *left, const void *right)
{
	const struct piece *a = left, *b = right;

	return (a->at > b->at) - (a->at < b->at);
}

/* NULL: not a section of a kernel that is wanted. */
static struct kc_features_wanted *kernel_of(const char *section, struct kc_features_wanted **wanted, uint32_t count,
					    uint8_t *is_info)
{
	struct kc_features_wanted key, *looked_for = &key, **found;

	*is_info = !strncmp(section, INFO_PREFIX, strlen(INFO_PREFIX));
	if (!*is_info && strncmp(section, CODE_PREFIX, strlen(CODE_PREFIX)) != 0)
		return NULL;
	key.name = section + strlen(*is_info ? INFO_PREFIX : CODE_PREFIX);
	found = bsearch(&looked_for, wanted, count, sizeof(struct kc_features_wanted *), by_name);
	return found ? *found : NULL;
}

static int add_piece(struct scan *scan, uint32_t *capacity, uint32_t section, struct kc_features_wanted *kernel,
		     uint8_t is_info)
{
	struct cubin *cubin = scan->cubin;
	struct piece piece = {
	    .at = header_u64(cubin, section, offsetof(Elf64_Shdr, sh_offset)),
	    .length = header_u64(cubin, section, offsetof(Elf64_Shdr, sh_size)),
	    .kernel = kernel,
	    .is_info = is_info,
	    .barriers =
		is_info ? 0 : kc__cubin_flag_barriers(header_u64(cubin, section, offsetof(Elf64_Shdr, sh_flags))),
	};

	if (header_u32(cubin, section, offsetof(Elf64_Shdr, sh_type)) == SHT_NOBITS || !piece.length)
		return 0;
	if (piece.length > cubin->image->length || piece.at > cubin->image->length - piece.length)
		return kc__refuse(cubin->refusal, cubin->image->offset, "a section of the cubin lies beyond its end");
	if (kc_arena_grow(&cubin->arena, &scan->pieces, capacity, scan->piece_count, sizeof(piece)))
		return no_room(cubin);
	scan->pieces[scan->piece_count++] = piece;
	return 0;
}

static int find_pieces(struct scan *scan, struct kc_features_wanted **wanted, uint32_t count)
{
	struct cubin *cubin = scan->cubin;
	uint32_t capacity = 0;
	int rc = 0;

	for (uint32_t i = 0; !rc && i < cubin->section_count; i++) {
		const char *name = kc__elf_string(&cubin->names, header_u32(cubin, i, offsetof(Elf64_Shdr, sh_name)));
		uint8_t is_info;
		struct kc_features_wanted *kernel = kernel_of(name, wanted, count, &is_info);

		if (kernel)
			rc = add_piece(scan, &capacity, i, kernel, is_info);
	}
	if (scan->piece_count)
		qsort(scan->pieces, scan->piece_count, sizeof(*scan->pieces), by_place);
	for (uint32_t i = 1; !rc && i < scan->piece_count; i++)
		if (scan->pieces[i].at - scan->pieces[i - 1].at < scan->pieces[i - 1].length)
			rc = kc__refuse(cubin->refusal, cubin->image->offset, "sections of the cubin overlap");
	return rc;
}

/* --- the code and what is said about it */

static void end_piece(struct scan *scan)
{
	const struct piece *piece = &scan->pieces[scan->piece++];
	struct kc_features *features = &piece->kernel->features;

	if (piece->barriers > features->barriers)
		features->barriers = piece->barriers;
	if (!piece->is_info && !scan->unit_bytes && scan->sass.known) {
		features->known = 1;
		features->calls_away = scan->sass.calls_away;
		features->tensor = scan->sass.of[KC_SASS_TENSOR];
		features->wide_loads = scan->sass.wide_loads;
		features->wide_shared_loads = scan->sass.wide_shared_loads;
	}
	scan->sass = (struct kc_sass){0};
	scan->unit_bytes = scan->index = 0;
	scan->skip = 0;
}

static void take_unit(struct scan *scan)
{
	const struct piece *piece = &scan->pieces[scan->piece];
	struct kc_features *features = &piece->kernel->features;
	uint32_t barriers;

	scan->unit_bytes = 0;
	if (!piece->is_info) {
		if (kc__sass_knows(scan->cubin->sm))
			kc__sass_add(&scan->sass, scan->unit, scan->index++, (uint32_t)(piece->length / KC__SASS_BYTES),
				     scan->cubin->sm);
		return;
	}
	barriers = kc__cubin_info_barriers(scan->unit);
	if (barriers > features->barriers)
		features->barriers = barriers;
	if (scan->unit[0] == KC__INFO_SIZED)
		scan->skip = scan->unit[2] | (uint64_t)scan->unit[3] << 8;
}

static void take_bytes(struct scan *scan, const char *bytes, uint64_t length)
{
	uint32_t unit_bytes = scan->pieces[scan->piece].is_info ? KC__INFO_RECORD_BYTES : KC__SASS_BYTES;

	while (length) {
		uint64_t step = scan->skip ? scan->skip : unit_bytes - scan->unit_bytes;

		step = step < length ? step : length;
		if (scan->skip) {
			scan->skip -= step;
		} else {
			memcpy(scan->unit + scan->unit_bytes, bytes, step);
			scan->unit_bytes += (uint32_t)step;
			if (scan->unit_bytes == unit_bytes)
				take_unit(scan);
		}
		bytes += step;
		length -= step;
	}
}

static int scan_part(void *arg, const char *bytes, size_t length)
{
	struct scan *scan = arg;

	while (scan->piece < scan->piece_count) {
		const struct piece *piece = &scan->pieces[scan->piece];
		uint64_t from, to, count = overlap(piece->at, piece->length, scan->given, length, &from, &to);

		if (count)
			take_bytes(scan, bytes + from, count);
		if (piece->at + piece->length > scan->given + length)
			break;
		end_piece(scan);
	}
	scan->given += length;
	return scan->piece < scan->piece_count ? 0 : -ECANCELED;
}

static int scan_code(struct cubin *cubin, struct kc_features_wanted *wanted, uint32_t count)
{
	struct kc_features_wanted **sorted = kc_arena_array(&cubin->arena, count, sizeof(struct kc_features_wanted *));
	struct scan scan = {.cubin = cubin};
	int rc;

	if (!sorted)
		return no_room(cubin);
	for (uint32_t i = 0; i < count; i++)
		sorted[i] = &wanted[i];
	qsort(sorted, count, sizeof(struct kc_features_wanted *), by_name);
	rc = find_pieces(&scan, sorted, count);
	if (!rc && scan.piece_count)
		rc = kc_image_stream(cubin->image, cubin->unpacking_bytes, scan_part, &scan, cubin->refusal);
	return rc == -ECANCELED ? 0 : rc;
}

int kc_features_of_image(const struct kc_image *image, struct kc_features_wanted *wanted, uint32_t count,
			 size_t memory_bytes, struct kc_refusal *refusal)
{
	size_t unpacking_bytes = kc_image_stream_bytes(image);
	struct cubin cubin = {.image = image, .refusal = refusal};
	int rc = 0;

	for (uint32_t i = 0; i < count; i++)
		wanted[i].features = (struct kc_features){0};
	if (!count)
		return 0;
	if (image->length > IMAGE_MAX_BYTES)
		rc = kc__refuse(refusal, image->offset, "the cubin has more than %zu bytes", IMAGE_MAX_BYTES);
	cubin.unpacking_bytes = unpacking_bytes < memory_bytes ? unpacking_bytes : memory_bytes;
	kc_arena_init(&cubin.arena, memory_bytes - cubin.unpacking_bytes);
	if (!rc)
		rc = read_headers(&cubin);
	if (!rc)
		rc = scan_code(&cubin, wanted, count);
	kc_arena_free(&cubin.arena);
	for (uint32_t i = 0; rc && i < count; i++)
		wanted[i].features = (struct kc_features){0};
	return rc;
}

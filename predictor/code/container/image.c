#include "image.h"

#include "elf_file.h"
#include "fatbin.h"
#include "predictor/math/letters.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define PTX_DIRECTIVES_BYTES 4096u /* .version, .target and .address_size come first */

/* Entries are counted first and stored in a second pass, when the memory that they need is known. */
struct listing {
	struct kc_images *images;
	uint32_t room;
};

static void skip(struct kc_images *images, const struct kc_refusal *why)
{
	if (!images->skipped_count++)
		images->skipped = *why;
}

static void add(struct listing *listing, const struct kc_image *image)
{
	if (listing->images->count < listing->room)
		listing->images->images[listing->images->count] = *image;
	listing->images->count++;
}

/* --- PTX text */

static size_t blank_or_comment(const char *text, size_t length)
{
	const char *end;

	if (kc_is_blank(text[0]))
		return 1;
	if (length < 2 || text[0] != '/')
		return 0;
	if (text[1] == '/') {
		end = memchr(text, '\n', length);
		return end ? (size_t)(end - text) : length;
	}
	if (text[1] != '*')
		return 0;
	end = memmem(text + 2, length - 2, "*/", 2);
	return end ? (size_t)(end + 2 - text) : length;
}

static size_t skip_blanks(const char *text, size_t length)
{
	size_t at = 0, step;

	while (at < length && (step = blank_or_comment(text + at, length - at)))
		at += step;
	return at;
}

static int starts_with(const char *text, size_t length, const char *word)
{
	return length >= strlen(word) && !memcmp(text, word, strlen(word));
}

/* 90 and 'a' of ".target sm_90a, debug" */
static void read_target(struct kc_image *image, const char *text, size_t length)
{
	const char *at, *end = text + (length < PTX_DIRECTIVES_BYTES ? length : PTX_DIRECTIVES_BYTES);

	at = memmem(text, (size_t)(end - text), ".target", strlen(".target"));
	at = at ? memmem(at, (size_t)(end - at), "sm_", strlen("sm_")) : NULL;
	if (!at)
		return;
	for (at += strlen("sm_"); at < end && kc_is_digit(*at) && image->sm < UINT16_MAX; at++)
		image->sm = image->sm * 10 + (uint32_t)(*at - '0');
	if (at < end && (*at == 'a' || *at == 'f'))
		image->suffix = *at;
}

static int list_ptx(struct listing *listing, const struct kc_bytes *bytes, struct kc_refusal *refusal)
{
	const char *text = (const char *)bytes->first;
	size_t length = strnlen(text, bytes->length), blanks = skip_blanks(text, length);
	struct kc_image image = {.kind = KC_IMAGE_PTX, .offset = bytes->offset, .bytes = text, .length = length};

	if (!starts_with(text + blanks, length - blanks, ".version"))
		return kc__refuse(refusal, bytes->offset + blanks, "neither a fatbin nor an ELF file nor PTX");
	read_target(&image, text + blanks, length - blanks);
	listing->images->fatbin_count = 1;
	add(listing, &image);
	return 0;
}

/* --- fatbins */

static void take_unpacked(struct kc_image *image, const char *bytes, size_t length)
{
	image->bytes = bytes;
	image->length = length;
	while (image->kind == KC_IMAGE_PTX && image->length && !bytes[image->length - 1])
		image->length--;
}

static int list_entry(struct listing *listing, const struct kc_fatbin_entry *entry, struct kc_refusal *refusal)
{
	struct kc_image image = {
	    .kind = entry->kind == KC_FATBIN_KIND_PTX ? KC_IMAGE_PTX : KC_IMAGE_CUBIN,
	    .compressed = entry->packing,
	    .suffix = entry->suffix,
	    .sm = entry->sm,
	    .fatbin = listing->images->fatbin_count,
	    .offset = entry->offset,
	    .length = entry->unpacked_bytes,
	};

	if (entry->kind != KC_FATBIN_KIND_PTX && entry->kind != KC_FATBIN_KIND_ELF)
		return kc__refuse(refusal, entry->offset, "entry of kind %u, neither PTX nor a cubin", entry->kind);
	if (entry->packing == KC_PACKED_NOT)
		take_unpacked(&image, (const char *)entry->payload.first, entry->payload.length);
	else
		image.packed = entry->payload;
	add(listing, &image);
	return 0;
}

static void list_entries(struct listing *listing, struct kc_fatbin *fatbin)
{
	struct kc_fatbin_entry entry;
	struct kc_refusal why;
	int result;

	while ((result = kc__fatbin_next(fatbin, &entry, &why)) != 0)
		if (result < 0 || list_entry(listing, &entry, &why))
			skip(listing->images, &why);
	listing->images->fatbin_count++;
}

static void skip_padding(struct kc_bytes *bytes)
{
	size_t at = 0;

	while (at < bytes->length && !bytes->first[at])
		at++;
	kc__bytes_part(bytes, at, bytes->length - at, bytes);
}

/* Fatbins one after the other, up to the end or to something else. */
static void list_fatbins(struct listing *listing, struct kc_bytes bytes)
{
	struct kc_fatbin fatbin;
	struct kc_refusal why;

	while (bytes.length) {
		if (kc__fatbin_open(&fatbin, &bytes, &why)) {
			skip(listing->images, &why);
			return;
		}
		list_entries(listing, &fatbin);
		kc__bytes_part(&bytes, fatbin.length, bytes.length - fatbin.length, &bytes);
		skip_padding(&bytes);
	}
}

/* --- ELF files */

static int list_cubin(struct listing *listing, const struct kc_elf *elf)
{
	struct kc_image image = {
	    .kind = KC_IMAGE_CUBIN,
	    .sm = kc__elf_sm(elf),
	    .offset = elf->bytes.offset,
	    .bytes = (const char *)elf->bytes.first,
	    .length = elf->bytes.length,
	};

	listing->images->fatbin_count = 1;
	add(listing, &image);
	return 0;
}

static int holds_fatbins(const struct kc_elf_section *section)
{
	return !strcmp(section->name, ".nv_fatbin") || !strcmp(section->name, "__nv_relfatbin");
}

/* Overlapping sections are refused, so that no more bytes are read than there are. */
static int list_host(struct listing *listing, const struct kc_elf *elf, struct kc_refusal *refusal)
{
	size_t left = elf->bytes.length;
	struct kc_elf_section section;
	int result;

	for (uint32_t i = 0; i < elf->section_count; i++) {
		result = kc__elf_section(elf, i, &section, refusal);
		if (result)
			return result;
		if (!holds_fatbins(&section))
			continue;
		if (section.bytes.length > left)
			return kc__refuse(refusal, section.bytes.offset, "ELF sections with fatbins overlap");
		left -= section.bytes.length;
		list_fatbins(listing, section.bytes);
	}
	return 0;
}

static int list_elf(struct listing *listing, const struct kc_bytes *bytes, struct kc_refusal *refusal)
{
	struct kc_elf elf;
	int result = kc__elf_open(&elf, bytes, refusal);

	if (result)
		return result;
	if (elf.machine == KC_ELF_MACHINE_CUDA)
		return list_cubin(listing, &elf);
	if (elf.machine == KC_ELF_MACHINE_X86_64 || elf.machine == KC_ELF_MACHINE_AARCH64)
		return list_host(listing, &elf, refusal);
	return kc__refuse(refusal, bytes->offset, "ELF file for machine %u, not x86-64, aarch64 or CUDA", elf.machine);
}

/* --- whatever it is */

static int list_any(struct listing *listing, const struct kc_bytes *bytes, struct kc_refusal *refusal)
{
	struct kc_images *images = listing->images;

	images->count = images->fatbin_count = images->skipped_count = 0;
	if (kc__fatbin_is(bytes)) {
		list_fatbins(listing, *bytes);
		return 0;
	}
	if (kc__elf_is(bytes))
		return list_elf(listing, bytes, refusal);
	if (kc__bytes_u32(bytes, 0) == KC_FATBIN_WRAPPER_MAGIC)
		return kc__refuse(refusal, bytes->offset, "a fatbin's wrapper holds addresses, not the fatbin");
	return list_ptx(listing, bytes, refusal);
}

static int too_large(struct kc_refusal *refusal, const struct kc_arena *arena, size_t offset, size_t bytes)
{
	kc__refuse(refusal, offset, "needs %zu bytes, but only %zu of the %zu allowed are left", bytes,
		   arena->limit_bytes - arena->used_bytes, arena->limit_bytes);
	return -ENOMEM;
}

/* No image can be used: all were skipped, or there were none. */
static int nothing_taken(const struct kc_images *images, struct kc_refusal *refusal)
{
	if (images->skipped_count) {
		if (refusal)
			*refusal = images->skipped;
		return -EBADMSG;
	}
	kc__refuse(refusal, 0, "no GPU code in it");
	return -ENOENT;
}

int kc_images_list(struct kc_images *images, const void *bytes, size_t length, size_t memory_bytes,
		   struct kc_refusal *refusal)
{
	struct kc_bytes all = {bytes, length, 0};
	struct listing listing = {.images = images};
	int result;

	*images = (struct kc_images){0};
	kc_arena_init(&images->arena, memory_bytes);
	result = list_any(&listing, &all, refusal);
	if (result)
		goto out;
	if (!images->count) {
		result = nothing_taken(images, refusal);
		goto out;
	}
	listing.room = images->count;
	images->images = kc_arena_array(&images->arena, images->count, sizeof(*images->images));
	if (!images->images) {
		result = too_large(refusal, &images->arena, 0, images->count * sizeof(*images->images));
		goto out;
	}
	result = list_any(&listing, &all, refusal);
out:
	if (result)
		kc_images_free(images);
	return result;
}

int kc_image_unpack(struct kc_image *image, struct kc_arena *arena, struct kc_refusal *refusal)
{
	struct kc_fatbin_entry entry = {
	    .packing = image->compressed, .payload = image->packed, .unpacked_bytes = image->length};
	char *room;
	int result;

	if (image->bytes)
		return 0;
	room = kc_arena_take(arena, image->length);
	if (!room)
		return too_large(refusal, arena, image->offset, image->length);
	result = kc__fatbin_unpack(&entry, room, refusal);
	if (!result)
		take_unpacked(image, room, image->length);
	return result;
}

static struct kc_fatbin_entry entry_of(const struct kc_image *image)
{
	return (struct kc_fatbin_entry){.offset = image->offset,
					.packing = image->compressed,
					.payload = image->packed,
					.unpacked_bytes = image->length};
}

size_t kc_image_stream_bytes(const struct kc_image *image)
{
	struct kc_fatbin_entry entry = entry_of(image);

	return image->bytes ? 0 : kc__fatbin_stream_bytes(&entry);
}

int kc_image_stream(const struct kc_image *image, size_t memory_bytes, kc_stream_take *take, void *arg,
		    struct kc_refusal *refusal)
{
	struct kc_fatbin_entry entry = entry_of(image);

	if (image->bytes)
		return take(arg, image->bytes, image->length);
	return kc__fatbin_stream(&entry, memory_bytes, take, arg, refusal);
}

void kc_images_free(struct kc_images *images)
{
	kc_arena_free(&images->arena);
	images->images = NULL;
	images->count = 0;
}

/* --- choosing. CUDA C++ Programming Guide, "Compute Capability Feature Set Compiler Targets". */

static int runs_on(const struct kc_image *image, uint32_t cc)
{
	if (image->suffix == 'a')
		return image->sm == cc;
	if (image->kind == KC_IMAGE_PTX && !image->suffix)
		return image->sm <= cc;
	return image->sm / 10 == cc / 10 && image->sm <= cc;
}

static int is_better(const struct kc_image *image, const struct kc_image *best)
{
	if (!best || image->kind != best->kind)
		return !best || image->kind == KC_IMAGE_CUBIN;
	return image->sm != best->sm ? image->sm > best->sm : image->suffix && !best->suffix;
}

const struct kc_image *kc_images_choose(const struct kc_images *images, uint32_t fatbin, uint32_t cc_major,
					uint32_t cc_minor, unsigned kinds)
{
	const struct kc_image *best = NULL;

	for (uint32_t i = 0; i < images->count; i++) {
		const struct kc_image *image = &images->images[i];

		if (image->fatbin == fatbin && kinds >> image->kind & 1 && runs_on(image, cc_major * 10 + cc_minor) &&
		    is_better(image, best))
			best = image;
	}
	return best;
}

static int is_nearer(const struct kc_image *image, const struct kc_image *best, uint32_t cc)
{
	int is_below = image->sm <= cc;

	if (!best || is_below != (best->sm <= cc))
		return !best || is_below;
	if (image->sm == best->sm)
		return best->suffix && !image->suffix;
	return is_below ? image->sm > best->sm : image->sm < best->sm;
}

const struct kc_image *kc_images_choose_other(const struct kc_images *images, uint32_t fatbin, uint32_t cc_major,
					      uint32_t cc_minor)
{
	const struct kc_image *best = NULL;

	for (uint32_t i = 0; i < images->count; i++) {
		const struct kc_image *image = &images->images[i];

		if (image->fatbin == fatbin && image->kind == KC_IMAGE_PTX &&
		    is_nearer(image, best, cc_major * 10 + cc_minor))
			best = image;
	}
	return best;
}

/* --- images of which only the address is known. No byte after a NUL is read unless it is known to exist. */

struct wrapper { /* __fatBinC_Wrapper_t */
	uint32_t magic;
	uint32_t version; /* 2: `more` is a list of fatbins, ended by NULL */
	const void *fatbin;
	const void *const *more;
};
#define WRAPPER_LINKED 2u

static int has_magic(const void *image, uint32_t magic)
{
	struct kc_bytes header = {image, sizeof(magic), 0};

	return !memchr(image, '\0', sizeof(magic)) && kc__bytes_u32(&header, 0) == magic;
}

/* Length of an image, by its headers or including its closing NUL. 0: longer than limit_bytes, or unknown. */
static size_t image_length(const void *image, size_t limit_bytes)
{
	size_t length;

	if (!image || !limit_bytes)
		return 0;
	if (has_magic(image, KC_ELF_MAGIC))
		return kc__elf_length(image, limit_bytes);
	if (has_magic(image, KC_FATBIN_MAGIC))
		return kc__fatbin_length(image, limit_bytes);
	length = strnlen(image, limit_bytes);
	return length < limit_bytes ? length + 1 : 0;
}

int kc_image_is_cubin(const void *bytes, size_t length)
{
	Elf64_Ehdr header;

	if (length < sizeof(header))
		return 0;
	memcpy(&header, bytes, sizeof(header));
	return !memcmp(header.e_ident, ELFMAG, SELFMAG) && header.e_machine == KC_ELF_MACHINE_CUDA;
}

int kc_image_lacks_ptx(const void *bytes, size_t length)
{
	struct kc_bytes all = {bytes, length, 0};
	struct kc_fatbin_entry entry;
	struct kc_fatbin fatbin;
	int rc;

	if (!kc__fatbin_is(&all) || kc__fatbin_open(&fatbin, &all, NULL))
		return 0;
	while ((rc = kc__fatbin_next(&fatbin, &entry, NULL)) > 0)
		if (entry.kind == KC_FATBIN_KIND_PTX)
			return 0;
	return !rc;
}

uint32_t kc_image_pieces(const void *image, size_t limit_bytes, struct kc_image_piece *pieces, uint32_t max)
{
	const struct wrapper *wrapper = image;
	uint32_t count = 0;

	if (!image || !max)
		return 0;
	if (!has_magic(image, KC_FATBIN_WRAPPER_MAGIC)) {
		pieces[0] = (struct kc_image_piece){image, image_length(image, limit_bytes)};
		return 1;
	}
	pieces[count++] = (struct kc_image_piece){wrapper->fatbin, image_length(wrapper->fatbin, limit_bytes)};
	if (wrapper->version != WRAPPER_LINKED || !wrapper->more)
		return count;
	for (uint32_t i = 0; count < max && wrapper->more[i]; i++)
		pieces[count++] =
		    (struct kc_image_piece){wrapper->more[i], image_length(wrapper->more[i], limit_bytes)};
	return count;
}

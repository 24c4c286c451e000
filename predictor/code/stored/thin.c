#include "thin.h"

#include "predictor/code/container/fatbin.h"
#include "predictor/code/container/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ENTRIES_MAX 256u
#define CODE_SHARE 16u /* machine code for any device takes one part in so many of the memory */

/* The headers of a fatbin, and which of its entries are kept. */
struct thinning {
	const struct kc_thin_request *request;
	uint32_t header_bytes, count;
	struct kc_image images[ENTRIES_MAX]; /* without their bytes; .offset: of the entry */
	size_t entry_bytes[ENTRIES_MAX];     /* with its header */
	uint8_t kept[ENTRIES_MAX];
	size_t kept_bytes;
};

static int no_memory(const struct thinning *t, size_t needed, struct kc_refusal *refusal)
{
	kc__refuse(refusal, 0, "needs %zu bytes, but only %zu are allowed", needed, t->request->memory_bytes);
	return -ENOMEM;
}

static int out_of_memory(size_t bytes, struct kc_refusal *refusal)
{
	kc__refuse(refusal, 0, "there are no %zu bytes of memory", bytes);
	return -ENOMEM;
}

static int read_part(const struct kc_thin_request *request, uint64_t at, void *to, size_t length,
		     struct kc_refusal *refusal)
{
	int rc = request->read(request->arg, at, to, length);

	if (rc)
		kc__refuse(refusal, (size_t)at, "%zu bytes cannot be read from here on: error %d", length, -rc);
	return rc;
}

static int read_entries(struct thinning *t, struct kc_refusal *refusal)
{
	const struct kc_thin_request *request = t->request;
	char bytes[KC_FATBIN_ENTRY_BYTES];
	uint64_t at = t->header_bytes;
	int rc = 0;

	while (at < request->length && request->length - at >= sizeof(bytes)) {
		struct kc_fatbin_entry entry;
		uint64_t all;

		if (t->count == ENTRIES_MAX)
			return kc__refuse(refusal, (size_t)at, "more than %u entries", ENTRIES_MAX);
		rc = read_part(request, at, bytes, sizeof(bytes), refusal);
		if (rc)
			return rc;
		all = kc__fatbin_entry_head(bytes, (size_t)at, &entry);
		if (!all || all > request->length - at)
			return kc__refuse(refusal, (size_t)at, "entry of %llu bytes, but only %llu are left",
					  (unsigned long long)all, (unsigned long long)(request->length - at));
		t->images[t->count] = (struct kc_image){
		    .kind = entry.kind == KC_FATBIN_KIND_PTX ? KC_IMAGE_PTX : KC_IMAGE_CUBIN,
		    .suffix = entry.suffix,
		    .sm = entry.sm,
		    .fatbin = entry.kind == KC_FATBIN_KIND_PTX || entry.kind == KC_FATBIN_KIND_ELF ? 0 : 1,
		    .offset = (size_t)at,
		};
		t->entry_bytes[t->count++] = (size_t)all;
		at += all;
	}
	return 0;
}

static void keep(struct thinning *t, const struct kc_image *image)
{
	uint32_t index = image ? (uint32_t)(image - t->images) : 0;

	if (!image || t->kept[index])
		return;
	t->kept[index] = 1;
	t->kept_bytes += t->entry_bytes[index];
}

static int is_code(const struct kc_image *image)
{
	return image->kind == KC_IMAGE_CUBIN && !image->fatbin;
}

/* For any device. */
static void choose_all(struct thinning *t)
{
	size_t code_bytes = 0;

	for (uint32_t i = 0; i < t->count; i++) {
		if (t->images[i].kind == KC_IMAGE_PTX)
			keep(t, &t->images[i]);
		else if (is_code(&t->images[i]))
			code_bytes += t->entry_bytes[i];
	}
	for (uint32_t i = 0; t->kept_bytes && code_bytes <= t->request->memory_bytes / CODE_SHARE && i < t->count; i++)
		if (is_code(&t->images[i]))
			keep(t, &t->images[i]);
}

static void choose(struct thinning *t)
{
	const struct kc_thin_request *request = t->request;
	struct kc_images all = {.images = t->images, .count = t->count, .fatbin_count = 1};
	uint32_t major = request->cc_major, minor = request->cc_minor;
	const struct kc_image *ptx, *code;

	if (!major) {
		choose_all(t);
		return;
	}
	ptx = kc_images_choose(&all, 0, major, minor, 1u << KC_IMAGE_PTX);
	keep(t, ptx ? ptx : kc_images_choose_other(&all, 0, major, minor));
	code = !ptx && t->kept_bytes ? kc_images_choose(&all, 0, major, minor, 1u << KC_IMAGE_CUBIN) : NULL;
	if (code && t->kept_bytes + t->entry_bytes[code - t->images] <= request->memory_bytes / 2)
		keep(t, code);
}

static int copy_kept(const struct thinning *t, char *to, struct kc_refusal *refusal)
{
	const struct kc_thin_request *request = t->request;
	int rc = read_part(request, 0, to, t->header_bytes, refusal);

	kc__fatbin_set_length(to, t->kept_bytes);
	to += t->header_bytes;
	for (uint32_t i = 0; !rc && i < t->count; i++) {
		if (!t->kept[i])
			continue;
		rc = read_part(request, t->images[i].offset, to, t->entry_bytes[i], refusal);
		to += t->entry_bytes[i];
	}
	return rc;
}

static int read_whole(const struct kc_thin_request *request, void **bytes, size_t *length, struct kc_refusal *refusal)
{
	int rc;

	*bytes = malloc(request->length ? request->length : 1);
	*length = request->length;
	rc = *bytes ? read_part(request, 0, *bytes, request->length, refusal) : out_of_memory(request->length, refusal);
	if (rc) {
		free(*bytes);
		*bytes = NULL;
	}
	return rc;
}

static int thin(struct thinning *t, void **bytes, size_t *length, struct kc_refusal *refusal)
{
	int rc = read_entries(t, refusal);

	if (rc)
		return rc;
	choose(t);
	if (!t->kept_bytes)
		return -ENOENT;
	*length = t->header_bytes + t->kept_bytes;
	if (*length > t->request->memory_bytes)
		return no_memory(t, *length, refusal);
	*bytes = malloc(*length);
	rc = *bytes ? copy_kept(t, *bytes, refusal) : out_of_memory(*length, refusal);
	if (rc) {
		free(*bytes);
		*bytes = NULL;
	}
	return rc;
}

int kc_image_is_fatbin(const void *bytes, size_t length)
{
	struct kc_bytes head = {bytes, length, 0};

	return kc__fatbin_is(&head);
}

int kc_image_thin(const struct kc_thin_request *request, void **bytes, size_t *length, struct kc_refusal *refusal)
{
	char header[KC_FATBIN_HEADER_BYTES] = {0};
	struct kc_bytes head = {(const uint8_t *)header, sizeof(header), 0};
	struct thinning *t = calloc(1, sizeof(*t));
	int rc = t ? 0 : out_of_memory(sizeof(*t), refusal);

	*bytes = NULL;
	if (!rc && request->length >= sizeof(header))
		rc = read_part(request, 0, header, sizeof(header), refusal);
	if (!rc) {
		t->request = request;
		t->header_bytes = kc__fatbin_is(&head) ? kc__fatbin_header_bytes(header) : 0;
		if (t->header_bytes >= sizeof(header) && t->header_bytes <= request->length)
			rc = thin(t, bytes, length, refusal);
		else
			rc = request->length <= request->memory_bytes ? read_whole(request, bytes, length, refusal)
								      : no_memory(t, request->length, refusal);
	}
	free(t);
	return rc;
}

/* Reads any input as code, and every cubin and PTX text found in it. */
#include "predictor/code/container/image.h"
#include "predictor/code/machine/cubin.h"
#include "predictor/code/ptx/ptx_cut.h"
#include "thin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY_BYTES ((size_t)16 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void read_one(const struct kc_image *image)
{
	struct kc_refusal refusal;
	struct kc_ptx_module module;
	struct kc_cubin cubin;

	if (image->kind == KC_IMAGE_PTX && !kc_ptx_parse(&module, image->bytes, image->length, MEMORY_BYTES, &refusal))
		kc_ptx_free(&module);
	if (image->kind == KC_IMAGE_CUBIN &&
	    !kc_cubin_read(&cubin, image->bytes, image->length, MEMORY_BYTES, &refusal))
		kc_cubin_free(&cubin);
}

/* Part by part, an image is what it is as a whole. */
static void stream_one(const struct kc_image *image)
{
	struct kc_ptx_wanted wanted = {.name = "k"};
	struct kc_refusal refusal;
	struct kc_ptx_module module;
	struct kc_ptx_cut cut;

	kc_ptx_cut_begin(&cut, &wanted, 1, MEMORY_BYTES);
	if (!kc_image_stream(image, MEMORY_BYTES, kc_ptx_cut_feed, &cut, &refusal) && wanted.found && !wanted.no_room &&
	    !kc_ptx_cut_parse(&cut, &wanted, &module, MEMORY_BYTES, &refusal))
		kc_ptx_free(&module);
	kc_ptx_cut_free(&cut);
}

struct input {
	const uint8_t *bytes;
	size_t length;
};

static int read_input(void *arg, uint64_t at, void *to, size_t length)
{
	const struct input *input = arg;

	if (at > input->length || length > input->length - at)
		return -EIO;
	memcpy(to, input->bytes + at, length);
	return 0;
}

static void thin(struct input input)
{
	struct kc_thin_request request = {
	    .read = read_input, .arg = &input, .length = input.length, .cc_major = 9, .memory_bytes = MEMORY_BYTES};
	struct kc_refusal refusal;
	struct kc_images images;
	size_t length;
	void *bytes;

	if (kc_image_thin(&request, &bytes, &length, &refusal))
		return;
	if (!kc_images_list(&images, bytes, length, MEMORY_BYTES, &refusal))
		kc_images_free(&images);
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct kc_images images;
	struct kc_refusal refusal;

	thin((struct input){bytes, length});

	if (kc_images_list(&images, bytes, length, MEMORY_BYTES, &refusal))
		return 0;
	for (uint32_t i = 0; i < images.count; i++)
		stream_one(&images.images[i]);
	for (uint32_t i = 0; i < images.count; i++)
		if (!kc_image_unpack(&images.images[i], &images.arena, &refusal))
			read_one(&images.images[i]);
	for (uint32_t fatbin = 0; fatbin < images.fatbin_count && fatbin < 64; fatbin++)
		kc_images_choose(&images, fatbin, 9, 0, 1u << KC_IMAGE_PTX | 1u << KC_IMAGE_CUBIN);
	kc_images_free(&images);
	return 0;
}

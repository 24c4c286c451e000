/* Reads any input as code, and every cubin and PTX text found in it. */
#include "cubin.h"
#include "image.h"
#include "predictor/code/ptx/ptx.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct kc_images images;
	struct kc_refusal refusal;

	if (kc_images_list(&images, bytes, length, MEMORY_BYTES, &refusal))
		return 0;
	for (uint32_t i = 0; i < images.count; i++)
		if (!kc_image_unpack(&images, i, &refusal))
			read_one(&images.images[i]);
	for (uint32_t fatbin = 0; fatbin < images.fatbin_count && fatbin < 64; fatbin++)
		kc_images_choose(&images, fatbin, 9, 0, 1u << KC_IMAGE_PTX | 1u << KC_IMAGE_CUBIN);
	kc_images_free(&images);
	return 0;
}

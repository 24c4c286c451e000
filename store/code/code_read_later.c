#include "code_read_later.h"
#include "store/database/trust.h"

#include "predictor/code/container/image.h"
#include "predictor/code/stored/packed_text.h"
#include "predictor/code/stored/thin.h"
#include "predictor/code/cost.h"
#include "predictor/code/features/features.h"
#include "predictor/code/ptx/ptx_cut.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Limits on the memory that a file can make a command use. */
#define PIECE_BYTES ((size_t)64 << 20)     /* of what is read of a file at once */
#define LIST_BYTES ((size_t)64 << 20)      /* of what lists what is in it, and unpacks it */
#define TEXTS_BYTES ((size_t)64 << 20)     /* of the kernels' PTX that is read in one pass */
#define UNPACKED_BYTES ((size_t)256 << 20) /* of PTX, which is not in memory as a whole */
#define READING_BYTES ((size_t)64 << 20)   /* of one kernel, while it is read */
#define FORMULA_BYTES ((size_t)1 << 20)    /* as in the library, so that the next run does not know less */
#define TEXT_BYTES 4096u
#define KERNELS_MAX 256u /* read in one pass over the text */

struct reading {
	struct kc_later_module *module;
	const struct kc_store_bound *bound;
	const struct kc_image *image; /* of which kernels are read */
	bool other_architecture;
	const struct kc_image *code; /* the device's, if it is to be compared; NULL: there is none */
	struct kc_ptx_cut cut;
	struct kc_refusal refusal;
	size_t unpacked_bytes;
	bool saw_code, lacks_memory, is_cubin, is_late;
	uint32_t done;
};

static void settle(struct kc_later_kernel *kernel, enum kc_code_state state, uint32_t sm, const char *text)
{
	kernel->code.state = (uint16_t)state;
	kernel->code.sm = (uint16_t)sm;
	free(kernel->text);
	kernel->text = text ? strdup(text) : NULL;
}

static void refuse(struct kc_later_kernel *kernel, size_t offset, const char *reason)
{
	char text[sizeof(((struct kc_refusal *)NULL)->reason) + 32];

	snprintf(text, sizeof(text), "offset %zu: %s", offset, reason);
	settle(kernel, KC_CODE_REFUSED, 0, text);
}

/* One kernel at least is read, so that each command comes further. */
static bool look_at_clock(struct reading *reading)
{
	reading->is_late = reading->is_late || (reading->done && kc_database_is_late(reading->bound));
	return reading->is_late;
}

static int feed(void *arg, const char *text, size_t length)
{
	struct reading *reading = arg;

	reading->unpacked_bytes += length;
	if (reading->unpacked_bytes > UNPACKED_BYTES)
		return -ENOMEM;
	return look_at_clock(reading) ? -ETIME : kc_ptx_cut_feed(&reading->cut, text, length);
}

static void pack(struct reading *reading, struct kc_later_kernel *kernel)
{
	size_t length;
	const char *text = kc_ptx_cut_text(&reading->cut, &length);
	void *packed = malloc(KC_PACKED_TEXT_BYTES);
	size_t packed_bytes = packed ? kc_text_pack(text, length, packed, KC_PACKED_TEXT_BYTES) : 0;

	if (!packed_bytes) {
		free(packed);
		return;
	}
	kernel->packed = packed;
	kernel->ptx = (struct kc_kernel_text_entry){
	    .architecture = reading->module->cc_major * 10 + reading->module->cc_minor,
	    .bytes = (uint32_t)length,
	    .packed_bytes = (uint32_t)packed_bytes,
	};
}

/* code: what the device's shows of it. */
static void read_cost(struct reading *reading, struct kc_later_kernel *kernel, const struct kc_ptx_wanted *wanted,
		      const struct kc_features *code, const struct kc_ptx_module *module)
{
	const struct kc_ptx_function *function = kc_ptx_find(module, kernel->name);
	struct kc_refusal refusal = {0};
	const char *differs = NULL;
	char text[TEXT_BYTES];
	struct kc_cost *cost;
	int rc;

	if (!function || !function->is_entry)
		return;
	if (reading->other_architecture)
		differs = kc_features_differ(module, function, code, kernel->static_shared_bytes);
	if (differs) {
		refuse(kernel, wanted->offset, differs);
		return;
	}
	rc = kc_cost_read_within(&cost, module, function, FORMULA_BYTES, READING_BYTES, &refusal);
	if (rc == -ENOMEM) {
		settle(kernel, KC_CODE_TOO_LARGE, 0, NULL);
	} else if (rc) {
		refuse(kernel, kc_ptx_cut_offset(&reading->cut, wanted, refusal.offset), refusal.reason);
	} else {
		kc_cost_write(cost, text, sizeof(text));
		settle(kernel, KC_CODE_READ, reading->other_architecture ? reading->image->sm : 0, text);
		pack(reading, kernel);
		kc_cost_free(cost);
	}
}

static void read_kernel(struct reading *reading, struct kc_later_kernel *kernel, const struct kc_ptx_wanted *wanted,
			const struct kc_features *code)
{
	struct kc_refusal refusal = {0};
	struct kc_ptx_module module;
	int rc;

	if (!wanted->found)
		return;
	reading->done++;
	rc = wanted->no_room ? -ENOMEM : kc_ptx_cut_parse(&reading->cut, wanted, &module, READING_BYTES, &refusal);
	if (rc == -ENOMEM) {
		settle(kernel, KC_CODE_TOO_LARGE, 0, NULL);
	} else if (rc) {
		refuse(kernel, refusal.offset, refusal.reason);
	} else {
		read_cost(reading, kernel, wanted, code, &module);
		kc_ptx_free(&module);
	}
}

/* Up to KERNELS_MAX kernels that wait, from *next on. */
static void read_some(struct reading *reading, uint32_t *next)
{
	struct kc_later_kernel *kernels[KERNELS_MAX];
	struct kc_ptx_wanted wanted[KERNELS_MAX];
	struct kc_features_wanted features[KERNELS_MAX];
	uint32_t count = 0;
	int rc;

	for (; *next < reading->module->count && count < KERNELS_MAX; (*next)++) {
		struct kc_later_kernel *kernel = &reading->module->kernels[*next];

		if (kernel->code.state != KC_CODE_WAITS)
			continue;
		wanted[count] = (struct kc_ptx_wanted){.name = kernel->name};
		features[count] = (struct kc_features_wanted){.name = kernel->name};
		kernels[count++] = kernel;
	}
	if (!count)
		return;
	reading->unpacked_bytes = 0;
	kc_ptx_cut_begin(&reading->cut, wanted, count, TEXTS_BYTES);
	rc = kc_image_stream(reading->image, LIST_BYTES, feed, reading, &reading->refusal);
	reading->lacks_memory |= rc == -ENOMEM;
	if (!rc && reading->code) /* where it cannot be read, nothing is known of it */
		kc_features_of_image(reading->code, features, count, LIST_BYTES, NULL);
	for (uint32_t i = 0; !rc && i < count && !look_at_clock(reading); i++)
		read_kernel(reading, kernels[i], &wanted[i], &features[i].features);
	kc_ptx_cut_free(&reading->cut);
}

static void read_images(struct reading *reading, const void *bytes, size_t length)
{
	uint32_t major = reading->module->cc_major, minor = reading->module->cc_minor;
	struct kc_images images;

	if (kc_images_list(&images, bytes, length, LIST_BYTES, &reading->refusal))
		return;
	reading->saw_code = true;
	for (uint32_t fatbin = 0; fatbin < images.fatbin_count && !reading->is_late; fatbin++) {
		uint32_t next = 0;

		reading->image = kc_images_choose(&images, fatbin, major, minor, 1u << KC_IMAGE_PTX);
		reading->other_architecture = !reading->image;
		reading->code = NULL;
		if (!reading->image) {
			reading->image = kc_images_choose_other(&images, fatbin, major, minor);
			reading->code = kc_images_choose(&images, fatbin, major, minor, 1u << KC_IMAGE_CUBIN);
		}
		while (reading->image && next < reading->module->count && !reading->is_late)
			read_some(reading, &next);
	}
	kc_images_free(&images);
}

static void read_piece(struct reading *reading, struct kc_code_file *piece)
{
	struct kc_thin_request request = {
	    .read = kc_code_file_read,
	    .arg = piece,
	    .length = piece->length,
	    .cc_major = reading->module->cc_major,
	    .cc_minor = reading->module->cc_minor,
	    .memory_bytes = PIECE_BYTES,
	};
	size_t length;
	void *bytes;
	int rc = kc_image_thin(&request, &bytes, &length, &reading->refusal);

	reading->saw_code |= rc == -ENOENT;
	reading->lacks_memory |= rc == -ENOMEM;
	if (rc)
		return;
	reading->is_cubin = kc_image_is_cubin(bytes, length);
	read_images(reading, bytes, length);
	free(bytes);
}

/* The module has no PTX of these. */
static void give_up(struct reading *reading)
{
	for (uint32_t i = 0; i < reading->module->count; i++) {
		struct kc_later_kernel *kernel = &reading->module->kernels[i];

		if (kernel->code.state != KC_CODE_WAITS)
			continue;
		if (reading->lacks_memory || (!reading->saw_code && !reading->refusal.reason[0]))
			settle(kernel, KC_CODE_TOO_LARGE, 0, NULL);
		else if (reading->refusal.reason[0])
			refuse(kernel, reading->refusal.offset, reading->refusal.reason);
		else
			settle(kernel, KC_CODE_NO_PTX, 0, reading->is_cubin ? KC_CODE_CUBIN_ALONE : NULL);
	}
}

int kc_code_read_later(struct kc_later_module *module, struct kc_code_file *pieces, uint32_t piece_count,
		       const struct kc_store_bound *bound)
{
	struct reading reading = {.module = module, .bound = bound};

	for (uint32_t i = 0; i < piece_count && !reading.is_late; i++)
		read_piece(&reading, &pieces[i]);
	if (reading.is_late)
		return -ETIME;
	give_up(&reading);
	return 0;
}

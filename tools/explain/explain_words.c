/* Words that the text and the JSON form share. */
#include "explain.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void kc_explain_architectures(const struct kc_images *images, char *out, size_t size)
{
	uint32_t last = 0;
	size_t used = 0;

	out[0] = '\0';
	for (;;) { /* the lowest above the previous one */
		uint32_t least = UINT32_MAX;

		for (uint32_t i = 0; i < images->count; i++) {
			uint32_t key = images->images[i].sm * 2 + (images->images[i].kind == KC_IMAGE_PTX) + 1;

			if (key > last && key < least)
				least = key;
		}
		if (least == UINT32_MAX || used >= size)
			return;
		used += (size_t)snprintf(out + used, size - used, "%s%s%u", used ? ", " : "",
					 (least - 1) % 2 ? "compute_" : "sm_", (least - 1) / 2);
		last = least;
	}
}

int kc_explain_refusal(const struct kc_explained *kernel, char out[static KC_EXPLAIN_WHY_BYTES])
{
	if (!kernel->entry->has_ptx)
		snprintf(out, KC_EXPLAIN_WHY_BYTES,
			 "the file has only machine code of this kernel, no PTX; it can be predicted from measurements "
			 "alone");
	else if (!kernel->cost)
		snprintf(out, KC_EXPLAIN_WHY_BYTES, "at byte %zu of the PTX: %s", kernel->refusal.offset,
			 kernel->refusal.reason);
	else if (kernel->counted < 0)
		snprintf(out, KC_EXPLAIN_WHY_BYTES, "%s",
			 kernel->counted == -EAGAIN ? "a launch of this size takes too long to count"
						    : strerror(-kernel->counted));
	else if (kernel->timed < 0)
		snprintf(out, KC_EXPLAIN_WHY_BYTES, "%s", kernel->untimed);
	else
		return 0;
	return 1;
}

static void note_unit(const struct kc_explanation *explanation, uint32_t i, char out[static KC_EXPLAIN_WHY_BYTES])
{
	const struct kc_explain_unit *unit = &explanation->units[i];
	int used = 0;

	if (unit->foreign && (unit->ptx_function_count || unit->code.kernel_count))
		used =
		    snprintf(out, KC_EXPLAIN_WHY_BYTES,
			     "fatbin %u has no code for compute capability %u.%u; its lowest architecture is shown. ",
			     i, explanation->sm / 10, explanation->sm % 10);
	if (unit->refusal.reason[0])
		snprintf(out + used, KC_EXPLAIN_WHY_BYTES - (size_t)used,
			 "fatbin %u cannot be read, at byte %zu of its code: %s", i, unit->refusal.offset,
			 unit->refusal.reason);
}

int kc_explain_note(const struct kc_explanation *explanation, uint32_t i, char out[static KC_EXPLAIN_WHY_BYTES])
{
	const struct kc_images *images = &explanation->images;

	out[0] = '\0';
	if (i < images->fatbin_count) {
		note_unit(explanation, i, out);
		return 1;
	}
	if (i > images->fatbin_count)
		return 0;
	if (images->skipped_count)
		snprintf(out, KC_EXPLAIN_WHY_BYTES, "%u pieces of code were skipped; the first, at byte %zu: %s",
			 images->skipped_count, images->skipped.offset, images->skipped.reason);
	return 1;
}

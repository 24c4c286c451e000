#include "kept_text.h"
#include "shim/tables/recall.h"

#include "predictor/code/stored/packed_text.h"
#include "store/past/past.h"

#include <stdlib.h>
#include <string.h>

void kc__text_keep(const struct kc__kernel *kernel, const struct kc_ptx_cut *cut)
{
	const struct kc_device *device = &kernel->device->info;
	struct kc_kernel_text_entry entry = {.kernel = kernel->id,
					     .architecture = device->cc_major * 10 + device->cc_minor};
	size_t length;
	const char *text = kc_ptx_cut_text(cut, &length);
	char *payload;

	if (length > KC_TEXT_BYTES || kc__recalled_text(kernel))
		return;
	payload = malloc(sizeof(entry) + KC_PACKED_TEXT_BYTES);
	if (!payload)
		return;
	entry.bytes = (uint32_t)length;
	entry.packed_bytes = (uint32_t)kc_text_pack(text, length, payload + sizeof(entry), KC_PACKED_TEXT_BYTES);
	memcpy(payload, &entry, sizeof(entry));
	if (entry.packed_bytes)
		kc_journal_put(kc__shim.journal, KC_KIND_KERNEL_TEXT, payload, sizeof(entry) + entry.packed_bytes);
	free(payload);
}

char *kc__text_kept(const struct kc__kernel *kernel, size_t *length)
{
	const struct kc_past_text *text = kc__recalled_text(kernel);

	if (!text)
		return NULL;
	*length = text->bytes;
	return kc_text_unpack(text->packed, text->packed_bytes, text->bytes);
}

bool kc__same_layout(const struct kc__kernel *kernel, const struct kc_ptx_function *function)
{
	const struct kc__parameters *own = &kernel->parameters;

	if (!own->known || own->count != function->param_count)
		return false;
	for (uint32_t i = 0; i < own->count; i++)
		if (own->at[i].offset_bytes != function->params[i].offset_bytes ||
		    own->at[i].bytes != function->params[i].bytes)
			return false;
	return true;
}

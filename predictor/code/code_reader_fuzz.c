/* Reads what kernels there are in a part of a module, as the library does. */
#include "code_reader.h"

#define MEMORY_BYTES ((size_t)8 << 20)
#define KERNELS_MAX 8u

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static const struct kc_code_limits limits = {
	    .text_bytes = MEMORY_BYTES, .cut_bytes = (size_t)1 << 20, .formula_bytes = (size_t)1 << 20};
	static struct kc_code_reader reader;
	struct kc_code_lack lack = {0};
	struct kc_code_read read;
	struct kc_refusal refusal;

	reader = (struct kc_code_reader){.limits = &limits, .cc_major = 9};
	if (kc_code_open(&reader, &(const struct kc_code_part){.bytes = bytes, .length = length}, MEMORY_BYTES, &lack))
		return kc_code_lacks(&lack) == 0;
	for (uint32_t i, n = 0; n < KERNELS_MAX && (i = kc_code_shortest(&reader)) < reader.count; n++) {
		if (kc_code_read(&reader, i, 0, MEMORY_BYTES, &read, &refusal) == 0)
			kc_code_read_free(&read);
		kc_code_drop(&reader, i, false);
	}
	kc_code_close(&reader);
	return 0;
}

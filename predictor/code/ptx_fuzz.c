#include "ptx.h"

#define MEMORY_BYTES ((size_t)16 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct kc_ptx_module module;
	struct kc_refusal refusal;

	if (kc_ptx_parse(&module, (const char *)bytes, length, MEMORY_BYTES, &refusal))
		return 0;
	kc_ptx_free(&module);
	return 0;
}

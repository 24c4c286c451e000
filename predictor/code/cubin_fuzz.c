#include "cubin.h"

#include <string.h>

#define MEMORY_BYTES ((size_t)16 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* Everything that was read is looked at: names, and parameters' last bytes. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct kc_cubin cubin;
	struct kc_refusal refusal;
	volatile size_t seen = 0;

	if (kc_cubin_read(&cubin, bytes, length, MEMORY_BYTES, &refusal))
		return 0;
	for (uint32_t i = 0; i < cubin.kernel_count; i++) {
		const struct kc_cubin_kernel *kernel = &cubin.kernels[i];

		seen += strlen(kernel->name);
		for (uint32_t p = 0; p < kernel->param_count; p++)
			seen += kernel->params[p].bytes;
	}
	kc_cubin_find(&cubin, "saxpy");
	kc_cubin_free(&cubin);
	return 0;
}

#include "cubin.h"

#include <stdlib.h>
#include <string.h>

#define MEMORY_BYTES ((size_t)16 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* Nothing that is read can be larger than the input. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct kc_cubin cubin;
	struct kc_refusal refusal;

	if (kc_cubin_read(&cubin, bytes, length, MEMORY_BYTES, &refusal))
		return 0;
	for (uint32_t i = 0; i < cubin.kernel_count; i++) {
		const struct kc_cubin_kernel *kernel = &cubin.kernels[i];

		if (strlen(kernel->name) > length || kernel->param_count > length || kernel->code_bytes > length ||
		    kernel->sass.instructions > length || kernel->sass.wide_loads > kernel->sass.instructions ||
		    kernel->barriers > UINT8_MAX)
			abort();
		if (kernel->param_count && kernel->params[kernel->param_count - 1].offset_bytes > UINT16_MAX)
			abort();
	}
	kc_cubin_free(&cubin);
	return 0;
}

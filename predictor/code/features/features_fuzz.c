/* Looks for kernels in a cubin part by part; compares what a kernel that it reads as a whole shows with any PTX. */
#include "features.h"

#include <stdlib.h>
#include <string.h>

#define MEMORY_BYTES ((size_t)16 << 20)
#define KERNELS_MAX 16u

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
			  ".visible .entry k()\n{\n.reg .b32 %r<5>;\n.reg .b64 %rd<2>;\n.shared .b8 s[64];\n"
			  "bar.sync 0;\nld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1];\nret;\n}\n";

static void compare(const struct kc_features *features, uint64_t static_shared_bytes)
{
	static struct kc_ptx_module module;

	if (!module.function_count && kc_ptx_parse(&module, ptx, sizeof(ptx) - 1, MEMORY_BYTES, NULL))
		abort();
	kc_features_differ(&module, &module.functions[0], features, static_shared_bytes);
}

/* An instruction has 16 bytes. */
static void check(const struct kc_features *features, size_t length)
{
	if (features->tensor > length / 16 || features->wide_loads > length / 16 ||
	    features->wide_shared_loads > length / 16 || features->barriers > UINT8_MAX)
		abort();
	if (!features->known && (features->tensor || features->wide_loads || features->calls_away))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct kc_image image = {.kind = KC_IMAGE_CUBIN, .bytes = (const char *)bytes, .length = length};
	struct kc_features_wanted wanted[KERNELS_MAX] = {{.name = ""}};
	struct kc_cubin cubin;
	struct kc_refusal refusal;
	uint32_t count = 1;

	if (kc_cubin_read(&cubin, bytes, length, MEMORY_BYTES, &refusal))
		cubin = (struct kc_cubin){0};
	for (uint32_t i = 0; i < cubin.kernel_count && count < KERNELS_MAX; i++) {
		struct kc_features features = kc_features_of_code(&cubin.kernels[i]);

		check(&features, length);
		compare(&features, cubin.kernels[i].static_shared_bytes);
		wanted[count++].name = cubin.kernels[i].name;
	}
	kc_features_of_image(&image, wanted, count, MEMORY_BYTES, &refusal);
	for (uint32_t i = 0; i < count; i++) {
		check(&wanted[i].features, length);
		compare(&wanted[i].features, 0);
	}
	kc_cubin_free(&cubin);
	return 0;
}

#include "operator_limit.h"

#include "predictor/device/throughput.h"
#include "predictor/solo/resources/resources.h"

#include <math.h>
#include <string.h>
#include <strings.h>

static int has_any(const char *name, const char *const *words)
{
	for (; *words; words++)
		if (strcasestr(name, *words))
			return 1;
	return 0;
}

enum kc_operator_units kc_operator_units(const char *type, const char *kernel)
{
	static const char *const fewer[] = {"winograd", "fft", NULL};
	/* Shapes of instructions (mma.m16n8k16: "16816"), and the libraries' kernels that are made of these alone. */
	static const char *const tensor[] = {"tensorop",   "16816",     "s1688",        "h1688",     "884gemm",
					     "884cudnn",   "xmma",      "gmma",         "hmma",      "nvjet_",
					     "flash_fwd",  "flash_bwd", "fmha_cutlass", "sdpa_sm80", "sdpa_sm90",
					     "sdpa_sm100", NULL};
	static const char *const tf32[] = {"tf32", "tensorop_s1688", NULL};
	static const char *const single[] = {"sgemm", "scudnn", NULL};

	if (has_any(kernel, fewer))
		return KC_UNITS_UNKNOWN;
	if (!strcmp(type, "c10::Half") || !strcmp(type, "c10::BFloat16"))
		return has_any(kernel, tensor) ? KC_UNITS_TENSOR : KC_UNITS_UNKNOWN;
	if (strcmp(type, "float") != 0)
		return KC_UNITS_UNKNOWN;
	if (has_any(kernel, tf32))
		return KC_UNITS_TF32;
	return has_any(kernel, single) && !has_any(kernel, tensor) ? KC_UNITS_FP32 : KC_UNITS_UNKNOWN;
}

/* GeForce boards of other capabilities add up in 32 bits at half the rate of those for data centers, and T4 and RTX
 * differ likewise (white papers of Turing, GA102 and AD102). */
static int is_one_rate(const struct kc_device *device)
{
	return device->cc_minor == 0 &&
	       (device->cc_major == 7 || device->cc_major == 8 || device->cc_major == 9 || device->cc_major == 10);
}

/* Multiply-adds per cycle and SM; 0: not known. TF32 has half of what 16 bits have (white papers of A100 and H100). */
static double rate_of(const struct kc_device *device, enum kc_operator_units units)
{
	const struct kc_throughput *row = kc_throughput(device->cc_major, device->cc_minor);

	switch (units) {
	case KC_UNITS_FP32:
		return device->cc_major ? row->fp32 : 0;
	case KC_UNITS_TENSOR:
		return is_one_rate(device) ? row->tensor : 0;
	case KC_UNITS_TF32:
		return is_one_rate(device) && device->cc_major >= 8 ? row->tensor / 2 : 0;
	case KC_UNITS_UNKNOWN:
		break;
	}
	return 0;
}

static double memory_ns(const struct kc_device *device, double bytes)
{
	double held = 2 * (double)device->l2_bytes;

	if (!device->l2_bytes || !device->memory_bytes_per_s || !(bytes > held))
		return 0;
	return (bytes - held) / (double)device->memory_bytes_per_s * 1e9;
}

double kc_operator_limit_ns(const struct kc_device *device, enum kc_operator_units units, double flop, double bytes,
			    uint32_t *resource)
{
	double cycles = (double)device->sm_count * device->clock_khz / 1e6 * 2 * rate_of(device, units);
	double units_ns = flop / cycles, dram_ns = memory_ns(device, bytes);

	*resource = units == KC_UNITS_FP32 ? KC_RESOURCE_FP32 : KC_RESOURCE_TENSOR;
	if (!(cycles > 0) || !isfinite(units_ns))
		return NAN;
	if (dram_ns > units_ns)
		*resource = KC_RESOURCE_DRAM;
	return fmax(units_ns, dram_ns);
}

#include "throughput.h"

#include <math.h>

/* Compute capabilities 3.x to 5.2 execute 16-bit arithmetic as 32-bit. Consumer chips of 3.5 have 8 lanes for 64 bits,
 * which the capability does not tell. Tensor cores are not in the guide; white papers: Volta 8 cores of 64
 * multiply-adds, A100 4 of 256, H100 4 of 512.
 *
 * The way to memory: load and store units, passes of shared memory and bytes of L1 by the white papers (Turing has half
 * of Volta's, the Ampere of 8.6 the same bytes with half of the units). L2 per SM: V100 2,048 and A100 5,120 bytes per
 * cycle by the A100 white paper; P100 1,624 and T4 1,270 GB/s as Jia et al., "Dissecting the NVidia Turing T4 GPU via
 * Microbenchmarking" (2019), measured. What neither tells is that of the nearest: Kepler's to Pascal's L1, L2 before
 * P100, and L2 of 9.0 and later. Of 8.6 it is between T4 and A100: 20 to 64 bytes serve alike
 * (solo/resources/resources_trace_test.c). */
static const struct kc_throughput rows[] = {
    /* cc      16   32   64  special int convert tensor; units, passes, L1, L2 */
    {3, 0, 192, 192, 8, 32, 160, 32, 0, 32, 1, 128, 32},     {3, 5, 192, 192, 64, 32, 160, 32, 0, 32, 1, 128, 32},
    {5, 0, 128, 128, 4, 32, 128, 32, 0, 32, 1, 64, 22},      {5, 3, 256, 128, 4, 32, 128, 32, 0, 32, 1, 64, 22},
    {6, 0, 128, 64, 32, 16, 64, 16, 0, 16, 1, 64, 22},       {6, 1, 2, 128, 4, 32, 128, 32, 0, 32, 1, 64, 22},
    {6, 2, 256, 128, 4, 32, 128, 32, 0, 32, 1, 64, 22},      {7, 0, 128, 64, 32, 16, 64, 16, 512, 32, 1, 128, 25.6},
    {7, 5, 128, 64, 2, 16, 64, 16, 512, 16, 0.5, 64, 20},    {8, 0, 256, 64, 32, 16, 64, 16, 1024, 32, 1, 128, 47},
    {8, 6, 128, 128, 2, 16, 64, 16, 512, 16, 1, 128, 32},    {9, 0, 256, 128, 64, 16, 64, 16, 2048, 32, 1, 128, 47},
    {10, 0, 256, 128, 64, 16, 64, 16, 4096, 32, 1, 128, 47}, {12, 0, 128, 128, 2, 16, 64, 16, 512, 16, 1, 128, 32},
};

const struct kc_throughput *kc_throughput(uint32_t cc_major, uint32_t cc_minor)
{
	const struct kc_throughput *found = &rows[0];

	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].cc_major < cc_major || (rows[i].cc_major == cc_major && rows[i].cc_minor <= cc_minor))
			found = &rows[i];
	}
	return found;
}

/* One thread's instructions by the kind of unit that executes them. */
enum unit { UNIT_FP16, UNIT_FP32, UNIT_FP64, UNIT_SPECIAL, UNIT_INTEGER, UNIT_CONVERT, UNIT_TENSOR, UNITS };

static void units_cycles(const struct kc_throughput *row, const struct kc_counts *counts, double cycles[UNITS])
{
	const double *n = counts->of;
	double floating = n[KC_COUNT_OF_FMA] + n[KC_COUNT_OF_ADD] + n[KC_COUNT_OF_MUL];
	double wide = n[KC_COUNT_OF_DOUBLE], narrow = n[KC_COUNT_OF_HALF];
	double divisions = n[KC_COUNT_OF_DIVMOD] * KC_THROUGHPUT_DIVISION_INSTRUCTIONS;

	cycles[UNIT_FP16] = narrow / row->fp16;
	cycles[UNIT_FP32] = fmax(floating - wide - narrow, 0) / row->fp32;
	cycles[UNIT_FP64] = wide / row->fp64;
	cycles[UNIT_SPECIAL] = n[KC_COUNT_OF_SPECIAL] / row->special;
	cycles[UNIT_INTEGER] = (n[KC_COUNT_OF_INT] + divisions + n[KC_COUNT_OF_CONTROL]) / row->integer;
	cycles[UNIT_CONVERT] = n[KC_COUNT_OF_CONVERT] / row->convert;
	cycles[UNIT_TENSOR] = n[KC_COUNT_OF_TENSOR] / (row->tensor > 0 ? row->tensor : row->fp32);
}

double kc_throughput_cycles(const struct kc_device *device, const struct kc_counts *counts)
{
	double cycles[UNITS], sum = 0;

	units_cycles(kc_throughput(device->cc_major, device->cc_minor), counts, cycles);
	for (int i = 0; i < UNITS; i++)
		sum += cycles[i];
	return sum * device->cores_per_sm;
}

double kc_throughput_bound(const struct kc_device *device, const struct kc_counts *counts)
{
	double cycles[UNITS], longest = 0;

	units_cycles(kc_throughput(device->cc_major, device->cc_minor), counts, cycles);
	for (int i = 0; i < UNITS; i++)
		longest = fmax(longest, cycles[i]);
	return longest;
}

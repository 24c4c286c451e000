#include "throughput.h"

#include <math.h>

/* Compute capabilities 3.x to 5.2 execute 16-bit arithmetic as 32-bit. Consumer chips of 3.5 have 8 lanes for 64 bits,
 * which the capability does not tell. Tensor cores are not in the guide; white papers: Volta 8 cores of 64
 * multiply-adds, A100 4 of 256, H100 4 of 512. */
static const struct kc_throughput rows[] = {
    /* cc     16   32   64  special int convert tensor */
    {3, 0, 192, 192, 8, 32, 160, 32, 0},     {3, 5, 192, 192, 64, 32, 160, 32, 0},
    {5, 0, 128, 128, 4, 32, 128, 32, 0},     {5, 3, 256, 128, 4, 32, 128, 32, 0},
    {6, 0, 128, 64, 32, 16, 64, 16, 0},      {6, 1, 2, 128, 4, 32, 128, 32, 0},
    {6, 2, 256, 128, 4, 32, 128, 32, 0},     {7, 0, 128, 64, 32, 16, 64, 16, 512},
    {7, 5, 128, 64, 2, 16, 64, 16, 512},     {8, 0, 256, 64, 32, 16, 64, 16, 1024},
    {8, 6, 128, 128, 2, 16, 64, 16, 512},    {9, 0, 256, 128, 64, 16, 64, 16, 2048},
    {10, 0, 256, 128, 64, 16, 64, 16, 4096}, {12, 0, 128, 128, 2, 16, 64, 16, 512},
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

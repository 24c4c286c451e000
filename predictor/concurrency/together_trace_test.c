/*
 * Two kernels on two streams of a V100, measured by others: what is said of them beforehand.
 *
 * Microbenchmarks (wangpeiwen/gpu-util-interference): kernels that share SMs. Their
 * demand is that of the artefact's source, in instructions per thread; what the GPU
 * delivers, that of the data sheets. Which V100 it was is not told. Two kernels that
 * multiply numbers of 64 bits in three and four independent chains kept the FP64 units
 * busy at 1,387 MHz, which is no clock that a SXM2 module (1,530 MHz) runs at when it
 * does nothing else, but nearly a PCIe board's (1,370 MHz): that board's figures are
 * limited, the other's printed.
 *
 * HFuse (aoli-al/HFuse): 32 pairs of nine kernels of PyTorch and of miners, whose grids
 * are many times what the GPU holds at once, so that only the first one's tail overlaps.
 * The constants of kc_tail_ns() were chosen on them. A kernel's time is that of the same
 * run: that of the second one begins with its first block.
 */
#include "together.h"

#include "predictor/math/median.h"
#include "cuda_tests/traces/recorded_csv.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Unlike assert_float_equal(), in double precision, and what is not known is near nothing. */
#define assert_near(got, wanted, by) assert_true(fabs((got) - (wanted)) <= (by))

enum { PAIRS_MAX = 64 };

/* --- reading */

/* kernel: 'a' or 'b', whose column it is; 0: of both. */
static const char *text(const struct kc_recorded_csv *csv, char kernel, const char *column)
{
	char name[64];

	snprintf(name, sizeof(name), "%.1s%s%s", &kernel, kernel ? "_" : "", column);
	return kc_csv_text(csv, name);
}

static double number(const struct kc_recorded_csv *csv, char kernel, const char *column)
{
	return strtod(text(csv, kernel, column), NULL);
}

struct kernel {
	struct kc_work work;
	struct kc_counts counts;
	double footprint_bytes, solo_ns;
};

struct pair {
	char what[64];
	struct kernel kernels[2];
	double serial_ns, together_ns; /* measured */
};

/* --- microbenchmarks */

#define MS 1e6
#define US 1e3

static void read_counts(const struct kc_recorded_csv *csv, char which, struct kc_counts *counts)
{
	double *n = counts->of, words;

	n[KC_COUNT_OF_DOUBLE] = number(csv, which, "fp64");
	n[KC_COUNT_OF_MUL] = number(csv, which, "fp32") + n[KC_COUNT_OF_DOUBLE];
	n[KC_COUNT_OF_INT] = number(csv, which, "integer");
	n[KC_COUNT_OF_CONTROL] = number(csv, which, "control");
	n[KC_COUNT_OF_LD_GLOBAL] = number(csv, which, "ld_global");
	n[KC_COUNT_OF_ST_GLOBAL] = number(csv, which, "st_global");
	n[KC_COUNT_OF_BYTES_LOADED] = 4 * n[KC_COUNT_OF_LD_GLOBAL];
	n[KC_COUNT_OF_BYTES_STORED] = 4 * n[KC_COUNT_OF_ST_GLOBAL];
	words = n[KC_COUNT_OF_LD_GLOBAL] + n[KC_COUNT_OF_ST_GLOBAL];
	n[KC_COUNT_OF_REQUESTS] = words / 32;
	n[KC_COUNT_OF_SECTORS] = words / 8;
	counts->exact = 1;
}

static void read_kernel(const struct kc_recorded_csv *csv, const struct kc_device *device, char which,
			struct kernel *kernel)
{
	const struct kc_resources resources = {.registers = 32};
	const struct kc_shape shape = {.grid = {(uint32_t)number(csv, which, "blocks"), 1, 1},
				       .block = {(uint32_t)number(csv, which, "threads"), 1, 1}};

	assert_int_equal(kc_work_init(&kernel->work, device, &resources, &shape, 0), 0);
	read_counts(csv, which, &kernel->counts);
	kernel->counts.threads = shape.grid[0] * shape.block[0];
	kernel->footprint_bytes = number(csv, which, "footprint_bytes");
	kernel->solo_ns = MS * number(csv, which, "solo_ms");
}

/* Pairs whose name begins so, in the order of the file. */
static int read_microbenchmarks(const struct kc_device *device, const char *begin, struct pair *pairs)
{
	static struct kc_recorded_csv csv;
	int count = 0;

	assert_true(kc_csv_open(&csv, KC_REDUCED_DATA, "pairs/pairs_v100_microbench.csv"));
	while (kc_csv_next(&csv)) {
		struct pair *pair = &pairs[count];

		if (strncmp(text(&csv, 0, "what"), begin, strlen(begin)))
			continue;
		memset(pair, 0, sizeof(*pair));
		snprintf(pair->what, sizeof(pair->what), "%s", text(&csv, 0, "what"));
		read_kernel(&csv, device, 'a', &pair->kernels[0]);
		read_kernel(&csv, device, 'b', &pair->kernels[1]);
		pair->serial_ns = MS * number(&csv, 0, "sequential_ms");
		pair->together_ns = MS * number(&csv, 0, "together_ms");
		count++;
	}
	assert_true(count > 0);
	return count;
}

static struct kc_neighbour neighbour_of(const struct kc_device *device, const struct kernel *kernel,
					struct kc_shares *shares)
{
	assert_int_equal(
	    kc_shares_of(device, &kernel->work, &kernel->counts, kernel->footprint_bytes, kernel->solo_ns, shares), 0);
	return (struct kc_neighbour){&kernel->work, kernel->solo_ns, shares};
}

static struct kc_together together(const struct kc_device *device, const struct pair *pair)
{
	struct kc_shares shares[2];
	struct kc_neighbour first = neighbour_of(device, &pair->kernels[0], &shares[0]),
			    second = neighbour_of(device, &pair->kernels[1], &shares[1]);
	struct kc_together out;

	assert_int_equal(kc_together(device, &first, &second, &out), 0);
	return out;
}

/* In percent of one after the other. */
static double gain(double serial_ns, double ns)
{
	return 100 * (1 - ns / serial_ns);
}

static struct kc_together print_pair(const struct kc_device *device, const struct pair *pair)
{
	struct kc_together t = together(device, pair);

	printf("# |%-27s %8.1f %8.1f %8.1f   %6.1f to %5.1f   %-7s %s\n", pair->what, pair->serial_ns / MS,
	       gain(pair->serial_ns, pair->together_ns), gain(t.serial_ns, t.ns), gain(t.serial_ns, t.high_ns),
	       gain(t.serial_ns, t.low_ns), kc_together_why_key(t.why), t.is_slower ? "slower" : "");
	return t;
}

static void print_head(const char *device)
{
	printf("# |%-27s %8s %8s %8s   %15s\n", device, "serial", "gain", "told", "range");
}

/* Every row has a number, which is within so many points of the measured one. */
static void gains_within(const char *begin, int rows, double points)
{
	static struct pair pairs[PAIRS_MAX];
	const struct kc_device *device = kc_device_builtin("v100-pcie");
	int count = read_microbenchmarks(device, begin, pairs);

	assert_int_equal(count, rows);
	print_head(device->name);
	for (int i = 0; i < count; i++) {
		struct kc_together t = print_pair(device, &pairs[i]);
		double measured = gain(pairs[i].serial_ns, pairs[i].together_ns);

		assert_near(gain(t.serial_ns, t.ns), measured, points);
	}
	device = kc_device_builtin("v100");
	print_head(device->name);
	for (int i = 0; i < read_microbenchmarks(device, begin, pairs); i++)
		print_pair(device, &pairs[i]);
}

static void arithmetic(void **state)
{
	(void)state;
	gains_within("fp32 mul", 4, 5);
}

static void arithmetic_beside_a_copy(void **state)
{
	(void)state;
	gains_within("copy 2 GiB + fp32", 1, 5);
}

static void sleep_without_room(void **state)
{
	(void)state;
	gains_within("sleep", 2, 5);
}

static void l1(void **state)
{
	static struct pair pairs[PAIRS_MAX];
	const struct kc_device *device = kc_device_builtin("v100-pcie");
	struct kc_together t;

	(void)state;
	assert_int_equal(read_microbenchmarks(device, "L1 copy", pairs), 4);
	print_head(device->name);
	t = print_pair(device, &pairs[0]);
	assert_near(gain(t.serial_ns, t.ns), gain(pairs[0].serial_ns, pairs[0].together_ns), 5);
	t = print_pair(device, &pairs[1]); /* all of L1, to the byte: what comes of it is not known */
	assert_true(isnan(t.ns) && isnan(t.low_ns) && isnan(t.high_ns) && !t.is_slower);
	for (int i = 2; i < 4; i++) {
		t = print_pair(device, &pairs[i]);
		assert_true(isnan(t.ns) && isnan(t.low_ns) && isnan(t.high_ns) && t.is_slower);
		assert_int_equal(t.why, KC_TOGETHER_L1);
	}
}

/* Under MPS, each on half of the SMs: no time of both together was taken, but of each beside the other. By the law of
 * together.h, of two that are there from the start; L1 and shared memory count apart. */
static double contended(const struct kc_device *device, const struct pair *pair)
{
	struct kc_shares shares[2];
	struct kc_neighbour first = neighbour_of(device, &pair->kernels[0], &shares[0]),
			    second = neighbour_of(device, &pair->kernels[1], &shares[1]);
	double ns = fmax(first.solo_ns, second.solo_ns);

	for (uint32_t r = 0; r < KC_RESOURCE_COUNT; r++)
		ns = fmax(ns, shares[0].of[r] * first.solo_ns + shares[1].of[r] * second.solo_ns);
	printf("# |%-20s %4u blocks %8.1f %8.1f %+6.1f %%\n", pair->what, (uint32_t)pair->kernels[0].work.blocks,
	       pair->together_ns / MS, ns / MS, 100 * (ns / pair->together_ns - 1));
	return ns;
}

/* The bandwidth is what both reached together with 40 blocks each: a calibrated one. */
static void device_memory(void **state)
{
	static struct pair pairs[PAIRS_MAX];
	struct kc_device device = *kc_device_builtin("v100-pcie");
	double bytes = 2.0 * 50 * 2 * 2147483648.0; /* of both: 50 times 2 GiB in and out */

	(void)state;
	assert_int_equal(read_microbenchmarks(&device, "DRAM copy", pairs), 4);
	device.copy_bytes_per_s = (uint64_t)(bytes / (pairs[0].together_ns / 1e9));
	for (int i = 1; i < 4; i++)
		assert_near(contended(&device, &pairs[i]), pairs[i].together_ns, 0.06 * pairs[i].together_ns);
}

/* --- HFuse */

static uint32_t product(const char *text)
{
	uint32_t x = 1, y = 1, z = 1;

	assert_true(sscanf(text, "%ux%ux%u", &x, &y, &z) >= 1);
	return x * y * z;
}

static void read_hfuse_kernel(const struct kc_recorded_csv *csv, const struct kc_device *device, char which,
			      struct kernel *kernel)
{
	const struct kc_resources resources = {.registers = (uint32_t)number(csv, which, "registers"),
					       .static_shared_bytes = (uint32_t)number(csv, which, "shared_bytes")};
	const struct kc_shape shape = {.grid = {product(text(csv, which, "grid")), 1, 1},
				       .block = {product(text(csv, which, "block")), 1, 1}};

	assert_int_equal(kc_work_init(&kernel->work, device, &resources, &shape, 0), 0);
	kernel->solo_ns = US * number(csv, which, "duration_us");
}

static int read_hfuse(const struct kc_device *device, struct pair *pairs)
{
	static struct kc_recorded_csv csv;
	int count = 0;

	assert_true(kc_csv_open(&csv, KC_REDUCED_DATA, "pairs/two_kernels_v100.csv"));
	for (; kc_csv_next(&csv); count++) {
		struct pair *pair = &pairs[count];

		snprintf(pair->what, sizeof(pair->what), "%.24s + %.24s", text(&csv, 'a', "name"),
			 text(&csv, 'b', "name"));
		read_hfuse_kernel(&csv, device, 'a', &pair->kernels[0]);
		read_hfuse_kernel(&csv, device, 'b', &pair->kernels[1]);
		pair->serial_ns = pair->kernels[0].solo_ns + pair->kernels[1].solo_ns;
		pair->together_ns = US * number(&csv, 0, "makespan_us");
	}
	return count;
}

/* Mean error of the best constant: the median. */
static double error_of_constant(const double *gains, int count)
{
	double sorted[PAIRS_MAX], sum = 0;

	memcpy(sorted, gains, (size_t)count * sizeof(*gains));
	kc_sort(sorted, (size_t)count);
	for (int i = 0; i < count; i++)
		sum += fabs(gains[i] - sorted[count / 2]);
	return sum / count;
}

static void tails(void **state)
{
	static struct pair pairs[PAIRS_MAX];
	const struct kc_device *device = kc_device_builtin("v100");
	double makespan[PAIRS_MAX] = {0}, gains[PAIRS_MAX] = {0}, error = 0, most = 0, constant;
	int count = read_hfuse(device, pairs), within = 0;

	(void)state;
	assert_int_equal(count, 32);
	for (int i = 0; i < count; i++) {
		struct kc_neighbour first = {&pairs[i].kernels[0].work, pairs[i].kernels[0].solo_ns, NULL},
				    second = {&pairs[i].kernels[1].work, pairs[i].kernels[1].solo_ns, NULL};
		struct kc_together t;

		assert_int_equal(kc_together(device, &first, &second, &t), 0);
		assert_int_equal(t.why, KC_TOGETHER_TAIL);
		makespan[i] = 100 * fabs(t.ns / pairs[i].together_ns - 1);
		gains[i] = gain(pairs[i].serial_ns, pairs[i].together_ns);
		error += fabs(gain(t.serial_ns, t.ns) - gains[i]) / count;
		most = fmax(most, gain(t.serial_ns, t.low_ns));
		within += t.low_ns <= pairs[i].together_ns && pairs[i].together_ns <= t.high_ns;
		printf("# |%-52s gain %5.2f told %5.2f, %5.2f at most\n", pairs[i].what, gains[i],
		       gain(t.serial_ns, t.ns), gain(t.serial_ns, t.low_ns));
	}
	constant = error_of_constant(gains, count);
	printf("# |makespan, median error %.3f %%; gain, mean error %.3f points, best constant %.3f; at most %.2f %% "
	       "told; %d of %d within their ranges\n",
	       kc_median(makespan, (size_t)count), error, constant, most, within, count);
	assert_true(kc_median(makespan, (size_t)count) <= 0.40);
	assert_true(error <= 0.7 * constant);
	assert_true(most <= 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(arithmetic),         cmocka_unit_test(arithmetic_beside_a_copy),
	    cmocka_unit_test(sleep_without_room), cmocka_unit_test(l1),
	    cmocka_unit_test(device_memory),      cmocka_unit_test(tails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

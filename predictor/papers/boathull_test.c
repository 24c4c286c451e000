/* The boat hull model against the paper's case study (Tables 4 and 5, section 5), and its classes by hand. */
#include "boathull.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Table 2 */
static const struct kc_boathull_machine gtx470 = {1089, 95, 5.9, 5.1}, gts250 = {470, 56, 3.5, 2.1};

#define BYTES 4.0 /* an element */
#define SIDE 1024.0

/* Table 4; f = 7 in the erosion, 1 elsewhere; no fused multiply-adds; coalescing open for the X-projection alone. The
 * times are hand arithmetic: d, c, u of Table 1 in bytes over Table 2's rates. */
static const struct {
	const char *primitive;
	enum kc_boathull_class class;
	struct kc_boathull_size size;
	double f;
	enum kc_known coalesced;
	double gtx470_low_ms, gtx470_high_ms, gts250_low_ms, gts250_high_ms;
} primitives[] = {
    /* 256 · 4 / P + 2^20 · 4 / P' */
    {"histogram",
     KC_BOATHULL_TO_SHARED,
     {SIDE, SIDE, 1, 1, 256, BYTES},
     1,
     KC_KNOWN_YES,
     0.71091,
     0.71091,
     1.19839,
     1.19839},
    /* 2^18 · 4 / P + 4 / P'; on the GTS 250 2 · 2^18 · 17 / Pcompute, which is longer */
    {"maximum", KC_BOATHULL_TO_ONE, {262144, 1, 1, 1, 1, BYTES}, 1, KC_KNOWN_YES, 0.01104, 0.01104, 0.01896, 0.01896},
    /* 2^21 · 4 / P on the GTX 470, likewise on the GTS 250 */
    {"threshold",
     KC_BOATHULL_ELEMENT,
     {SIDE, SIDE, 1, 1, 1, BYTES},
     1,
     KC_KNOWN_YES,
     0.08830,
     0.08830,
     0.14980,
     0.14980},
    /* 2 · 2^20 · (7 · 49 + 64) / Pcompute */
    {"erode 7x7",
     KC_BOATHULL_NEIGHBOURHOOD_2D,
     {SIDE, SIDE, 7, 7, 1, BYTES},
     7,
     KC_KNOWN_YES,
     0.78378,
     0.78378,
     1.81604,
     1.81604},
    /* (2^20 + 2^10) · 4 over P, or over P' */
    {"X-projection",
     KC_BOATHULL_ROW_TO_ELEMENT,
     {SIDE, SIDE, 1, 1, 1, BYTES},
     1,
     KC_NOT_KNOWN,
     0.04419,
     0.71159,
     0.07497,
     1.19954},
    {"Y-projection",
     KC_BOATHULL_ROW_TO_ELEMENT,
     {SIDE, SIDE, 1, 1, 1, BYTES},
     1,
     KC_KNOWN_YES,
     0.04419,
     0.04419,
     0.07497,
     0.07497},
};

#define PRIMITIVES (sizeof(primitives) / sizeof(primitives[0]))

static struct kc_boathull_time primitive_time(size_t i, const struct kc_boathull_machine *machine)
{
	struct kc_boathull_work work;

	assert_int_equal(kc_boathull_work(primitives[i].class, &primitives[i].size, &work), 0);
	return kc_boathull_ns(machine, &work, primitives[i].f,
			      (struct kc_boathull_use){KC_KNOWN_NO, primitives[i].coalesced});
}

static void assert_ms(const char *what, double ns, double ms, double tolerance_ms)
{
	if (fabs(ns / 1e6 - ms) > tolerance_ms)
		fail_msg("%s: %.5f ms, not %.5f", what, ns / 1e6, ms);
}

static void primitives_of_table_4(void **state)
{
	(void)state;
	for (size_t i = 0; i < PRIMITIVES; i++) {
		struct kc_boathull_time a = primitive_time(i, &gtx470), b = primitive_time(i, &gts250);

		assert_ms(primitives[i].primitive, a.low_ns, primitives[i].gtx470_low_ms, 1e-5);
		assert_ms(primitives[i].primitive, a.high_ns, primitives[i].gtx470_high_ms, 1e-5);
		assert_ms(primitives[i].primitive, b.low_ns, primitives[i].gts250_low_ms, 1e-5);
		assert_ms(primitives[i].primitive, b.high_ns, primitives[i].gts250_high_ms, 1e-5);
	}
}

struct total {
	const struct kc_boathull_machine *machine;
	const char *name;
	double printed_low_ms, printed_high_ms, measured_ms; /* Table 5 */
	double low_ms, high_ms;                              /* sums of the primitives above */
	double low_gap, high_gap;                            /* of ours, as a share of the printed */
};

static struct kc_boathull_time sum_of_primitives(const struct kc_boathull_machine *machine)
{
	struct kc_boathull_time sum = {0};

	for (size_t i = 0; i < PRIMITIVES; i++) {
		struct kc_boathull_time time = primitive_time(i, machine);

		sum.low_ns += time.low_ns;
		sum.high_ns += time.high_ns;
	}
	return sum;
}

static void assert_gap(const char *what, double ns, double printed_ms, double gap)
{
	if (fabs(ns / 1e6 / printed_ms - 1 - gap) > 0.0005)
		fail_msg("%s: %.4f ms, printed %.2f: %.1f %% apart, not %.1f", what, ns / 1e6, printed_ms,
			 100 * (ns / 1e6 / printed_ms - 1), 100 * gap);
}

/* The printed rates and classes of Tables 1, 2 and 4 do not add up to the printed totals of Table 5; the measured
 * times lie in both ranges. */
static void kernels_of_table_5(void **state)
{
	static const struct total totals[] = {
	    {&gtx470, "GTX 470", 1.66, 2.32, 1.96, 1.68241, 2.34981, 0.0135, 0.0128},
	    {&gts250, "GTS 250", 3.21, 4.24, 3.99, 3.33313, 4.45770, 0.0384, 0.0513},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(totals) / sizeof(totals[0]); i++) {
		const struct total *row = &totals[i];
		struct kc_boathull_time ours = sum_of_primitives(row->machine);

		print_message("%s: printed %.2f to %.2f ms, ours %.2f to %.2f, measured %.2f\n", row->name,
			      row->printed_low_ms, row->printed_high_ms, ours.low_ns / 1e6, ours.high_ns / 1e6,
			      row->measured_ms);
		assert_ms(row->name, ours.low_ns, row->low_ms, 5e-5);
		assert_ms(row->name, ours.high_ns, row->high_ms, 5e-5);
		assert_gap(row->name, ours.low_ns, row->printed_low_ms, row->low_gap);
		assert_gap(row->name, ours.high_ns, row->printed_high_ms, row->high_gap);
		assert_true(row->printed_low_ms < row->measured_ms && row->measured_ms < row->printed_high_ms);
		assert_true(ours.low_ns / 1e6 < row->measured_ms && row->measured_ms < ours.high_ns / 1e6);
	}
}

/* The image in, two vectors out. The paper prints 0.95 and 1.90 ms, which no one number of bytes gives. */
static void transfers_of_table_5(void **state)
{
	struct kc_boathull_work work = {.data_bytes = (SIDE * SIDE + 2 * SIDE) * BYTES};
	struct kc_boathull_use use = {KC_KNOWN_NO, KC_KNOWN_YES};

	(void)state;
	assert_ms("GTX 470", kc_boathull_ns(&gtx470, &work, 1, use).transfer_ns, 0.82, 0.005);
	assert_ms("GTS 250", kc_boathull_ns(&gts250, &work, 1, use).transfer_ns, 2.00, 0.005);
}

/* Table 1, A = 6, B = 4, U = 3, V = 2, C = 5, elements of 1 byte: w, m, o, d, c, u. */
static void classes_of_table_1(void **state)
{
	static const struct {
		enum kc_boathull_class class;
		double w, m, o, d, c, u;
		int may_scatter;
	} rows[] = {
	    {KC_BOATHULL_ELEMENT, 24, 1, 16, 48, 48, 0, 0},
	    {KC_BOATHULL_UNORDERED, 24, 1, 16, 48, 48, 0, 1},
	    {KC_BOATHULL_ROW_TO_ELEMENT, 6, 4, 16, 30, 30, 0, 1},
	    {KC_BOATHULL_TILE_TO_ELEMENT, 4, 6, 24, 48, 48, 0, 0},
	    {KC_BOATHULL_TILE_TO_TILE, 4, 6, 24, 48, 24, 24, 0},
	    {KC_BOATHULL_ELEMENT_TO_TILE, 4, 6, 24, 48, 48, 0, 0},
	    {KC_BOATHULL_NEIGHBOURHOOD_2D, 24, 6, 64, 48, 48, 0, 0},
	    {KC_BOATHULL_NEIGHBOURHOOD_1D, 24, 3, 64, 48, 48, 0, 0},
	    {KC_BOATHULL_TO_ONE, 24, 1, 16, 25, 24, 1, 0},
	    {KC_BOATHULL_TO_SHARED, 24, 1, 64, 29, 5, 24, 0},
	    {KC_BOATHULL_TWO_ELEMENTS, 24, 1, 32, 72, 72, 0, 0},
	};
	const struct kc_boathull_size size = {6, 4, 3, 2, 5, 1};
	struct kc_boathull_work work;

	(void)state;
	assert_int_equal(sizeof(rows) / sizeof(rows[0]), KC_BOATHULL_NONE);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(kc_boathull_work(rows[i].class, &size, &work), 0);
		assert_true(work.work_units == rows[i].w && work.modifier == rows[i].m && work.offset == rows[i].o);
		assert_true(work.data_bytes == rows[i].d && work.coalesced_bytes == rows[i].c);
		assert_true(work.uncoalesced_bytes == rows[i].u && work.may_scatter == rows[i].may_scatter);
	}
	assert_int_equal(kc_boathull_work(KC_BOATHULL_NONE, &size, &work), -EINVAL);
}

/* Loads, stores, sectors and atomics of one thread; floats. */
static struct kc_counts thread_of(double loads, double stores, double sectors_per_request, double atomics)
{
	struct kc_counts counts = {.threads = 1024};

	counts.of[KC_COUNT_OF_LD_GLOBAL] = loads;
	counts.of[KC_COUNT_OF_ST_GLOBAL] = stores;
	counts.of[KC_COUNT_OF_BYTES_LOADED] = 4 * loads;
	counts.of[KC_COUNT_OF_BYTES_STORED] = 4 * stores;
	counts.of[KC_COUNT_OF_REQUESTS] = (loads + stores) / 32;
	counts.of[KC_COUNT_OF_SECTORS] = sectors_per_request * (loads + stores) / 32;
	counts.of[KC_COUNT_OF_ATOMICS] = atomics;
	return counts;
}

static void classes_of_counts(void **state)
{
	static const struct {
		double loads, stores, sectors, atomics;
		enum kc_boathull_class class;
		enum kc_known coalesced;
	} rows[] = {
	    {1, 1, 4, 0, KC_BOATHULL_ELEMENT, KC_KNOWN_YES},           /* binarisation */
	    {1, 1, 18, 0, KC_BOATHULL_UNORDERED, KC_KNOWN_NO},         /* transpose: 4 in, 32 out */
	    {2, 1, 4, 0, KC_BOATHULL_TWO_ELEMENTS, KC_KNOWN_YES},      /* vector add */
	    {3, 1, 4, 0, KC_BOATHULL_NEIGHBOURHOOD_1D, KC_KNOWN_YES},  /* 1-D stencil */
	    {1024, 1, 32, 0, KC_BOATHULL_ROW_TO_ELEMENT, KC_KNOWN_NO}, /* sum of a row by one thread */
	    {1, 1 / 256.0, 4, 0, KC_BOATHULL_TO_ONE, KC_KNOWN_YES},    /* reduction, a value a block */
	    {1, 1, 4, 1, KC_BOATHULL_TO_SHARED, KC_KNOWN_YES},         /* histogram */
	    {1, 4, 4, 0, KC_BOATHULL_ELEMENT_TO_TILE, KC_KNOWN_YES},   /* enlarge */
	    {8, 8, 4, 0, KC_BOATHULL_TILE_TO_TILE, KC_KNOWN_YES},      /* DCT of 8 */
	    {0, 1, 4, 0, KC_BOATHULL_NONE, KC_KNOWN_YES},              /* fill */
	    {2048, 1, 3, 0, KC_BOATHULL_NONE, KC_KNOWN_YES},           /* matrix product */
	    {5, 3, 4, 0, KC_BOATHULL_NONE, KC_KNOWN_YES},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct kc_counts counts = thread_of(rows[i].loads, rows[i].stores, rows[i].sectors, rows[i].atomics);
		struct kc_boathull_kernel kernel = kc_boathull_kernel_of(&counts);

		if (kernel.class != rows[i].class)
			fail_msg("row %zu is \"%s\", not \"%s\"", i, kc_boathull_class_name(kernel.class),
				 kc_boathull_class_name(rows[i].class));
		assert_int_equal(kernel.use.coalesced, rows[i].coalesced);
	}
}

/* 1,024 rows of 1,024 floats, each summed by a thread: the X-projection's sizes. */
static void size_of_counts(void **state)
{
	struct kc_counts counts = thread_of(1024, 1, 32, 0);
	struct kc_boathull_kernel kernel;

	(void)state;
	counts.of[KC_COUNT_OF_ADD] = 1024;
	kernel = kc_boathull_kernel_of(&counts);
	assert_true(kernel.size.a == 1024 && kernel.size.b == 1024 && kernel.size.element_bytes == 4);
	assert_true(kernel.complexity == 1);
	assert_int_equal(kernel.use.fma, KC_KNOWN_NO);
}

/* A warp's 32 floats need 4 sectors: half as many more are coalesced, four times as many scattered. */
static void how_many_sectors_are_coalesced(void **state)
{
	static const struct {
		double sectors;
		enum kc_known coalesced;
	} rows[] = {{4, KC_KNOWN_YES}, {6, KC_KNOWN_YES}, {6.1, KC_NOT_KNOWN}, {15.9, KC_NOT_KNOWN}, {16, KC_KNOWN_NO}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct kc_counts counts = thread_of(1, 1, rows[i].sectors, 0);

		assert_int_equal(kc_boathull_kernel_of(&counts).use.coalesced, rows[i].coalesced);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(primitives_of_table_4),
	    cmocka_unit_test(kernels_of_table_5),
	    cmocka_unit_test(transfers_of_table_5),
	    cmocka_unit_test(classes_of_table_1),
	    cmocka_unit_test(classes_of_counts),
	    cmocka_unit_test(size_of_counts),
	    cmocka_unit_test(how_many_sectors_are_coalesced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

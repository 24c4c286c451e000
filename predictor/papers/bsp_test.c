/*
 * Equations 3 to 5 against the times that they give with the paper's own
 * parameters (seed_tables/amaris_reference_tk.csv, readings seed_2N and full):
 * some of them here, all of them from the recorded tables.
 */
#include "bsp.h"
#include "cuda_tests/traces/recorded.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SIX_DIGITS 5e-7

/* Table I of the paper. */
static const struct {
	const char *name;
	double cores, clock_mhz;
} boards[] = {
    {"GT-630", 96, 1620},     {"GTX-660", 960, 1058},   {"GTX-680", 1536, 1006},
    {"GTX-Titan", 2688, 876}, {"Tesla-k20", 2496, 706}, {"Tesla-k40", 2880, 745},
};

struct row {
	const char *app, *board;
	double n, lambda, tk_ms;
};

static const struct row rows[] = {
    {"matmul#1", "GTX-680", 1024, 4.35, 159.980588},      {"matmul#2", "GTX-680", 1024, 23, 30.2571981},
    {"matmul#3", "GTX-680", 1024, 19, 36.9930402},        {"matmul#4", "GTX-680", 1024, 67, 10.4905636},
    {"matmul#1", "GT-630", 1024, 3.5, 1975.56558},        {"matmul#4", "GTX-Titan", 8192, 52, 4539.52856},
    {"matmul#2", "Tesla-k40", 8192, 24, 10687.3587},      {"matmul#3", "Tesla-k20", 8192, 18.5, 17050.0814},
    {"SubSeqMax", "GTX-660", 16777216, 0.61, 16.3995083}, {"SubSeqMax", "Tesla-k40", 16777216, 0.52, 9.10679286},
};

static struct kc_bsp_machine machine_of(const char *board)
{
	struct kc_bsp_machine machine = {0, 0};

	for (size_t i = 0; i < sizeof(boards) / sizeof(boards[0]); i++)
		if (!strcmp(boards[i].name, board))
			machine = (struct kc_bsp_machine){boards[i].clock_mhz * 1e6, boards[i].cores};
	assert_true(machine.cores > 0);
	return machine;
}

/* Section V-A with N loads of each matrix; #3 and #4 use shared memory on top. */
static struct kc_bsp_kernel matmul(double n, int shared)
{
	return (struct kc_bsp_kernel){
	    .threads = n * n,
	    .compute_cycles = n,
	    .global_loads = 2 * n,
	    .global_stores = 1,
	    .shared_loads = shared ? 2 * n : 0,
	    .shared_stores = shared ? 1 : 0,
	};
}

/* Section V-B: 4,096 threads, 100 cycles an element, a result of 5 values. */
static struct kc_bsp_kernel maximum_subarray(double n)
{
	double threads = 4096, elements = n / threads;

	return (struct kc_bsp_kernel){
	    .threads = threads,
	    .compute_cycles = 100 * elements,
	    .global_loads = elements,
	    .global_stores = 5,
	    .shared_loads = elements,
	    .shared_stores = 5,
	};
}

static void assert_row(const struct row *row)
{
	struct kc_bsp_machine machine = machine_of(row->board);
	int variant = !strncmp(row->app, "matmul#", 7) ? row->app[7] - '0' : 0;
	struct kc_bsp_kernel kernel = variant ? matmul(row->n, variant > 2) : maximum_subarray(row->n);
	double ms = kc_bsp_ns(&machine, &kernel, row->lambda) / 1e6;

	if (fabs(ms / row->tk_ms - 1) > SIX_DIGITS)
		fail_msg("%s N=%.0f on %s: %.9g ms, not %.9g", row->app, row->n, row->board, ms, row->tk_ms);
}

static void rows_of_the_reference(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_row(&rows[i]);
}

enum { APP, BOARD, SIZE, SOURCE, LAMBDA, READING, TK, FIELDS };

static int check_line(char *line)
{
	char *fields[FIELDS] = {0}, *at = line;
	struct row row;

	for (int i = 0; i < FIELDS && at; i++)
		fields[i] = strsep(&at, ",");
	if (!fields[TK] || (strcmp(fields[READING], "seed_2N") && strcmp(fields[READING], "full")))
		return 0;
	row = (struct row){fields[APP], fields[BOARD], atof(fields[SIZE]), atof(fields[LAMBDA]), atof(fields[TK])};
	assert_row(&row);
	return 1;
}

static void check_every_row(const char *folder)
{
	FILE *file = kc_open_recorded(folder, "seed_tables/amaris_reference_tk.csv");
	char line[1024];
	int rows_checked = 0;

	if (!file) {
		skip();
		return;
	}
	while (fgets(line, sizeof(line), file))
		rows_checked += check_line(line);
	pclose(file);
	/* 6 boards: 4 variants at 10 sizes and maximum subarray at 9, under the text's λ and under Table II's. */
	assert_int_equal(rows_checked, 6 * (4 * 10 + 9) * 2);
}

static void every_row_of_the_reference(void **state)
{
	(void)state;
	check_every_row(KC_REDUCED_DATA);
}

static void every_row_of_the_full_reference(void **state)
{
	(void)state;
	check_every_row(kc_full_data());
}

/* Equation 5 with every term: 10 loads of which 2 hit L1 and 3 hit L2, 1 store: 6 · 500 + 2 · 5 + 3 · 250. */
static void caches(void **state)
{
	struct kc_bsp_kernel kernel = {
	    .threads = 1, .global_loads = 10, .global_stores = 1, .l1_hits = 2, .l2_hits = 3};

	(void)state;
	assert_true(kc_bsp_thread_cycles(&kernel) == 3760);
}

/* From counts: a multiply-add is a cycle; on sm_35 a sine is 192 / 32 cycles, a conversion as many. */
static void from_counts(void **state)
{
	struct kc_counts counts = {.threads = 64};
	struct kc_bsp_kernel kernel;

	(void)state;
	counts.of[KC_COUNT_OF_FMA] = 7;
	counts.of[KC_COUNT_OF_SPECIAL] = 1;
	counts.of[KC_COUNT_OF_CONVERT] = 1;
	counts.of[KC_COUNT_OF_LD_GLOBAL] = 2;
	counts.of[KC_COUNT_OF_ST_GLOBAL] = 1;
	counts.of[KC_COUNT_OF_LD_LOCAL] = 3;
	counts.of[KC_COUNT_OF_ATOMICS] = 5;
	counts.of[KC_COUNT_OF_ATOMICS_SHARED] = 4;
	kernel = kc_bsp_kernel_of(kc_device_builtin("k40"), &counts);
	assert_true(fabs(kernel.compute_cycles - 19) < 1e-9);
	assert_true(fabs(kc_bsp_thread_cycles(&kernel) - (19 + 4 * 500 + 3 * 5 + 4 * 5)) < 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rows_of_the_reference),
	    cmocka_unit_test(every_row_of_the_reference),
	    cmocka_unit_test(every_row_of_the_full_reference),
	    cmocka_unit_test(caches),
	    cmocka_unit_test(from_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

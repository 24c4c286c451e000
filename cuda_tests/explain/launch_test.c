/*
 * Evaluation at a launch: how long it takes or that it is refused, and how close it
 * is to the exact value, which counts_test.c compares with counts by hand.
 * KC_SUBJECT names one kernel to check, KC_ALL=1 prints all launches.
 */
#include "oracle.h"

#include "predictor/code/cost.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define MEMORY_BYTES ((size_t)64 << 20)
#define LARGEST_DEVIATION 0.02
#define BUDGET_NS 5000.0
#define BUSY 4 /* factor by which it may take longer on a busy machine */
#define TRIES 15
#define MORE_TRIES 5000  /* in all, on a busy machine, whose slow moments last up to seconds: */
#define PAUSE_NS 2000000 /* before each of them */
#define SORTED 256u      /* numbers that are sorted to measure how fast the machine is now ... */
#define SORT_NS 8000.0   /* ... compared with this, the time on an idle machine */
#define AT_ONCE 10       /* so that reading the clock does not matter */
#define NAMES_MAX 4096

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define INSTRUMENTED 1
#else
#define INSTRUMENTED 0
#endif

/* --- kernels */

static const char *const files[] = {"matmul.ptx", "simple.ptx", "shared.ptx", "irregular.ptx", "own_memory.ptx"};
enum { FILES = sizeof(files) / sizeof(*files) };

static struct {
	char *text;
	struct kc_ptx_module module;
} modules[FILES];

static char *read_beside(const char *name)
{
	char path[4096], *text;
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 64);
	size_t bytes;
	FILE *file;

	assert_true(length > 0);
	path[length] = '\0';
	snprintf(strrchr(path, '/') + 1, 64, "%s", name);
	file = fopen(path, "re");
	assert_non_null(file);
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	bytes = (size_t)ftell(file);
	text = calloc(1, bytes + 1);
	assert_non_null(text);
	rewind(file);
	assert_int_equal(fread(text, 1, bytes, file), bytes);
	fclose(file);
	return text;
}

static int read_modules(void **state)
{
	(void)state;
	for (unsigned i = 0; i < FILES; i++) {
		modules[i].text = read_beside(files[i]);
		if (kc_ptx_parse(&modules[i].module, modules[i].text, strlen(modules[i].text), MEMORY_BYTES, NULL))
			return 1;
	}
	return 0;
}

static int free_modules(void **state)
{
	(void)state;
	for (unsigned i = 0; i < FILES; i++) {
		kc_ptx_free(&modules[i].module);
		free(modules[i].text);
	}
	return 0;
}

/* "_Z10vector_addPKf…" or, of a C function, the name itself. */
static int is_called(const char *mangled, const char *name)
{
	char start[NAMES_MAX];

	snprintf(start, sizeof(start), "_Z%zu%s", strlen(name), name);
	return strcmp(mangled, name) == 0 || strncmp(mangled, start, strlen(start)) == 0;
}

static struct kc_cost *read_kernel(const char *name, const struct kc_ptx_function **function)
{
	struct kc_cost *cost = NULL;

	for (unsigned m = 0; m < FILES; m++) {
		const struct kc_ptx_module *module = &modules[m].module;

		for (uint32_t i = 0; i < module->function_count && !cost; i++) {
			if (!module->functions[i].is_entry || !is_called(module->functions[i].name, name))
				continue;
			*function = &module->functions[i];
			assert_int_equal(kc_cost_read(&cost, module, *function, MEMORY_BYTES, NULL), 0);
		}
	}
	assert_non_null(cost);
	return cost;
}

/* --- launches */

struct given {
	struct kc_cost_launch launch;
	struct kc_cost_argument arguments[ARGUMENTS];
	unsigned char bytes[64]; /* of a struct */
};

/* "0x…" up to 16 digits, a whole number, 2.5 (double), 2.5f, or a struct's bytes in hex. */
static void read_argument(struct given *given, struct kc_cost_argument *argument, const char *text)
{
	uint32_t length = (uint32_t)strlen(text);

	argument->known = 1;
	if (strncmp(text, "0x", 2) == 0) {
		argument->value = strtoull(text, NULL, 16);
	} else if (length > 16) {
		for (uint32_t i = 0; i < length / 2; i++) {
			char digits[3] = {text[2 * i], text[2 * i + 1], 0};

			given->bytes[i] = (unsigned char)strtoul(digits, NULL, 16);
		}
		argument->bytes = given->bytes;
		argument->length = length / 2;
	} else if (strchr(text, '.')) {
		double number = strtod(text, NULL);
		float narrow = (float)number;

		if (text[length - 1] == 'f')
			memcpy(&argument->value, &narrow, sizeof(narrow));
		else
			memcpy(&argument->value, &number, sizeof(number));
	} else {
		argument->value = (uint64_t)strtoll(text, NULL, 10);
	}
}

static void take_shape(struct given *given, const struct shape *shape)
{
	char text[512], *rest = NULL;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(text, sizeof(text), shape->arguments, (long)shape->n, (long)shape->extra[0], (long)shape->extra[1]);
#pragma GCC diagnostic pop
	*given = (struct given){
	    .launch = {.arguments = given->arguments, .dynamic_shared_bytes = shape->dynamic_shared_bytes}};
	memcpy(given->launch.grid, shape->grid, sizeof(shape->grid));
	memcpy(given->launch.block, shape->block, sizeof(shape->block));
	for (char *one = strtok_r(text, ",", &rest); one; one = strtok_r(NULL, ",", &rest))
		read_argument(given, &given->arguments[given->launch.argument_count++], one);
}

/* --- how long, and how far off */

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static double sort_ns(void)
{
	uint32_t numbers[SORTED], number = 1;
	double begin;

	for (unsigned i = 0; i < SORTED; i++)
		numbers[i] = number = number * 1664525u + 1013904223u;
	begin = now_ns();
	qsort(numbers, SORTED, sizeof(*numbers), by_number);
	return now_ns() - begin;
}

struct outcome {
	double best_ns, best_sort_ns;
	double deviation; /* of the counter with the largest error */
	uint32_t counter;
	int rc, assumed;
};

static void compare(struct outcome *outcome, const struct kc_counts *quick, const struct kc_counts *exact)
{
	for (uint32_t i = 0; i < KC_COUNTER_COUNT; i++) {
		double off = fabs(quick->of[i] - exact->of[i]) / fmax(exact->of[i], 1e-9);

		if (off <= outcome->deviation)
			continue;
		outcome->deviation = off;
		outcome->counter = i;
	}
}

/* A hyperthread of the same core, or another virtual machine, may halve the speed. */
static int is_late(const struct outcome *outcome)
{
	double slower = fmax(1, outcome->best_sort_ns / SORT_NS);

	return outcome->best_ns > slower * BUSY * BUDGET_NS && !INSTRUMENTED;
}

static int tries_again(void)
{
	static unsigned tries;
	const struct timespec pause = {.tv_nsec = PAUSE_NS};

	return tries++ < MORE_TRIES && nanosleep(&pause, NULL) == 0;
}

/* The shortest of several tries, and of many if none was short, as the machine may be busy. */
static struct outcome evaluate(const struct kc_cost *cost, const struct shape *shape)
{
	struct outcome outcome = {.best_ns = INFINITY, .best_sort_ns = INFINITY};
	struct kc_counts quick = {.threads = 0}, exact;
	struct given given;

	take_shape(&given, shape);
	for (unsigned i = 0; i < TRIES || (is_late(&outcome) && tries_again()); i++) {
		double begin = now_ns(), ns;

		for (unsigned n = 0; n < AT_ONCE; n++)
			outcome.rc = kc_cost_evaluate(cost, &given.launch, KC_COST_EFFORT_LAUNCH, &quick);
		ns = (now_ns() - begin) / AT_ONCE;
		outcome.best_ns = fmin(ns, outcome.best_ns);
		outcome.best_sort_ns = fmin(sort_ns(), outcome.best_sort_ns);
	}
	assert_int_equal(kc_cost_evaluate(cost, &given.launch, KC_COST_EFFORT_EXACT, &exact), 0);
	outcome.assumed = exact.assumed;
	if (!outcome.rc)
		compare(&outcome, &quick, &exact);
	return outcome;
}

static int is_wanted(const char *kernel)
{
	const char *wanted = getenv("KC_SUBJECT");

	return !wanted || strcmp(wanted, kernel) == 0;
}

static struct {
	unsigned launches, refused, off;
	double worst_ns;
} seen;

static void print(const char *kernel, const struct shape *shape, const struct outcome *outcome)
{
	print_message("# | %-28s %6u x %-4u %6.2f us", kernel, shape->grid[0] * shape->grid[1] * shape->grid[2],
		      shape->block[0] * shape->block[1] * shape->block[2], outcome->best_ns * 1e-3);
	if (outcome->rc)
		print_message("  refused\n");
	else if (outcome->deviation > 0)
		print_message("  %.2f %% off in %s\n", 100 * outcome->deviation,
			      kc_cost_counter_name(outcome->counter));
	else
		print_message("\n");
}

/* 1: it was refused. */
static int check(const char *kernel, const struct kc_cost *cost, const struct shape *shape, int loud)
{
	struct outcome outcome = evaluate(cost, shape);
	int off = outcome.deviation > LARGEST_DEVIATION && !outcome.assumed;
	int late = is_late(&outcome);

	assert_true(outcome.rc == 0 || outcome.rc == -EAGAIN);
	if (loud || off || late || getenv("KC_ALL"))
		print(kernel, shape, &outcome);
	seen.launches++;
	seen.refused += outcome.rc != 0;
	seen.off += (unsigned)(off | late);
	seen.worst_ns = fmax(seen.worst_ns, outcome.best_ns);
	return outcome.rc != 0;
}

static void check_subjects(const struct subject *subjects)
{
	for (; subjects->kernel; subjects++) {
		const struct kc_ptx_function *function;
		struct kc_cost *cost;

		if (!is_wanted(subjects->kernel))
			continue;
		cost = read_kernel(subjects->kernel, &function);
		for (unsigned size = 0; size < SIZES; size++) {
			for (unsigned block = 0; block < BLOCK_SHAPES; block++) {
				struct shape shape;

				subjects->shape(&shape, size, block);
				check(subjects->kernel, cost, &shape, 0);
			}
		}
		kc_cost_free(cost);
	}
}

/* The launches of counts_test.c. */
static void test_small(void **state)
{
	(void)state;
	memset(&seen, 0, sizeof(seen));
	check_subjects(matmul_subjects);
	check_subjects(simple_subjects);
	check_subjects(shared_subjects);
	check_subjects(irregular_subjects);
	check_subjects(own_memory_subjects);
	print_message("# | small launches: %u of %u evaluated, the others refused; at most %.1f us (budget 5 us)\n",
		      seen.launches - seen.refused, seen.launches, seen.worst_ns * 1e-3);
	assert_int_equal(seen.off, 0);
}

/* Launches of typical sizes. */
static const struct {
	const char *kernel;
	int refused; /* it may be */
	struct shape shape;
} large[] = {
#define LINE(kernel, blocks, threads, size, text)                                                                      \
	{                                                                                                              \
		kernel, REFUSED,                                                                                       \
		{                                                                                                      \
			.n = (size), .arguments = (text), .grid = {(blocks), 1, 1}, .block = {(threads), 1, 1 }        \
		}                                                                                                      \
	}
#define PLANE(kernel, across, down, width, height, size, text)                                                         \
	{                                                                                                              \
		kernel, REFUSED,                                                                                       \
		{                                                                                                      \
			.n = (size), .arguments = (text), .grid = {(across), (down), 1}, .block = {                    \
				(width),                                                                               \
				(height),                                                                              \
				1                                                                                      \
			}                                                                                              \
		}                                                                                                      \
	}
#define REFUSED 0
    LINE("vector_add", 3907, 256, 1000003, "0x10000000,0x20000000,0x30000000,%ld"),
    LINE("saxpy_grid_stride", 1056, 256, 10000019, "%ld,2.5f,0x10000000,0x20000000"),
    LINE("histogram", 240, 256, 10000019, "0x10000000,0x20000000,%ld"),
    LINE("stencil_1d", 3907, 256, 1000003, "0x10000000,0x20000000,%ld,0.5f"),
    LINE("list_ranking", 3907, 256, 1000003, "0x10000000,0x20000000,0x30000000,0x40000000,%ld,20"),
    LINE("row_to_column", 3907, 256, 1000, "0x10000000,0x20000000,%ld,1000"),
    PLANE("matrix_sum", 125, 125, 16, 16, 2000, "0x10000000,0x20000000,0x30000000,%ld"),
    PLANE("transpose_padded", 63, 63, 32, 8, 2000, "0x10000000,0x20000000,%ld"),
    PLANE("matmul_naive_uncoalesced", 63, 63, 16, 16, 1000, "0x10000000,0x20000000,0x30000000,%ld"),
    PLANE("matmul_naive_coalesced", 63, 63, 16, 16, 1000, "0x10000000,0x20000000,0x30000000,%ld"),
    PLANE("matmul_tiled_coalesced_16", 128, 128, 16, 16, 2048, "0x10000000,0x20000000,0x30000000,%ld"),
#undef REFUSED
#define REFUSED 1
    LINE("dot_product", 320, 256, 4000037, "0x10000000,0x20000000,0x30000000,%ld"),
    LINE("triangular", 157, 128, 20000, "0x10000000,0x20000000,0x30000000,%ld"),
    LINE("nest", 80, 128, 60, "0x10000000,0x20000000,%ld,0.5f"),
    LINE("reduction", 3907, 256, 1000003, "0x10000000,0x20000000,%ld"),
    LINE("max_subarray", 32, 128, 10007, "0x10000000,0x20000000,%ld"),
    LINE("choose", 3907, 256, 1000003, "0x10000000,0x20000000,0x30000000,%ld"),
    PLANE("stencil_2d", 32, 125, 32, 8, 1000, "0x10000000,0x20000000,%ld,0.5f,0.125f"),
    PLANE("matmul_tiled_coalesced_32", 32, 32, 32, 32, 1001, "0x10000000,0x20000000,0x30000000,%ld"),
    PLANE("matmul_tiled_uncoalesced_16", 63, 63, 16, 16, 1000, "0x10000000,0x20000000,0x30000000,%ld"),
#undef REFUSED
};

static void test_large(void **state)
{
	unsigned missing = 0;

	(void)state;
	memset(&seen, 0, sizeof(seen));
	for (unsigned i = 0; i < sizeof(large) / sizeof(*large); i++) {
		const struct kc_ptx_function *function;
		struct kc_cost *cost;

		if (!is_wanted(large[i].kernel))
			continue;
		cost = read_kernel(large[i].kernel, &function);
		missing += check(large[i].kernel, cost, &large[i].shape, 1) && !large[i].refused;
		kc_cost_free(cost);
	}
	assert_int_equal(missing, 0);
	assert_int_equal(seen.off, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_small), cmocka_unit_test(test_large)};

	return cmocka_run_group_tests(tests, read_modules, free_modules);
}

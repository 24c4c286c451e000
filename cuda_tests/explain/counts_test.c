/*
 * Compares `kerncast explain` of kernels compiled by nvcc with counts derived by
 * hand from their source, and with sectors and bank passes counted by walking every
 * thread (oracle.h). KC_SUBJECT names one kernel to check.
 */
#include "oracle.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define RELATIVE 1e-9

static char folder[4096]; /* of this program; the library of kernels is in the same folder, kerncast in the one above */

/* Counters that are compared: their name in the output, and their offset in struct expected. */
static const struct {
	const char *name;
	size_t offset;
} counters[] = {
#define COUNTER(name)                                                                                                  \
	{                                                                                                              \
#name, offsetof(struct expected, name)                                                                 \
	}
    COUNTER(fma),           COUNTER(add),       COUNTER(mul),          COUNTER(special),      COUNTER(ld_global),
    COUNTER(st_global),     COUNTER(ld_shared), COUNTER(st_shared),    COUNTER(atomics),      COUNTER(barriers),
    COUNTER(requests),      COUNTER(sectors),   COUNTER(bytes_loaded), COUNTER(bytes_stored), COUNTER(shared_requests),
    COUNTER(shared_passes),
#undef COUNTER
};
enum { COUNTERS = sizeof(counters) / sizeof(*counters) };

static double at(const struct expected *expected, size_t offset)
{
	double sum;

	memcpy(&sum, (const char *)expected + offset, sizeof(sum));
	return sum;
}

static json_t *explained(const char *kernel, const struct shape *shape)
{
	char command[3 * sizeof(folder)], arguments[512];
	json_error_t error;
	json_t *document;
	FILE *pipe;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(arguments, sizeof(arguments), shape->arguments, (long)shape->n, (long)shape->extra[0],
		 (long)shape->extra[1]);
#pragma GCC diagnostic pop
	snprintf(command, sizeof(command),
		 "timeout 20 '%s/../kerncast' explain '%s/libkernels.so' --json --kernel %s --grid %u,%u,%u --block "
		 "%u,%u,%u "
		 "--shared %u --args %s",
		 folder, folder, kernel, shape->grid[0], shape->grid[1], shape->grid[2], shape->block[0],
		 shape->block[1], shape->block[2], shape->dynamic_shared_bytes, arguments);
	pipe = popen(command, "re");
	assert_non_null(pipe);
	document = json_loadf(pipe, 0, &error);
	if (pclose(pipe) != 0 || !document) {
		print_message("# %s\n", command);
		fail_msg("%s: no explanation", kernel);
	}
	return document;
}

static json_t *only_kernel(json_t *document)
{
	json_t *kernels = json_object_get(document, "kernels");

	assert_int_equal(json_array_size(kernels), 1);
	return json_array_get(kernels, 0);
}

static int agree(double ours, double theirs)
{
	return isnan(theirs) || fabs(ours - theirs) <= RELATIVE * fmax(fabs(theirs), 1);
}

static unsigned compare(const struct subject *subject, const struct shape *shape, const struct expected *expected,
			const json_t *counts)
{
	double threads = json_number_value(json_object_get(counts, "threads"));
	unsigned differing = 0;

	if (!agree(threads, threads_of(shape)))
		differing++;
	for (unsigned i = 0; i < COUNTERS; i++) {
		const json_t *count = json_object_get(counts, counters[i].name);
		double ours = json_is_number(count) ? json_number_value(count) * threads : NAN;

		if (agree(ours, at(expected, counters[i].offset)))
			continue;
		print_message("# %s, n = %ld, block %u x %u: %s is %.10g, by hand %.10g\n", subject->kernel,
			      (long)shape->n, shape->block[0], shape->block[1], counters[i].name, ours,
			      at(expected, counters[i].offset));
		differing++;
	}
	return differing;
}

/* The sums by hand and by walking must be equal before anything is compared with them. */
static unsigned complete(const struct subject *subject, const struct shape *shape, struct expected *expected)
{
	static const struct {
		size_t offset;
		int derived; /* by hand as well */
	} walked_ones[] = {
	    {offsetof(struct expected, ld_global), 1},     {offsetof(struct expected, st_global), 1},
	    {offsetof(struct expected, ld_shared), 1},     {offsetof(struct expected, st_shared), 1},
	    {offsetof(struct expected, atomics), 1},       {offsetof(struct expected, bytes_loaded), 0},
	    {offsetof(struct expected, bytes_stored), 0},  {offsetof(struct expected, requests), 0},
	    {offsetof(struct expected, sectors), 0},       {offsetof(struct expected, shared_requests), 0},
	    {offsetof(struct expected, shared_passes), 0},
	};
	struct expected walked;
	unsigned differing = 0;

	walk_launch(subject, shape, &walked);
	for (size_t i = 0; i < sizeof(walked_ones) / sizeof(*walked_ones); i++) {
		size_t offset = walked_ones[i].offset;
		double by_walk = at(&walked, offset);

		if (!walked_ones[i].derived && !isnan(at(expected, offset)))
			memcpy((char *)expected + offset, &by_walk, sizeof(by_walk));
		if (agree(by_walk, at(expected, offset)))
			continue;
		print_message("# %s: walked %.10g, by hand %.10g\n", subject->kernel, by_walk, at(expected, offset));
		differing++;
	}
	return differing;
}

static int speaks_of(const json_t *kernel, const char *word)
{
	const json_t *unknown = json_object_get(kernel, "unknown");

	for (size_t i = 0; i < json_array_size(unknown); i++) {
		const json_t *one = json_array_get(unknown, i);
		const char *what = json_string_value(json_object_get(one, "what"));

		if (what && strstr(what, word) && json_string_value(json_object_get(one, "assumed")))
			return 1;
	}
	return 0;
}

/* Either everything is known, or the reason is given. */
static unsigned check_marks(const struct subject *subject, const json_t *kernel)
{
	const json_t *counts = json_object_get(kernel, "counts");
	int exact = json_is_true(json_object_get(counts, "exact"));
	int assumed = json_is_true(json_object_get(counts, "assumed"));
	size_t unknown = json_array_size(json_object_get(kernel, "unknown"));

	if (!subject->unknown) {
		if (exact && !assumed && unknown == 0)
			return 0;
		print_message("# %s: exact %d, assumed %d, %zu unknown\n", subject->kernel, exact, assumed, unknown);
		return 1;
	}
	if (!exact && assumed && speaks_of(kernel, subject->unknown))
		return 0;
	print_message("# %s: exact %d, assumed %d, %zu unknown, none of them speaks of \"%s\"\n", subject->kernel,
		      exact, assumed, unknown, subject->unknown);
	return 1;
}

static unsigned check(const struct subject *subject, unsigned size, unsigned block)
{
	struct shape shape;
	struct expected expected = {0};
	json_t *document, *kernel;
	unsigned differing;

	subject->shape(&shape, size, block);
	subject->counts(&shape, &expected);
	differing = complete(subject, &shape, &expected);
	document = explained(subject->kernel, &shape);
	kernel = only_kernel(document);
	differing += compare(subject, &shape, &expected, json_object_get(kernel, "counts"));
	differing += check_marks(subject, kernel);
	json_decref(document);
	return differing;
}

static void test_subject(void **state)
{
	const struct subject *subject = *state;
	unsigned differing = 0;

	for (unsigned size = 0; size < SIZES; size++) {
		for (unsigned block = 0; block < BLOCK_SHAPES; block++)
			differing += check(subject, size, block);
	}
	assert_int_equal(differing, 0);
}

#define TESTS_MAX 64

static size_t add_tests(struct CMUnitTest *tests, size_t count, const struct subject *subjects)
{
	const char *wanted = getenv("KC_SUBJECT");

	for (; subjects->kernel; subjects++) {
		if (count < TESTS_MAX && (!wanted || strcmp(wanted, subjects->kernel) == 0))
			tests[count++] = (struct CMUnitTest){
			    .name = subjects->kernel, .test_func = test_subject, .initial_state = (void *)subjects};
	}
	return count;
}

int main(void)
{
	struct CMUnitTest tests[TESTS_MAX];
	ssize_t length = readlink("/proc/self/exe", folder, sizeof(folder) - 1);
	size_t count = 0;

	if (length < 0)
		return 1;
	folder[length] = '\0';
	*strrchr(folder, '/') = '\0';
	count = add_tests(tests, count, matmul_subjects);
	count = add_tests(tests, count, simple_subjects);
	count = add_tests(tests, count, shared_subjects);
	count = add_tests(tests, count, irregular_subjects);
	count = add_tests(tests, count, own_memory_subjects);
	return _cmocka_run_group_tests("counts", tests, count, NULL, NULL);
}

/* Runs made by hand, for tests of what compares them. */
#ifndef KC_DIFF_TESTING_H
#define KC_DIFF_TESTING_H

#include "compare.h"
#include "store/journal/journal.h"
#include "predictor/concurrency/timeline.h"
#include "predictor/math/random_testing.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static inline int near(double got, double wanted, double by)
{
	return fabs(got - wanted) <= by;
}

struct made {
	struct kc_measured_names names;
	struct kc_measured_run runs[8];
};

/* The number of a kernel's launch shape of so many blocks. */
static inline uint32_t shape_of(struct made *m, const char *kernel, uint32_t blocks)
{
	struct kc_measured_shape shape = {.grid = {blocks, 1, 1}, .block = {128, 1, 1}};
	uint32_t number;

	assert_int_equal(kc_measured_kernel_number(&m->names, kernel, kernel, &shape.kernel), 0);
	assert_int_equal(kc_measured_shape_number(&m->names, &shape, &number), 0);
	return number;
}

static inline struct kc_measured_launch *launch(struct made *m, int run, const char *kernel, double ns)
{
	struct kc_measured_run *to = m->runs + run;
	struct kc_measured_launch *l = kc__list_add(&to->launches, sizeof(*l));

	assert_non_null(l);
	*l = (struct kc_measured_launch){
	    .ns = llround(ns), .shape = shape_of(m, kernel, 1), .stream = 1, .overlap = KC_OVERLAP_NONE};
	to->streams = 4;
	return l;
}

/* A launch of 10 us for each letter: a small one of the kernel of this name on stream 1, a capital one of the same
 * kernel on stream 2. A digit is kernel "k" with these arguments on stream 1. */
static inline void launch_each(struct made *m, int run, const char *letters)
{
	for (; *letters; letters++) {
		const int is_digit = *letters >= '0' && *letters <= '9',
			  is_capital = *letters >= 'A' && *letters <= 'Z';
		const char name[2] = {(char)(is_digit ? 'k' : is_capital ? *letters - 'A' + 'a' : *letters)};
		struct kc_measured_launch *l = launch(m, run, name, 10000);

		l->stream = is_capital ? 2 : 1;
		l->arguments = is_digit ? (uint32_t)(*letters - '0') : 0;
	}
}

static inline void launch_times(struct made *m, int run, int times, const char *letters)
{
	for (int i = 0; i < times; i++)
		launch_each(m, run, letters);
}

/* A part of a baseline: launches of 10 us. No launch is at its position. */
static inline struct kc_diff_item *part_of(struct made *m, struct kc__list *parts, const char *kernel, float at,
					   uint32_t count)
{
	struct kc_diff_item *part = kc__list_add(parts, sizeof(*part));

	assert_non_null(part);
	*part = (struct kc_diff_item){.ns = 10000,
				      .log = log(10000),
				      .at = at,
				      .count = count,
				      .shape = shape_of(m, kernel, 1),
				      .before = {1, 0},
				      .company = KC_COMPANY_NONE};
	return part;
}

static inline double uniform(void)
{
	return (random_below(1 << 24) + 0.5) / (1 << 24);
}

/* Standard normal: Box and Muller (1958). */
static inline double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

/* The number of a process; new ones are named in their order: "rank 0", "rank 1", ... */
static inline uint16_t rank(struct made *m, uint32_t number)
{
	while (m->names.processes.count <= number) {
		char **name = kc__list_add(&m->names.processes, sizeof(*name));

		assert_non_null(name);
		assert_true(asprintf(name, "rank %zu", m->names.processes.count - 1) > 0);
	}
	return (uint16_t)(number + 1);
}

/* Within some 1 % of ns. */
static inline struct kc_measured_launch *launch_on(struct made *m, int run, uint32_t number, const char *kernel,
						   double ns)
{
	struct kc_measured_launch *l = launch(m, run, kernel, ns * (1 + 0.01 * normal()));

	l->process = rank(m, number);
	l->stream = 1 + number;
	return l;
}

/* The first `olds` runs against the next one. */
static inline void compare_limits(struct made *m, size_t olds, const struct kc_diff_limits *limits, struct kc_diff *out)
{
	const struct kc_diff_input inputs[KC_SIDES] = {{m->runs, olds, NULL, 0}, {m->runs + olds, 1, NULL, 0}};

	assert_int_equal(kc_diff_compare(&m->names, inputs, limits, out), 0);
}

static inline void compare(struct made *m, size_t olds, struct kc_diff *out)
{
	compare_limits(m, olds, &(struct kc_diff_limits){0.05, 1000}, out);
}

/* A baseline's parts against a run. */
static inline void compare_parts(struct made *m, const struct kc__list *parts, int run, struct kc_diff *out)
{
	const struct kc_diff_input inputs[KC_SIDES] = {{NULL, 0, parts, 0}, {m->runs + run, 1, NULL, 0}};

	assert_int_equal(kc_diff_compare(&m->names, inputs, &(struct kc_diff_limits){0.05, 1000}, out), 0);
}

static inline const struct kc_diff_kernel *kernel_named(const struct made *m, const struct kc_diff *diff,
							const char *name)
{
	for (size_t i = 0; i < diff->count; i++)
		if (!strcmp(kc_measured_kernel(&m->names, diff->kernels[i].kernel)->name, name))
			return diff->kernels + i;
	fail_msg("no kernel %s", name);
	return NULL;
}

static inline size_t reported(const struct kc_diff *diff)
{
	size_t n = 0;

	for (size_t i = 0; i < diff->count; i++)
		n += diff->kernels[i].what == KC_DIFF_SLOWER || diff->kernels[i].what == KC_DIFF_FASTER;
	return n;
}

/* What the parts add up to, to a nanosecond. */
static inline void check_sums(const struct kc_diff *d)
{
	const struct kc_diff_sums *s = &d->sums;

	assert_true(near(s->difference, d->total_ns[KC_NEW] - d->total_ns[KC_OLD], 1));
	assert_true(near(s->slower + s->faster + s->new + s->gone + s->mix + s->company + s->rest, s->difference, 1));
}

static inline void made_free(struct made *m)
{
	for (size_t i = 0; i < sizeof(m->runs) / sizeof(*m->runs); i++)
		kc_measured_run_free(m->runs + i);
	kc_measured_names_free(&m->names);
}

#endif

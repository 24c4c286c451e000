/* What the tests of causes and of peers share: runs made by hand, and what is found slow in the last of them. */
#ifndef KC_SLOW_TESTING_H
#define KC_SLOW_TESTING_H

#include "causes.h"
#include "tools/diff/diff_testing.h"

#include "store/database/schema.h"

#define RUNS 3

/* Runs of one process each. Launches follow one another, 1 us apart, unless said otherwise. */
struct trial {
	struct made made; /* runs[0] and [1]: earlier ones */
	int64_t ends_ns[RUNS];
	size_t earlier;
	struct kc_slow_runs runs;
	struct kc_diff diff;
	struct kc_slow slow;
};

static inline struct kc_measured_launch *add(struct trial *t, int run, const char *kernel, double ns)
{
	struct kc_measured_run *to = t->made.runs + run;
	struct kc_measured_launch *l = launch(&t->made, run, kernel, ns);
	struct kc_measured_moment *moment = kc__list_add(&to->moments, sizeof(*moment));

	assert_non_null(moment);
	*moment = (struct kc_measured_moment){.id = INT64_C(1) << KC_SEQUENCE_BITS | (int64_t)to->launches.count,
					      .start_ns = t->ends_ns[run] + 1000,
					      .matches = 1,
					      .device = 1};
	t->ends_ns[run] = moment->start_ns + llround(ns);
	return l;
}

/* On a GPU of the first or second model. */
static inline struct kc_measured_launch *add_on(struct trial *t, int run, uint32_t model, uint32_t blocks, double ns)
{
	struct kc_measured_launch *l = add(t, run, "a", ns);
	struct kc_measured_shape shape = {.grid = {blocks, 1, 1}, .block = {128, 1, 1}};

	shape.model = kc_intern(&t->made.names.model_ids, 'm', &model, sizeof(model));
	assert_int_equal(kc_measured_kernel_number(&t->made.names, "a", "a", &shape.kernel), 0);
	assert_int_equal(kc_measured_shape_number(&t->made.names, &shape, &l->shape), 0);
	l->stream = model;
	return l;
}

static inline void add_many(struct trial *t, int run, const char *kernel, int count, double ns)
{
	for (int i = 0; i < count; i++)
		add(t, run, kernel, ns);
}

/* A launch of `kernel`, and one of `other` that begins with it. */
static inline void add_overlapped(struct trial *t, int run, const char *kernel, double ns, const char *other,
				  double other_ns)
{
	struct kc_measured_moment *moments;
	size_t count;

	add(t, run, kernel, ns)->overlap = KC_OVERLAP_BEHIND;
	add(t, run, other, other_ns)->overlap = KC_OVERLAP_BEHIND;
	((struct kc_measured_launch *)t->made.runs[run].launches.at)[t->made.runs[run].launches.count - 1].stream = 2;
	moments = t->made.runs[run].moments.at;
	count = t->made.runs[run].moments.count;
	moments[count - 1].start_ns = moments[count - 2].start_ns;
}

/* Run 2 is judged by the runs before it. */
static inline void find_past(struct trial *t, double over)
{
	const struct kc_diff_limits limits = {over, 1000};
	const struct kc_diff_input inputs[KC_SIDES] = {{t->made.runs + 2 - t->earlier, t->earlier, NULL, 0},
						       {t->made.runs + 2, 1, NULL, 0}};

	t->runs = (struct kc_slow_runs){&t->made.names, inputs[KC_OLD].runs, t->earlier, t->made.runs + 2};
	if (t->earlier)
		assert_int_equal(kc_diff_compare(&t->made.names, inputs, &limits, &t->diff), 0);
	assert_int_equal(kc_slow_find(&t->runs, t->earlier ? &t->diff : NULL, &limits, &t->slow), 0);
}

static inline void find(struct trial *t)
{
	find_past(t, 0.05);
}

static inline void end(struct trial *t)
{
	kc_slow_free(&t->slow);
	kc_diff_free(&t->diff);
	made_free(&t->made);
}

static inline void found(const struct trial *t, enum kc_slow_cause cause, uint64_t launches, double lost_ns)
{
	assert_int_equal(t->slow.causes[cause].launches, launches);
	if (!near(t->slow.causes[cause].ns, lost_ns, lost_ns * 1e-4 + 0.1))
		fail_msg("%s lost %.1f ns, not %.1f", kc_slow_cause_name(cause), t->slow.causes[cause].ns, lost_ns);
}

static inline void nothing_else(const struct trial *t, uint64_t launches, double lost_ns)
{
	assert_int_equal(t->slow.lost.launches, launches);
	assert_int_equal(t->slow.found_count, launches);
	assert_true(near(t->slow.lost.ns, lost_ns, lost_ns * 1e-4 + 0.1));
}

#endif

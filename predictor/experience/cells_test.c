#include "cells.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { EIGHT_MIB = 8 << 20 };
#define OTHERS (UINT64_C(1) << 40) /* launches that are in no cell themselves */
#define ALL_KINDS ((1u << KC_CONTEXT_ANY) - 1)

struct fixture {
	struct kc_cells *cells;
	struct kc_estimators estimators;
};

static void begin(struct fixture *f)
{
	f->cells = calloc(1, kc_cells_bytes());
	assert_non_null(f->cells);
	kc_cells_init(f->cells);
	kc_estimators_init(&f->estimators);
}

static uint64_t context_after(uint64_t n, int joined)
{
	struct kc_history h;

	kc_history_init(&h, joined);
	kc_history_add(&h, OTHERS | n, 0, 0);
	return kc_history_context(&h, 1, 0, 0);
}

/* A context whose launch before is n, and all else as well. */
static uint64_t context_of(uint64_t n)
{
	return context_after(n, 1);
}

static struct kc_context_estimate learn(struct fixture *f, uint64_t identity, uint64_t context, double ns)
{
	struct kc_name name = {identity, identity};
	struct kc_context_estimate before;

	kc_cells_learn(f->cells, &f->estimators, &name, context, logf((float)ns), &before);
	return before;
}

static struct kc_context_estimate recall(const struct fixture *f, uint64_t identity, uint64_t context)
{
	struct kc_name name = {identity, identity};
	struct kc_context_estimate r = {0};

	kc_cells_estimate(f->cells, &name, context, &r);
	return r;
}

static double ns_of(const struct kc_context_estimate *r)
{
	return exp((double)r->log_ns);
}

static int is_within(double a, double b, double share)
{
	return fabs(a - b) <= share * b;
}

static void nothing_is_known_at_first(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	assert_int_equal(recall(&f, 1, context_of(1)).known, 0);
	assert_int_equal(learn(&f, 1, context_of(1), 1000).known, 0);
	assert_int_equal(recall(&f, 2, context_of(1)).known, 0);
	free(f.cells);
}

static void one_measurement_is_what_is_known(void **state)
{
	struct kc_context_estimate r;
	struct fixture f;

	(void)state;
	begin(&f);
	learn(&f, 1, context_of(1), 1000);
	r = recall(&f, 1, context_of(1));
	assert_int_equal(r.known, ALL_KINDS);
	assert_true(is_within(ns_of(&r), 1000, 1e-4));
	assert_true(r.spread > 0 && r.spread < 1);
	/* After another launch: only of the shape, whatever context, and that it is the first of its kind. */
	r = recall(&f, 1, context_of(2));
	assert_int_equal(r.known, 1u << KC_CONTEXT_SHAPE | 1u << KC_CONTEXT_SINCE);
	assert_true(is_within(ns_of(&r), 1000, 1e-4));
	free(f.cells);
}

/* 1,000 ns after launch 1, 2,000 ns after launch 2, alternately: what came before tells them apart. */
static void durations_that_alternate(void **state)
{
	struct kc_context_estimate one, two, unknown;
	struct fixture f;

	(void)state;
	begin(&f);
	for (uint32_t i = 0; i < 50; i++)
		learn(&f, 1, context_of(1 + i % 2), i % 2 ? 2000 : 1000);
	one = recall(&f, 1, context_of(1));
	two = recall(&f, 1, context_of(2));
	unknown = recall(&f, 1, context_of(3));
	assert_true(is_within(ns_of(&one), 1000, 0.01));
	assert_true(is_within(ns_of(&two), 2000, 0.01));
	assert_true(ns_of(&unknown) >= 999 && ns_of(&unknown) <= 2001);
	/* Nothing that is said of the shape alone is nearer than a factor of the root of 2 to both. */
	assert_true(one.spread < 0.01f && two.spread < 0.01f && unknown.spread > 0.1f);
	free(f.cells);
}

/* 2,000 ns after launch 1, but 1,000 ns where that was the very first one: once is enough to know. */
static void the_start_of_a_history(void **state)
{
	uint64_t start = context_after(1, 0);
	struct kc_context_estimate r;
	struct fixture f;

	(void)state;
	begin(&f);
	learn(&f, 1, start, 1000);
	for (uint32_t i = 0; i < 50; i++)
		learn(&f, 1, context_of(1), 2000);
	r = recall(&f, 1, start);
	assert_int_equal(r.known, 1u << KC_CONTEXT_LAST_32);
	assert_true(is_within(ns_of(&r), 1000, 1e-4));
	r = recall(&f, 1, context_of(1));
	assert_true(is_within(ns_of(&r), 2000, 0.01));
	assert_int_equal(learn(&f, 1, start, 1020).known, 1u << KC_CONTEXT_LAST_32);
	/* When it is another each time, it is one context among others. */
	learn(&f, 1, start, 3000);
	for (uint32_t i = 0; i < 20; i++)
		learn(&f, 1, context_of(1), 2000);
	r = recall(&f, 1, start);
	assert_int_equal(r.known, ALL_KINDS);
	assert_true(is_within(ns_of(&r), 2000, 0.02));
	free(f.cells);
}

/* Another program's first launches are not taken for this one's, though few names tell starts apart. */
static void another_start(void **state)
{
	struct kc_history h;
	struct fixture f;

	(void)state;
	begin(&f);
	kc_history_init(&h, 0);
	for (uint64_t n = 1; n <= 5; n++)
		kc_history_add(&h, OTHERS | n, 0, 0);
	learn(&f, 1, kc_history_context(&h, 1, 0, 0), 1000);
	for (uint64_t other = 1; other <= 1000; other++) {
		kc_history_init(&h, 0);
		for (uint64_t n = 1; n <= 5; n++)
			kc_history_add(&h, OTHERS | 100 * other | n, 0, 0);
		assert_int_not_equal(recall(&f, 1, kc_history_context(&h, 1, 0, 0)).known, 1u << KC_CONTEXT_LAST_32);
	}
	free(f.cells);
}

/* Where the code tells the work, other arguments say nothing; what was learned without the code holds. */
static void counted_launches_know_what_was_learned_without_the_code(void **state)
{
	struct kc_context_estimate r, before;
	struct fixture f;

	(void)state;
	begin(&f);
	for (uint32_t i = 0; i < 20; i++)
		kc_cells_learn(f.cells, &f.estimators, &(struct kc_name){1, 7}, context_of(1), logf(1000), &before);
	kc_cells_estimate(f.cells, &(struct kc_name){1, 0}, context_of(2), &r);
	assert_int_equal(r.known, 1u << KC_CONTEXT_SHAPE | 1u << KC_CONTEXT_SINCE);
	kc_cells_estimate(f.cells, &(struct kc_name){2, 0}, context_of(2), &r);
	assert_int_equal(r.known, 0);
	free(f.cells);
}

/* One shape given 1 takes 1,000 ns, given 2 takes 2,000 ns; given 3, which never was, it takes about what it took last.
 */
static void arguments(void **state)
{
	struct kc_context_estimate r, before;
	struct fixture f;

	(void)state;
	begin(&f);
	for (uint32_t i = 0; i < 40; i++) {
		struct kc_name name = {.launch = 1 + i % 2, .shape = 7};

		kc_cells_learn(f.cells, &f.estimators, &name, context_of(1), logf(i % 2 ? 2000 : 1000), &before);
	}
	for (uint32_t given = 1; given <= 2; given++) {
		kc_cells_estimate(f.cells, &(struct kc_name){.launch = given, .shape = 7}, context_of(1), &r);
		assert_int_equal(r.known, ALL_KINDS | 1u << KC_CONTEXT_ANY);
		assert_true(is_within(ns_of(&r), 1000 * given, 0.01));
	}
	kc_cells_estimate(f.cells, &(struct kc_name){.launch = 3, .shape = 7}, context_of(1), &r);
	assert_int_equal(r.known, 1u << KC_CONTEXT_ANY);
	assert_true(ns_of(&r) > 999 && ns_of(&r) < 2001);
	/* Not known what it is given: the same. */
	r = recall(&f, 7, context_of(1));
	assert_int_equal(r.known, 1u << KC_CONTEXT_SHAPE);
	assert_true(ns_of(&r) > 999 && ns_of(&r) < 2001);
	free(f.cells);
}

/* Every 10th takes ten times as long: the median does not follow. */
static void outliers(void **state)
{
	struct kc_context_estimate r;
	struct fixture f;

	(void)state;
	begin(&f);
	for (uint32_t i = 0; i < 200; i++)
		learn(&f, 1, context_of(1), i % 10 == 9 ? 10000 : 1000);
	r = recall(&f, 1, context_of(1));
	assert_true(is_within(ns_of(&r), 1000, 0.05));
	free(f.cells);
}

/* From 1,000 to 3,000 ns for good: a new clock. */
static void changes_for_good(void **state)
{
	struct kc_context_estimate r;
	struct fixture f;

	(void)state;
	begin(&f);
	for (uint32_t i = 0; i < 100; i++)
		learn(&f, 1, context_of(1), 1000);
	for (uint32_t i = 0; i < 5; i++)
		learn(&f, 1, context_of(1), 3000);
	r = recall(&f, 1, context_of(1));
	assert_true(is_within(ns_of(&r), 3000, 0.1));
	free(f.cells);
}

/* Each takes 2 % longer than the one before: carried on, the next is 1.02 times the last. */
static void trends(void **state)
{
	struct kc_context_estimate r;
	struct fixture f;
	double ns = 1000;

	(void)state;
	begin(&f);
	for (uint32_t i = 0; i < 100; i++, ns *= 1.02)
		learn(&f, 1, context_of(1), ns);
	r = recall(&f, 1, context_of(1));
	assert_true(is_within(ns_of(&r), ns, 0.005));
	free(f.cells);
}

static void what_learning_says_of_before_is_what_recalling_said(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	for (uint32_t i = 0; i < 30000; i++) {
		uint64_t identity = i < 1000 ? 1 + i % 7 : i, context = context_of(1 + i * i % 5);
		struct kc_context_estimate predicted = recall(&f, identity, context), before;

		before = learn(&f, identity, context, 1000 + 37 * (i % 11));
		assert_int_equal(predicted.known, before.known);
		if (predicted.known) {
			assert_float_equal(predicted.log_ns, before.log_ns, 0);
			assert_float_equal(predicted.spread, before.spread, 0);
		}
	}
	free(f.cells);
}

static void any_duration(void **state)
{
	static const double durations[] = {1, 1e18, 1, 1e9, 1e18, 1e18, 1};
	struct fixture f;

	(void)state;
	begin(&f);
	for (uint32_t i = 0; i < 700; i++) {
		struct kc_context_estimate r;

		learn(&f, 1, context_of(1), durations[i % 7]);
		r = recall(&f, 1, context_of(1));
		assert_true(isfinite(r.log_ns) && r.log_ns > -42 && r.log_ns < 84);
		assert_true(isfinite(r.spread) && r.spread > 0);
	}
	free(f.cells);
}

/* A loop of 20 shapes, each in three contexts, while a million launches come each with a shape and a context of its
 * own: the table stays as large as it is, and the loop's are not forgotten. */
static void a_million_contexts(void **state)
{
	enum { ONCE = 1000000, EVERY = 20, SHAPES = 20, CONTEXTS = 3, FIRST_ONCE = 1000 };
	uint32_t repeats = 0, known = 0;
	char *guarded;
	struct fixture f;

	(void)state;
	assert_true(kc_cells_bytes() <= EIGHT_MIB);
	guarded = malloc(kc_cells_bytes() + 4096);
	assert_non_null(guarded);
	memset(guarded, 0, kc_cells_bytes());
	memset(guarded + kc_cells_bytes(), 0x5a, 4096);
	f.cells = (struct kc_cells *)guarded;
	kc_cells_init(f.cells);
	kc_estimators_init(&f.estimators);
	for (uint64_t i = 0; i < ONCE; i++) {
		uint64_t shape = 1 + repeats % SHAPES, context;

		learn(&f, FIRST_ONCE + i, context_of(FIRST_ONCE + i), 5000);
		if (i % EVERY)
			continue;
		context = context_of(1 + repeats / SHAPES % CONTEXTS);
		learn(&f, shape, context, (double)(1000 * shape) * (double)(1 + repeats / SHAPES % CONTEXTS));
		repeats++;
	}
	for (uint64_t shape = 1; shape <= SHAPES; shape++) {
		for (uint64_t c = 1; c <= CONTEXTS; c++) {
			struct kc_context_estimate r = recall(&f, shape, context_of(c));

			known += r.known == ALL_KINDS && is_within(ns_of(&r), (double)(1000 * shape * c), 0.02);
		}
	}
	assert_int_equal(known, SHAPES * CONTEXTS);
	for (uint32_t i = 0; i < 4096; i++)
		assert_int_equal(guarded[kc_cells_bytes() + i], 0x5a);
	free(guarded);
}

/* A cell met once is taken to be half as far off as 10 %: four digests in each of seven kinds of context weigh
 * 1 / (0.05 + 0.003)³, and the error to expect is the inverse cube root of their sum (which is worked out to 4 %). */
static void what_is_expected_of_a_new_cell(void **state)
{
	struct kc_context_estimate r;
	struct fixture f;

	(void)state;
	begin(&f);
	learn(&f, 1, context_of(1), 1000);
	r = recall(&f, 1, context_of(1));
	assert_true(is_within(r.spread, 0.053 / cbrt(4 * 7), 0.05));
	free(f.cells);
}

/* 1,000 ns for long, then a tenth less. All four digests were 10 % off, which is a thirtieth of their error now: they
 * weigh the same. The last duration is there, the trend once as far again, the median moves by 0.3 of its error and the
 * lower quartile by half as much again. */
static void one_miss_after_many_hits(void **state)
{
	double step = log(1.1), error = 0.1 / 30;
	struct kc_context_estimate r;
	struct fixture f;

	(void)state;
	begin(&f);
	for (uint32_t i = 0; i < 1000; i++)
		learn(&f, 1, context_of(1), 1000);
	learn(&f, 1, context_of(1), 1000 / 1.1);
	r = recall(&f, 1, context_of(1));
	assert_float_equal((double)r.log_ns - log(1000), -(step + 2 * step + 0.3 * error + 0.45 * error) / 4, 2e-5);
	assert_true(is_within(r.spread, (error + 0.003) / cbrt(4 * 7), 0.05));
	free(f.cells);
}

/* Every cell is in the place where it was, whether it was met once or often, and so is what is expected of new ones. */
static void teach(struct fixture *f, uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++)
		learn(f, 1 + i % 300, context_of(i % 1700), 1000 + (double)(i * i % 701));
}

static void what_is_saved_is_loaded(void **state)
{
	uint8_t *saved = malloc(kc_cells_saved_most());
	struct fixture f, again;
	size_t bytes;

	(void)state;
	begin(&f);
	begin(&again);
	teach(&f, 0, 5000);
	bytes = kc_cells_save(f.cells, saved);
	assert_int_equal(kc_cells_load(again.cells, saved, bytes), 0);
	kc_cells_take_over(again.cells);
	assert_memory_equal(again.cells, f.cells, kc_cells_bytes());
	free(saved);
	free(f.cells);
	free(again.cells);
}

/* What is read when it is first needed says the same as what was never written, and is written down alike. */
static void what_waits_is_as_if_it_were_there(void **state)
{
	uint8_t *saved = malloc(kc_cells_saved_most()), *one = malloc(kc_cells_saved_most()),
		*other = malloc(kc_cells_saved_most());
	struct fixture f, again;
	size_t bytes;

	(void)state;
	begin(&f);
	begin(&again);
	teach(&f, 0, 5000);
	bytes = kc_cells_save(f.cells, saved);
	assert_int_equal(kc_cells_load(again.cells, saved, bytes), 0);
	again.estimators = f.estimators;
	for (uint64_t step = 0; step < 4; step++) { /* a part of them has been learned from */
		for (uint64_t i = 0; i < 1700; i++) {
			struct kc_context_estimate x = recall(&f, 1 + i % 300, context_of(i));
			struct kc_context_estimate y = recall(&again, 1 + i % 300, context_of(i));

			assert_memory_equal(&x, &y, sizeof(x));
		}
		assert_int_equal(kc_cells_save(f.cells, one), kc_cells_save(again.cells, other));
		assert_memory_equal(one, other, kc_cells_save(f.cells, one));
		teach(&f, 5000 + 100 * step, 5100 + 100 * step);
		teach(&again, 5000 + 100 * step, 5100 + 100 * step);
	}
	kc_cells_take_over(again.cells);
	assert_memory_equal(again.cells, f.cells, kc_cells_bytes());
	free(saved);
	free(one);
	free(other);
	free(f.cells);
	free(again.cells);
}

/* As saved: an error and a count for each kind of new cells, the clock and four bytes; for each of 4,096 groups of
 * buckets how many cells it has, and how many of them were met once; then cells, each its place, when it was used and
 * its word; then a value and an error of each that was met once. */
enum {
	NEW_ERRORS = KC_CONTEXT_KINDS + 1,
	GROUPS_AT = 4 * (2 * NEW_ERRORS + 2),
	GROUPS = 4096,
	HEAD_BYTES = GROUPS_AT + 2 * GROUPS,
	CELL_BYTES = 4 + 4 + 8,
	ESTIMATE_BYTES = 4 + 4,
	ONCE_CELLS = KC_CONTEXT_ANY, /* all contexts but the one that asks for no arguments */
	ESTIMATES_AT = HEAD_BYTES + ONCE_CELLS * CELL_BYTES,
	SAVED_BYTES = ESTIMATES_AT + ONCE_CELLS * ESTIMATE_BYTES,
};

/* What is no number in the head is refused at once, and so are other numbers of cells; a cell whose word or estimate is
 * none is not found, whether it waits or not. */
static void assert_refused(struct fixture *f, size_t at, int rc)
{
	uint8_t *saved = malloc(kc_cells_saved_most());
	struct kc_context_estimate waiting = recall(f, 1, context_of(1)), taken_over;
	int is_value = at < ESTIMATES_AT && (at - HEAD_BYTES) % CELL_BYTES == 12;

	if (at < 4 * 2 * NEW_ERRORS || (at >= GROUPS_AT && at < HEAD_BYTES))
		assert_int_equal(rc, -EBADMSG);
	if (at >= ESTIMATES_AT || (at >= HEAD_BYTES && is_value)) {
		assert_int_equal(rc, 0);
		kc_cells_take_over(f->cells);
		taken_over = recall(f, 1, context_of(1));
		assert_memory_equal(&waiting, &taken_over, sizeof(waiting));
		assert_int_equal(kc_cells_save(f->cells, saved), SAVED_BYTES - CELL_BYTES - ESTIMATE_BYTES);
	}
	free(saved);
}

static void what_was_not_saved_is_refused(void **state)
{
	static const float nan = NAN;
	uint8_t *saved = malloc(kc_cells_saved_most());
	struct fixture f, again;
	size_t bytes;

	(void)state;
	begin(&f);
	learn(&f, 1, context_of(1), 1000);
	bytes = kc_cells_save(f.cells, saved);
	for (size_t length = 0; length < bytes; length++) {
		begin(&again);
		assert_int_equal(kc_cells_load(again.cells, saved, length), -EBADMSG);
		free(again.cells);
	}
	assert_int_equal(bytes, SAVED_BYTES);
	/* Wherever a number is, or not; of the groups, which are alike, some. */
	for (size_t at = 0; at + sizeof(nan) <= bytes; at += at >= GROUPS_AT && at + 64 < HEAD_BYTES ? 64 : 4) {
		struct kc_context_estimate r;
		uint8_t before[sizeof(nan)];
		int rc;

		memcpy(before, saved + at, sizeof(nan));
		memcpy(saved + at, &nan, sizeof(nan));
		begin(&again);
		rc = kc_cells_load(again.cells, saved, bytes);
		r = recall(&again, 1, context_of(1));
		assert_true(!r.known || isfinite(r.log_ns));
		assert_refused(&again, at, rc);
		learn(&again, 1, context_of(1), 1000);
		r = recall(&again, 1, context_of(1));
		assert_true(r.known && isfinite(r.log_ns));
		memcpy(saved + at, before, sizeof(nan));
		free(again.cells);
	}
	free(saved);
	free(f.cells);
}

/* The last of all cells is counted to the group of the one before it. */
static void move_last(uint8_t *groups)
{
	int of_last = GROUPS - 1, of_before;

	while (!groups[2 * of_last])
		of_last--;
	of_before = of_last - (groups[2 * of_last] == 1);
	while (!groups[2 * of_before])
		of_before--;
	for (int i = 0; i < 2; i++) {
		groups[2 * of_last + i]--;
		groups[2 * of_before + i]++;
	}
}

/* Launching threads put together all words of a bucket that have a context's name: only the first one is taken. */
static void one_context_in_two_places_is_found_in_one(void **state)
{
	uint8_t *saved = malloc(kc_cells_saved_most()), *last = saved + ESTIMATES_AT - CELL_BYTES;
	struct kc_context_estimate waiting, taken_over;
	struct fixture f, again;
	size_t bytes;

	(void)state;
	begin(&f);
	begin(&again);
	learn(&f, 1, context_of(1), 1000);
	bytes = kc_cells_save(f.cells, saved);
	memcpy(last, last - CELL_BYTES, CELL_BYTES);
	last[0] ^= 1;
	move_last(saved + GROUPS_AT);
	assert_int_equal(kc_cells_load(again.cells, saved, bytes), 0);
	waiting = recall(&again, 1, context_of(1));
	assert_true(fabsf(waiting.log_ns - logf(1000)) < 1e-5f);
	kc_cells_take_over(again.cells);
	taken_over = recall(&again, 1, context_of(1));
	assert_memory_equal(&waiting, &taken_over, sizeof(waiting));
	assert_int_equal(kc_cells_save(again.cells, saved), SAVED_BYTES - CELL_BYTES - ESTIMATE_BYTES);
	free(saved);
	free(f.cells);
	free(again.cells);
}

/* Of what does not err, 4 estimators weigh 0.003^-3 each, 1.5e8; six cells of 9e35 at e^60 ns weigh too much for a
 * float. */
static void weights_that_no_learning_gives_are_not_taken(void **state)
{
	static const struct {
		float weight;
		int is_taken;
	} cases[] = {{1.48e8f, 1}, {1e9f, 0}, {9e35f, 0}};
	uint8_t *saved = malloc(kc_cells_saved_most());
	struct fixture f, again;
	size_t bytes;

	(void)state;
	begin(&f);
	learn(&f, 1, context_of(1), 1000);
	bytes = kc_cells_save(f.cells, saved);
	assert_int_equal(bytes, SAVED_BYTES);
	for (size_t n = 0; n < sizeof(cases) / sizeof(*cases); n++) {
		for (size_t at = HEAD_BYTES + 8; at < ESTIMATES_AT; at += CELL_BYTES) {
			const float value = 60;

			memcpy(saved + at + 2, (const uint8_t *)&cases[n].weight + 2, 2);
			memcpy(saved + at + 4, &value, sizeof(value));
		}
		begin(&again);
		assert_int_equal(kc_cells_load(again.cells, saved, bytes), 0);
		assert_true(isfinite(recall(&again, 1, context_of(1)).log_ns));
		assert_int_equal(recall(&again, 1, context_of(1)).known != 0, cases[n].is_taken);
		kc_cells_take_over(again.cells);
		assert_int_equal(recall(&again, 1, context_of(1)).known != 0, cases[n].is_taken);
		free(again.cells);
	}
	for (int i = 0; i < 70000; i++)
		learn(&f, 1, context_of(1), 1000);
	bytes = kc_cells_save(f.cells, saved);
	begin(&again);
	assert_int_equal(kc_cells_load(again.cells, saved, bytes), 0);
	kc_cells_take_over(again.cells);
	assert_memory_equal(again.cells, f.cells, kc_cells_bytes());
	free(again.cells);
	free(saved);
	free(f.cells);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(nothing_is_known_at_first),
	    cmocka_unit_test(one_measurement_is_what_is_known),
	    cmocka_unit_test(durations_that_alternate),
	    cmocka_unit_test(the_start_of_a_history),
	    cmocka_unit_test(another_start),
	    cmocka_unit_test(counted_launches_know_what_was_learned_without_the_code),
	    cmocka_unit_test(arguments),
	    cmocka_unit_test(outliers),
	    cmocka_unit_test(changes_for_good),
	    cmocka_unit_test(trends),
	    cmocka_unit_test(what_learning_says_of_before_is_what_recalling_said),
	    cmocka_unit_test(any_duration),
	    cmocka_unit_test(a_million_contexts),
	    cmocka_unit_test(what_is_expected_of_a_new_cell),
	    cmocka_unit_test(one_miss_after_many_hits),
	    cmocka_unit_test(what_is_saved_is_loaded),
	    cmocka_unit_test(what_waits_is_as_if_it_were_there),
	    cmocka_unit_test(what_was_not_saved_is_refused),
	    cmocka_unit_test(one_context_in_two_places_is_found_in_one),
	    cmocka_unit_test(weights_that_no_learning_gives_are_not_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

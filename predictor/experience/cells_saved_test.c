/* Cells as they are written down and loaded. */
#include "cells_testing.h"

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
	    cmocka_unit_test(what_is_saved_is_loaded),
	    cmocka_unit_test(what_waits_is_as_if_it_were_there),
	    cmocka_unit_test(what_was_not_saved_is_refused),
	    cmocka_unit_test(one_context_in_two_places_is_found_in_one),
	    cmocka_unit_test(weights_that_no_learning_gives_are_not_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

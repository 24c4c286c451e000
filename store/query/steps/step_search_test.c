/* Steps of launches that are in a database. */
#include "known_steps.h"
#include "step_search.h"
#include "steps.h"
#include "store/database/internal.h"
#include "store/database/testing/test_rows.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define LAUNCHES 24 /* in each step: a first one, 5 layers of 4 kernels, 3 at the end */
#define STEPS 6
#define APART_NS 10000
#define WAIT_NS 500000

static int set_up(void **state)
{
	*state = make_scratch_store();
	return 0;
}

static void put(struct kc_store *s, int number, int shape, int64_t launched_ns)
{
	do_sql(s, "INSERT INTO launch_row (id, shape, stream, launched) VALUES (%lld, %d, 1, %lld)",
	       (long long)((INT64_C(1) << KC_SEQUENCE_BITS) + number), shape, (long long)launched_ns);
}

static int shape_at(int place)
{
	return place == 0 || place > 20 ? 100 + place : place % 4 + 1;
}

static int64_t start_of(int step)
{
	return (int64_t)step * (LAUNCHES * APART_NS + WAIT_NS);
}

static void put_steps(struct kc_store *s)
{
	for (int i = 0; i < STEPS * LAUNCHES; i++)
		put(s, i + 1, shape_at(i % LAUNCHES), start_of(i / LAUNCHES) + i % LAUNCHES * APART_NS);
}

static int search(struct kc_store *s, uint64_t left, struct kc__list *steps, struct kc_step_search *out)
{
	struct kc__list inner = {0};
	int rc = kc_step_search(s, 1, &left, steps, &inner, out);

	assert_int_equal(inner.count, 0);
	free(inner.at);
	return rc;
}

static void a_step_goes_up_to_the_next_and_of_the_last_the_end_is_not_known(void **state)
{
	struct scratch_store *f = *state;
	struct kc__list list = {0};
	struct kc_step_search found;
	const struct kc_step *steps;

	put_steps(f->store);
	assert_int_equal(search(f->store, STEPS * LAUNCHES, &list, &found), 0);
	assert_int_equal(found.process, 1);
	assert_int_equal(found.verdict, KC_STEPS_FOUND);
	assert_int_equal(found.outer.launches, LAUNCHES);
	assert_int_equal(list.count, STEPS);
	steps = list.at;
	for (int i = 0; i < STEPS; i++) {
		assert_int_equal(steps[i].process, 1);
		assert_int_equal(steps[i].number, i + 1);
		assert_int_equal(steps[i].start_ns, start_of(i));
		assert_int_equal(steps[i].end_ns,
				 i + 1 < STEPS ? start_of(i + 1) : start_of(i) + (LAUNCHES - 1) * APART_NS + 1);
		assert_int_equal(steps[i].is_open, i + 1 == STEPS);
	}
	assert_float_equal(kc_step_time(steps), start_of(1) - start_of(0), 0);
	assert_true(isnan(kc_step_time(steps + STEPS - 1)));
	free(list.at);
}

static void a_step_goes_up_to_a_call_that_is_in_none(void **state)
{
	struct scratch_store *f = *state;
	struct kc__list list = {0};
	struct kc_step_search found;
	const struct kc_step *last;

	put_steps(f->store);
	put(f->store, STEPS * LAUNCHES + 1, 7, start_of(STEPS) + 500);
	assert_int_equal(search(f->store, UINT64_MAX, &list, &found), 0);
	assert_int_equal(list.count, STEPS);
	last = (const struct kc_step *)list.at + STEPS - 1;
	assert_int_equal(last->end_ns, start_of(STEPS) + 500);
	assert_int_equal(last->is_open, 0);
	free(list.at);
}

static void no_more_rows_are_read_than_may_be(void **state)
{
	struct scratch_store *f = *state;
	struct kc__list list = {0};
	struct kc_step_search found;

	put_steps(f->store);
	assert_int_equal(search(f->store, STEPS * LAUNCHES - 1, &list, &found), -E2BIG);
	assert_int_equal(list.count, 0);
	free(list.at);
}

/* As a damaged file may have them. */
static void any_times_are_taken(void **state)
{
	struct scratch_store *f = *state;
	struct kc__list list = {0};
	struct kc_step_search found;

	put_steps(f->store);
	put(f->store, STEPS * LAUNCHES + 1, 7, INT64_MIN);
	put(f->store, STEPS * LAUNCHES + 2, 7, INT64_MAX);
	assert_int_equal(search(f->store, UINT64_MAX, &list, &found), 0);
	assert_int_equal(list.count, STEPS);
	free(list.at);
}

static void a_process_without_launches_has_no_steps(void **state)
{
	struct scratch_store *f = *state;
	struct kc__list list = {0};
	struct kc_step_search found;

	assert_int_equal(search(f->store, UINT64_MAX, &list, &found), 0);
	assert_int_equal(found.verdict, KC_STEPS_NONE);
	assert_int_equal(list.count, 0);
}

static int has_step(struct kc_known_steps *known, int64_t process, int64_t launched_ns)
{
	struct kc_steps_of of;
	const struct kc_step *step;

	assert_int_equal(kc_known_steps(known, process, &of), 0);
	assert_int_equal(of.count[KC_STEP_INNER], 0);
	step = kc_step_of_call(&of, KC_STEP_OUTER, launched_ns);
	assert_true(!step || step->process == process);
	return step ? (int)step->number : 0;
}

static void a_found_step_holds_its_first_call_up_to_the_next(void **state)
{
	struct scratch_store *f = *state;
	struct kc_known_steps *known;

	put_steps(f->store);
	assert_int_equal(kc_known_steps_new(f->store, &known), 0);
	assert_int_equal(kc_known_steps_are(known), KC_STEPS_ARE_NOT_ASKED);
	assert_int_equal(has_step(known, 9, 0), 0); /* has no launches */
	assert_int_equal(kc_known_steps_are(known), KC_STEPS_ARE_NONE);
	assert_int_equal(has_step(known, 1, start_of(1) - 1), 1);
	assert_int_equal(has_step(known, 1, start_of(1)), 2);
	assert_int_equal(has_step(known, 1, start_of(2) - 1), 2);
	assert_int_equal(has_step(known, 1, start_of(6)), 0);
	assert_int_equal(has_step(known, 9, start_of(1)), 0);
	assert_int_equal(kc_known_steps_are(known), KC_STEPS_ARE_FOUND);
	kc_known_steps_free(known);
}

/* A run of two processes, of which one tells a step, and launches in the other that repeat; and another that tells
 * one. */
static void steps_are_found_where_the_run_tells_none_only(void **state)
{
	struct scratch_store *f = *state;
	struct kc_journal_header headers[] = {make_header(42, "run-a"), make_header(43, "run-a"),
					      make_header(44, "run-b")};
	struct kc_known_steps *known;
	struct kc_steps_of of;
	int64_t process[3];

	for (int i = 0; i < 3; i++)
		assert_int_equal(kc_store_process(f->store, &headers[i], &process[i]), 0);
	assert_int_equal(process[0], 1);
	put_steps(f->store);
	assert_int_equal(kc_steps_are_told(f->store, 1), 0);
	for (int i = 1; i < 3; i++)
		do_sql(f->store, "INSERT INTO step (process, start_ns, number, end_ns) VALUES (%lld, 1000, %d, 2000)",
		       (long long)process[i], i + 2);
	assert_int_equal(kc_steps_are_told(f->store, 1), 1);
	assert_int_equal(kc_known_steps_new(f->store, &known), 0);
	assert_int_equal(has_step(known, 1, start_of(1)), 0);
	assert_int_equal(has_step(known, process[1], 999), 0);
	assert_int_equal(has_step(known, process[1], 1000), 3);
	assert_int_equal(has_step(known, process[1], 1999), 3);
	assert_int_equal(has_step(known, process[1], 2000), 0);
	assert_int_equal(has_step(known, process[2], 1000), 4);
	assert_int_equal(kc_known_steps(known, process[1], &of), 0);
	assert_int_equal(of.are, KC_STEPS_ARE_TOLD);
	assert_int_equal(of.count[KC_STEP_OUTER], 1);
	assert_int_equal(kc_known_steps_are(known), KC_STEPS_ARE_TOLD);
	kc_known_steps_free(known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(a_step_goes_up_to_the_next_and_of_the_last_the_end_is_not_known, set_up,
					    remove_scratch_store),
	    cmocka_unit_test_setup_teardown(a_step_goes_up_to_a_call_that_is_in_none, set_up, remove_scratch_store),
	    cmocka_unit_test_setup_teardown(no_more_rows_are_read_than_may_be, set_up, remove_scratch_store),
	    cmocka_unit_test_setup_teardown(any_times_are_taken, set_up, remove_scratch_store),
	    cmocka_unit_test_setup_teardown(a_process_without_launches_has_no_steps, set_up, remove_scratch_store),
	    cmocka_unit_test_setup_teardown(a_found_step_holds_its_first_call_up_to_the_next, set_up,
					    remove_scratch_store),
	    cmocka_unit_test_setup_teardown(steps_are_found_where_the_run_tells_none_only, set_up,
					    remove_scratch_store),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

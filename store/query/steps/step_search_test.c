/* Steps of launches that are in a database. */
#include "step_match.h"
#include "step_search.h"
#include "steps.h"
#include "store/database/internal.h"
#include "store/database/testing/test_rows.h"
#include "store/query/filter.h"

#include <errno.h>
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

static void a_step_goes_up_to_the_next_and_the_last_to_its_last_call(void **state)
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
	}
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

/* Whether a launch call of this process at this time is in steps 2 to 3 or in inner repeat 5. */
static int is_chosen(struct kc_step_match *match, int64_t process, int64_t launched_ns)
{
	int is = kc_step_match(match, process, launched_ns);

	assert_true(is == 0 || is == 1);
	return is;
}

static const struct kc_filter_spans two_to_three = {.each = {{2, 3, 0}, {5, 5, 1}}, .count = 2};

static void found_steps_are_chosen_from_their_first_call_to_the_next(void **state)
{
	struct scratch_store *f = *state;
	struct kc_step_match *match;

	put_steps(f->store);
	assert_int_equal(kc_step_match_new(f->store, &two_to_three, &match), 0);
	assert_int_equal(kc_step_match_are(match), KC_STEPS_ARE_NOT_ASKED);
	assert_int_equal(is_chosen(match, 9, 0), 0); /* has no launches */
	assert_int_equal(kc_step_match_are(match), KC_STEPS_ARE_NONE);
	assert_int_equal(is_chosen(match, 1, start_of(1) - 1), 0);
	assert_int_equal(is_chosen(match, 1, start_of(1)), 1);
	assert_int_equal(is_chosen(match, 1, start_of(3) - 1), 1);
	assert_int_equal(is_chosen(match, 1, start_of(3)), 0);
	assert_int_equal(is_chosen(match, 1, start_of(4)), 0); /* step 5 is no inner repeat 5 */
	assert_int_equal(is_chosen(match, 9, start_of(1)), 0);
	assert_int_equal(kc_step_match_are(match), KC_STEPS_ARE_FOUND);
	kc_step_match_free(match);
}

/* A run of two processes, of which one tells a step, and launches in the other that repeat. */
static void steps_are_found_where_the_run_tells_none_only(void **state)
{
	struct scratch_store *f = *state;
	struct kc_journal_header one = make_header(42, "run-a"), other = make_header(43, "run-a");
	struct kc_step_match *match;
	int64_t of_one, of_other;

	assert_int_equal(kc_store_process(f->store, &one, &of_one), 0);
	assert_int_equal(kc_store_process(f->store, &other, &of_other), 0);
	assert_int_equal(of_one, 1);
	put_steps(f->store);
	assert_int_equal(kc_steps_are_told(f->store, of_one), 0);
	do_sql(f->store, "INSERT INTO step (process, start_ns, number, end_ns) VALUES (%lld, 1000, 3, 2000)",
	       (long long)of_other);
	assert_int_equal(kc_steps_are_told(f->store, of_one), 1);
	assert_int_equal(kc_step_match_new(f->store, &two_to_three, &match), 0);
	assert_int_equal(is_chosen(match, of_one, start_of(1)), 0);
	assert_int_equal(is_chosen(match, of_other, 999), 0);
	assert_int_equal(is_chosen(match, of_other, 1000), 1);
	assert_int_equal(is_chosen(match, of_other, 1999), 1);
	assert_int_equal(is_chosen(match, of_other, 2000), 0);
	assert_int_equal(kc_step_match_are(match), KC_STEPS_ARE_TOLD);
	kc_step_match_free(match);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(a_step_goes_up_to_the_next_and_the_last_to_its_last_call, set_up,
					    remove_scratch_store),
	    cmocka_unit_test_setup_teardown(no_more_rows_are_read_than_may_be, set_up, remove_scratch_store),
	    cmocka_unit_test_setup_teardown(any_times_are_taken, set_up, remove_scratch_store),
	    cmocka_unit_test_setup_teardown(a_process_without_launches_has_no_steps, set_up, remove_scratch_store),
	    cmocka_unit_test_setup_teardown(found_steps_are_chosen_from_their_first_call_to_the_next, set_up,
					    remove_scratch_store),
	    cmocka_unit_test_setup_teardown(steps_are_found_where_the_run_tells_none_only, set_up,
					    remove_scratch_store),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* By hand, with variances of 1.02 for launches that are just alike and of 0.16 for what a launch is off by itself: what
 * n lessons of 1 teach of such a launch is 1.02 n / (1.02 n + 0.16). */
#include "correction.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <unistd.h>

#define GUESS 10.0f
#define COMMON 0.02
#define ONE_LESSON (1 + COMMON + 0.16)

static const struct kc_name_traits taught = {.marks = 0x3};
static const struct kc_name_traits sibling = {.marks = 0x5}; /* of three words, one is both's */
static const struct kc_name_traits stranger = {.marks = 0x30};

static void teach(struct kc_correction *correction, const struct kc_name_traits *name, float off,
		  struct kc_correction_lesson *lesson)
{
	kc_correction_learn(correction, name, GUESS, GUESS + off, 1, lesson);
}

static void launches_that_are_like_a_slow_one_are_corrected(void **state)
{
	static struct kc_correction correction;
	struct kc_correction_lesson lesson = {0};

	(void)state;
	assert_float_equal(kc_correction_of(&correction, &taught, GUESS), 0, 0);
	teach(&correction, &taught, 1, &lesson); /* e times slower */
	assert_float_equal(kc_correction_of(&correction, &taught, GUESS), (1 + COMMON) / ONE_LESSON, 1e-5);
	assert_float_equal(kc_correction_of(&correction, &sibling, GUESS), (1.0 / 3 + COMMON) / ONE_LESSON, 1e-5);
	assert_float_equal(kc_correction_of(&correction, &stranger, GUESS), COMMON / ONE_LESSON, 1e-5);
	/* A guess that is e^3 times as long: two standard deviations of 1.5 away. */
	assert_float_equal(kc_correction_of(&correction, &taught, GUESS + 3), (exp(-2) + COMMON) / ONE_LESSON, 1e-5);
}

static void many_launches_teach_more_than_one(void **state)
{
	static struct kc_correction correction;

	(void)state;
	for (int i = 0; i < 40; i++) {
		struct kc_correction_lesson lesson = {0};

		teach(&correction, &taught, 1, &lesson);
	}
	assert_float_equal(kc_correction_of(&correction, &taught, GUESS), 1.02 * 40 / (1.02 * 40 + 0.16), 1e-4);
}

static void a_launch_far_off_counts_as_off_by_a_step(void **state)
{
	static struct kc_correction correction;
	struct kc_correction_lesson lesson = {0};

	(void)state;
	teach(&correction, &taught, 9, &lesson);
	assert_float_equal(kc_correction_of(&correction, &taught, GUESS), 1.5 * (1 + COMMON) / ONE_LESSON, 1e-5);
}

static void a_lesson_in_two_parts_is_one(void **state)
{
	static struct kc_correction correction;
	struct kc_correction_lesson lesson = {0};

	(void)state;
	kc_correction_learn(&correction, &taught, GUESS, GUESS + 1, 0.1f, &lesson);
	assert_float_equal(kc_correction_of(&correction, &taught, GUESS), 1.02 / (1.02 + 1.6), 1e-5);
	kc_correction_learn(&correction, &taught, GUESS, GUESS + 1, 0.9f, &lesson);
	assert_float_equal(kc_correction_of(&correction, &taught, GUESS), (1 + COMMON) / ONE_LESSON, 1e-5);
	assert_int_equal(correction.lessons, 1);
}

static void a_launch_that_was_delayed_is_taken_back(void **state)
{
	static struct kc_correction correction;
	struct kc_correction_lesson lesson = {0};

	(void)state;
	teach(&correction, &taught, 1, &lesson);
	kc_correction_amend(&correction, &taught, GUESS, GUESS, &lesson);
	assert_float_equal(kc_correction_of(&correction, &taught, GUESS), 0, 1e-6);
}

static void what_is_hardly_shorter_or_longer_changes_nothing(void **state)
{
	static struct kc_correction correction;
	struct kc_correction_lesson lesson = {0}, none = {0};
	float before;

	(void)state;
	teach(&correction, &taught, 1, &lesson);
	before = kc_correction_of(&correction, &taught, GUESS);
	kc_correction_amend(&correction, &taught, GUESS, GUESS + 0.75f, &lesson);
	kc_correction_amend(&correction, &taught, GUESS, GUESS + 4, &lesson);
	kc_correction_amend(&correction, &taught, GUESS, GUESS - 4, &none); /* it never taught */
	assert_float_equal(kc_correction_of(&correction, &taught, GUESS), before, 0);
}

/* From a lesson of 1 on, 0.35 less is clearly less: 0.65 takes its place. */
static void what_is_clearly_shorter_takes_the_place(void **state)
{
	static struct kc_correction correction;
	struct kc_correction_lesson lesson = {0};

	(void)state;
	teach(&correction, &taught, 1, &lesson);
	kc_correction_amend(&correction, &taught, GUESS, GUESS + 0.65f, &lesson);
	assert_float_equal(kc_correction_of(&correction, &taught, GUESS), 0.65 * (1 + COMMON) / ONE_LESSON, 1e-5);
}

static void names_without_words_are_alike(void **state)
{
	static const struct kc_name_traits nothing = {.marks = 0}, one_word = {.marks = 0x8};
	static struct kc_correction correction;
	struct kc_correction_lesson lesson = {0};

	(void)state;
	teach(&correction, &nothing, 1, &lesson);
	assert_float_equal(kc_correction_of(&correction, &nothing, GUESS), (1 + COMMON) / ONE_LESSON, 1e-5);
	assert_float_equal(kc_correction_of(&correction, &one_word, GUESS), COMMON / ONE_LESSON, 1e-5);
	lesson = (struct kc_correction_lesson){0};
	correction = (struct kc_correction){.count = 0};
	teach(&correction, &one_word, 1, &lesson);
	assert_float_equal(kc_correction_of(&correction, &one_word, GUESS), (1 + COMMON) / ONE_LESSON, 1e-5);
}

static void the_oldest_lesson_is_forgotten(void **state)
{
	static struct kc_correction correction;
	struct kc_correction_lesson old = {0};

	(void)state;
	teach(&correction, &taught, 1, &old);
	for (uint32_t i = 0; i < KC_CORRECTION_LESSONS; i++) {
		struct kc_correction_lesson lesson = {0};

		kc_correction_learn(&correction, &stranger, GUESS + 50, GUESS + 50, 1, &lesson);
	}
	assert_float_equal(kc_correction_of(&correction, &taught, GUESS), 0, 0);
	kc_correction_amend(&correction, &taught, GUESS, GUESS - 1, &old); /* the place is another's */
	assert_float_equal(kc_correction_of(&correction, &taught, GUESS), 0, 0);
}

/* The learner was stopped in between: who launches goes on without. An endless wait is ended by SIGALRM. */
static void nobody_waits_for_the_learner(void **state)
{
	static struct kc_correction correction;
	struct kc_correction_lesson lesson = {0};

	(void)state;
	teach(&correction, &taught, 1, &lesson);
	atomic_fetch_add(&correction.sequence, 1);
	alarm(10);
	assert_float_equal(kc_correction_of(&correction, &taught, GUESS), 0, 0);
	alarm(0);
	atomic_fetch_add(&correction.sequence, 1);
	assert_float_equal(kc_correction_of(&correction, &taught, GUESS), (1 + COMMON) / ONE_LESSON, 1e-5);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(launches_that_are_like_a_slow_one_are_corrected),
	    cmocka_unit_test(many_launches_teach_more_than_one),
	    cmocka_unit_test(a_launch_far_off_counts_as_off_by_a_step),
	    cmocka_unit_test(a_lesson_in_two_parts_is_one),
	    cmocka_unit_test(a_launch_that_was_delayed_is_taken_back),
	    cmocka_unit_test(what_is_hardly_shorter_or_longer_changes_nothing),
	    cmocka_unit_test(what_is_clearly_shorter_takes_the_place),
	    cmocka_unit_test(names_without_words_are_alike),
	    cmocka_unit_test(the_oldest_lesson_is_forgotten),
	    cmocka_unit_test(nobody_waits_for_the_learner),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

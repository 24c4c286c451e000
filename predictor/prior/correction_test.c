/* By hand: where all guesses are e^10 ns, the line is the sum of what it was taught over the number of lessons and
 * four, as its offset 0 is worth four launches. */
#include "correction.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define GUESS 10.0f

static const struct kc_name_traits taught = {.family = KC_FAMILY_PRODUCT, .kin = 1};
/* Another place for shifts, which leaves the line alone. */
static const struct kc_name_traits sibling = {.family = KC_FAMILY_PRODUCT, .kin = 2};

static float line_of(const struct kc_correction *correction)
{
	return kc_correction_of(correction, &sibling, GUESS);
}

static void kernels_that_are_all_slower_correct_it(void **state)
{
	static struct kc_correction correction;
	const struct kc_name_traits other = {.family = KC_FAMILY_FRAMEWORK, .kin = 3};

	(void)state;
	assert_float_equal(kc_correction_of(&correction, &taught, GUESS), 0, 0);
	for (int i = 0; i < 40; i++) { /* e times slower */
		struct kc_correction_lesson lesson = {0};

		kc_correction_learn(&correction, &taught, GUESS, GUESS + 1, 1, &lesson);
	}
	assert_float_equal(line_of(&correction), 40.0 / 44, 1e-3);
	assert_float_equal(kc_correction_of(&correction, &taught, GUESS), 1, 0.15); /* with the shift */
	assert_float_equal(kc_correction_of(&correction, &other, GUESS), 0, 0);
}

static void a_launch_that_was_delayed_is_taken_back(void **state)
{
	static struct kc_correction correction;
	struct kc_correction_lesson delayed = {0}, usual = {0};

	(void)state;
	kc_correction_learn(&correction, &taught, GUESS, GUESS + 1, 1, &delayed);
	assert_float_equal(line_of(&correction), 1.0 / 5, 1e-6);
	kc_correction_amend(&correction, &taught, GUESS, GUESS, &delayed);
	assert_float_equal(line_of(&correction), 0, 1e-6);
	kc_correction_learn(&correction, &sibling, GUESS, GUESS + 0.5f, 1, &usual);
	assert_float_equal(kc_correction_of(&correction, &(struct kc_name_traits){.family = KC_FAMILY_PRODUCT}, GUESS),
			   0.5 / 6, 1e-6);
}

static void what_is_hardly_shorter_or_longer_changes_nothing(void **state)
{
	static struct kc_correction correction;
	struct kc_correction_lesson lesson = {0}, none = {0};
	float before;

	(void)state;
	kc_correction_learn(&correction, &taught, GUESS, GUESS + 1, 1, &lesson);
	before = kc_correction_of(&correction, &taught, GUESS);
	kc_correction_amend(&correction, &taught, GUESS, GUESS + 0.75f, &lesson);
	kc_correction_amend(&correction, &taught, GUESS, GUESS + 4, &lesson);
	kc_correction_amend(&correction, &taught, GUESS, GUESS - 4, &none); /* it never taught */
	assert_float_equal(kc_correction_of(&correction, &taught, GUESS), before, 0);
}

/* After 120 lessons a line forgets: a lesson is changed by what is left of it. */
static void an_old_lesson_is_changed_by_what_is_left_of_it(void **state)
{
	static struct kc_correction correction, without;
	struct kc_correction_lesson delayed = {0}, one = {0}, other = {0};

	(void)state;
	kc_correction_learn(&correction, &taught, GUESS, GUESS + 1, 1, &delayed);
	kc_correction_learn(&without, &taught, GUESS, GUESS, 1, &other);
	for (int i = 0; i < 300; i++) {
		one = (struct kc_correction_lesson){0};
		kc_correction_learn(&correction, &sibling, GUESS, GUESS, 1, &one);
		kc_correction_learn(&without, &sibling, GUESS, GUESS, 1, &one);
	}
	kc_correction_amend(&correction, &taught, GUESS, GUESS, &delayed);
	assert_float_equal(correction.lines[KC_FAMILY_PRODUCT].sum_y, without.lines[KC_FAMILY_PRODUCT].sum_y, 0.02);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(kernels_that_are_all_slower_correct_it),
	    cmocka_unit_test(a_launch_that_was_delayed_is_taken_back),
	    cmocka_unit_test(what_is_hardly_shorter_or_longer_changes_nothing),
	    cmocka_unit_test(an_old_lesson_is_changed_by_what_is_left_of_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

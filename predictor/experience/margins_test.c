#include "margins.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SPREAD 0.02f

struct fixture {
	struct kc_margins margins;
	struct kc_margin own;
	uint32_t class, random;
};

static void begin(struct fixture *f)
{
	*f = (struct fixture){.class = kc_margin_class(KC_EVIDENCE_CONCURRENT, SPREAD), .random = 1};
}

static void reach(const struct fixture *f, float *below, float *above)
{
	kc_margins_reach(&f->margins, &f->own, f->class, SPREAD, KC_MARGIN_NOW, below, above);
}

/* Lehmer, Park and Miller 1988. In (0, 1) */
static double uniform(struct fixture *f)
{
	f->random = (uint32_t)((uint64_t)f->random * 48271 % 2147483647);
	return f->random / 2147483647.0;
}

static void at_first(void **state)
{
	struct fixture f;
	float below, above;

	(void)state;
	begin(&f);
	reach(&f, &below, &above);
	assert_float_equal(below, KC_MARGIN_START * SPREAD, 1e-6);
	assert_float_equal(above, KC_MARGIN_START * SPREAD, 1e-6);
	kc_margins_reach(NULL, NULL, f.class, SPREAD, KC_MARGIN_NOW, &below, &above);
	assert_float_equal(below, KC_MARGIN_START * SPREAD, 1e-6);
	assert_float_equal(above, KC_MARGIN_START * SPREAD, 1e-6);
}

/* A miss above widens what is above and, as it is no miss below, narrows what is below; 18 hits later, and one more
 * miss there, both are what they were. */
static void one_miss_in_twenty_on_either_side_keeps_the_width(void **state)
{
	struct fixture f;
	float below, above;

	(void)state;
	begin(&f);
	kc_margins_learn(&f.margins, &f.own, f.class, 1);
	reach(&f, &below, &above);
	assert_true(above > 1.2f * KC_MARGIN_START * SPREAD && below < KC_MARGIN_START * SPREAD);
	for (uint32_t i = 0; i < 18; i++)
		kc_margins_learn(&f.margins, &f.own, f.class, 0);
	kc_margins_learn(&f.margins, &f.own, f.class, -1);
	reach(&f, &below, &above);
	assert_float_equal(below, KC_MARGIN_START * SPREAD, 1e-5);
	assert_float_equal(above, KC_MARGIN_START * SPREAD, 1e-5);
}

/* What is learned of a kernel tells most about that one, some about others of the class, least about other classes. */
static void who_hears_of_a_miss(void **state)
{
	struct kc_margin other = {0};
	float own[2], same[2], else_[2];
	struct fixture f;

	(void)state;
	begin(&f);
	kc_margins_learn(&f.margins, &f.own, f.class, 1);
	reach(&f, &own[0], &own[1]);
	kc_margins_reach(&f.margins, &other, f.class, SPREAD, KC_MARGIN_NOW, &same[0], &same[1]);
	kc_margins_reach(&f.margins, &other, kc_margin_class(KC_EVIDENCE_LAST, SPREAD), SPREAD, KC_MARGIN_NOW,
			 &else_[0], &else_[1]);
	assert_true(own[1] > same[1] && same[1] > else_[1] && else_[1] > KC_MARGIN_START * SPREAD);
}

static void classes(void **state)
{
	uint8_t seen[KC_MARGIN_CLASSES] = {0};

	(void)state;
	for (uint32_t e = 0; e < KC_EVIDENCE_START; e++) {
		/* 2^-10 and below, then factors of 2, a half and above */
		for (int i = -10; i <= -1; i++) {
			uint32_t class = kc_margin_class(e, ldexpf(1.5f, i));

			assert_true(class < KC_MARGIN_CLASSES);
			assert_int_equal(seen[class]++, 0);
		}
		assert_int_equal(kc_margin_class(e, 0), kc_margin_class(e, ldexpf(1, -10)));
		assert_int_equal(kc_margin_class(e, 1e-30f), kc_margin_class(e, ldexpf(1, -10)));
		assert_int_equal(kc_margin_class(e, 1e30f), kc_margin_class(e, 0.5f));
		assert_int_equal(kc_margin_class(e, INFINITY), kc_margin_class(e, 0.5f));
	}
	assert_int_equal(kc_margin_class(KC_EVIDENCE_START, 0), KC_MARGIN_CLASSES - 1);
	assert_int_equal(kc_margin_class(KC_EVIDENCE_START, INFINITY), KC_MARGIN_CLASSES - 1);
	assert_int_equal(seen[KC_MARGIN_CLASSES - 1], 0);
}

/* Log errors of (u^3 - 0.2) · scale: skewed, and the scale four times as large halfway. */
static void nine_in_ten_whatever_the_durations_do(void **state)
{
	enum { LAUNCHES = 40000 };
	uint32_t below_count = 0, above_count = 0;
	struct fixture f;

	(void)state;
	begin(&f);
	for (uint32_t i = 0; i < LAUNCHES; i++) {
		double u = uniform(&f), error = (u * u * u - 0.2) * (i < LAUNCHES / 2 ? 0.05 : 0.2);
		float below, above;
		int side;

		reach(&f, &below, &above);
		side = error < -(double)below ? -1 : error > (double)above;
		below_count += side < 0;
		above_count += side > 0;
		kc_margins_learn(&f.margins, &f.own, f.class, side);
	}
	/* One in twenty on either side; the change of scale costs misses that the hits before it had not saved. */
	assert_true(fabs(below_count / (double)LAUNCHES - 0.05) < 0.002);
	assert_true(fabs(above_count / (double)LAUNCHES - 0.05) < 0.002);
}

static void there_are_limits(void **state)
{
	struct fixture f;
	float below, above;

	(void)state;
	begin(&f);
	for (uint32_t i = 0; i < 100000; i++)
		kc_margins_learn(&f.margins, &f.own, f.class, 1);
	kc_margins_reach(&f.margins, &f.own, f.class, INFINITY, KC_MARGIN_NOW, &below, &above);
	assert_true(isfinite(below) && isfinite(above) && above < 10);
	kc_margins_reach(&f.margins, &f.own, f.class, 0, KC_MARGIN_NOW, &below, &above);
	assert_float_equal(below, 0, 0);
	for (uint32_t i = 0; i < 100000; i++)
		kc_margins_learn(&f.margins, &f.own, f.class, 0);
	reach(&f, &below, &above);
	assert_true(below > 0 && above > 0);
}

/* 0, 1, 2 to 3, 4 to 7, …, 1,024 or more */
static void ages_by_launches_awaited(void **state)
{
	(void)state;
	assert_int_equal(kc_margin_age(0, 0, 1), 0);
	assert_int_equal(kc_margin_age(1, 0, 1), 1);
	assert_int_equal(kc_margin_age(2, 0, 1), 2);
	assert_int_equal(kc_margin_age(3, 0, 1), 2);
	assert_int_equal(kc_margin_age(4, 0, 1), 3);
	assert_int_equal(kc_margin_age(1023, 0, 1), 10);
	assert_int_equal(kc_margin_age(1024, 0, 1), 11);
	assert_int_equal(kc_margin_age(UINT32_MAX, 0, 1), KC_MARGIN_AWAITED_AGES - 1);
	/* Of the shape fewer are in flight than were measured, or none was measured. */
	assert_int_equal(kc_margin_age(100, 9, 10), 7);
	assert_int_equal(kc_margin_age(100, 100, 0), 7);
}

/* 1 to 2 times as many in flight as measured, 2 to 4, 4 to 8, 8 to 16, more: however many are awaited */
static void ages_by_launches_of_the_shape(void **state)
{
	(void)state;
	assert_int_equal(kc_margin_age(100, 10, 10), KC_MARGIN_AWAITED_AGES);
	assert_int_equal(kc_margin_age(1000, 19, 10), KC_MARGIN_AWAITED_AGES);
	assert_int_equal(kc_margin_age(100, 20, 10), KC_MARGIN_AWAITED_AGES + 1);
	assert_int_equal(kc_margin_age(100, 39, 10), KC_MARGIN_AWAITED_AGES + 1);
	assert_int_equal(kc_margin_age(100, 40, 10), KC_MARGIN_AWAITED_AGES + 2);
	assert_int_equal(kc_margin_age(100, 80, 10), KC_MARGIN_AWAITED_AGES + 3);
	assert_int_equal(kc_margin_age(200, 160, 10), KC_MARGIN_AWAITED_AGES + 4);
	assert_int_equal(kc_margin_age(UINT32_MAX, UINT32_MAX, 1), KC_MARGIN_AGES - 1);
}

static float above_at(const struct fixture *f, uint32_t age)
{
	float below, above;

	kc_margins_reach(&f->margins, NULL, f->class, SPREAD, age, &below, &above);
	return above / (KC_MARGIN_START * SPREAD);
}

/* 7 % for each doubling of the launches awaited from 8 on; half as wide again, and more, where the shape is hardly
 * measured. */
static void older_predictions_begin_wider(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	assert_float_equal(above_at(&f, KC_MARGIN_NOW), 1, 0);
	assert_float_equal(above_at(&f, kc_margin_age(7, 0, 1)), 1, 0);
	assert_float_equal(above_at(&f, kc_margin_age(8, 0, 1)), 1.12, 1e-5);
	assert_float_equal(above_at(&f, kc_margin_age(16, 0, 1)), 1.24, 1e-5);
	assert_float_equal(above_at(&f, kc_margin_age(16, 10, 10)), 1.5, 1e-5);
	for (uint32_t age = KC_MARGIN_AWAITED_AGES + 1; age < KC_MARGIN_AGES; age++)
		assert_true(above_at(&f, age) > above_at(&f, age - 1));
	/* What is not known of the shape is not older for being in flight. */
	f.class = kc_margin_class(KC_EVIDENCE_NONE, SPREAD);
	assert_float_equal(above_at(&f, kc_margin_age(16, 0, 0)), 1, 0);
}

static void learn(struct fixture *f, uint32_t age, int side, uint64_t events, uint32_t times)
{
	for (uint32_t i = 0; i < times; i++)
		kc_margins_learn_age(&f->margins, age, side, events);
}

/* 300 launches were in flight when the first of them missed, and half of the events measure one: all of them together
 * widen fourfold, 16^(300/600), and fourfold again those that were predicted after that; hits narrow by the 19th root
 * of it. Other ages know nothing of it. */
static void one_mistake_of_many_launches_in_flight(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	learn(&f, 3, 1, 600, 300);
	assert_float_equal(above_at(&f, 3), 4, 1e-3);
	learn(&f, 3, 1, 600, 300);
	assert_float_equal(above_at(&f, 3), 16, 1e-2);
	assert_float_equal(above_at(&f, 2), 1, 0);
	assert_float_equal(above_at(&f, KC_MARGIN_NOW), 1, 0);
	learn(&f, 3, 0, 600, 19 * 300);
	assert_float_equal(above_at(&f, 3), 4, 1e-2);
	/* Older predictions never get narrower intervals than new ones. */
	learn(&f, 3, 0, 600, 100 * 300);
	assert_float_equal(above_at(&f, 3), 1, 0);
}

/* Few in flight: 1.005^19 = 1.0994 for a miss, 1.005^-10 = 0.9513 for ten hits. */
static void a_launch_counts_no_more_than_so_much(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	learn(&f, 1, 1, 1, 1);
	assert_float_equal(above_at(&f, 1), 1.0994, 1e-4);
	learn(&f, 1, 1, 0, 1);
	assert_float_equal(above_at(&f, 1), 1.0994 * 1.0994, 2e-4);
	learn(&f, 1, 0, 1, 10);
	assert_float_equal(above_at(&f, 1), 1.0994 * 1.0994 * 0.9513, 2e-4);
}

/* 128 or more awaited: 1 + 5 * 0.12. */
static void what_older_predictions_began_with_is_unlearned(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	learn(&f, 8, 0, 1, 500);
	assert_float_equal(above_at(&f, 8), 1.6, 1e-5);
	learn(&f, 8, 0, 1, 500);
	assert_float_equal(above_at(&f, 8), 1, 1e-5);
}

/* A device whose clock moves to and fro as fast as measurements come: 100 launches are in flight, and what was
 * predicted of them is too short by 5 % in one turn, too long in the next. Nine in ten must lie inside all the same. */
static void mistakes_that_take_turns(void **state)
{
	uint32_t inside = 0, turns = 2000;
	float below, above;
	struct fixture f;

	(void)state;
	begin(&f);
	for (uint32_t turn = 0; turn < turns; turn++) {
		kc_margins_reach(&f.margins, NULL, f.class, 0.001f, 7, &below, &above);
		for (uint32_t i = 0; i < 100; i++) {
			float error = (turn % 2 ? 0.05f : -0.05f) * (float)(i + 1) / 100;
			int side = error < -below ? -1 : error > above;

			kc_margins_learn_age(&f.margins, 7, side, 200);
			inside += !side && turn >= turns / 2;
		}
	}
	assert_in_range(inside, 87 * turns / 2, 95 * turns / 2);
}

/* From the twentieth measurement on, and a twentieth of the range wider on either side: 100 to 400 us and 4^0.05. */
static void intervals_are_cut_to_what_was_measured(void **state)
{
	struct kc_range range = {0};
	float low_ns, high_ns;

	(void)state;
	assert_int_equal(kc_range_ends(NULL, 0, &low_ns, &high_ns), 0);
	for (uint32_t i = 0; i < 20; i++) {
		assert_int_equal(kc_range_ends(&range, 0, &low_ns, &high_ns), 0);
		kc_range_learn(&range, i % 2 ? 100000 : 400000);
	}
	assert_int_equal(kc_range_ends(&range, 0, &low_ns, &high_ns), 1);
	assert_float_equal(low_ns, 100000 / 1.071773f, 1);
	assert_float_equal(high_ns, 400000 * 1.071773f, 1);
	kc_range_learn(&range, 800000); /* 8^0.05 */
	kc_range_ends(&range, 0, &low_ns, &high_ns);
	assert_float_equal(low_ns, 100000 / 1.109569f, 1);
	assert_float_equal(high_ns, 800000 * 1.109569f, 1);
	/* As many in flight: by half the width more, (8 · 8^0.1)^0.5 = 3.138337 */
	kc_range_ends(&range, kc_margin_age(100, 21, 21), &low_ns, &high_ns);
	assert_float_equal(low_ns, 100000 / 1.109569f / 3.138337f, 1);
	assert_float_equal(high_ns, 800000 * 1.109569f * 3.138337f, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(at_first),
	    cmocka_unit_test(one_miss_in_twenty_on_either_side_keeps_the_width),
	    cmocka_unit_test(who_hears_of_a_miss),
	    cmocka_unit_test(classes),
	    cmocka_unit_test(nine_in_ten_whatever_the_durations_do),
	    cmocka_unit_test(there_are_limits),
	    cmocka_unit_test(ages_by_launches_awaited),
	    cmocka_unit_test(ages_by_launches_of_the_shape),
	    cmocka_unit_test(older_predictions_begin_wider),
	    cmocka_unit_test(one_mistake_of_many_launches_in_flight),
	    cmocka_unit_test(a_launch_counts_no_more_than_so_much),
	    cmocka_unit_test(what_older_predictions_began_with_is_unlearned),
	    cmocka_unit_test(mistakes_that_take_turns),
	    cmocka_unit_test(intervals_are_cut_to_what_was_measured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

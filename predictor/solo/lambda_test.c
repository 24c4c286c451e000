#include "forecast.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

struct tree {
	struct kc_lambda device, key, shape;
};

static void plant(struct tree *t)
{
	kc_lambda_init(&t->device, NULL);
	kc_lambda_init(&t->key, &t->device);
	kc_lambda_init(&t->shape, &t->key);
}

static struct kc_work work_of(uint32_t blocks)
{
	struct kc_resources resources = {.registers = 16};
	struct kc_shape shape = {{blocks, 1, 1}, {256, 1, 1}, 0, 0};
	struct kc_work work;

	assert_int_equal(kc_work_init(&work, kc_device_builtin("a100"), &resources, &shape, 0), 0);
	return work;
}

static struct kc_solo forecast(const struct tree *t, const struct kc_work *work)
{
	struct kc_belief shape = kc_lambda_belief(&t->shape, 3), key = kc_lambda_belief(&t->key, 2);
	struct kc_belief device = kc_lambda_belief(&t->device, 1);

	return kc_forecast_solo(work, &shape, &key, &device);
}

/* Normal noise by the sum of twelve uniform numbers; xorshift64, Marsaglia 2003. */
static double noise(void)
{
	static uint64_t s = 88172645463325252u;
	double sum = -6;

	for (int i = 0; i < 12; i++) {
		s ^= s << 13;
		s ^= s >> 7;
		s ^= s << 17;
		sum += (double)(s >> 11) / 9007199254740992.0;
	}
	return sum;
}

static int64_t around(double ns, double spread)
{
	return (int64_t)(ns * exp(spread * noise()));
}

static double error_of(const struct kc_solo *solo, double ns)
{
	return fabs((double)solo->ns - ns) / ns;
}

static void nothing_learned(void **state)
{
	struct tree t;

	(void)state;
	plant(&t);
	assert_int_equal(kc_lambda_belief(&t.shape, 5).count, 0);
	assert_int_equal(kc_lambda_belief(&t.shape, 5).state, 5);
}

/* One measurement is repeated at once, with room for error; the levels above know as well. */
static void one_measurement(void **state)
{
	struct kc_work work = work_of(5000), other = work_of(10000);
	struct kc_solo solo;
	struct tree t;

	(void)state;
	plant(&t);
	kc_lambda_learn(&t.shape, &work, 80000, 0, 1);
	solo = forecast(&t, &work);
	assert_int_equal(solo.model, KC_MODEL_BSP_SHAPE);
	assert_true(error_of(&solo, 80000) < 0.001);
	assert_true(solo.low_ns < 76000 && solo.high_ns > 84000);
	kc_lambda_init(&t.shape, &t.key);
	solo = forecast(&t, &other);
	assert_int_equal(solo.model, KC_MODEL_BSP_KERNEL);
	assert_true(error_of(&solo, 750 + (80000 - 750) * other.unit_ns / work.unit_ns) < 0.001);
	assert_true(solo.high_ns > 2 * solo.ns); /* another size: sizes differ */
}

/* A first kernel that takes 16 times as long as its code says moves the device's λ by a sixteenth of log 16, where a
 * nominal work says nothing else; the fixed time of a launch is a thousandth. */
static void the_first_kernel_of_counted_work_moves_the_device_little(void **state)
{
	(void)state;
	for (uint32_t counted = 0; counted <= 2; counted++) {
		struct kc_work work = work_of(5000000);
		struct tree t;

		work.counted = counted;
		plant(&t);
		kc_lambda_learn(&t.shape, &work, (int64_t)(work.launch_ns + 16 * work.unit_ns), 0, 1);
		assert_float_equal(t.key.log_value, -log(16), 0.001);
		assert_float_equal(t.device.log_value, counted == 1 ? -log(16) / 16 : -log(16), 0.001);
	}
}

/* Kernels of a few, hundreds and millions of µs, with the noise of the
 * recorded runs (0.3 % to 3.5 %) and three times as much. */
static void repeated_launches_converge_and_are_covered(void **state)
{
	static const double durations_ns[] = {1000, 2500, 40e3, 5e6, 3e9}, spreads[] = {0.003, 0.035, 0.1};

	(void)state;
	for (unsigned d = 0; d < 5; d++) {
		for (unsigned s = 0; s < 3; s++) {
			unsigned inside = 0, judged = 0;
			struct kc_work work = work_of(5000);
			struct tree t;
			double error = 0;

			plant(&t);
			for (unsigned i = 0; i < 2000; i++) {
				int64_t ns = around(durations_ns[d], spreads[s]);
				struct kc_solo solo = forecast(&t, &work);

				if (i >= 20) {
					inside += ns >= solo.low_ns && ns <= solo.high_ns;
					error += error_of(&solo, durations_ns[d]);
					judged++;
				}
				kc_lambda_learn(&t.shape, &work, ns, 0, 1);
			}
			assert_true(error / judged < 0.3 * spreads[s] + 0.001);
			assert_in_range(inside * 1000 / judged, 870, 930);
		}
	}
}

/* A kernel's first launches are slower: three later ones suffice for 10 %. */
static void a_cold_start_is_soon_forgotten(void **state)
{
	struct kc_work work = work_of(5000);
	struct kc_solo solo;
	struct tree t;

	(void)state;
	plant(&t);
	kc_lambda_learn(&t.shape, &work, 200000, 0, 1);
	for (int i = 0; i < 3; i++)
		kc_lambda_learn(&t.shape, &work, 100000, 0, 1);
	solo = forecast(&t, &work);
	assert_true(error_of(&solo, 100000) < 0.1);
}

/* Single launches that take ten times as long move the forecast by 2 % at most. */
static void outliers_are_clipped(void **state)
{
	struct kc_work work = work_of(5000);
	struct tree t;

	(void)state;
	plant(&t);
	for (unsigned i = 0; i < 500; i++) {
		struct kc_solo solo = forecast(&t, &work);

		if (i > 20)
			assert_true(error_of(&solo, 100e3) < 0.02);
		kc_lambda_learn(&t.shape, &work, i % 20 == 19 ? 1000000 : around(100e3, 0.005), 0, 1);
	}
}

/* The clock drops: after six launches at the new speed the forecast is there. */
static void a_change_of_phase_is_followed(void **state)
{
	struct kc_work work = work_of(5000);
	struct kc_solo solo;
	struct tree t;

	(void)state;
	plant(&t);
	for (int i = 0; i < 200; i++)
		kc_lambda_learn(&t.shape, &work, around(100e3, 0.003), 0, 1);
	for (int i = 0; i < 6; i++)
		kc_lambda_learn(&t.shape, &work, around(150e3, 0.003), 0, 1);
	solo = forecast(&t, &work);
	assert_true(error_of(&solo, 150e3) < 0.02);
}

/* A kernel that never runs alone: solo time times slowdown is what is measured. */
static void only_overlapped_evidence(void **state)
{
	struct kc_work work = work_of(5000);
	struct kc_solo solo;
	struct tree t;

	(void)state;
	plant(&t);
	for (int i = 0; i < 30; i++)
		kc_lambda_learn(&t.shape, &work, around(100e3, 0.01), 1, 1.6);
	solo = forecast(&t, &work);
	assert_true(fabs((double)solo.ns * 1.6 / 100e3 - 1) < 0.02);
}

/* Where the predicted slowdown is wrong by 40 % in half of the launches, the
 * solo time stays within 20 %: solo measurements weigh four times as much. */
static void solo_evidence_goes_first(void **state)
{
	struct kc_work work = work_of(5000);
	struct kc_solo solo;
	struct tree t;

	(void)state;
	plant(&t);
	for (int i = 0; i < 100; i++)
		kc_lambda_learn(&t.shape, &work, i % 2 ? 100000 : 140000, !(i % 2), 1);
	solo = forecast(&t, &work);
	assert_true(error_of(&solo, 100e3) < 0.2);
}

/* Kernels hundreds of times apart in cost: the interval for an unknown one says so. */
static void between_kernels_the_interval_is_wide(void **state)
{
	struct kc_work work = work_of(5000);
	struct tree t;
	struct kc_lambda keys[20], shapes[20];

	(void)state;
	plant(&t);
	for (int i = 0; i < 20; i++) {
		kc_lambda_init(&keys[i], &t.device);
		kc_lambda_init(&shapes[i], &keys[i]);
		for (int n = 0; n < 50; n++)
			kc_lambda_learn(&shapes[i], &work, around(i % 2 ? 10e3 : 1e6, 0.01), 0, 1);
	}
	assert_true(kc_lambda_belief(&t.device, 1).half_width > log(10));
	assert_true(kc_lambda_belief(&shapes[0], 1).half_width < 0.05);
}

/* Sizes whose times follow the BSP model: the fifth is foretold from the four before. */
static void a_new_size_from_other_sizes(void **state)
{
	static const uint32_t sizes[] = {1000, 2000, 4000, 8000, 16000};
	struct kc_lambda shapes[5];
	struct tree t;

	(void)state;
	plant(&t);
	for (int i = 0; i < 5; i++) {
		struct kc_work work = work_of(sizes[i]);
		double ns = work.launch_ns + work.unit_ns / 3;
		struct kc_solo solo = forecast(&t, &work);

		if (i) {
			assert_int_equal(solo.model, KC_MODEL_BSP_KERNEL);
			assert_true(error_of(&solo, ns) < 0.02);
		}
		kc_lambda_init(&shapes[i], &t.key);
		for (int n = 0; n < 10; n++)
			kc_lambda_learn(&shapes[i], &work, around(ns, 0.003), 0, 1);
	}
}

static void nonsense_is_not_learned(void **state)
{
	struct kc_work work = work_of(5000), none = {0};
	struct kc_belief belief;
	struct tree t;

	(void)state;
	plant(&t);
	kc_lambda_learn(&t.shape, &work, 0, 0, 1);
	kc_lambda_learn(&t.shape, &work, -5, 0, 1);
	kc_lambda_learn(&t.shape, &none, 1000, 0, 1);
	assert_int_equal(t.shape.count, 0);
	for (int i = 0; i < 200; i++) {
		kc_lambda_learn(&t.shape, &work, i % 3 ? 1 : INT64_MAX, i % 2, i % 5 ? NAN : 1e9);
		belief = kc_lambda_belief(&t.shape, 1);
		assert_true(isfinite(belief.log_lambda) && isfinite(belief.half_width) && belief.half_width > 0);
	}
}

#define UNIT_NS 1000000000 /* predicted for plain_work() with λ = 1: a measurement of this teaches log λ = 0 */

static struct kc_work plain_work(void)
{
	return (struct kc_work){.unit_ns = UNIT_NS};
}

static int64_t later_by(double log_ratio)
{
	return (int64_t)round(UNIT_NS * exp(log_ratio));
}

/* Of 15/16 of itself and 1 the weight becomes 16: the next counts for a sixteenth. It is below the clip, see next. */
static void a_measurement_after_many(void **state)
{
	struct kc_work work = plain_work();
	struct kc_lambda node;

	(void)state;
	kc_lambda_init(&node, NULL);
	for (int i = 0; i < 2000; i++)
		kc_lambda_learn(&node, &work, UNIT_NS, 0, 1);
	kc_lambda_learn(&node, &work, later_by(0.004), 0, 1);
	assert_float_equal(kc_lambda_belief(&node, 1).log_lambda, -0.004 / 16, 1e-7);
}

/* No spread but the least, 0.5 %: an outlier counts for 1.5 · 0.005 · (1 + 1/16), however far away it is. */
static void how_much_an_outlier_counts(void **state)
{
	struct kc_work work = plain_work();

	(void)state;
	for (int percent = 10; percent <= 40; percent += 30) {
		struct kc_lambda node;

		kc_lambda_init(&node, NULL);
		for (int i = 0; i < 2000; i++)
			kc_lambda_learn(&node, &work, UNIT_NS, 0, 1);
		kc_lambda_learn(&node, &work, UNIT_NS / 100 * (100 + percent), 0, 1);
		assert_float_equal(kc_lambda_belief(&node, 1).log_lambda, -1.5 * 0.005 * (1 + 1.0 / 16) / 16, 1e-7);
	}
}

/* The first weighs a quarter, of which 15/16 are left. A repeated launch then weighs 1 for its shape, and 1/20 for the
 * levels above; an overlapped one weighs a quarter. */
static void what_a_second_measurement_weighs(void **state)
{
	struct kc_work work = plain_work();
	double first = 0.25 * 15 / 16;
	struct kc_lambda node;

	(void)state;
	for (int overlapped = 0; overlapped <= 1; overlapped++) {
		double weight = overlapped ? 0.25 : 1, first_weight = first * weight;
		struct kc_lambda device, shape;

		kc_lambda_init(&device, NULL);
		kc_lambda_init(&shape, &device);
		kc_lambda_learn(&shape, &work, UNIT_NS, overlapped, 1);
		kc_lambda_learn(&shape, &work, later_by(0.01), overlapped, 1);
		assert_float_equal(shape.log_value, -0.01 * weight / (first_weight + weight), 1e-7);
		assert_float_equal(device.log_value, -0.01 * 0.05 * weight / (first_weight + 0.05 * weight), 1e-7);
	}
	/* One of each kind. */
	kc_lambda_init(&node, NULL);
	kc_lambda_learn(&node, &work, UNIT_NS, 0, 1);
	kc_lambda_learn(&node, &work, later_by(0.01), 1, 1);
	assert_float_equal(node.log_value, -0.01 * 0.25 / (first + 0.25), 1e-7);
}

/* Known on a related device alone: a spread of 10 %, by one measurement of weight 1/4. The 95th percentile of Student's
 * t with 2 degrees of freedom is 2.920. */
static void what_is_supposed_of_a_related_device(void **state)
{
	struct kc_lambda known, node;
	struct kc_work work = plain_work();

	(void)state;
	kc_lambda_init(&known, NULL);
	kc_lambda_init(&node, NULL);
	kc_lambda_learn(&known, &work, later_by(0.5), 0, 1);
	kc_lambda_start_from_related(&node, &work, &known, &work);
	assert_float_equal(kc_lambda_belief(&node, 1).log_lambda, -0.5, 1e-6);
	assert_float_equal(kc_lambda_belief(&node, 1).half_width, 2.920 * 0.1 * sqrt(1 + 4), 1e-5);
}

/* As many as a number of 32 bits holds: Student's t is the normal distribution's 1.645 then. A spread of 10 %. */
static void as_many_measurements_as_can_be_told(void **state)
{
	struct kc_lambda node;

	(void)state;
	kc_lambda_init(&node, NULL);
	node.variance = 0.01;
	node.spread_count = UINT32_MAX;
	assert_float_equal(kc_lambda_belief(&node, 1).half_width, 0.1645, 1e-6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(nothing_learned),
	    cmocka_unit_test(one_measurement),
	    cmocka_unit_test(the_first_kernel_of_counted_work_moves_the_device_little),
	    cmocka_unit_test(repeated_launches_converge_and_are_covered),
	    cmocka_unit_test(a_cold_start_is_soon_forgotten),
	    cmocka_unit_test(outliers_are_clipped),
	    cmocka_unit_test(a_change_of_phase_is_followed),
	    cmocka_unit_test(only_overlapped_evidence),
	    cmocka_unit_test(solo_evidence_goes_first),
	    cmocka_unit_test(between_kernels_the_interval_is_wide),
	    cmocka_unit_test(a_new_size_from_other_sizes),
	    cmocka_unit_test(nonsense_is_not_learned),
	    cmocka_unit_test(a_measurement_after_many),
	    cmocka_unit_test(how_much_an_outlier_counts),
	    cmocka_unit_test(what_a_second_measurement_weighs),
	    cmocka_unit_test(what_is_supposed_of_a_related_device),
	    cmocka_unit_test(as_many_measurements_as_can_be_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

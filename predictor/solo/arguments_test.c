/* Numbers among arguments, and what is learned from them; expected values by hand. */
#include "arguments.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct kc_scaling_size one_size = {.log_waves = 1, .log_threads = 15, .log_grid = {6, 0, 0}};
static struct kc_scaling_space space;

static void assert_numbers(const char *text, uint32_t count, const double *expected)
{
	struct kc_argument_numbers numbers;

	kc_arguments_read(&numbers, text);
	assert_int_equal(numbers.count, count);
	for (uint32_t i = 0; i < count; i++)
		assert_float_equal(numbers.log[i], log(expected[i]), 1e-5);
}

static void reads_what_runs_and_traces_record(void **state)
{
	(void)state;
	assert_numbers("p0 = 131072, p1 = 8, p2 mod 32 = 0, p3+4 = 77", 3, (const double[]){131072, 8, 77});
	assert_numbers("B=1 M=181 N=1718 K=2766", 4, (const double[]){1, 181, 1718, 2766});
	assert_numbers("p0 = ?, p1 = 300", 2, (const double[]){1, 300});
	assert_numbers("p0 = 0, p1 = -20, p2 = 2.5e3", 3, (const double[]){1, 20, 2500});
	assert_numbers("a=2 b=3 c=4 d=5 e=6 f=7 g=8", KC_ARGUMENT_NUMBERS, (const double[]){2, 3, 4, 5, 6, 7});
}

static void reads_no_number_from_other_text(void **state)
{
	(void)state;
	assert_numbers(NULL, 0, NULL);
	assert_numbers("", 0, NULL);
	assert_numbers("--mode=fast input.txt", 0, NULL);
	assert_numbers("p0 = nan", 0, NULL);
	assert_numbers("=", 0, NULL);
	assert_numbers("p1 mod 32 = 16", 0, NULL);
}

static struct kc_argument_numbers product_of(double m, double n, double k)
{
	return (struct kc_argument_numbers){3, {(float)log(m), (float)log(n), (float)log(k)}};
}

static int64_t by_arguments(const struct kc_arguments_fit *fit, const struct kc_argument_numbers *numbers)
{
	struct kc_solo solo = {.model = KC_MODEL_NONE};

	kc_arguments_predict(fit, numbers, &one_size, &space, &solo);
	assert_int_equal(solo.model, KC_MODEL_SCALING);
	assert_true(solo.low_ns < solo.ns && solo.ns < solo.high_ns);
	return solo.ns;
}

/* What a law over sizes says, which sees the same size each time: a mean. */
static const struct kc_solo by_size = {.ns = 300000, .half_width = 1, .model = KC_MODEL_SCALING};

static void learn(struct kc_arguments_fit *fit, double m, double n, double k, double ns)
{
	const struct kc_argument_numbers numbers = product_of(m, n, k);

	kc_arguments_learn(fit, &numbers, &one_size, &by_size, (int64_t)ns, &space);
}

/* One launch alone: each number is half a size. */
static void one_launch_says_little(void **state)
{
	struct kc_arguments_fit fit = {0};
	struct kc_argument_numbers deeper = product_of(100, 200, 4 * 300);

	(void)state;
	learn(&fit, 100, 200, 300, 100000);
	assert_in_range(by_arguments(&fit, &deeper), 199000, 201000);
}

/* Time is m · n · k / 60 ns, in one launch shape; the last one is larger than all that were measured. */
static void a_product_is_learned(void **state)
{
	static const double sizes[] = {100, 170, 290, 410, 530};
	struct kc_argument_numbers between = product_of(220, 220, 220), beyond = product_of(800, 800, 800);
	struct kc_arguments_fit fit = {0};
	struct kc_solo both = by_size;

	(void)state;
	for (int i = 0; i < 40; i++) {
		double m = sizes[i % 5], n = sizes[(i * 3 + i / 5) % 5], k = sizes[(i * 2 + i / 7) % 5];

		learn(&fit, m, n, k, m * n * k / 60);
	}
	assert_in_range(by_arguments(&fit, &between), 177467 * 0.97, 177467 * 1.03);
	assert_in_range(by_arguments(&fit, &beyond), 8533333 * 0.9, 8533333 * 1.1);
	/* Beside a law that was off by a factor of several it is believed. */
	kc_arguments_predict(&fit, &between, &one_size, &space, &both);
	assert_in_range(both.ns, 177467 * 0.95, 177467 * 1.05);
}

/* Numbers that say nothing, which the law over sizes needs not: it was right each time. */
static void numbers_that_say_nothing_are_not_believed(void **state)
{
	struct kc_argument_numbers asked = product_of(4000, 3, 70);
	struct kc_arguments_fit fit = {0};
	struct kc_solo both;
	uint32_t seed = 1;

	(void)state;
	for (int i = 0; i < 40; i++) {
		double numbers[3];
		struct kc_solo right = by_size;
		struct kc_argument_numbers n;

		for (int j = 0; j < 3; j++) {
			seed = seed * 1664525u + 1013904223u;
			numbers[j] = 1 + (seed >> 12);
		}
		right.ns = i % 2 ? 20000 : 900000;
		n = product_of(numbers[0], numbers[1], numbers[2]);
		kc_arguments_learn(&fit, &n, &one_size, &right, right.ns, &space);
	}
	both = by_size;
	kc_arguments_predict(&fit, &asked, &one_size, &space, &both);
	assert_in_range(both.ns, by_size.ns * 0.98, by_size.ns * 1.02);
}

static void nothing_is_said_of_other_numbers(void **state)
{
	struct kc_argument_numbers two = {2, {4, 5}};
	struct kc_arguments_fit fit = {0};
	struct kc_solo solo = by_size;

	(void)state;
	kc_arguments_predict(&fit, &two, &one_size, &space, &solo);
	assert_memory_equal(&solo, &by_size, sizeof(solo));
	learn(&fit, 100, 200, 300, 100000);
	kc_arguments_predict(&fit, &two, &one_size, &space, &solo);
	assert_memory_equal(&solo, &by_size, sizeof(solo));
	kc_arguments_learn(&fit, &two, &one_size, &by_size, 1000, &space);
	assert_int_equal(fit.learned, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(reads_what_runs_and_traces_record),
	    cmocka_unit_test(reads_no_number_from_other_text),
	    cmocka_unit_test(one_launch_says_little),
	    cmocka_unit_test(a_product_is_learned),
	    cmocka_unit_test(numbers_that_say_nothing_are_not_believed),
	    cmocka_unit_test(nothing_is_said_of_other_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

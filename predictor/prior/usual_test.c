/* What is usual by threads, what a device teaches about it, and the bound on guesses; expected values by hand. */
#include "usual.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct kc_work threads(uint64_t n)
{
	return (struct kc_work){.blocks = n / 256, .threads_per_block = 256};
}

static void near(double got, double expected)
{
	assert_true(fabs(got / expected - 1) < 1e-4);
}

/* 2^0.35 = 1.27456; 1024^0.35 = 2^3.5 = 11.3137. However many threads, each does something: a tenth of 3 ms. */
static void grows_slowly_with_threads(void **state)
{
	const struct kc_work some = threads(32768), twice = threads(65536), many = threads(32768 * 1024);
	struct kc_work long_ones = many;
	const struct kc_usual nothing_known = {0};

	(void)state;
	near(kc_usual_ns(&nothing_known, &some), 5000);
	near(kc_usual_ns(&nothing_known, &twice), 5000 * 1.27456);
	near(kc_usual_ns(&nothing_known, &many), 5000 * 11.3137);
	long_ones.unit_ns = 3e6;
	near(kc_usual_ns(&nothing_known, &long_ones), 5000 * 11.3137 + 300000);
}

/* The first kernel counts for one in five: 1 / 5 of log e. The next one takes e^2.2 times what is then usual, and no
 * more than 2 of that count, for one in six: 0.2 + 2 / 6. */
static void devices_differ(void **state)
{
	const struct kc_work work = threads(32768);
	struct kc_usual usual = {0};

	(void)state;
	kc_usual_learn(&usual, &work, 13591); /* 5000 · e */
	near(kc_usual_ns(&usual, &work), 5000 * exp(0.2));
	kc_usual_learn(&usual, &work, (int64_t)(5000 * exp(2.4)));
	near(kc_usual_ns(&usual, &work), 5000 * exp(0.2 + 2.0 / 6));
}

/* 60 kernels at most, and the four that nothing is worth; one that has no threads counts as having one. */
static void old_kernels_fade(void **state)
{
	const struct kc_work work = threads(32768), nothing = threads(0);
	struct kc_usual usual = {0};

	(void)state;
	near(kc_usual_ns(&usual, &nothing), 5000 * pow(32768, -0.35));
	for (int i = 0; i < 200; i++)
		kc_usual_learn(&usual, &work, 5000);
	near(kc_usual_ns(&usual, &work), 5000);
	kc_usual_learn(&usual, &work, 13591); /* 5000 · e */
	near(kc_usual_ns(&usual, &work), 5000 * exp(1.0 / 64));
}

static void a_minute_is_no_guess(void **state)
{
	struct kc_solo guess = {.ns = 60000000000, .half_width = 1};
	const struct kc_work work = threads(32768);
	const struct kc_usual nothing_known = {0};

	(void)state;
	kc_usual_bound(&nothing_known, &work, &guess);
	near((double)guess.ns, 25000);
	near((double)guess.half_width, 3.3);
	near((double)guess.low_ns, 922); /* 25000 / e^3.3 */
	near((double)guess.high_ns, 25000 * exp(3.3));
}

static void neither_is_a_nanosecond(void **state)
{
	struct kc_solo guess = {.ns = 500, .half_width = 1};
	const struct kc_work work = threads(32768);
	const struct kc_usual nothing_known = {0};

	(void)state;
	kc_usual_bound(&nothing_known, &work, &guess);
	/* A tenth: log 5 · tanh(log 0.1 / log 5) = -1.43537 */
	assert_in_range(guess.ns, 1189, 1191);
	assert_in_range(guess.high_ns, 3233, 3237);
}

/* log 5 · tanh(log 1.2 / log 5) = 0.181546 */
static void guesses_near_it_stay(void **state)
{
	struct kc_solo guess = {.ns = 6000, .half_width = 1};
	const struct kc_work work = threads(32768);
	const struct kc_usual nothing_known = {0};

	(void)state;
	kc_usual_bound(&nothing_known, &work, &guess);
	assert_in_range(guess.ns, 5995, 5996);
	assert_in_range(guess.low_ns, 2205, 2206); /* / e */
	near((double)guess.half_width, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(grows_slowly_with_threads), cmocka_unit_test(devices_differ),
	    cmocka_unit_test(old_kernels_fade),          cmocka_unit_test(a_minute_is_no_guess),
	    cmocka_unit_test(neither_is_a_nanosecond),   cmocka_unit_test(guesses_near_it_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

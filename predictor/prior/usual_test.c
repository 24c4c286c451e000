/* What is usual by threads, and the bound on guesses; expected values by hand. */
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

/* 2^0.35 = 1.27456; 1024^0.35 = 2^3.5 = 11.3137. However many threads, each does something: a tenth of 3 ms. A kernel
 * that has no threads counts as having one. */
static void grows_slowly_with_threads(void **state)
{
	const struct kc_work some = threads(32768), twice = threads(65536), many = threads(32768 * 1024);
	const struct kc_work nothing = threads(0);
	struct kc_work long_ones = many;

	(void)state;
	near(kc_usual_ns(&some), 5000);
	near(kc_usual_ns(&twice), 5000 * 1.27456);
	near(kc_usual_ns(&many), 5000 * 11.3137);
	long_ones.unit_ns = 3e6;
	near(kc_usual_ns(&long_ones), 5000 * 11.3137 + 300000);
	near(kc_usual_ns(&nothing), 5000 * pow(32768, -0.35));
}

static void a_minute_is_no_guess(void **state)
{
	struct kc_solo guess = {.ns = 60000000000, .half_width = 1};
	const struct kc_work work = threads(32768);

	(void)state;
	kc_usual_bound(&work, &guess);
	near((double)guess.ns, 25000);
	near((double)guess.half_width, 3.3);
	near((double)guess.low_ns, 922); /* 25000 / e^3.3 */
	near((double)guess.high_ns, 25000 * exp(3.3));
}

static void neither_is_a_nanosecond(void **state)
{
	struct kc_solo guess = {.ns = 500, .half_width = 1};
	const struct kc_work work = threads(32768);

	(void)state;
	kc_usual_bound(&work, &guess);
	/* A tenth: log 5 · tanh(log 0.1 / log 5) = -1.43537 */
	assert_in_range(guess.ns, 1189, 1191);
	assert_in_range(guess.high_ns, 3233, 3237);
}

/* log 5 · tanh(log 1.2 / log 5) = 0.181546 */
static void guesses_near_it_stay(void **state)
{
	struct kc_solo guess = {.ns = 6000, .half_width = 1};
	const struct kc_work work = threads(32768);

	(void)state;
	kc_usual_bound(&work, &guess);
	assert_in_range(guess.ns, 5995, 5996);
	assert_in_range(guess.low_ns, 2205, 2206); /* / e */
	near((double)guess.half_width, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(grows_slowly_with_threads),
	    cmocka_unit_test(a_minute_is_no_guess),
	    cmocka_unit_test(neither_is_a_nanosecond),
	    cmocka_unit_test(guesses_near_it_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

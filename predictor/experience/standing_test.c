#include "standing.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct kc_candidates say(double bsp_ns, double context_ns)
{
	struct kc_candidates c = {.evidence = KC_EVIDENCE_CONCURRENT};

	if (bsp_ns > 0)
		kc_candidates_add(&c, KC_CANDIDATE_LAMBDA, logf((float)bsp_ns), 0.1f);
	if (context_ns > 0)
		kc_candidates_add(&c, KC_CANDIDATE_CONTEXT, logf((float)context_ns), 0.3f);
	return c;
}

static struct kc_mix mix(const struct kc_standing *s, double bsp_ns, double context_ns)
{
	struct kc_candidates c = say(bsp_ns, context_ns);
	struct kc_mix out;

	kc_standing_mix(s, &c, &out);
	return out;
}

static void learn(struct kc_standing *s, double bsp_ns, double context_ns, double slowdown, double measured_ns)
{
	struct kc_candidates c = say(bsp_ns, context_ns);

	kc_standing_learn(s, &c, (float)slowdown, logf((float)measured_ns));
}

static void one_model_alone(void **state)
{
	struct kc_mix m;

	(void)state;
	m = mix(NULL, 1000, 0);
	assert_float_equal(m.solo_log_ns, logf(1000), 1e-6);
	assert_float_equal(m.spread, 0.1, 1e-6);
	assert_float_equal(m.direct.share, 0, 0);
	assert_false(kc__estimate_is_all(&m.direct));
	m = mix(NULL, 0, 2000);
	assert_float_equal(m.direct.log_ns, logf(2000), 1e-6);
	assert_float_equal(m.spread, 0.3, 1e-6);
	assert_true(kc__estimate_is_all(&m.direct));
	/* Nobody spoke of the time alone. */
	assert_float_equal(m.solo_log_ns, logf(2000), 1e-6);
}

/* Of equal standing: halfway in log time, and half of each one's spread. */
static void equals(void **state)
{
	struct kc_standing device, kernel;
	struct kc_mix m;

	(void)state;
	kc_standing_init(&device, NULL);
	kc_standing_init(&kernel, &device);
	m = mix(&kernel, 1000, 4000);
	assert_float_equal(m.direct.share, 0.5, 1e-3);
	assert_float_equal(m.spread, 0.2, 1e-3);
	/* The root of 1,000 · 4,000 */
	assert_float_equal(kc__estimate_ns(&m.direct, 1000), 2000, 2);
}

/* The one that is right gets all of the weight, and loses it where the other becomes right. */
static void the_better_one_wins(void **state)
{
	struct kc_standing device, kernel;
	struct kc_mix m;

	(void)state;
	kc_standing_init(&device, NULL);
	kc_standing_init(&kernel, &device);
	for (uint32_t i = 0; i < 20; i++)
		learn(&kernel, 1500, 1000, 1, 1000);
	m = mix(&kernel, 1500, 1000);
	assert_true(kc__estimate_is_all(&m.direct));
	for (uint32_t i = 0; i < 200; i++)
		learn(&kernel, 1500, 1000, 1, 1500);
	m = mix(&kernel, 1500, 1000);
	assert_true(m.direct.share < 0.01f);
}

/* 1,000 ns alone, twice that beside others: the prediction of the solo time was right. */
static void the_slowdown_is_no_error(void **state)
{
	struct kc_standing device;

	(void)state;
	kc_standing_init(&device, NULL);
	for (uint32_t i = 0; i < 20; i++)
		learn(&device, 1000, 1000, 2, 2000);
	assert_true(mix(&device, 1000, 1000).direct.share < 0.01f);
}

/* A kernel starts as the device stands, goes its own way, and does not change what others start from by much. */
static void kernels_start_from_the_device(void **state)
{
	struct kc_standing device, known, new;

	(void)state;
	kc_standing_init(&device, NULL);
	kc_standing_init(&known, &device);
	kc_standing_init(&new, &device);
	for (uint32_t i = 0; i < 60; i++)
		learn(&known, 1500, 1000, 1, 1000);
	assert_true(mix(&new, 1500, 1000).direct.share > 0.99f);
	for (uint32_t i = 0; i < 20; i++)
		learn(&new, 1500, 1000, 1, 1500);
	assert_true(mix(&new, 1500, 1000).direct.share < 0.01f);
	assert_true(mix(&known, 1500, 1000).direct.share > 0.99f);
}

/* How good a model is at new sizes says nothing about repeated launches. */
static void evidence_is_kept_apart(void **state)
{
	struct kc_candidates new_size = say(1500, 1000);
	struct kc_standing device;
	struct kc_mix m;

	(void)state;
	kc_standing_init(&device, NULL);
	for (uint32_t i = 0; i < 20; i++)
		learn(&device, 1500, 1000, 1, 1000);
	new_size.evidence = KC_EVIDENCE_KERNEL;
	kc_standing_mix(&device, &new_size, &m);
	assert_float_equal(m.direct.share, 0.5, 1e-3);
}

/* A clock of 1,024 ns steps can only show multiples of that. */
static void durations_in_steps_of_the_clock(void **state)
{
	struct kc_duration_estimate direct = {.log_ns = logf(5000), .share = 1, .tick_ns = 1024};

	(void)state;
	assert_float_equal(kc__estimate_ns(&direct, 0), 5120, 0);
	direct.log_ns = logf(100);
	assert_float_equal(kc__estimate_ns(&direct, 0), 1024, 0);
	direct.tick_ns = 0;
	assert_float_equal(kc__estimate_ns(&direct, 0), 100, 0.01);
}

static void any_number(void **state)
{
	static const double durations[] = {1, 1e18, 1e-3, 1e30};
	struct kc_standing device;

	(void)state;
	kc_standing_init(&device, NULL);
	for (uint32_t i = 0; i < 4; i++) {
		for (uint32_t j = 0; j < 4; j++) {
			struct kc_mix m;

			for (uint32_t k = 0; k < 100; k++)
				learn(&device, durations[i], durations[j], 1e6, durations[(i + k) % 4]);
			m = mix(&device, durations[i], durations[j]);
			assert_true(isfinite(m.solo_log_ns) && isfinite(m.spread) && m.direct.share >= 0 &&
				    m.direct.share <= 1);
			assert_true(kc__estimate_ns(&m.direct, 0) >= 1 && kc__estimate_ns(&m.direct, 1e300) < 1e16);
		}
	}
}

/* Both start from 20 %, worth 3 measurements. λ is a quarter off, the contexts are right: 21.25 and 15 %. Weights are
 * the inverse twelfth power of that and 0.3 %. */
static void how_much_the_better_one_weighs(void **state)
{
	struct kc_standing device;

	(void)state;
	kc_standing_init(&device, NULL);
	learn(&device, 1250, 1000, 1, 1000);
	assert_float_equal(mix(&device, 1250, 1000).direct.share, 1 / (1 + pow(0.153 / 0.2155, 12)), 1e-3);
}

/* λ was a quarter off for long, the contexts right; then λ is right and the contexts are a fifth off. Errors fade by
 * a sixtieth each: after 48 they are about the same. */
static void how_long_errors_are_remembered(void **state)
{
	double kept = pow(59.0 / 60, 48), bsp = 0.25 * kept + 0.003, context = 0.2 * (1 - kept) + 0.003;
	struct kc_standing device;

	(void)state;
	kc_standing_init(&device, NULL);
	for (int i = 0; i < 2000; i++)
		learn(&device, 1250, 1000, 1, 1000);
	for (int i = 0; i < 48; i++)
		learn(&device, 1250, 1000, 1, 1250);
	assert_float_equal(mix(&device, 1250, 1000).direct.share, 1 / (1 + pow(context / bsp, 12)), 5e-3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(one_model_alone),
	    cmocka_unit_test(equals),
	    cmocka_unit_test(the_better_one_wins),
	    cmocka_unit_test(the_slowdown_is_no_error),
	    cmocka_unit_test(kernels_start_from_the_device),
	    cmocka_unit_test(evidence_is_kept_apart),
	    cmocka_unit_test(durations_in_steps_of_the_clock),
	    cmocka_unit_test(any_number),
	    cmocka_unit_test(how_much_the_better_one_weighs),
	    cmocka_unit_test(how_long_errors_are_remembered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

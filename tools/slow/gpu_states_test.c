/*
 * GPU 7 runs at 1,400 MHz, from 1,000 ns on at 1,120 (a fifth less) because of its power cap, from 2,000 at 1,260 (a
 * tenth less) because it is hot, from 3,000 at 1,386 (1 % less, which is none) while another process uses it.
 */
#include "gpu_states.h"
#include "store/journal/journal.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct kc_slow_gpu_state states[] = {
    {.device = 3, .sm_mhz = 2000, .others = 5},    {7, 100, 0, 1400, 1, 0, 0},
    {7, 1000, KC_SLOWED_POWER_CAP, 1120, 1, 0, 0}, {7, 2000, KC_SLOWED_THERMAL | KC_SLOWED_POWER_CAP, 1260, 1, 0, 0},
    {7, 3000, 0x1 /* idle */, 1386, 2, 0, 0},      {.device = 9, .slowed = KC_SLOWED_POWER_CAP}, /* no clock is known */
};
enum { STATES = sizeof(states) / sizeof(*states) };

static void add(struct kc_slow_gpu_states *sums, int64_t device, int64_t at_ns, double lost_ns)
{
	kc_slow_gpu_state_add(sums, states, STATES, device, at_ns, lost_ns);
}

static void check(const struct kc_slow_gpu_states *sums, const char *wanted)
{
	char text[KC_SLOW_WHY_BYTES];

	assert_string_equal(kc_slow_gpu_text(sums, text), wanted);
}

static void each_moment_has_the_state_before_it(void **state)
{
	struct kc_slow_gpu_states sums = {0};

	(void)state;
	add(&sums, 7, 99, 1000); /* before the first: not known */
	assert_true(sums.known_ns == 0);
	add(&sums, 7, 999, 10);
	assert_true(sums.known_ns == 10 && sums.clock_ns == 0 && sums.others_ns == 0);
	add(&sums, 7, 1000, 30);
	add(&sums, 7, 2500, 10);
	assert_true(sums.known_ns == 50 && sums.clock_ns == 40);
	assert_true(fabs(sums.lower - (0.2 * 30 + 0.1 * 10) / 40) < 1e-12);
	assert_true(sums.power_ns == 30 && sums.thermal_ns == 10 && sums.hardware_ns == 0);
	add(&sums, 7, INT64_MAX, 50);
	assert_true(sums.known_ns == 100 && sums.clock_ns == 40 && sums.others_ns == 50);
	check(&sums,
	      "the GPU's clock was 17.5 % lower (power cap) for 40.0 % of it, other processes used it for 50.0 %");
}

static void of_other_gpus_nothing_is_known(void **state)
{
	struct kc_slow_gpu_states sums = {0};

	(void)state;
	add(&sums, 8, 5000, 10);
	assert_true(sums.known_ns == 0);
	add(&sums, 9, 5000, 10);
	add(&sums, 3, 5000, 10);
	assert_true(sums.known_ns == 20 && sums.clock_ns == 0 && sums.others_ns == 0);
	check(&sums, "");
	kc_slow_gpu_state_add(&sums, NULL, 0, 3, 5000, 10);
	assert_true(sums.known_ns == 20);
}

static void the_text_says_what_differed(void **state)
{
	(void)state;
	check(&(struct kc_slow_gpu_states){0}, "");
	check(&(struct kc_slow_gpu_states){.known_ns = 100, .clock_ns = 100, .lower = 0.12, .thermal_ns = 60},
	      "the GPU's clock was 12.0 % lower (thermal) for 100 % of it");
	check(&(struct kc_slow_gpu_states){.known_ns = 100, .clock_ns = 50, .lower = 0.12, .hardware_ns = 30},
	      "the GPU's clock was 12.0 % lower (hardware slowdown) for 50.0 % of it");
	check(&(struct kc_slow_gpu_states){.known_ns = 100, .clock_ns = 50, .lower = 0.12, .power_ns = 20},
	      "the GPU's clock was 12.0 % lower for 50.0 % of it"); /* mostly not told why */
	check(&(struct kc_slow_gpu_states){.known_ns = 100, .clock_ns = 9, .lower = 0.12, .others_ns = 80},
	      "other processes used the GPU for 80.0 % of it");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_moment_has_the_state_before_it),
	    cmocka_unit_test(of_other_gpus_nothing_is_known),
	    cmocka_unit_test(the_text_says_what_differed),
	};

	kc_slow_gpu_state_compare(states, STATES);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "contention.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define SOLO_NS 10000

static struct kc_load issue(float share)
{
	return (struct kc_load){{[KC_LOAD_ISSUE] = share}};
}

static struct kc_expected_contention meeting(float load, float room, uint32_t streams)
{
	struct kc_expected_contention m = {.load = issue(load), .room = room};

	kc_expected_contention_classify(&m, streams);
	return m;
}

static void learn(struct kc_contention *c, const struct kc_expected_contention *m, float met, int64_t measured_ns,
		  int times)
{
	struct kc_load load = issue(met);

	while (times--)
		kc_contention_learn(c, m, &load, SOLO_NS, measured_ns);
}

/* Nothing learned: what room says. */
static void nothing_learned(void **state)
{
	struct kc_expected_contention crowded = meeting(1, 1.5f, 3);
	struct kc_contention device, c;

	(void)state;
	kc_contention_init(&device, NULL);
	kc_contention_init(&c, &device);
	assert_float_equal(kc_contention_slowdown(NULL, &crowded), 1.5, 0);
	assert_float_equal(kc_contention_slowdown(&c, &crowded), 1.5, 0);
}

/* Measured alone again and again: slowdown 1, also where room said 2. */
static void always_alone(void **state)
{
	struct kc_expected_contention m = meeting(0, 1, 0);
	struct kc_contention device, c;

	(void)state;
	kc_contention_init(&device, NULL);
	kc_contention_init(&c, &device);
	learn(&c, &m, 0, SOLO_NS, 50);
	assert_float_equal(kc_contention_slowdown(&c, &m), 1, 1e-6);
	m.room = 2;
	learn(&c, &m, 0, SOLO_NS, 50);
	assert_in_range(1000 * kc_contention_slowdown(&c, &m), 1000, 1010);
}

/* What was measured without overlap says nothing about forecasts of overlapped launches. */
static void runs_alone_say_nothing_of_overlap(void **state)
{
	struct kc_expected_contention alone = meeting(0, 1, 0), crowded = meeting(1, 12, 1);
	struct kc_contention device, c;

	(void)state;
	kc_contention_init(&device, NULL);
	kc_contention_init(&c, &device);
	learn(&c, &alone, 0, SOLO_NS, 50);
	assert_float_equal(kc_contention_slowdown(&c, &alone), 1, 1e-6);
	assert_float_equal(kc_contention_slowdown(&c, &crowded), 12, 0);
}

/* 25 µs instead of 10 µs, however much room there was: 2.5. */
static void always_the_same(void **state)
{
	struct kc_expected_contention m = meeting(0.3f, 1, 2);
	struct kc_contention device, c, other;

	(void)state;
	kc_contention_init(&device, NULL);
	kc_contention_init(&c, &device);
	kc_contention_init(&other, &device);
	learn(&c, &m, 0.5f, 25000, 200);
	assert_float_equal(kc_contention_slowdown(&c, &m), 2.5, 0.05);
	/* a shape not measured yet takes after the device's others */
	assert_float_equal(kc_contention_slowdown(&other, &m), 2.5, 0.05);
}

/* One kernel had little room, and took 12 times as long: another with more room
 * is not expected to. */
static void one_kernel_does_not_speak_for_all(void **state)
{
	struct kc_expected_contention narrow = meeting(0.9f, 11.25f, 1), wide = meeting(0.9f, 4.0f / 3, 1);
	struct kc_contention device, c, other;

	(void)state;
	kc_contention_init(&device, NULL);
	kc_contention_init(&c, &device);
	kc_contention_init(&other, &device);
	learn(&c, &narrow, 0.9f, 12 * SOLO_NS, 1);
	assert_float_equal(kc_contention_slowdown(&other, &wide), 4.0 / 3, 0.1 * 4 / 3);
}

/* 1 + 1.5 · load beside loads of one class, so that no median tells them apart: beside 0.65 of the device, 1.975. */
static void the_law_is_found(void **state)
{
	struct kc_contention c;
	struct kc_expected_contention asked = meeting(0.65f, 1, 1);

	(void)state;
	kc_contention_init(&c, NULL);
	for (int i = 0; i < 2000; i++) {
		float met = 0.55f + (float)(i % 3) * 0.2f;
		struct kc_expected_contention m = meeting(met, 1, 1);

		learn(&c, &m, met, (int64_t)(SOLO_NS * (1 + 1.5f * met)), 1);
	}
	assert_float_equal(kc_contention_slowdown(&c, &asked), 1.975, 0.01);
}

/* Where only the number of busy streams tells fast from slow, it is followed. */
static void the_better_forecast_counts(void **state)
{
	struct kc_expected_contention quiet = meeting(0.1f, 1, 0), busy = meeting(0.1f, 1, 6);
	struct kc_contention c;

	(void)state;
	kc_contention_init(&c, NULL);
	for (int i = 0; i < 300; i++) {
		learn(&c, &quiet, 0, SOLO_NS, 1);
		learn(&c, &busy, 0.5f, 3 * SOLO_NS, 1);
	}
	assert_true(kc_contention_slowdown(&c, &quiet) < 1.1f);
	assert_true(kc_contention_slowdown(&c, &busy) > 2.7f);
}

/* One launch in ten takes ten times as long: the forecast stays with the nine. */
static void outliers_do_not_carry_it_away(void **state)
{
	struct kc_expected_contention m = meeting(0.1f, 1, 1);
	struct kc_contention c;

	(void)state;
	kc_contention_init(&c, NULL);
	for (int i = 0; i < 1000; i++)
		learn(&c, &m, 0.1f, i % 10 ? SOLO_NS : 10 * SOLO_NS, 1);
	assert_true(kc_contention_slowdown(&c, &m) < 1.1f);
}

/* 20 µs of what was thought to be 10 µs alone, and is 16: at once 1.25, not 2. */
static void another_solo_time(void **state)
{
	struct kc_expected_contention m = meeting(0.1f, 1, 1);
	struct kc_contention device, c;
	struct kc_load met = issue(0.1f);

	(void)state;
	kc_contention_init(&device, NULL);
	kc_contention_init(&c, &device);
	learn(&c, &m, 0.1f, 20000, 100);
	kc_contention_learn(&c, &m, &met, 16000, 20000);
	assert_float_equal(kc_contention_slowdown(&c, &m), 1.25, 0.02);
}

static void packing(void **state)
{
	struct kc_expected_contention m = meeting(0.75f, 1.5f, 5), again;

	(void)state;
	m.load.of[KC_LOAD_L2] = 0.25f;
	again = kc_expected_contention_unpack(kc_expected_contention_pack(&m));
	assert_memory_equal(&m, &again, sizeof(m));
	m = (struct kc_expected_contention){
	    .load = {{-1, 1e9f, NAN}}, .room = NAN, .streams = UINT16_MAX, .crowd = UINT16_MAX};
	again = kc_expected_contention_unpack(kc_expected_contention_pack(&m));
	assert_float_equal(again.room, 1, 0);
	assert_float_equal(again.load.of[KC_LOAD_MEMORY], 255.0 / 32, 0);
}

/* What is wrong with a measurement must not get in, whatever else may. */
static void total(void **state)
{
	static const int64_t times[] = {INT64_MIN, -1, 0, 1, SOLO_NS, INT64_MAX};
	struct kc_expected_contention m = meeting(1e9f, 1, UINT32_MAX);
	struct kc_contention device, c;
	struct kc_load met = issue(1e9f);

	(void)state;
	kc_contention_init(&device, NULL);
	kc_contention_init(&c, &device);
	for (unsigned i = 0; i < 36000; i++) {
		float slowdown;

		kc_contention_learn(&c, &m, &met, times[i % 6], times[i / 6 % 6]);
		slowdown = kc_contention_slowdown(&c, &m);
		assert_true(slowdown >= 1 && slowdown < 1e6f);
	}
	m.streams = m.crowd = UINT16_MAX;
	assert_true(kc_contention_slowdown(&c, &m) >= 1);
}

/* K40: 15 SMs of 64 warps, 288 GB/s, 1.5 MiB of L2. 60 blocks of 256 threads:
 * half of the warps. 1,440,000 bytes in 10 µs: half of the bandwidth; 0.92 of L2. */
static void loads(void **state)
{
	struct kc_device k40 = *kc_device_builtin("k40");
	struct kc_resources resources = {.registers = 16};
	struct kc_shape shape = {{60, 1, 1}, {256, 1, 1}, 0, 0};
	struct kc_load load, met = {{0}};
	struct kc_work work;

	(void)state;
	k40.memory_bytes_per_s = 288000000000;
	k40.l2_bytes = 1536 * 1024;
	assert_int_equal(kc_work_init(&work, &k40, &resources, &shape, 0), 0);
	load = kc_load_of(&k40, &work, 1440000, 10000);
	assert_float_equal(load.of[KC_LOAD_ISSUE], 0.5, 1e-6);
	assert_float_equal(load.of[KC_LOAD_MEMORY], 0.5, 1e-6);
	assert_float_equal(load.of[KC_LOAD_L2], 1440000.0 / 1572864, 1e-6);
	kc_load_add_overlap(&met, &load, 2500, 10000);
	kc_load_add_overlap(&met, &load, 5000, 10000);
	assert_float_equal(met.of[KC_LOAD_ISSUE], 0.375, 1e-6);
}

/* 1 + 1.5 · load, beside loads of one class: the law's error fades by 0.05 each, to 3e-7 after 300, and then nobody
 * says it better. Beside 0.65 it is 1.975, where the median of that class is 2.125. */
static void how_soon_the_law_is_found(void **state)
{
	struct kc_expected_contention asked = meeting(0.65f, 1, 1);
	struct kc_contention c;

	(void)state;
	kc_contention_init(&c, NULL);
	for (int i = 0; i < 300; i++) {
		float met = 0.55f + (float)(i % 3) * 0.2f;
		struct kc_expected_contention m = meeting(met, 1, 1);

		learn(&c, &m, met, (int64_t)(SOLO_NS * (1 + 1.5f * met)), 1);
	}
	assert_float_equal(kc_contention_slowdown(&c, &asked), 1.975, 0.01);
}

/* Nine of ten take twice as long, where room says that they do not, and one takes twenty times: the median is 2, the
 * mean of the logarithms would be 2.5. */
static void slowdowns_are_medians(void **state)
{
	struct kc_expected_contention m = meeting(0.1f, 1, 1);
	struct kc_contention c;

	(void)state;
	kc_contention_init(&c, NULL);
	for (int i = 0; i < 1000; i++)
		learn(&c, &m, 0.1f, i % 10 ? 2 * SOLO_NS : 20 * SOLO_NS, 1);
	assert_float_equal(kc_contention_slowdown(&c, &m), 2, 0.2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(nothing_learned),
	    cmocka_unit_test(always_alone),
	    cmocka_unit_test(runs_alone_say_nothing_of_overlap),
	    cmocka_unit_test(always_the_same),
	    cmocka_unit_test(one_kernel_does_not_speak_for_all),
	    cmocka_unit_test(the_law_is_found),
	    cmocka_unit_test(the_better_forecast_counts),
	    cmocka_unit_test(outliers_do_not_carry_it_away),
	    cmocka_unit_test(another_solo_time),
	    cmocka_unit_test(packing),
	    cmocka_unit_test(total),
	    cmocka_unit_test(loads),
	    cmocka_unit_test(how_soon_the_law_is_found),
	    cmocka_unit_test(slowdowns_are_medians),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

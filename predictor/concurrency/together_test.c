/* Two kernels side by side, by hand: the law, the range, room, caches, tails. */
#include "together.h"

#include "predictor/solo/resources/resources_testing.h"

/* Unlike assert_float_equal(), in double precision, and what is not known is near nothing. */
#define assert_near(got, wanted, by) assert_true(fabs((got) - (wanted)) <= (by))

/* The ten SMs of resources_testing.h, with 1 MB of L2. 8.6: 128 KiB of L1 and shared memory on each. */
static struct kc_device with_l2(void)
{
	struct kc_device on = device;

	on.l2_bytes = 1000000;
	return on;
}

struct kernel {
	struct kc_work work;
	struct kc_shares shares;
	struct kc_neighbour neighbour;
};

static struct kc_neighbour *kernel(struct kernel *k, uint32_t blocks, uint32_t threads, double solo_ns)
{
	k->work = work_of(&device, blocks, threads);
	k->shares = (struct kc_shares){0};
	k->neighbour = (struct kc_neighbour){&k->work, solo_ns, &k->shares};
	return &k->neighbour;
}

static struct kc_together told(const struct kernel *first, const struct kernel *second)
{
	struct kc_device on = with_l2();
	struct kc_together out;

	assert_int_equal(kc_together(&on, &first->neighbour, &second->neighbour, &out), 0);
	assert_near(out.serial_ns, first->neighbour.solo_ns + second->neighbour.solo_ns, 0);
	return out;
}

/* 96 % and 96 % of 1000 ns are 1,920 ns of the unit; 30 and 50 of different ones fit into 1000. */
static void the_law(void **state)
{
	struct kernel a, b;
	struct kc_together t;

	(void)state;
	kernel(&a, 10, 256, 1000);
	kernel(&b, 10, 256, 1000);
	a.shares.of[KC_RESOURCE_FP32] = b.shares.of[KC_RESOURCE_FP32] = 0.96;
	t = told(&a, &b);
	assert_near(t.ns, 1920, 1e-9);
	assert_near(t.low_ns, 1920, 1e-9);
	assert_near(t.high_ns, 2000, 1e-9); /* 96 % of the rates, but not of 0.9 times them */
	assert_int_equal(t.why, KC_TOGETHER_SAME);
	assert_int_equal(t.resource[0], KC_RESOURCE_FP32);
	assert_near(t.share[1], 0.96, 0);

	b.shares.of[KC_RESOURCE_FP32] = 0;
	b.shares.of[KC_RESOURCE_DRAM] = 0.5;
	t = told(&a, &b);
	assert_near(t.ns, 1000, 1e-9);
	assert_int_equal(t.why, KC_TOGETHER_APART);
	assert_int_equal(t.resource[0], KC_RESOURCE_FP32);
	assert_int_equal(t.resource[1], KC_RESOURCE_DRAM);
	assert_near(t.share[1], 0.5, 0);
}

/* All of a unit for 1000 ns and 60 % of it for 3000: at least 3000 ns. Of 0.9 times its rate both take 1 and 2/3: if
 * they are slowed down alike until the first one ends, then 2000 ns of the second one are left. */
static void the_range(void **state)
{
	struct kernel a, b;
	struct kc_together t;

	(void)state;
	kernel(&a, 10, 256, 1000);
	kernel(&b, 10, 256, 3000);
	a.shares.of[KC_RESOURCE_DRAM] = 1;
	b.shares.of[KC_RESOURCE_DRAM] = 0.6;
	t = told(&a, &b);
	assert_near(t.ns, 3000, 1e-9);
	assert_near(t.high_ns, 1000 * pow(1 + pow(5.0 / 3, 4), 0.25) + 2000, 1e-6);
}

/* L1 and shared memory are one memory: 60 % of one and 60 % of the other do not go side by side. */
static void one_memory(void **state)
{
	struct kernel a, b;

	(void)state;
	kernel(&a, 10, 256, 1000);
	kernel(&b, 10, 256, 1000);
	a.shares.of[KC_RESOURCE_SHARED] = 0.6;
	b.shares.of[KC_RESOURCE_L1] = 0.6;
	assert_near(told(&a, &b).ns, 1200, 1e-9);
	assert_int_equal(told(&a, &b).resource[0], KC_RESOURCE_SHARED);
	b.shares.of[KC_RESOURCE_L1] = 0.7;
	assert_int_equal(told(&a, &b).resource[1], KC_RESOURCE_L1);

	/* 30 and 30 % of it are more than 50 % of a unit, beside one that needs another resource. */
	a.shares.of[KC_RESOURCE_FP32] = 0.5;
	a.shares.of[KC_RESOURCE_SHARED] = a.shares.of[KC_RESOURCE_L1] = 0.3;
	b.shares.of[KC_RESOURCE_L1] = 0;
	b.shares.of[KC_RESOURCE_DRAM] = 0.9;
	assert_int_equal(told(&a, &b).why, KC_TOGETHER_APART);
	assert_int_equal(told(&a, &b).resource[0], KC_RESOURCE_SHARED);
	assert_near(told(&a, &b).share[0], 0.6, 1e-12);
}

/* Four blocks each on ten SMs: the units are not shared, device memory is. */
static void sms_of_their_own(void **state)
{
	struct kernel a, b;

	(void)state;
	kernel(&a, 4, 256, 1000);
	kernel(&b, 4, 256, 1000);
	a.shares.of[KC_RESOURCE_FP32] = b.shares.of[KC_RESOURCE_FP32] = 1;
	assert_near(told(&a, &b).ns, 1000, 1e-9);
	a.shares.of[KC_RESOURCE_DRAM] = b.shares.of[KC_RESOURCE_DRAM] = 0.75;
	assert_near(told(&a, &b).ns, 1500, 1e-9);
	a.shares.of[KC_RESOURCE_ATOMICS] = b.shares.of[KC_RESOURCE_ATOMICS] = 0.8;
	assert_near(told(&a, &b).ns, 1600, 1e-9);
	a.shares.of[KC_RESOURCE_L2] = b.shares.of[KC_RESOURCE_L2] = 0.9;
	assert_near(told(&a, &b).ns, 1800, 1e-9);
}

/* 1,536 threads on an SM: beside one block of 1024 two of 256 fit, of six. The second one's 60 blocks are one wave
 * alone and three then: in the first one's 3000 ns it does all of its 1000 ns; in 1500 ns half, and 500 ns are left. */
static void room(void **state)
{
	struct kernel a, b;

	(void)state;
	kernel(&a, 10, 1024, 3000);
	kernel(&b, 60, 256, 1000);
	assert_near(told(&a, &b).ns, 3000, 1e-9);
	kernel(&a, 10, 1024, 1500);
	assert_near(told(&a, &b).ns, 2000, 1e-9);
	/* Half of a unit each, of 0.9 times its rate: the second one, at a third of its speed, takes a third of its. */
	kernel(&a, 10, 1024, 3000);
	a.shares.of[KC_RESOURCE_FP32] = b.shares.of[KC_RESOURCE_FP32] = 0.5;
	assert_near(told(&a, &b).high_ns, 3000 * pow(1 + pow(0.5 / 0.9 * 4 / 3, 4), 0.25), 1e-6);
	assert_int_equal(told(&a, &b).why, KC_TOGETHER_APART);
}

/* 48 KiB of each block in L1: 96 of 128 are held. 64 KiB: 128 of 128, so it is not known; 96 KiB: 192, so they are
 * slower. What is passed through once takes L1 from the one that comes back to it, too; but not where nobody does. */
static void l1(void **state)
{
	struct kernel a, b;
	struct kc_together t;

	(void)state;
	kernel(&a, 10, 64, 1000);
	kernel(&b, 10, 64, 1000);
	a.shares.l1 = b.shares.l1 = (struct kc_held){49152, KC_REUSE_HELD};
	assert_near(told(&a, &b).ns, 1000, 1e-9);
	a.shares.l1.bytes = b.shares.l1.bytes = 65536;
	t = told(&a, &b);
	assert_true(isnan(t.ns) && isnan(t.low_ns) && isnan(t.high_ns));
	assert_int_equal(t.why, KC_TOGETHER_L1);
	assert_int_equal(t.is_slower, 0);
	a.shares.l1.bytes = b.shares.l1.bytes = 98304;
	t = told(&a, &b);
	assert_true(isnan(t.ns) && t.is_slower);
	assert_near(t.held_bytes[0], 98304, 0);
	assert_near(t.cache_bytes, 131072, 0);
	b.shares.l1.reuse = KC_REUSE_NONE;
	t = told(&a, &b);
	assert_true(isnan(t.ns) && !t.is_slower);
	a.shares.l1.reuse = KC_REUSE_NONE;
	assert_near(told(&a, &b).ns, 1000, 1e-9);
	/* Of 140 KiB it is not known, either. */
	a.shares.l1 = b.shares.l1 = (struct kc_held){71680, KC_REUSE_HELD};
	t = told(&a, &b);
	assert_true(isnan(t.ns) && !t.is_slower);
	/* 30 KiB each, but of what 40 KiB of shared memory each leave. */
	a.shares.l1.bytes = b.shares.l1.bytes = 30720;
	assert_near(told(&a, &b).ns, 1000, 1e-9);
	a.work.shared_bytes = b.work.shared_bytes = 40960;
	assert_near(told(&a, &b).cache_bytes, 49152, 0);
	assert_true(isnan(told(&a, &b).ns));
	a.work.shared_bytes = b.work.shared_bytes = 0;
	/* A kernel that puts next to nothing there takes nothing from the other. */
	a.shares.l1 = (struct kc_held){1e6, KC_REUSE_UNKNOWN};
	b.shares.l1 = (struct kc_held){1024, KC_REUSE_NONE};
	assert_near(told(&a, &b).ns, 1000, 1e-9);
}

static void l2(void **state)
{
	struct kernel a, b;

	(void)state;
	kernel(&a, 4, 64, 1000);
	kernel(&b, 4, 64, 1000);
	a.shares.l2 = b.shares.l2 = (struct kc_held){450000, KC_REUSE_HELD};
	assert_near(told(&a, &b).ns, 1000, 1e-9);
	a.shares.l2.bytes = 900000;
	assert_true(isnan(told(&a, &b).ns));
	assert_int_equal(told(&a, &b).why, KC_TOGETHER_L2);
	assert_int_equal(told(&a, &b).is_slower, 1);
}

/* Demand that is not known gives no number, unless the first one fills the device, and little of their time is left to
 * overlap. 95 blocks of 1024 threads, one on an SM: the tenth wave is half full. It lasts (0.35 + 0.65 / 2) of the
 * 10 * 0.35 + 9.5 * 0.65 waves that 10000 ns are; two thirds of the SM's warp slots are taken. */
static void tails(void **state)
{
	struct kernel a, b;
	struct kc_together t;
	double tail = 1.8 * (1 - 0.8 * 2 / 3) * 0.675 / 9.675 * 10000;

	(void)state;
	kernel(&a, 10, 256, 1000);
	kernel(&b, 10, 256, 1000);
	a.neighbour.shares = NULL;
	t = told(&a, &b);
	assert_true(isnan(t.ns) && isnan(t.low_ns) && isnan(t.high_ns));
	assert_int_equal(t.why, KC_TOGETHER_UNKNOWN);
	assert_true(t.is_unknown[0] && !t.is_unknown[1]);

	kernel(&a, 95, 1024, 10000);
	kernel(&b, 10, 256, 8000);
	a.neighbour.shares = NULL;
	t = told(&a, &b);
	assert_near(t.ns, 18000 - tail, 1e-6);
	assert_near(t.low_ns, 18000 - tail * 4 / 3, 1e-6);
	assert_near(t.high_ns, 18000, 1e-6);
	assert_int_equal(t.why, KC_TOGETHER_TAIL);
	/* More than 6 % of both. */
	kernel(&b, 10, 256, 1000);
	t = told(&a, &b);
	assert_true(isnan(t.ns) && t.why == KC_TOGETHER_UNKNOWN);
	a.neighbour.shares = &a.shares;
	t = told(&a, &b);
	assert_near(t.ns, 11000 - tail, 1e-6);
	/* What both need for 10900 ns takes as long. */
	a.shares.of[KC_RESOURCE_DRAM] = b.shares.of[KC_RESOURCE_DRAM] = 10.9 / 11;
	t = told(&a, &b);
	assert_near(t.low_ns, 10900, 1e-6);
	/* A second one that is shorter than the tail ends with the first one. */
	kernel(&b, 10, 256, 100);
	assert_near(told(&a, &b).ns, 10000, 1e-6);
}

/* Of few warps in the SM's slots a tail would be 1.8 waves: no more than one. 32 threads, 16 blocks on an SM. */
static void tail_of_one_wave(void **state)
{
	struct kernel a;

	(void)state;
	kernel(&a, 320, 32, 1000);
	assert_near(kc_tail_ns(&device, &a.work, 1000), 500, 1e-6);
	kernel(&a, 160, 32, 1000);
	assert_near(kc_tail_ns(&device, &a.work, 1000), 0, 0);
}

static void no_room(void **state)
{
	struct kernel a, b;
	struct kc_together t;

	(void)state;
	kernel(&a, 10, 1024, 1000);
	kernel(&b, 10, 1024, 1000);
	t = told(&a, &b);
	assert_near(t.ns, 2000, 0);
	assert_near(t.low_ns, 2000, 0);
	assert_int_equal(t.why, KC_TOGETHER_NO_ROOM);
	assert_string_equal(kc_together_why_key(t.why), "no_room");
	assert_string_equal(kc_together_why_key(99), "unknown");
}

static void without_times(void **state)
{
	struct kernel a, b;
	struct kc_together out;

	(void)state;
	kernel(&a, 10, 256, 1000);
	kernel(&b, 10, 256, 0);
	assert_int_equal(kc_together(&device, &a.neighbour, &b.neighbour, &out), -EINVAL);
	assert_true(isnan(out.ns));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_law),
	    cmocka_unit_test(the_range),
	    cmocka_unit_test(one_memory),
	    cmocka_unit_test(sms_of_their_own),
	    cmocka_unit_test(room),
	    cmocka_unit_test(l1),
	    cmocka_unit_test(l2),
	    cmocka_unit_test(tails),
	    cmocka_unit_test(tail_of_one_wave),
	    cmocka_unit_test(no_room),
	    cmocka_unit_test(without_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "timeline_testing.h"

/* A K40 has 15 SMs; 8 blocks of 256 threads fill one, 120 the device. */
enum { FULL = 120, HALF = 60 };

static void alone(void **state)
{
	struct kc_placement p = launch(*state, 0, NOW_NS, 10 * FULL, 50 * US);

	assert_int_equal(p.concurrency_case, KC_CASE_ALONE);
	assert_int_equal(p.start_ns, NOW_NS + OVERHEAD_NS);
	assert_int_equal(p.end_ns - p.start_ns, 50 * US);
	assert_float_equal(p.slowdown, 1, 0);
	assert_float_equal(p.slowdown_waves, 1, 0);
	assert_int_not_equal(p.ticket, 0);
}

static void a_stream_keeps_its_order(void **state)
{
	struct kc_placement first = launch(*state, 0, NOW_NS, FULL, 50 * US);
	struct kc_placement second = launch(*state, 0, NOW_NS + US, FULL, 50 * US);
	struct kc_placement later = launch(*state, 0, NOW_NS + 500 * US, FULL, 50 * US);

	assert_int_equal(second.start_ns, first.end_ns + GAP_NS);
	assert_int_equal(second.concurrency_case, KC_CASE_ALONE);
	assert_int_equal(later.start_ns, NOW_NS + 500 * US + OVERHEAD_NS);
}

/* 4 blocks of 256 threads on every SM leave 4: 60 slots for 120 blocks, two waves instead of one. */
static void case_a(void **state)
{
	struct kc_placement second;

	launch(*state, 0, NOW_NS, HALF, 100 * US);
	second = launch(*state, 1, NOW_NS + US, FULL, 10 * US);
	assert_int_equal(second.concurrency_case, KC_CASE_A);
	assert_int_equal(second.start_ns, NOW_NS + US + OVERHEAD_NS);
	assert_int_equal(second.end_ns - second.start_ns, 20 * US);
	assert_float_equal(second.slowdown, 2, 1e-6);
	assert_float_equal(second.slowdown_waves, 2, 1e-6);
}

/* The first has 99 µs left when the second starts: in them it does 49.5 of its
 * 100 µs, then it has the device for itself: 149.5 µs. */
static void the_second_speeds_up_when_the_first_ends(void **state)
{
	struct kc_placement second;

	launch(*state, 0, NOW_NS, HALF, 100 * US);
	second = launch(*state, 1, NOW_NS + US, FULL, 100 * US);
	assert_int_equal(second.end_ns - second.start_ns, 149500);
	assert_float_equal(second.slowdown, 1.495, 1e-6);
	assert_float_equal(second.slowdown_waves, 2, 1e-6);
}

/* Nanoseconds since 1970 exceed what a double counts one by one. */
static void any_clock_will_do(void **state)
{
	const int64_t now_ns = 1763700000123456789;
	struct kc_placement second;

	for (uint32_t stream = 0; stream < 3; stream++)
		launch(*state, stream, now_ns, 15, 10 * US + stream * 7 + 1);
	second = launch(*state, 3, now_ns, FULL, 100 * US);
	assert_int_equal(second.start_ns, now_ns + OVERHEAD_NS);
	/* 75 of 120 slots for 10 µs: 5 µs late */
	assert_in_range(second.end_ns - second.start_ns, 105 * US - 10, 105 * US + 20);
}

/* 180 blocks: a full wave of 120, then 60. Two equal waves in 100 µs. */
static void case_b(void **state)
{
	struct kc_placement first = launch(*state, 0, NOW_NS, FULL + HALF, 100 * US);
	struct kc_placement second = launch(*state, 1, NOW_NS + US, FULL, 10 * US);

	assert_int_equal(second.concurrency_case, KC_CASE_B);
	assert_int_equal(second.start_ns, first.start_ns + 50 * US);
	assert_float_equal(second.slowdown, 2, 1e-6);
}

static void case_c(void **state)
{
	struct kc_placement first = launch(*state, 0, NOW_NS, FULL, 100 * US);
	struct kc_placement second = launch(*state, 1, NOW_NS + US, HALF, 10 * US);

	assert_int_equal(second.concurrency_case, KC_CASE_C);
	assert_int_equal(second.start_ns, first.end_ns);
	assert_int_equal(second.end_ns - second.start_ns, 10 * US);
	assert_float_equal(second.slowdown, 1, 0);
}

/* Two kernels take half of every SM; the third waits for the one that ends first. */
static void several_in_flight(void **state)
{
	struct kc_placement short_one, third;

	launch(*state, 0, NOW_NS, HALF, 300 * US);
	short_one = launch(*state, 1, NOW_NS, HALF, 100 * US);
	assert_int_equal(short_one.concurrency_case, KC_CASE_A);
	assert_float_equal(short_one.slowdown, 1, 0);
	third = launch(*state, 2, NOW_NS + US, HALF, 10 * US);
	assert_int_equal(third.start_ns, short_one.end_ns);
	assert_float_equal(third.slowdown, 1, 0);
}

/* Head of line: the second waits for room, so the third may not pass it though a block of it would fit. */
static void nothing_passes_what_waits_for_room(void **state)
{
	struct kc_placement first = launch(*state, 0, NOW_NS, FULL, 100 * US);
	struct kc_placement second = launch(*state, 1, NOW_NS, FULL, 100 * US);
	struct kc_placement third = launch(*state, 2, NOW_NS, FULL, 100 * US);

	assert_int_equal(second.start_ns, first.end_ns);
	assert_int_equal(third.start_ns, second.end_ns);
}

/* What queues behind a head does not matter until it is its turn. */
static void queued_kernels_cost_nothing(void **state)
{
	struct kc_placement p = {0};

	launch(*state, 0, NOW_NS, HALF, 100 * US);
	for (int i = 0; i < 500; i++)
		launch(*state, 0, NOW_NS, FULL, 100 * US);
	p = launch(*state, 1, NOW_NS, HALF, 10 * US);
	assert_int_equal(p.start_ns, NOW_NS + OVERHEAD_NS);
	assert_float_equal(p.slowdown, 1, 0);
}

/* 10 waves of 10 µs; a higher priority gets the SMs when the running wave ends. */
static void priority(void **state)
{
	struct kc_placement low = launch(*state, 0, NOW_NS, 10 * FULL, 100 * US), high, equal;

	kc_timeline_stream(*state, 1, KC_STREAM_NONBLOCKING, -1);
	high = launch(*state, 1, NOW_NS + 15 * US, FULL, 10 * US);
	assert_int_equal(high.start_ns, low.start_ns + 20 * US);
	assert_float_equal(high.slowdown, 1, 0);
	equal = launch(*state, 2, NOW_NS + 15 * US, FULL, 10 * US);
	assert_int_equal(equal.start_ns, low.end_ns);
}

static void legacy_default_stream(void **state)
{
	struct kc_timeline *tl = *state;
	struct kc_placement blocking, legacy, free_one, held;

	kc_timeline_stream(tl, 0, KC_STREAM_LEGACY, 0);
	kc_timeline_stream(tl, 1, KC_STREAM_BLOCKING, 0);
	blocking = launch(tl, 1, NOW_NS, HALF, 100 * US);
	legacy = launch(tl, 0, NOW_NS, HALF, 100 * US);
	free_one = launch(tl, 2, NOW_NS, 15, 10 * US);
	held = launch(tl, 1, NOW_NS, HALF, 10 * US);
	assert_int_equal(legacy.start_ns, blocking.end_ns);
	assert_int_equal(free_one.start_ns, NOW_NS + OVERHEAD_NS);
	assert_int_equal(held.start_ns, legacy.end_ns);
	assert_int_equal(kc_timeline_tail(tl, 0, NOW_NS), held.end_ns);
}

static void event_wait(void **state)
{
	struct kc_timeline *tl = *state;
	struct kc_placement first = launch(tl, 0, NOW_NS, FULL, 100 * US), second;

	assert_int_equal(kc_timeline_tail(tl, 0, NOW_NS), first.end_ns);
	assert_int_equal(kc_timeline_tail(tl, 1, NOW_NS), NOW_NS);
	kc_timeline_wait(tl, 1, kc_timeline_tail(tl, 0, NOW_NS));
	second = launch(tl, 1, NOW_NS, 15, 10 * US);
	assert_int_equal(second.start_ns, first.end_ns);
	assert_int_equal(second.concurrency_case, KC_CASE_ALONE);
}

static void copies_hold_their_stream_and_no_sm(void **state)
{
	struct kc_timeline *tl = *state;
	struct kc_placement copy, behind, beside;

	kc_timeline_occupy(tl, 0, NOW_NS, 200 * US, &copy);
	behind = launch(tl, 0, NOW_NS, FULL, 10 * US);
	beside = launch(tl, 1, NOW_NS, FULL, 10 * US);
	assert_int_equal(copy.end_ns - copy.start_ns, 200 * US);
	assert_int_equal(behind.start_ns, copy.end_ns + GAP_NS);
	assert_int_equal(beside.start_ns, NOW_NS + OVERHEAD_NS);
	assert_int_equal(beside.concurrency_case, KC_CASE_ALONE);
}

static void a_measured_end_moves_what_is_queued(void **state)
{
	struct kc_timeline *tl = *state;
	struct kc_placement first = launch(tl, 0, NOW_NS, FULL, 100 * US);
	struct kc_placement second = launch(tl, 0, NOW_NS, FULL, 100 * US), third;

	kc_timeline_measured(tl, 0, first.ticket, first.start_ns, first.end_ns + 30 * US);
	assert_int_equal(kc_timeline_tail(tl, 0, NOW_NS), second.end_ns + 30 * US);
	third = launch(tl, 0, NOW_NS, FULL, 100 * US);
	assert_int_equal(third.start_ns, second.end_ns + 30 * US + GAP_NS);
	/* Old news, and tickets of nothing, change nothing. */
	kc_timeline_measured(tl, 0, first.ticket, first.start_ns, first.end_ns - 90 * US);
	kc_timeline_measured(tl, 0, 0, 1, 2);
	kc_timeline_measured(tl, 0, 4000000000u, 1, 2);
	kc_timeline_measured(tl, 0, third.ticket, 5, 4);
	assert_int_equal(kc_timeline_tail(tl, 0, NOW_NS), third.end_ns);
}

/* The queue was thought to be over, but its first kernel ended late. */
static void a_measured_end_brings_a_stream_back(void **state)
{
	struct kc_timeline *tl = *state;
	struct kc_placement first = launch(tl, 0, NOW_NS, FULL, 50 * US);
	struct kc_placement second = launch(tl, 0, NOW_NS, FULL, 50 * US), other;
	int64_t now_ns = second.end_ns + 5 * US;

	kc_timeline_tail(tl, 1, now_ns);
	launch(tl, 1, now_ns, 15, US);
	kc_timeline_measured(tl, 0, first.ticket, first.start_ns, first.end_ns + 40 * US);
	other = launch(tl, 2, now_ns, FULL, 10 * US);
	assert_int_equal(other.start_ns, second.end_ns + 40 * US);
	assert_int_equal(other.concurrency_case, KC_CASE_C);
}

/* A kernel launched after a pause starts when it was launched, however early the last one ended. */
static void drift_does_not_cross_a_pause(void **state)
{
	struct kc_timeline *tl = *state;
	struct kc_placement first = launch(tl, 0, NOW_NS, FULL, 100 * US);
	struct kc_placement later = launch(tl, 0, NOW_NS + 150 * US, FULL, 100 * US);

	kc_timeline_measured(tl, 0, first.ticket, first.start_ns, first.end_ns - 50 * US);
	assert_int_equal(kc_timeline_tail(tl, 0, NOW_NS), later.end_ns);
}

static void a_late_end_pushes_a_later_launch(void **state)
{
	struct kc_timeline *tl = *state;
	struct kc_placement first = launch(tl, 0, NOW_NS, FULL, 100 * US);
	struct kc_placement later = launch(tl, 0, NOW_NS + 150 * US, FULL, 100 * US);

	kc_timeline_measured(tl, 0, first.ticket, first.start_ns, later.start_ns + 20 * US - GAP_NS);
	assert_int_equal(kc_timeline_tail(tl, 0, NOW_NS), later.end_ns + 20 * US);
}

static void cancelled_work_never_was(void **state)
{
	struct kc_timeline *tl = *state;
	struct kc_placement first = launch(tl, 0, NOW_NS, FULL, 100 * US);
	struct kc_placement second = launch(tl, 0, NOW_NS, FULL, 100 * US), other;

	kc_timeline_cancel(tl, 0, second.ticket);
	assert_int_equal(kc_timeline_tail(tl, 0, NOW_NS), first.end_ns);
	kc_timeline_cancel(tl, 0, first.ticket);
	kc_timeline_cancel(tl, 0, first.ticket);
	kc_timeline_cancel(tl, 0, 12345);
	assert_int_equal(kc_timeline_tail(tl, 0, NOW_NS), NOW_NS);
	other = launch(tl, 1, NOW_NS, FULL, 10 * US);
	assert_int_equal(other.start_ns, NOW_NS + OVERHEAD_NS);
	assert_int_equal(other.concurrency_case, KC_CASE_ALONE);
}

static void synchronising_empties(void **state)
{
	struct kc_timeline *tl = *state;
	struct kc_placement p;

	launch(tl, 0, NOW_NS, FULL, 100 * US);
	launch(tl, 1, NOW_NS, FULL, 100 * US);
	kc_timeline_stream_idle(tl, 0, NOW_NS + US);
	assert_int_equal(kc_timeline_tail(tl, 0, NOW_NS + US), NOW_NS + US);
	kc_timeline_device_idle(tl, NOW_NS + 2 * US);
	p = launch(tl, 2, NOW_NS + 2 * US, FULL, 10 * US);
	assert_int_equal(p.start_ns, NOW_NS + 2 * US + OVERHEAD_NS);
	assert_int_equal(p.concurrency_case, KC_CASE_ALONE);
}

/* Synchronising tells that they have ended, not how long they took. */
static void measurements_that_are_awaited(void **state)
{
	struct kc_timeline *tl = *state;
	struct kc_placement p[4];

	assert_int_equal(kc_timeline_awaited(tl, 0), 0);
	for (int i = 0; i < 4; i++)
		p[i] = launch(tl, 0, NOW_NS, FULL, 100 * US);
	assert_int_equal(kc_timeline_awaited(tl, 0), 4);
	assert_int_equal(kc_timeline_awaited(tl, 1), 0);
	kc_timeline_measured(tl, 0, p[1].ticket, p[1].start_ns, p[1].end_ns);
	kc_timeline_measured(tl, 0, p[0].ticket, p[0].start_ns, p[0].end_ns);
	assert_int_equal(kc_timeline_awaited(tl, 0), 2);
	kc_timeline_device_idle(tl, NOW_NS + 1000 * US);
	assert_int_equal(kc_timeline_awaited(tl, 0), 2);
	kc_timeline_measured(tl, 0, p[3].ticket, p[3].start_ns, p[3].end_ns);
	assert_int_equal(kc_timeline_awaited(tl, 0), 0);
	kc_timeline_measured(tl, 0, 12345, NOW_NS, NOW_NS + US); /* a ticket that was not given out */
	assert_int_equal(kc_timeline_awaited(tl, 0), 0);
}

static void what_is_known_to_be_idle_stays_so(void **state)
{
	struct kc_timeline *tl = *state;
	struct kc_placement p;

	assert_int_equal(kc_timeline_stream_idle(tl, 0, NOW_NS), 0); /* nothing has been put into it */
	p = launch(tl, 0, NOW_NS, FULL, 10 * US);
	assert_int_equal(kc_timeline_stream_idle(tl, 0, NOW_NS + US), 1);
	assert_int_equal(kc_timeline_stream_idle(tl, 0, NOW_NS + 2 * US), 0);
	kc_timeline_measured(tl, 0, p.ticket, p.start_ns, p.end_ns); /* comes late */
	assert_int_equal(kc_timeline_stream_idle(tl, 0, NOW_NS + 2 * US), 0);
	kc_timeline_wait(tl, 0, NOW_NS + 9 * US);
	assert_int_equal(kc_timeline_stream_idle(tl, 0, NOW_NS + 3 * US), 1);
	assert_int_equal(kc_timeline_stream_idle(tl, 0, NOW_NS + 3 * US), 0);
	assert_int_equal(kc_timeline_device_idle(tl, NOW_NS + 4 * US), 1);
	assert_int_equal(kc_timeline_device_idle(tl, NOW_NS + 5 * US), 0);
	kc_timeline_wait(tl, 1, NOW_NS + 9 * US);
	assert_int_equal(kc_timeline_device_idle(tl, NOW_NS + 5 * US), 1);
	launch(tl, 1, NOW_NS + 5 * US, FULL, 10 * US);
	assert_int_equal(kc_timeline_stream_idle(tl, 0, NOW_NS + 6 * US), 0); /* another stream is busy */
	assert_int_equal(kc_timeline_device_idle(tl, NOW_NS + 6 * US), 1);
	assert_int_equal(kc_timeline_device_idle(tl, NOW_NS + 6 * US), 0);
}

static void a_stream_that_begins_again_is_empty(void **state)
{
	struct kc_timeline *tl = *state;
	struct kc_placement old = launch(tl, 0, NOW_NS, FULL, 100 * US), young;

	kc_timeline_stream_gone(tl, 0);
	kc_timeline_stream(tl, 0, KC_STREAM_NONBLOCKING, 0);
	young = launch(tl, 0, NOW_NS, FULL, 10 * US);
	assert_int_equal(young.start_ns, NOW_NS + OVERHEAD_NS);
	assert_int_not_equal(young.ticket, old.ticket);
	kc_timeline_measured(tl, 0, old.ticket, old.start_ns, old.end_ns + 1000 * US);
	assert_int_equal(kc_timeline_tail(tl, 0, NOW_NS), young.end_ns);
}

/* Far more than a ring holds: order and end stay right. */
static void long_queues(void **state)
{
	struct kc_timeline *tl = *state;
	struct kc_placement p = launch(tl, 0, NOW_NS, FULL, 10 * US);

	for (int64_t i = 1; i < 5000; i++) {
		p = launch(tl, 0, NOW_NS, FULL, 10 * US);
		assert_int_equal(p.start_ns, NOW_NS + OVERHEAD_NS + i * (10 * US + GAP_NS));
	}
	assert_int_equal(kc_timeline_tail(tl, 0, NOW_NS), p.end_ns);
	/* Another stream waits for the one that runs when it comes, the 4,201st. */
	p = launch(tl, 1, NOW_NS + OVERHEAD_NS + 4200 * 11 * US - OVERHEAD_NS + US, FULL, 10 * US);
	assert_int_equal(p.start_ns, NOW_NS + OVERHEAD_NS + 4200 * 11 * US + 10 * US);
}

static void streams_past_the_table_are_one(void **state)
{
	struct kc_timeline *tl = *state;
	struct kc_placement first, second;

	kc_timeline_stream(tl, 100000, KC_STREAM_NONBLOCKING, 0);
	kc_timeline_stream(tl, UINT32_MAX, KC_STREAM_NONBLOCKING, 0);
	first = launch(tl, 100000, NOW_NS, 15, 10 * US);
	second = launch(tl, UINT32_MAX, NOW_NS, 15, 10 * US);
	assert_int_equal(second.start_ns, first.end_ns + GAP_NS);
	kc_timeline_stream_gone(tl, UINT32_MAX);
	kc_timeline_stream_idle(tl, UINT32_MAX, NOW_NS);
	assert_int_equal(kc_timeline_tail(tl, 100000, NOW_NS), second.end_ns);
}

static void the_largest_grid(void **state)
{
	struct kc_timeline *tl = *state;
	struct kc_device device = k40();
	struct kc_resources resources = {.registers = 16};
	struct kc_shape shape = {{2147483647, 65535, 65535}, {1024, 1, 1}, 0, 0};
	struct kc_work work;
	struct kc_placement p;

	assert_int_equal(kc_work_init(&work, &device, &resources, &shape, 0), 0);
	launch(tl, 0, NOW_NS, HALF, 100 * US);
	for (uint32_t stream = 1; stream < 4; stream++) {
		kc_timeline_kernel(tl, stream, NOW_NS, &work, INT64_MAX, &p);
		assert_true(p.start_ns >= NOW_NS && p.end_ns > p.start_ns && p.slowdown >= 1);
	}
	kc_timeline_kernel(tl, 0, NOW_NS, &work, -5, &p);
	assert_true(p.end_ns >= p.start_ns);
}

static struct kc_placement launch_on(struct kc_timeline *tl, uint32_t stream, int64_t now_ns,
				     const struct kc_work *work, int64_t solo_ns)
{
	struct kc_placement p;

	kc_timeline_kernel(tl, stream, now_ns, work, solo_ns, &p);
	return p;
}

/*
 * Amert et al. 2017, table 1 and figures 3 and 4: two SMs of a TX2. Every block
 * is taken to run 1 ms. K1 has six blocks of 768 threads, two fit on an SM: four
 * first. K4 would fit, but waits for K1's last two; K5 waits for the shared
 * memory that K4 holds; K2 and K5 start when K1 and K4 end.
 */
static struct kc_work tx2_work(const struct kc_device *device, uint32_t blocks, uint32_t threads, uint32_t shared)
{
	struct kc_resources resources = {.registers = 16};
	struct kc_shape shape = {{blocks, 1, 1}, {threads, 1, 1}, shared, 0};
	struct kc_work work;

	assert_int_equal(kc_work_init(&work, device, &resources, &shape, 0), 0);
	return work;
}

static void the_order_of_amert(void **state)
{
	enum { MS = 1000 * US };
	struct kc_timeline *tl = *state;
	struct kc_device tx2 = {.name = "TX2", .cc_major = 6, .cc_minor = 2, .sm_count = 2, .clock_khz = 1300000};
	struct kc_work works[7];
	struct kc_placement k1, k2, k3, k4, k5, k6;

	kc_device_complete(&tx2);
	tx2.launch_overhead_ns = tx2.launch_gap_ns = 0;
	tx2.shared_per_sm_bytes = 65536;
	works[1] = tx2_work(&tx2, 6, 768, 0);
	works[2] = tx2_work(&tx2, 2, 512, 0);
	works[3] = tx2_work(&tx2, 2, 1024, 0);
	works[4] = tx2_work(&tx2, 4, 256, 32768);
	works[5] = tx2_work(&tx2, 2, 256, 32768);
	works[6] = tx2_work(&tx2, 2, 512, 0);
	kc_timeline_init(tl, &tx2);
	for (uint32_t s = 1; s <= 3; s++)
		kc_timeline_stream(tl, s, KC_STREAM_NONBLOCKING, 0);
	k1 = launch_on(tl, 1, NOW_NS, &works[1], 2 * MS);
	k2 = launch_on(tl, 1, NOW_NS, &works[2], MS);
	k3 = launch_on(tl, 1, NOW_NS, &works[3], MS);
	k4 = launch_on(tl, 2, NOW_NS + MS / 5, &works[4], MS);
	k5 = launch_on(tl, 3, NOW_NS + 2 * MS / 5, &works[5], MS);
	k6 = launch_on(tl, 2, NOW_NS + 28 * MS / 10, &works[6], MS);
	assert_int_equal(k1.start_ns, NOW_NS);
	assert_int_equal(k4.start_ns, NOW_NS + MS); /* with K1's last two */
	assert_int_equal(k4.concurrency_case, KC_CASE_B);
	assert_int_equal(k5.start_ns, k4.end_ns);
	assert_int_equal(k2.start_ns, k1.end_ns);
	assert_int_equal(k5.start_ns, k2.start_ns);
	assert_true(k3.start_ns >= k2.end_ns);
	assert_true(k6.start_ns >= k4.end_ns && k6.start_ns >= NOW_NS + 28 * MS / 10);
}

/* Two queues, three streams: the third shares the first one's, and waits until
 * what is in it has started. */
static void hardware_queues(void **state)
{
	struct kc_timeline *tl = *state;
	struct kc_device device = k40();
	struct kc_placement running, queued, other, behind;

	device.hardware_queues = 2;
	kc_timeline_init(tl, &device);
	for (uint32_t s = 0; s < 3; s++)
		kc_timeline_stream(tl, s, KC_STREAM_NONBLOCKING, 0);
	running = launch(tl, 0, NOW_NS, 15, 100 * US);
	queued = launch(tl, 0, NOW_NS, 15, 100 * US);
	other = launch(tl, 1, NOW_NS, 15, 10 * US);
	behind = launch(tl, 2, NOW_NS, 15, 10 * US);
	assert_int_equal(queued.start_ns, running.end_ns + GAP_NS);
	assert_int_equal(other.start_ns, NOW_NS + OVERHEAD_NS);
	assert_int_equal(behind.start_ns, queued.start_ns); /* a false dependency */
}

/* Compute capability 3.5: 32 grids at once. The 33rd waits for the first to end. */
static void resident_grids(void **state)
{
	struct kc_timeline *tl = *state;
	struct kc_device device = k40();
	struct kc_placement first = {0}, last;

	device.hardware_queues = 32;
	kc_timeline_init(tl, &device);
	for (uint32_t s = 0; s < 33; s++)
		kc_timeline_stream(tl, s, KC_STREAM_NONBLOCKING, s < 32 ? 0 : -1); /* a queue of its own */
	for (uint32_t s = 0; s < 32; s++) {
		struct kc_placement p = launch(tl, s, NOW_NS, 1, 100 * US + s);

		first = s ? first : p;
		assert_int_equal(p.start_ns, NOW_NS + OVERHEAD_NS);
	}
	last = launch(tl, 32, NOW_NS, 1, 10 * US);
	assert_int_equal(last.start_ns, first.end_ns);
}

/* A damaged recording: times that are years apart, and more kernels of a month each than fit into 64 bits. */
static void times_that_cannot_be_do_not_overflow(void **state)
{
	static const int64_t far_ns = INT64_C(1) << 61, month_ns = INT64_C(2600000000000000);
	struct kc_timeline *tl = *state;
	struct kc_placement p;

	for (int i = 0; i < 8; i++) { /* each of these moves the stream by 146 years */
		kc_timeline_wait(tl, 0, far_ns);
		p = launch(tl, 0, -far_ns, 1, 100 * US);
		kc_timeline_measured(tl, 0, p.ticket, -far_ns, -far_ns + 100 * US);
		kc_timeline_stream_idle(tl, 0, -far_ns + 200 * US);
	}
	p = launch(tl, 0, far_ns, 1, 100 * US);
	assert_int_equal(p.start_ns, far_ns + OVERHEAD_NS);
	for (int i = 0; i < 5000; i++) {
		p = launch(tl, 1, far_ns, 1, month_ns);
		assert_in_range(p.start_ns, far_ns, INT64_C(1) << 62);
		assert_true(p.end_ns >= p.start_ns);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(alone),
	    TEST(a_stream_keeps_its_order),
	    TEST(case_a),
	    TEST(the_second_speeds_up_when_the_first_ends),
	    TEST(any_clock_will_do),
	    TEST(case_b),
	    TEST(case_c),
	    TEST(several_in_flight),
	    TEST(nothing_passes_what_waits_for_room),
	    TEST(queued_kernels_cost_nothing),
	    TEST(priority),
	    TEST(legacy_default_stream),
	    TEST(event_wait),
	    TEST(copies_hold_their_stream_and_no_sm),
	    TEST(a_measured_end_moves_what_is_queued),
	    TEST(a_measured_end_brings_a_stream_back),
	    TEST(drift_does_not_cross_a_pause),
	    TEST(a_late_end_pushes_a_later_launch),
	    TEST(cancelled_work_never_was),
	    TEST(synchronising_empties),
	    TEST(measurements_that_are_awaited),
	    TEST(measurements_that_are_awaited),
	    TEST(what_is_known_to_be_idle_stays_so),
	    TEST(a_stream_that_begins_again_is_empty),
	    TEST(long_queues),
	    TEST(streams_past_the_table_are_one),
	    TEST(the_largest_grid),
	    TEST(the_order_of_amert),
	    TEST(hardware_queues),
	    TEST(resident_grids),
	    TEST(times_that_cannot_be_do_not_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

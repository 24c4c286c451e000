/* Copies: how long they take, and how they take turns. Times by hand arithmetic. */
#include "copy.h"
#include "predictor/concurrency/timeline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { US = 1000, STREAMS = 40 };
#define OVERHEAD_NS 8000
#define GAP_NS 1000
#define NOW_NS (1000 * 1000 * (int64_t)US)
#define READY_NS (NOW_NS + OVERHEAD_NS)

static struct kc_device a100(uint32_t copy_engines)
{
	struct kc_device device = *kc_device_builtin("a100");

	device.launch_overhead_ns = OVERHEAD_NS;
	device.launch_gap_ns = GAP_NS;
	device.hardware_queues = 32;
	device.copy_engines = copy_engines;
	return device;
}

static void begin(struct kc_timeline *tl, uint32_t copy_engines)
{
	struct kc_device device = a100(copy_engines);

	kc_timeline_init(tl, &device);
	for (uint32_t stream = 0; stream < STREAMS; stream++)
		kc_timeline_stream(tl, stream, KC_STREAM_NONBLOCKING, 0);
}

static int set_up(void **state)
{
	*state = malloc(kc_timeline_size());
	begin(*state, 2);
	return 0;
}

static int tear_down(void **state)
{
	free(*state);
	return 0;
}

static struct kc_placement copy(struct kc_timeline *tl, uint32_t stream, enum kc_copy_route route, int64_t duration_ns)
{
	struct kc_placement p;

	kc_timeline_copy(tl, stream, NOW_NS, route, duration_ns, &p);
	return p;
}

/* On all SMs. */
static struct kc_placement kernel(struct kc_timeline *tl, uint32_t stream, int64_t solo_ns)
{
	struct kc_device device = a100(2);
	struct kc_resources resources = {.registers = 16};
	struct kc_shape shape = {{864, 1, 1}, {256, 1, 1}, 0, 0};
	struct kc_placement p;
	struct kc_work work;

	assert_int_equal(kc_work_init(&work, &device, &resources, &shape, 0), 0);
	kc_timeline_kernel(tl, stream, NOW_NS, &work, solo_ns, &p);
	return p;
}

static void one_direction_takes_turns(void **state)
{
	struct kc_placement first = copy(*state, 0, KC_ROUTE_TO_DEVICE, 50 * US);
	struct kc_placement second = copy(*state, 1, KC_ROUTE_TO_DEVICE, 30 * US);
	struct kc_placement third = copy(*state, 2, KC_ROUTE_TO_DEVICE, 20 * US);

	assert_int_equal(first.start_ns, READY_NS);
	assert_int_equal(second.start_ns, first.end_ns);
	assert_int_equal(third.start_ns, second.end_ns);
	assert_int_equal(third.end_ns, READY_NS + 100 * US);
}

static void directions_and_kernels_overlap(void **state)
{
	struct kc_placement up = copy(*state, 0, KC_ROUTE_TO_DEVICE, 50 * US);
	struct kc_placement down = copy(*state, 1, KC_ROUTE_TO_HOST, 50 * US);
	struct kc_placement inside = copy(*state, 2, KC_ROUTE_ON_DEVICE, 50 * US);
	struct kc_placement busy = kernel(*state, 3, 50 * US);

	assert_int_equal(up.start_ns, READY_NS);
	assert_int_equal(down.start_ns, READY_NS);
	assert_int_equal(inside.start_ns, READY_NS);
	assert_int_equal(busy.start_ns, READY_NS);
	assert_float_equal(busy.slowdown, 1, 0);
}

static void with_one_engine_directions_take_turns(void **state)
{
	struct kc_placement up, down;

	begin(*state, 1);
	up = copy(*state, 0, KC_ROUTE_TO_DEVICE, 50 * US);
	down = copy(*state, 1, KC_ROUTE_TO_HOST, 50 * US);
	assert_int_equal(down.start_ns, up.end_ns);
}

/* Behind a kernel in its stream a copy is not ready, and the engine is another's meanwhile. */
static void what_is_not_ready_holds_up_nothing(void **state)
{
	struct kc_placement first = kernel(*state, 0, 500 * US);
	struct kc_placement late = copy(*state, 0, KC_ROUTE_TO_DEVICE, 50 * US);
	struct kc_placement early = copy(*state, 1, KC_ROUTE_TO_DEVICE, 50 * US);

	assert_int_equal(late.start_ns, first.end_ns + GAP_NS);
	assert_int_equal(early.start_ns, READY_NS);
}

/* In a stream the next copy waits a gap for the one before; another stream's comes in between. */
static void streams_alternate(void **state)
{
	struct kc_placement first = copy(*state, 0, KC_ROUTE_TO_HOST, 50 * US);
	struct kc_placement next = copy(*state, 0, KC_ROUTE_TO_HOST, 50 * US);
	struct kc_placement other = copy(*state, 1, KC_ROUTE_TO_HOST, 50 * US);

	assert_int_equal(next.start_ns, first.end_ns + GAP_NS);
	assert_int_equal(other.start_ns, first.end_ns);
}

static void a_measured_end_moves_the_turn(void **state)
{
	struct kc_placement first = copy(*state, 0, KC_ROUTE_TO_DEVICE, 50 * US);
	struct kc_placement next = copy(*state, 0, KC_ROUTE_TO_DEVICE, 50 * US), other;
	int64_t ended_ns = first.end_ns + 30 * US;

	kc_timeline_measured(*state, 0, first.ticket, first.start_ns, ended_ns);
	kc_timeline_copy(*state, 1, ended_ns + 2 * US, KC_ROUTE_TO_DEVICE, 50 * US, &other);
	assert_int_equal(other.start_ns, next.end_ns + 30 * US);
}

static void what_failed_has_no_turn(void **state)
{
	struct kc_placement first = copy(*state, 0, KC_ROUTE_TO_DEVICE, 50 * US);
	struct kc_placement busy;

	kc_timeline_cancel(*state, 0, first.ticket);
	busy = kernel(*state, 0, 50 * US);
	assert_int_equal(busy.ticket, first.ticket);
	assert_int_equal(copy(*state, 1, KC_ROUTE_TO_DEVICE, 50 * US).start_ns, READY_NS);
}

static void an_idle_device_has_free_engines(void **state)
{
	copy(*state, 0, KC_ROUTE_TO_DEVICE, 500 * US);
	kc_timeline_device_idle(*state, NOW_NS);
	assert_int_equal(copy(*state, 1, KC_ROUTE_TO_DEVICE, 50 * US).start_ns, READY_NS);
}

/* More than are told apart. */
static void many_take_turns(void **state)
{
	for (uint32_t stream = 0; stream < STREAMS; stream++)
		assert_int_equal(copy(*state, stream, KC_ROUTE_TO_DEVICE, 10 * US).start_ns,
				 READY_NS + stream * 10 * US);
}

/* PCIe 3.0 x16 moves 12 GB/s; on an A100 with 1,555 GB/s every byte is read and written. */
static void before_anything_is_measured(void **state)
{
	struct kc_device device = a100(2);
	const uint64_t gib = 1ull << 30;

	(void)state;
	assert_in_range(kc_copy_ns(&device, KC_ROUTE_TO_DEVICE, 0, gib), 89 * US * US, 90 * US * US);
	assert_in_range(kc_copy_ns(&device, KC_ROUTE_TO_HOST, 0, gib), 89 * US * US, 90 * US * US);
	assert_in_range(kc_copy_ns(&device, KC_ROUTE_ON_DEVICE, 0, gib), 1380 * US, 1384 * US);
}

static void rates_are_learned(void **state)
{
	struct kc_device device = a100(2);
	uint64_t rate = kc_copy_learn(0, 1 << 20, 40 * US);

	(void)state;
	assert_in_range(kc_copy_ns(&device, KC_ROUTE_TO_DEVICE, rate, 2 << 20), 80 * US, 82 * US);
	assert_int_equal(kc_copy_learn(rate, 100, 40 * US), rate); /* latency alone */
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(one_direction_takes_turns),
	    TEST(directions_and_kernels_overlap),
	    TEST(with_one_engine_directions_take_turns),
	    TEST(what_is_not_ready_holds_up_nothing),
	    TEST(streams_alternate),
	    TEST(a_measured_end_moves_the_turn),
	    TEST(what_failed_has_no_turn),
	    TEST(an_idle_device_has_free_engines),
	    TEST(many_take_turns),
	    TEST(before_anything_is_measured),
	    TEST(rates_are_learned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

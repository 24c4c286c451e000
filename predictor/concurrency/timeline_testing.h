/* What the tests of the timeline share: one on a K40 with four streams, and launches on it. */
#ifndef KC_TIMELINE_TESTING_H
#define KC_TIMELINE_TESTING_H

#include "timeline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { US = 1000 };
#define OVERHEAD_NS 8000
#define GAP_NS 1000
#define NOW_NS (1000 * 1000 * (int64_t)US)

static inline struct kc_device k40(void)
{
	struct kc_device device = *kc_device_builtin("k40");

	device.launch_overhead_ns = OVERHEAD_NS;
	device.launch_gap_ns = GAP_NS;
	return device;
}

static inline int set_up(void **state)
{
	struct kc_device device = k40();

	*state = malloc(kc_timeline_size());
	kc_timeline_init(*state, &device);
	for (uint32_t stream = 0; stream < 4; stream++)
		kc_timeline_stream(*state, stream, KC_STREAM_NONBLOCKING, 0);
	return 0;
}

static inline int tear_down(void **state)
{
	free(*state);
	return 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

static inline struct kc_work work_of(uint32_t blocks)
{
	struct kc_device device = k40();
	struct kc_resources resources = {.registers = 16};
	struct kc_shape shape = {{blocks, 1, 1}, {256, 1, 1}, 0, 0};
	struct kc_work work;

	assert_int_equal(kc_work_init(&work, &device, &resources, &shape, 0), 0);
	return work;
}

static inline struct kc_placement launch(struct kc_timeline *tl, uint32_t stream, int64_t now_ns, uint32_t blocks,
					 int64_t solo_ns)
{
	struct kc_work work = work_of(blocks);
	struct kc_placement p;

	kc_timeline_kernel(tl, stream, now_ns, &work, solo_ns, &p);
	return p;
}

#endif

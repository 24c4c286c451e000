/*
 * What placing a launch costs: with so many streams that each hold a kernel in
 * flight, and kernels queued behind. Prints medians.
 *
 * As last seen, on one core of a shared machine: 30 to 60 ns with one busy stream,
 * 70 to 140 ns with eight, 0.7 to 0.9 µs with 128, whatever the size of the grids
 * and the length of the queues.
 */
#include "timeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { LAUNCHES = 40000, SHAPES = 8 };

struct bench {
	struct kc_timeline *tl;
	struct kc_device device;
	struct kc_contention parent, contention[SHAPES];
	struct kc_work works[SHAPES];
	uint32_t random;
};

static int64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Lehmer, Park and Miller 1988. */
static uint32_t draw(struct bench *b, uint32_t below)
{
	b->random = (uint32_t)((uint64_t)b->random * 48271 % 2147483647);
	return b->random % below;
}

static void begin(struct bench *b, uint32_t blocks, int learned)
{
	struct kc_resources resources = {.registers = 32};

	kc_timeline_init(b->tl, &b->device);
	kc_contention_init(&b->parent, NULL);
	for (unsigned i = 0; i < SHAPES; i++) {
		struct kc_shape shape = {{blocks * (i + 1), 1, 1}, {32 << i % 5, 1, 1}, 0, 0};

		kc_work_init(&b->works[i], &b->device, &resources, &shape, 0);
		kc_contention_init(&b->contention[i], &b->parent);
		for (uint32_t j = 0; learned && j < 100; j++) {
			struct kc_expected_contention meeting = {.room = 1};

			kc_expected_contention_classify(&meeting, j);
			kc_contention_learn(&b->contention[i], &meeting, &meeting.load, 1000, 1000 + draw(b, 1000));
		}
	}
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Each stream gets a new kernel about when its last one ends, and holds `queued` more. */
static void run(struct bench *b, const char *what, uint32_t in_flight, uint32_t queued, uint32_t blocks, int learned)
{
	static int64_t took[LAUNCHES];
	int64_t now_ns = 1000000000, solo_ns = 20000;
	int64_t step_ns = solo_ns / in_flight;
	struct kc_placement p;

	begin(b, blocks, learned);
	for (uint32_t s = 0; s < in_flight; s++)
		kc_timeline_stream(b->tl, s, KC_STREAM_NONBLOCKING, 0);
	for (uint32_t i = 0; i < in_flight * queued; i++)
		kc_timeline_kernel(b->tl, i % in_flight, now_ns, &b->works[i % SHAPES], solo_ns, &p);
	for (uint32_t i = 0; i < LAUNCHES; i++) {
		uint32_t shape = draw(b, SHAPES), stream = i % in_flight;
		struct kc_demand demand = {
		    .work = &b->works[shape],
		    .solo_ns = solo_ns + draw(b, 1000),
		    .load = {{0.5f}},
		    .contention = &b->contention[shape],
		    .identity = shape,
		};
		int64_t before_ns = clock_ns();

		kc_timeline_launch(b->tl, stream, now_ns, &demand, &p);
		took[i] = clock_ns() - before_ns;
		now_ns += step_ns;
	}
	qsort(took, LAUNCHES, sizeof(took[0]), by_value);
	printf("%-34s %3u streams, %4u queued: median %5lld ns, 99 %% %5lld ns\n", what, in_flight, queued,
	       (long long)took[LAUNCHES / 2], (long long)took[LAUNCHES / 100 * 99]);
}

int main(void)
{
	struct bench b = {.device = *kc_device_builtin("a100"), .random = 1};
	int64_t begin_ns = clock_ns();

	b.device.hardware_queues = 32;
	b.tl = malloc(kc_timeline_size());
	if (!b.tl)
		return 1;
	for (int i = 0; i < 1000000; i++)
		clock_ns();
	printf("reading the clock: %lld ns, in each figure\n", (long long)(clock_ns() - begin_ns) / 1000000);
	for (int learned = 0; learned < 2; learned++) {
		run(&b, learned ? "small grids, contention learned" : "small grids", 1, 0, 8, learned);
		run(&b, learned ? "small grids, contention learned" : "small grids", 8, 0, 8, learned);
		run(&b, learned ? "small grids, contention learned" : "small grids", 128, 0, 8, learned);
		run(&b, learned ? "2^31 blocks, contention learned" : "2^28 blocks and more", 8, 0, 1u << 28, learned);
		run(&b, learned ? "2^31 blocks, contention learned" : "2^28 blocks and more", 128, 0, 1u << 28,
		    learned);
		run(&b, learned ? "small grids, contention learned" : "small grids", 8, 100, 8, learned);
	}
	free(b.tl);
	return 0;
}

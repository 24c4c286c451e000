/* What must hold of any mix of kernels, in whatever order the calls come. */
#include "block_scheduler.h"
#include "predictor/math/random_testing.h"
#include "sm_room.h"
#include "timeline_testing.h"

enum { FUZZ_STREAMS = 12, FUZZ_WORKS = 16 };

static void check(const struct kc_placement *p, int64_t now_ns, int64_t solo_ns)
{
	assert_true(p->start_ns >= now_ns);
	assert_true(p->end_ns >= p->start_ns);
	assert_true(p->slowdown >= 1 && p->slowdown < 1e6f);
	assert_true(p->end_ns - p->start_ns + 1 >= solo_ns);
	assert_true(p->concurrency_case <= KC_CASE_C);
	if (p->concurrency_case == KC_CASE_ALONE || p->concurrency_case == KC_CASE_C)
		assert_int_equal(p->end_ns - p->start_ns, solo_ns);
}

/* Anything in any order: what a caller may do, and what it should not. */
static void random_calls(void **state)
{
	struct kc_timeline *tl = *state;
	struct kc_work works[FUZZ_WORKS];
	struct kc_placement p = {0};
	int64_t now_ns = NOW_NS;

	for (unsigned i = 0; i < FUZZ_WORKS; i++)
		works[i] = work_of(1 + random_below(random_below(2) ? 100 : 3000));
	for (unsigned i = 0; i < 300000; i++) {
		uint32_t stream = random_below(FUZZ_STREAMS), what = random_below(100);
		int64_t solo_ns = random_below(random_below(4) ? 40000 : 400000);
		int64_t at_ns = now_ns - random_below(300); /* threads read the clock before they take turns */

		now_ns += random_below(8000);
		if (what < 80) {
			int64_t tail_ns = kc_timeline_tail(tl, stream, at_ns);

			kc_timeline_kernel(tl, stream, at_ns, &works[random_below(FUZZ_WORKS)], solo_ns, &p);
			check(&p, at_ns, solo_ns);
			assert_true(p.start_ns >= tail_ns);
		} else if (what < 84) {
			kc_timeline_copy(tl, stream, at_ns, random_below(4), solo_ns, &p);
			check(&p, at_ns, solo_ns);
		} else if (what < 87) {
			kc_timeline_wait(tl, stream, kc_timeline_tail(tl, random_below(FUZZ_STREAMS), at_ns));
		} else if (what < 90) {
			kc_timeline_cancel(tl, stream, p.ticket - random_below(3));
		} else if (what < 97) {
			kc_timeline_measured(tl, stream, p.ticket - random_below(20), at_ns,
					     at_ns + random_below(5000));
		} else if (what < 98) {
			kc_timeline_stream_idle(tl, stream, at_ns);
		} else if (what < 99) {
			kc_timeline_stream(tl, stream, random_below(3), (int)random_below(3) - 1);
		} else {
			kc_timeline_device_idle(tl, at_ns);
		}
	}
}

/* Demands that many launches share, and two timelines: what launches with nothing else in flight come to is kept for
 * one of them, and worked out each time for the other. */
enum { DEMANDS = 6 };
struct twins {
	struct kc_timeline *kept, *anew;
	struct kc_work works[DEMANDS];
	struct kc_contention board, contention[DEMANDS];
	struct kc_demand demands[DEMANDS];
	struct kc_repeated repeated[DEMANDS];
	uint32_t again; /* launches for which something was kept */
};

/* What was learned has changed. */
static void ask_anew(struct twins *twins, uint32_t i)
{
	const struct kc_expected_contention alone = {.room = 1};
	struct kc_demand *demand = &twins->demands[i];

	demand->solo_ns = random_below(40000);
	demand->load = (struct kc_load){{(float)random_below(100) / 100, (float)random_below(100) / 100, 0}};
	kc_contention_learn(&twins->contention[i], &alone, &demand->load, 1 + demand->solo_ns, 1 + random_below(80000));
	twins->repeated[i] = (struct kc_repeated){0};
}

static void begin_twins(struct twins *twins, void **state)
{
	static void *other;

	set_up(&other);
	*twins = (struct twins){.kept = *state, .anew = other};
	kc_contention_init(&twins->board, NULL);
	for (uint32_t i = 0; i < DEMANDS; i++) {
		twins->works[i] = work_of(1 + random_below(i % 2 ? 100 : 3000));
		kc_contention_init(&twins->contention[i], &twins->board);
		twins->demands[i].work = &twins->works[i];
		twins->demands[i].contention = i < DEMANDS - 1 ? &twins->contention[i] : NULL;
		twins->demands[i].identity = i;
		ask_anew(twins, i);
	}
}

static uint32_t launch_both(struct twins *twins, uint32_t stream, int64_t at_ns)
{
	uint32_t i = random_below(DEMANDS);
	struct kc_demand anew = twins->demands[i], kept;
	struct kc_placement a, b;

	if (random_below(3) == 0)
		twins->demands[i].direct = (struct kc_duration_estimate){.log_ns = (float)random_below(12),
									 .share = (float)random_below(3) / 2,
									 .tick_ns = random_below(40)};
	anew = kept = twins->demands[i];
	kept.repeated = &twins->repeated[i];
	twins->again += (uint32_t)kept.repeated->known;
	kc_timeline_launch(twins->anew, stream, at_ns, &anew, &a);
	kc_timeline_launch(twins->kept, stream, at_ns, &kept, &b);
	assert_int_equal(a.start_ns, b.start_ns);
	assert_int_equal(a.end_ns, b.end_ns);
	assert_int_equal(a.concurrency_case, b.concurrency_case);
	assert_int_equal(a.ticket, b.ticket);
	assert_memory_equal(&a.slowdown, &b.slowdown, sizeof(a.slowdown));
	assert_memory_equal(&a.slowdown_waves, &b.slowdown_waves, sizeof(a.slowdown_waves));
	assert_memory_equal(&a.meeting, &b.meeting, sizeof(a.meeting));
	assert_memory_equal(&a.contended, &b.contended, sizeof(a.contended));
	return a.ticket;
}

/* In stretches, launches come in one stream alone, in two, or in as many as there are. */
static void what_is_kept_of_a_demand_changes_no_placement(void **state)
{
	static struct twins twins;
	int64_t now_ns = NOW_NS;
	uint32_t ticket = 0, streams = 1;

	begin_twins(&twins, state);
	for (unsigned i = 0; i < 200000; i++) {
		uint32_t stream, what = random_below(1000);

		if (i % 500 == 0)
			streams = (const uint32_t[]){1, 2, FUZZ_STREAMS}[random_below(3)];
		stream = random_below(streams);
		now_ns += random_below(random_below(2) ? 100 : 30000);
		if (what < 960) {
			ticket = launch_both(&twins, stream, now_ns);
		} else if (what < 970) {
			ask_anew(&twins, random_below(DEMANDS));
		} else if (what < 980) {
			kc_timeline_measured(twins.kept, stream, ticket, now_ns, now_ns + 5000);
			kc_timeline_measured(twins.anew, stream, ticket, now_ns, now_ns + 5000);
		} else if (what < 990) {
			kc_timeline_cancel(twins.kept, stream, ticket);
			kc_timeline_cancel(twins.anew, stream, ticket);
		} else {
			kc_timeline_stream_idle(twins.kept, stream, now_ns);
			kc_timeline_stream_idle(twins.anew, stream, now_ns);
		}
	}
	assert_true(twins.again > 50000);
	tear_down((void **)&twins.anew);
}

/* Predictions handed out before a launch stay where they are: the ends of all
 * other streams are the same after it. */
static void a_later_launch_moves_no_earlier_one(void **state)
{
	struct kc_timeline *tl = *state;
	int64_t now_ns = NOW_NS;

	for (unsigned i = 0; i < 2000; i++, now_ns += random_below(20000)) {
		uint32_t stream = random_below(4);
		int64_t before[4];

		for (uint32_t s = 0; s < 4; s++)
			before[s] = kc_timeline_tail(tl, s, now_ns);
		launch(tl, stream, now_ns, 1 + random_below(400), random_below(100000));
		for (uint32_t s = 0; s < 4; s++) {
			if (s != stream)
				assert_int_equal(kc_timeline_tail(tl, s, now_ns), before[s]);
		}
	}
}

/* A random kernel of one wave or several. */
struct request {
	uint32_t blocks, stream;
	int64_t at_ns, solo_ns;
};

static struct request random_request(int64_t at_ns)
{
	return (struct request){1 + random_below(random_below(2) ? 100 : 500), random_below(4), at_ns,
				1000 + random_below(100000)};
}

/* The first kernel of an empty device, whatever it is. */
static void alone_there_is_no_slowdown(void **state)
{
	int64_t now_ns = NOW_NS;

	for (unsigned i = 0; i < 2000; i++) {
		struct request r = random_request(now_ns);
		struct kc_placement p = launch(*state, r.stream, now_ns, r.blocks, r.solo_ns);

		assert_float_equal(p.slowdown, 1, 0);
		assert_int_equal(p.end_ns - p.start_ns, r.solo_ns);
		now_ns = p.end_ns + US;
		kc_timeline_device_idle(*state, now_ns);
	}
}

/* With one kernel more behind them, and all placed again in the same order, no
 * earlier one starts earlier. */
static void one_more_behind_makes_none_earlier(void **state)
{
	enum { KERNELS = 12, ROUNDS = 500 };
	struct kc_device device = k40();

	for (unsigned round = 0; round < ROUNDS; round++) {
		struct request requests[KERNELS];
		int64_t starts[KERNELS];

		for (unsigned i = 0; i < KERNELS; i++)
			requests[i] = random_request(NOW_NS + (int64_t)i * random_below(9000));
		for (unsigned count = 1; count <= KERNELS; count++) {
			kc_timeline_init(*state, &device);
			for (uint32_t s = 0; s < 4; s++)
				kc_timeline_stream(*state, s, KC_STREAM_NONBLOCKING, 0);
			for (unsigned i = 0; i < count; i++) {
				const struct request *r = &requests[i];
				struct kc_placement p = launch(*state, r->stream, r->at_ns, r->blocks, r->solo_ns);

				assert_true(i + 1 == count || p.start_ns >= starts[i]);
				starts[i] = p.start_ns;
			}
		}
	}
}

/* A random order of the numbers below count: Fisher and Yates. */
static void shuffle(uint32_t *order, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	for (uint32_t i = count; i > 1; i--) {
		uint32_t other = random_below(i), last = order[i - 1];

		order[i - 1] = order[other];
		order[other] = last;
	}
}

/* One kernel in each stream, in this order. */
static int64_t makespan_ns(struct kc_timeline *tl, const struct kc_device *device, const uint32_t *order,
			   uint32_t streams, uint32_t blocks)
{
	int64_t last = 0;

	kc_timeline_init(tl, device);
	for (uint32_t s = 0; s < streams; s++)
		kc_timeline_stream(tl, s, KC_STREAM_NONBLOCKING, 0);
	for (uint32_t i = 0; i < streams; i++) {
		struct kc_placement p = launch(tl, order[i], NOW_NS, blocks, 50 * US);

		last = p.end_ns > last ? p.end_ns : last;
	}
	return last;
}

/* Equal kernels in streams of their own, 2 to 32 of them, whichever stream comes first. */
static void order_of_equal_kernels_does_not_matter(void **state)
{
	enum { STREAMS_MAX = 32 };
	struct kc_device device = k40();

	for (unsigned round = 0; round < 1000; round++) {
		uint32_t streams = 2 + random_below(STREAMS_MAX - 1), blocks = 1 + random_below(400);
		uint32_t order[STREAMS_MAX];
		int64_t first;

		shuffle(order, streams);
		first = makespan_ns(*state, &device, order, streams, blocks);
		for (unsigned turn = 0; turn < 3; turn++) {
			shuffle(order, streams);
			assert_int_equal(makespan_ns(*state, &device, order, streams, blocks), first);
		}
	}
}

enum { MIXED = 12 };

/* A device that random kernels come to. */
struct mix {
	struct kc_device device;
	struct kc__device_limits limits;
	struct kc__in_flight in_flight;
	struct kc__sm_blocks resident[MIXED];
	struct kc_footprint blocks[MIXED]; /* what one takes */
	unsigned long shared, ragged;      /* kernels beside others; kernels in more than two ranges of SMs */
};

static void begin_mix(struct mix *mix, const char *device)
{
	*mix = (struct mix){.device = *kc_device_builtin(device)};
	mix->limits = (struct kc__device_limits){
	    .sm = kc_sm_limits(&mix->device),
	    .sm_count = mix->device.sm_count,
	    .grids_max = kc_device_resident_grids(mix->device.cc_major, mix->device.cc_minor),
	};
}

static struct kc_work random_work(const struct kc_device *device)
{
	struct kc_resources resources = {.registers = 16 + random_below(50)};
	struct kc_shape shape = {{1 + random_below(random_below(3) ? 200 : 2000), 1, 1},
				 {32 * (1 + random_below(16)), 1, 1},
				 random_below(3) * 4096 + random_below(2) * 100,
				 0};
	struct kc_work work;

	if (kc_device_cluster_max(device->cc_major) > 1) {
		shape.cluster_blocks = 1u << random_below(4);
		shape.grid[0] *= shape.cluster_blocks;
	}
	assert_int_equal(kc_work_init(&work, device, &resources, &shape, 0), 0);
	return work;
}

static uint32_t on_sm(const struct kc__sm_blocks *sm_blocks, uint32_t sm)
{
	uint32_t i = 0;

	while (i < sm_blocks->count && sm_blocks->steps[i].last < sm)
		i++;
	assert_true(i < sm_blocks->count);
	return sm_blocks->steps[i].blocks;
}

/* All blocks of the last wave lie somewhere: waves of equally many blocks, and one of what is left. */
static void check_last_wave(const struct mix *mix, const struct kc_work *work, const struct kc__last_wave *last_wave)
{
	uint64_t last = 0, slots;

	for (uint32_t sm = 0; sm < mix->limits.sm_count; sm++)
		last += on_sm(last_wave->sm_blocks, sm);
	assert_int_equal(last % work->grid.cluster, 0);
	if (last_wave->waves == 1) {
		assert_int_equal(last, work->blocks);
		return;
	}
	slots = (work->blocks - last) / (last_wave->waves - 1);
	assert_true(last > 0 && last <= slots);
	assert_int_equal(slots * (last_wave->waves - 1) + last, work->blocks);
}

static void add_to_mix(struct mix *mix, int64_t *ready_ns)
{
	struct kc_work work = random_work(&mix->device);
	unsigned place = mix->in_flight.count;
	struct kc_placement p;
	struct kc__last_wave last_wave = {.sm_blocks = &mix->resident[place]};

	*ready_ns += random_below(20000);
	kc__place(&mix->limits, &mix->in_flight, 0, *ready_ns, &work, 20000 + random_below(50000), &p, &last_wave);
	kc__last_wave_of(&last_wave, p.end_ns - p.start_ns);
	check_last_wave(mix, &work, &last_wave);
	mix->blocks[place] = work.grid.block;
	kc__in_flight_add(&mix->in_flight);
	*kc__in_flight_fill(&mix->in_flight, place) = (struct kc__head){
	    .start_ns = p.start_ns,
	    .placed_ns = p.end_ns - last_wave.wave_ns,
	    .end_ns = p.end_ns,
	    .busy_until_ns = p.end_ns,
	    .sm_blocks = mix->resident[place],
	    .flags = p.start_ns > *ready_ns ? KC__WAITS_FOR_ROOM : 0,
	};
	mix->shared += p.concurrency_case == KC_CASE_A || p.concurrency_case == KC_CASE_B;
	mix->ragged += last_wave.sm_blocks->count > 3;
}

/* All that have placed their last block by t, block by block. */
static void check_sm(const struct mix *mix, uint32_t sm, int64_t t)
{
	struct kc_footprint taken = {{0}};

	for (unsigned i = 0; i < mix->in_flight.count; i++) {
		const struct kc__head *head = &mix->in_flight.heads[i];

		if (head->end_ns <= t || head->placed_ns > t)
			continue;
		for (uint32_t b = on_sm(&mix->resident[i], sm); b; b--)
			for (int r = 0; r < KC_SM_RESOURCES; r++)
				taken.of[r] += mix->blocks[i].of[r];
	}
	for (int r = 0; r < KC_SM_RESOURCES; r++)
		assert_true(taken.of[r] <= mix->limits.sm.of[r]);
}

/*
 * Random mixes: from the start of its last block to its end, all blocks of a
 * kernel's last wave lie on SMs, each on one and the same, and no SM ever has
 * more than its limits. Looked at where a kernel has placed its last block:
 * only there something is added for good.
 */
static void no_sm_holds_more_than_its_limits(void **state)
{
	static const char *const devices[] = {"k40", "gtx950", "a100", "h100"};
	static struct mix mix;

	(void)state;
	for (unsigned d = 0; d < 4; d++) {
		begin_mix(&mix, devices[d]);
		for (unsigned round = 0; round < (d < 2 ? 4000 : 800); round++) {
			int64_t ready_ns = NOW_NS;

			kc__in_flight_init(&mix.in_flight, &mix.limits);
			while (mix.in_flight.count < MIXED)
				add_to_mix(&mix, &ready_ns);
			for (unsigned i = 0; i < MIXED; i++)
				for (uint32_t sm = 0; sm < mix.limits.sm_count; sm++)
					check_sm(&mix, sm, mix.in_flight.heads[i].placed_ns);
		}
		assert_true(mix.shared > 1000 && mix.ragged > 50);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(random_calls),
	    TEST(what_is_kept_of_a_demand_changes_no_placement),
	    TEST(a_later_launch_moves_no_earlier_one),
	    TEST(alone_there_is_no_slowdown),
	    TEST(one_more_behind_makes_none_earlier),
	    TEST(order_of_equal_kernels_does_not_matter),
	    TEST(no_sm_holds_more_than_its_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

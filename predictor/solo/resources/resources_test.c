/* Each resource's time of small launches, by hand. */
#include "resources_testing.h"

static struct kc_resource_times times_on(const struct kc_device *on, uint32_t blocks, uint32_t threads,
					 struct kc_counts counts)
{
	struct kc_work work = work_of(on, blocks, threads);
	struct kc_resource_times times;

	counts.threads = (double)blocks * threads;
	assert_int_equal(kc_resource_times(on, &work, &counts, &times), 0);
	return times;
}

static struct kc_resource_times times_of(uint32_t blocks, uint32_t threads, struct kc_counts counts)
{
	return times_on(&device, blocks, threads, counts);
}

/* 256,000 threads over 10 SMs are 25,600 lanes each. */
static void units(void **state)
{
	struct kc_counts counts = {.of = {COUNT(FMA, 60), COUNT(ADD, 40), COUNT(MUL, 28), COUNT(DOUBLE, 20),
					  COUNT(HALF, 8), COUNT(INT, 30), COUNT(SPECIAL, 4), COUNT(CONVERT, 6),
					  COUNT(TENSOR, 512), COUNT(LD_SHARED, 2), COUNT(CONTROL, 10)}};
	struct kc_resource_times t = times_of(1000, 256, counts);

	(void)state;
	assert_float_equal(t.ns[KC_RESOURCE_FP16], 25600 * 8 / 128.0, 1e-6);
	assert_float_equal(t.ns[KC_RESOURCE_FP32], 25600 * 100 / 128.0, 1e-6);
	assert_float_equal(t.ns[KC_RESOURCE_FP64], 25600 * 20 / 2.0, 1e-6);
	assert_float_equal(t.ns[KC_RESOURCE_INTEGER], 25600 * 30 / 64.0, 1e-6);
	assert_float_equal(t.ns[KC_RESOURCE_SPECIAL], 25600 * 10 / 16.0, 1e-6);
	assert_float_equal(t.ns[KC_RESOURCE_TENSOR], 25600 * 512 / 512.0, 1e-6);
	assert_float_equal(t.ns[KC_RESOURCE_LOAD_STORE], 25600 * 2 / 16.0, 1e-6);
	assert_float_equal(t.ns[KC_RESOURCE_ISSUE], 25600 * 180 / 128.0, 1e-6);
	/* 1,000 blocks of 8 warps, 13 cycles each */
	assert_float_equal(t.ns[KC_RESOURCE_BLOCKS], 1000 * 8 * 13 / 10.0, 1e-6);
	assert_int_equal(t.limit, KC_RESOURCE_FP64);
}

/* Lanes that are switched off take a unit's time as well. */
static void divergence(void **state)
{
	struct kc_counts counts = {.of = {COUNT(ADD, 10)}, .active_share = 0.25};

	(void)state;
	assert_float_equal(times_of(1000, 256, counts).ns[KC_RESOURCE_FP32], 25600 * 40 / 128.0, 1e-6);
}

/* Of integers: up to 20 instructions each (programming guide). */
static void divisions(void **state)
{
	struct kc_counts counts = {.of = {COUNT(INT, 1), COUNT(ADD, 3), COUNT(DIVMOD, 2)}};
	struct kc_resource_times t = times_of(1000, 256, counts);

	(void)state;
	assert_float_equal(t.ns[KC_RESOURCE_INTEGER], 25600 * 41 / 64.0, 1e-6);
	assert_float_equal(t.ns[KC_RESOURCE_FP32], 25600 * 3 / 128.0, 1e-6);
	assert_float_equal(t.ns[KC_RESOURCE_ISSUE], 25600 * 44 / 128.0, 1e-6);
}

/* 4 of 6 conversions of 64 bits: as fast as FP64 on 8.6, as the others on 9.0 (programming guide). */
static void conversions_of_64_bits(void **state)
{
	struct kc_counts counts = {.of = {COUNT(CONVERT, 6)}, .wide_conversions = 4};
	struct kc_resource_times t = times_of(1000, 256, counts),
				 other = times_on(kc_device_builtin("h200"), 132, 256, counts);

	(void)state;
	assert_float_equal(t.ns[KC_RESOURCE_FP64], 25600 * 4 / 2.0, 1e-6);
	assert_float_equal(t.ns[KC_RESOURCE_SPECIAL], 25600 * 2 / 16.0, 1e-6);
	assert_float_equal(other.ns[KC_RESOURCE_FP64], 0, 0);
	assert_float_equal(other.ns[KC_RESOURCE_SPECIAL], 256 * 6 / 16.0 / 1.98, 1e-3);
}

/* One warp: 100 cycles of arithmetic, two loads from device memory of 466 cycles and three from shared memory of 29
 * wait for each other; its FMA takes a cycle of the units and one to issue. */
static void a_known_chain(void **state)
{
	struct kc_counts counts = {.of = {COUNT(FMA, 1)}, .chain_cycles = 100, .chain_far = 2, .chain_near = 3};

	(void)state;
	assert_float_equal(times_of(1, 32, counts).ns[KC_RESOURCE_LATENCY], hypot(100 + 2 * 466 + 3 * 29, 2), 1e-6);
	counts.of[KC_COUNT_OF_FMA] = 1000; /* of which all but one wait for none */
	counts.chain_cycles = 4;
	counts.chain_far = counts.chain_near = 0;
	assert_float_equal(times_of(1, 32, counts).ns[KC_RESOURCE_LATENCY], hypot(4, 2000), 1e-6);
}

/* 13 waves of 12 blocks on each of the 10 SMs. Two loads are from where all threads load: in the first wave they wait
 * for device memory, 466 cycles, in the twelve after it for L1, 38. A warp's FMA takes a cycle of the units and one to
 * issue. */
static void loads_of_what_all_threads_load(void **state)
{
	struct kc_counts counts = {.of = {COUNT(FMA, 1)}, .chain_cycles = 100, .chain_far = 1, .chain_common = 2};

	(void)state;
	assert_float_equal(times_of(13 * 10 * 12, 128, counts).ns[KC_RESOURCE_LATENCY],
			   hypot(100 + 3 * 466, 2) + 12 * hypot(100 + 466 + 2 * 38, 2), 1e-6);
}

/* One warp of the launch waits longer than the others: for what it loads itself, while its units execute twice what
 * those of an average warp do. */
static void the_warp_that_waits_longest(void **state)
{
	struct kc_counts counts = {.of = {COUNT(FMA, 1)},
				   .chain_cycles = 100,
				   .chain_far = 2,
				   .chain_near = 3,
				   .longest_warp = 2,
				   .longest_cycles = 300,
				   .longest_far = 4,
				   .longest_near = 5};

	(void)state;
	assert_float_equal(times_of(1, 32, counts).ns[KC_RESOURCE_LATENCY], hypot(300 + 4 * 466 + 5 * 29, 2 * 2), 1e-6);
	counts.longest_cycles = counts.longest_far = counts.longest_near = 0; /* of an earlier version */
	assert_float_equal(times_of(1, 32, counts).ns[KC_RESOURCE_LATENCY], 2 * hypot(100 + 2 * 466 + 3 * 29, 2), 1e-6);
}

/* An eighth of the bytes is asked for: seven of eight loads find theirs in L1, in 38 cycles, one in device memory, in
 * 466. Of lanes at unknown addresses a request waits for L2, 262 cycles, unless all of its sectors are in L1, each of
 * which is not in one case of eight: 32 sectors, four, or one. Eight cycles of the units, and one to issue. */
static void loads_wait_for_their_slowest_lane(void **state)
{
	struct kc_counts counts = {
	    .of = {COUNT(LD_GLOBAL, 1), COUNT(BYTES_LOADED, 4), COUNT(SECTORS, 1)}, .chain_cycles = 4, .chain_far = 1};

	(void)state;
	assert_float_equal(times_of(1, 32, counts).ns[KC_RESOURCE_LATENCY], hypot(4 + (7 * 38 + 466) / 8.0, 9), 1e-6);
	counts.assumed = KC_ASSUMED_ADDRESS;
	for (double sectors = 32; sectors >= 1; sectors /= sectors > 4 ? 8 : 4) {
		double wait = 1 - pow(7 / 8.0, sectors);

		counts.of[KC_COUNT_OF_REQUESTS] = 1 / sectors;
		assert_float_equal(times_of(1, 32, counts).ns[KC_RESOURCE_LATENCY],
				   hypot(4 + 38 + wait * (262 - 38) + (466 - 262) / 8.0, 9), 1e-6);
	}
}

/* 256 threads add to one word after the other: two accesses of 29 cycles and three instructions of 4. */
static void threads_change_one_word_in_turn(void **state)
{
	struct kc_counts counts = {.of = {COUNT(FMA, 1)}, .chain_cycles = 4, .contended = 1};
	double alone = hypot(4, 2);

	(void)state;
	assert_float_equal(times_of(1, 256, counts).ns[KC_RESOURCE_LATENCY], alone + 256 * 70, 1e-6);
	assert_float_equal(times_of(10, 256, counts).ns[KC_RESOURCE_LATENCY], alone + 256 * 70, 1e-6);
}

/* A block loads the same 1,024 bytes a hundred times: from L2 once, if it has its SM for itself; else also 3/16 of the
 * other 101,376; before 7.0 all. */
static void bytes_stay_in_l1(void **state)
{
	struct kc_counts counts = {.of = {COUNT(LD_GLOBAL, 100), COUNT(BYTES_LOADED, 400), COUNT(SECTORS, 12.5)},
				   .distinct_loaded_bytes = 1024,
				   .block_loaded_bytes = 20480,
				   .exact = 1};
	struct kc_device pascal = device;

	(void)state;
	assert_float_equal(times_of(1, 256, counts).ns[KC_RESOURCE_L2], 1024 / 32.0, 1e-6);
	assert_float_equal(times_of(20, 256, counts).ns[KC_RESOURCE_L2], 20 * (1024 + 19008) / 32.0 / 10, 1e-6);
	pascal.cc_major = 6;
	pascal.cc_minor = 0;
	assert_float_equal(times_on(&pascal, 20, 256, counts).ns[KC_RESOURCE_L2], 20 * 102400 / 22.0 / 10, 1e-6);
	counts.distinct_loaded_bytes = 70000; /* more than half of L1 */
	counts.block_loaded_bytes = 0;        /* not known */
	assert_float_equal(times_of(1, 256, counts).ns[KC_RESOURCE_L2], 102400 / 32.0, 1e-6);
}

/* Requests of 32 lanes, each in a line of its own: 8 warps' 32 lines, of which L1 finds one in a cycle. */
static void lines_of_l1(void **state)
{
	struct kc_counts counts = {
	    .of = {COUNT(LD_GLOBAL, 1), COUNT(BYTES_LOADED, 4), COUNT(SECTORS, 1)}, .lines = 1, .exact = 1};

	(void)state;
	assert_float_equal(times_of(1, 256, counts).ns[KC_RESOURCE_L1], 256, 1e-6);
	counts.lines = 0.125; /* 4 sectors of each */
	assert_float_equal(times_of(1, 256, counts).ns[KC_RESOURCE_L1], 256 * 32 / 128.0, 1e-6);
	counts.lines = 1;
	counts.exact = 0;
	counts.assumed = KC_ASSUMED_ADDRESS; /* of other accesses */
	assert_float_equal(times_of(1, 256, counts).ns[KC_RESOURCE_L1], 256, 1e-6);
	counts.lines = 1 / 32.0; /* a quarter of what is not asked for */
	assert_float_equal(times_of(1, 256, counts).ns[KC_RESOURCE_L1], 256 * (4 + 28 / 4.0) / 128, 1e-6);
}

/* 16 bytes that all lanes of a warp load: a sector of L1, but 512 bytes of registers, in 4 cycles for each of 8 warps;
 * in 8 on 7.5, whose L1 gives 64 bytes in a cycle (white paper). */
static void l1_gives_to_each_lane(void **state)
{
	struct kc_counts counts = {.of = {COUNT(LD_GLOBAL, 1), COUNT(BYTES_LOADED, 16), COUNT(SECTORS, 1 / 32.0)},
				   .exact = 1};
	struct kc_device turing = device;

	(void)state;
	assert_float_equal(times_of(1, 256, counts).ns[KC_RESOURCE_L1], 32, 1e-6);
	turing.cc_major = 7;
	turing.cc_minor = 5;
	turing.max_threads_per_sm = 1024;
	assert_float_equal(times_on(&turing, 1, 256, counts).ns[KC_RESOURCE_L1], 64, 1e-6);
}

/* A request for each of 8 warps: 8 cycles; on 7.5 16, and 128 for all of the block. There a warp that waits three times
 * for memory of the SM waits once for constant memory. Not of the bound: how long one takes is not published. */
static void constant_memory(void **state)
{
	struct kc_counts counts = {
	    .of = {COUNT(FMA, 1)}, .constant_requests = 1 / 32.0, .chain_cycles = 100, .chain_near = 3, .exact = 1};
	struct kc_device turing = device;

	(void)state;
	assert_float_equal(times_of(1, 256, counts).ns[KC_RESOURCE_CONSTANT], 64, 1e-6);
	assert_float_equal(times_of(1, 32, counts).ns[KC_RESOURCE_LATENCY], hypot(100 + 3 * 29, 2), 1e-6);
	turing.cc_major = 7;
	turing.cc_minor = 5;
	turing.max_threads_per_sm = 1024;
	assert_float_equal(times_on(&turing, 1, 256, counts).ns[KC_RESOURCE_CONSTANT], 8 * 16 + 128, 1e-6);
	assert_float_equal(times_on(&turing, 1, 32, counts).ns[KC_RESOURCE_LATENCY], hypot(100 + 448 + 2 * 29, 3),
			   1e-6);
}

/* 3 accesses of a thread's own memory: 4 bytes each, and 32 where the lanes of a warp take different words. */
static void scattered_local_memory(void **state)
{
	struct kc_counts counts = {.of = {COUNT(LD_LOCAL, 2), COUNT(ST_LOCAL, 1)}};

	(void)state;
	assert_float_equal(times_of(1, 256, counts).ns[KC_RESOURCE_L2], 256 * 3 * 4 / 32.0, 1e-6);
	counts.scattered_local = 2;
	assert_float_equal(times_of(1, 256, counts).ns[KC_RESOURCE_L2], 256 * (4 + 2 * 32) / 32.0, 1e-6);
}

/* Three blocks use three of the SMs; eleven keep one of ten busy twice as long as the others. */
static void few_blocks_use_their_sms(void **state)
{
	struct kc_counts counts = {.of = {COUNT(FMA, 100)}};

	(void)state;
	assert_float_equal(times_of(3, 256, counts).ns[KC_RESOURCE_FP32], 256 * 100 / 128.0, 1e-6);
	assert_float_equal(times_of(11, 256, counts).ns[KC_RESOURCE_FP32], 2 * 256 * 100 / 128.0, 1e-6);
}

/* A warp issues one instruction per cycle: 10^6 at 1.98 GHz. */
static void a_single_warp_has_a_quarter_of_an_sm(void **state)
{
	struct kc_counts counts = {.of = {COUNT(FMA, 1e6)}};
	struct kc_resource_times t = times_on(kc_device_builtin("h200"), 1, 32, counts);

	(void)state;
	assert_float_equal(t.ns[KC_RESOURCE_FP32], 505050.5, 1);
	assert_float_equal(t.ns[KC_RESOURCE_LATENCY], 4 * 505050.5, 4); /* each waits for the one before */
	assert_int_equal(t.limit, KC_RESOURCE_LATENCY);
	assert_true(t.total_ns >= 505051);
}

static void memory(void **state)
{
	struct kc_resource_times t = times_of(10000, 100, copies());

	(void)state;
	assert_float_equal(t.ns[KC_RESOURCE_L1], 8e6 / 128 / 10, 1e-6);
	assert_float_equal(t.ns[KC_RESOURCE_L2], 8e6 / 32 / 10, 1e-6);
	assert_float_equal(t.ns[KC_RESOURCE_DRAM], 8e6 / 92, 1e-3);
	assert_int_equal(t.limit, KC_RESOURCE_DRAM);
}

/* Every thread accesses 8 bytes at addresses that are not known, for which sectors of its own are counted: a quarter of
 * the other 32 MB pass L1; what else is in them is asked for later. */
static void scattered_bytes_stay_near(void **state)
{
	struct kc_counts counts = copies();
	struct kc_resource_times t;

	(void)state;
	counts.of[KC_COUNT_OF_SECTORS] = 1.25;
	t = times_of(10000, 100, counts);
	assert_float_equal(t.ns[KC_RESOURCE_L1], (8e6 + 32e6 / 4) / 128 / 10, 1e-6);
	assert_float_equal(t.ns[KC_RESOURCE_L2], 8e6 / 32 / 10, 1e-6);
	assert_float_equal(t.ns[KC_RESOURCE_DRAM], 8e6 / 92, 1e-3);
}

/* Where sectors are counted and not assumed, half of the 40 MB are stored, and go on to L2, whatever is asked for
 * later: 20 MB and the 4 that are loaded. */
static void scattered_stores_write_through(void **state)
{
	struct kc_counts counts = copies();
	struct kc_resource_times t;

	(void)state;
	counts.of[KC_COUNT_OF_SECTORS] = 1.25;
	counts.exact = 1;
	t = times_of(10000, 100, counts);
	assert_float_equal(t.ns[KC_RESOURCE_L2], 24e6 / 32 / 10, 1e-6);
	assert_float_equal(t.ns[KC_RESOURCE_DRAM], 8e6 / 92, 1e-3);
	counts.exact = 0;
	counts.sampled = 1;
	assert_float_equal(times_of(10000, 100, counts).ns[KC_RESOURCE_L2], 24e6 / 32 / 10, 1e-6);
	counts.assumed = 1;
	assert_float_equal(times_of(10000, 100, counts).ns[KC_RESOURCE_L2], 8e6 / 32 / 10, 1e-6);
}

/* All blocks load the same 92,000 bytes, and store 4 MB. */
static void bytes_read_before_come_from_l2(void **state)
{
	struct kc_counts counts = copies();
	struct kc_resource_times t;

	(void)state;
	counts.distinct_loaded_bytes = 92000;
	t = times_of(10000, 100, counts);
	assert_float_equal(t.ns[KC_RESOURCE_L2], 8e6 / 32 / 10, 1e-6);
	assert_float_equal(t.ns[KC_RESOURCE_DRAM], 4.092e6 / 92, 1e-3);
}

/* Every lane loads 4 bytes from a sector of its own, 32 MB, and stores its part of 4 MB. Where its address is not
 * known, half of the 4 MB that it asks for are loaded from device memory, and a quarter of the sectors beyond these
 * pass L1. */
static void bytes_at_unknown_addresses(void **state)
{
	struct kc_counts counts = copies();
	struct kc_device small = device;

	(void)state;
	counts.of[KC_COUNT_OF_SECTORS] = 1.25;
	counts.distinct_loaded_bytes = 32e6;
	counts.exact = 1;
	assert_float_equal(times_of(10000, 100, counts).ns[KC_RESOURCE_DRAM], 36e6 / 92, 1e-3);
	assert_float_equal(times_of(10000, 100, counts).ns[KC_RESOURCE_L1], 40e6 / 1280, 1e-3);
	counts.exact = 0;
	counts.sampled = 1; /* as at a launch: of a part of it, at known addresses */
	assert_float_equal(times_of(10000, 100, counts).ns[KC_RESOURCE_DRAM], 8e6 / 92, 1e-3);
	counts.assumed = 1;
	assert_float_equal(times_of(10000, 100, counts).ns[KC_RESOURCE_DRAM], 6e6 / 92, 1e-3);
	assert_float_equal(times_of(10000, 100, counts).ns[KC_RESOURCE_L1], (8e6 + 32e6 / 4) / 1280, 1e-3);
	small.memory_bytes = 1500000; /* of the 2 MB */
	assert_float_equal(times_on(&small, 10000, 100, counts).ns[KC_RESOURCE_DRAM], 5.5e6 / 92, 1e-3);
	counts.of[KC_COUNT_OF_SECTORS] = 0.25; /* next to each other: 8 MB in all */
	counts.distinct_loaded_bytes = 8e6;
	counts.assumed = KC_ASSUMED_ADDRESS;
	assert_float_equal(times_of(10000, 100, counts).ns[KC_RESOURCE_DRAM], 6e6 / 92, 1e-3);
}

/* What was measured is not what the data sheet says. */
static void measured_bandwidth(void **state)
{
	struct kc_device calibrated = device;

	(void)state;
	calibrated.copy_bytes_per_s = 80000000000;
	assert_float_equal(times_on(&calibrated, 10000, 100, copies()).ns[KC_RESOURCE_DRAM], 8e6 / 80, 1e-3);
}

static void shared_memory(void **state)
{
	struct kc_counts counts = {.of = {COUNT(LD_SHARED, 4), COUNT(SHARED_PASSES, 4 / 32.0)}};
	struct kc_device turing = device;

	(void)state;
	turing.cc_major = 7;
	turing.cc_minor = 5;
	assert_float_equal(times_of(1000, 256, counts).ns[KC_RESOURCE_SHARED], 25600 * 4 / 32.0, 1e-6);
	assert_float_equal(times_on(&turing, 1000, 256, counts).ns[KC_RESOURCE_SHARED], 25600 * 4 / 16.0, 1e-6);
}

/* 64 in a cycle, but those on one address one after the other, and 8 on one line. */
static void atomics(void **state)
{
	struct kc_counts counts = {.of = {COUNT(ATOMICS, 1)}};
	struct kc_counts shared = {.of = {COUNT(ATOMICS, 1), COUNT(ATOMICS_SHARED, 1)}};

	(void)state;
	assert_float_equal(times_of(1000, 256, counts).ns[KC_RESOURCE_ATOMICS], 256000 / 64.0, 1e-6);
	counts.distinct_atomics = 2;
	assert_float_equal(times_of(1000, 256, counts).ns[KC_RESOURCE_ATOMICS], 256000 / 2.0, 1e-6);
	counts.distinct_atomics = 32;
	assert_float_equal(times_of(1000, 256, counts).ns[KC_RESOURCE_ATOMICS], 256000 / 8.0, 1e-6);
	counts.distinct_atomics = 33; /* a second line */
	assert_float_equal(times_of(1000, 256, counts).ns[KC_RESOURCE_ATOMICS], 256000 / 16.0, 1e-6);
	counts.distinct_atomics = 1024;
	assert_float_equal(times_of(1000, 256, counts).ns[KC_RESOURCE_ATOMICS], 256000 / 64.0, 1e-6);
	assert_float_equal(times_of(1000, 256, shared).ns[KC_RESOURCE_ATOMICS], 25600 / 32.0 * 2, 1e-6);
}

/* Of one block: 21 instructions of 4 cycles, of which 8 loads; from device memory 466 each, from L2 262. A loop of four
 * turns has five branches with the return: it waits four times. */
static void latency(void **state)
{
	struct kc_counts counts = {
	    .of = {COUNT(LD_GLOBAL, 8), COUNT(INT, 8), COUNT(CONTROL, 5), COUNT(BYTES_LOADED, 32), COUNT(SECTORS, 1)}};

	(void)state;
	assert_float_equal(times_of(1, 32, counts).ns[KC_RESOURCE_LATENCY], 21 * 4 + 4 * 466, 1e-6);
	counts.distinct_loaded_bytes = 1e-9; /* all but nothing */
	assert_float_equal(times_of(1, 32, counts).ns[KC_RESOURCE_LATENCY], 21 * 4 + 4 * 262, 1e-3);
}

/* Without branches it waits for four at a time; waves follow each other, and the last one ends with its longest warp:
 * 480 blocks are three waves on 10 SMs of 16 blocks. */
static void latency_of_waves(void **state)
{
	struct kc_counts counts = {.of = {COUNT(LD_GLOBAL, 8), COUNT(BYTES_LOADED, 32), COUNT(SECTORS, 1)},
				   .longest_warp = 1.5};

	(void)state;
	assert_float_equal(times_of(480, 32, counts).ns[KC_RESOURCE_LATENCY], 3.5 * (8 * 4 + 2 * 466), 1e-6);
}

/* 5 barriers of 30 cycles; 6 shared loads wait at every barrier, 29 cycles each; 11 instructions. */
static void latency_of_shared_memory(void **state)
{
	struct kc_counts counts = {.of = {COUNT(LD_SHARED, 6), COUNT(BARRIERS, 5)}};

	(void)state;
	assert_float_equal(times_of(1, 32, counts).ns[KC_RESOURCE_LATENCY], 11 * 4 + 5 * 29 + 5 * 30, 1e-6);
}

/* 40 bytes that the PTX does not access are ten words, each stored and loaded in six basic blocks. */
static void spilled_registers(void **state)
{
	struct kc_counts counts = {.of = {COUNT(CONTROL, 6)}, .threads = 256000};
	struct kc_resources resources = {.local_bytes = 40};
	struct kc_shape shape = {.grid = {1000, 1, 1}, .block = {256, 1, 1}};
	struct kc_resource_times t;
	struct kc_work work;

	(void)state;
	assert_int_equal(kc_work_init(&work, &device, &resources, &shape, 0), 0);
	assert_int_equal(kc_resource_times(&device, &work, &counts, &t), 0);
	assert_float_equal(t.ns[KC_RESOURCE_LOAD_STORE], 25600 * 120 / 16.0, 1e-6);
	assert_float_equal(t.ns[KC_RESOURCE_L1], 25600 * 120 * 4 / 128.0, 1e-6);
	assert_float_equal(t.ns[KC_RESOURCE_L2], 25600 * 120 * 4 / 32.0, 1e-6);
	counts.accesses_local = 1; /* it does, an array of the kernel's own, but not in this launch */
	assert_int_equal(kc_resource_times(&device, &work, &counts, &t), 0);
	assert_float_equal(t.ns[KC_RESOURCE_LOAD_STORE], 0, 0);
	counts.accesses_local = 0; /* as an earlier version told */
	counts.of[KC_COUNT_OF_LD_LOCAL] = 3;
	assert_int_equal(kc_resource_times(&device, &work, &counts, &t), 0);
	assert_float_equal(t.ns[KC_RESOURCE_LOAD_STORE], 25600 * 3 / 16.0, 1e-6);
}

/* The root of the sum of squares, on top of the floor. Of the way to memory: load and store units, two accesses of
 * which one of 16 is done in a cycle; or shared memory and L1, a tenth of a cycle and a 16th. */
static void joined(void **state)
{
	struct kc_counts counts = copies();
	struct kc_resource_times t = times_of(10000, 100, counts);
	double squares = 0, sum = 0;

	(void)state;
	for (uint32_t r = 0; r < KC_RESOURCE_COUNT; r++) {
		if (r != KC_RESOURCE_LOAD_STORE && r != KC_RESOURCE_L1 && r != KC_RESOURCE_SHARED)
			squares += t.ns[r] * t.ns[r];
		sum += t.ns[r];
	}
	assert_float_equal(t.total_ns, t.floor_ns + sqrt(squares + 12500.0 * 12500), 1e-3);
	assert_true(t.total_ns > t.floor_ns + t.ns[t.limit] && t.total_ns < t.floor_ns + sum);
	assert_string_equal(kc_resource_name(t.limit), "device memory");
	assert_string_equal(kc_resource_name(KC_RESOURCE_COUNT), "unknown");
	counts.of[KC_COUNT_OF_SHARED_PASSES] = 0.1;
	t = times_of(10000, 100, counts);
	assert_float_equal(t.total_ns, t.floor_ns + sqrt(squares + 16250.0 * 16250), 1e-3);
}

static void floors(void **state)
{
	struct kc_device other = device;

	(void)state;
	assert_float_equal(kc_resource_floor_ns(&other), 2080, 0);
	other.cc_major = 9;
	assert_float_equal(kc_resource_floor_ns(&other), 670, 0);
	other.cc_major = 7;
	assert_float_equal(kc_resource_floor_ns(&other), 750, 0);
	other.empty_kernel_ns = 1234;
	assert_float_equal(kc_resource_floor_ns(&other), 1234, 0);
}

static void what_cannot_be_told_is_refused(void **state)
{
	struct kc_counts none = {.threads = 256}, some = {.of = {COUNT(FMA, 1)}, .threads = 256};
	struct kc_work work = work_of(&device, 1, 256);
	struct kc_device without_clock = device;
	struct kc_resource_times times;

	(void)state;
	without_clock.clock_khz = 0;
	assert_int_equal(kc_resource_times(&device, &work, &none, &times), -ENODATA);
	assert_int_equal(kc_resource_times(&without_clock, &work, &some, &times), -ENODATA);
	some.of[KC_COUNT_OF_FMA] = INFINITY;
	assert_int_equal(kc_resource_times(&device, &work, &some, &times), -ENODATA);
	some.of[KC_COUNT_OF_FMA] = NAN;
	assert_int_equal(kc_resource_times(&device, &work, &some, &times), -ENODATA);
}

/* A database may claim any number: the square of this one is infinite. */
static void what_is_beyond_all_time_is_refused(void **state)
{
	struct kc_work work = work_of(&device, 1, 32);
	struct kc_counts counts = {.threads = 32, .exact = 1, .of = {COUNT(FMA, 1e160)}};
	struct kc_resource_times times;

	(void)state;
	assert_int_equal(kc_resource_times(&device, &work, &counts, &times), -ENODATA);
	assert_float_equal(times.total_ns, times.floor_ns, 0);
	assert_float_equal(times.ns[KC_RESOURCE_FP32], 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(units),
	    cmocka_unit_test(divergence),
	    cmocka_unit_test(divisions),
	    cmocka_unit_test(conversions_of_64_bits),
	    cmocka_unit_test(a_known_chain),
	    cmocka_unit_test(loads_of_what_all_threads_load),
	    cmocka_unit_test(the_warp_that_waits_longest),
	    cmocka_unit_test(loads_wait_for_their_slowest_lane),
	    cmocka_unit_test(threads_change_one_word_in_turn),
	    cmocka_unit_test(bytes_stay_in_l1),
	    cmocka_unit_test(lines_of_l1),
	    cmocka_unit_test(l1_gives_to_each_lane),
	    cmocka_unit_test(constant_memory),
	    cmocka_unit_test(scattered_local_memory),
	    cmocka_unit_test(few_blocks_use_their_sms),
	    cmocka_unit_test(a_single_warp_has_a_quarter_of_an_sm),
	    cmocka_unit_test(memory),
	    cmocka_unit_test(scattered_bytes_stay_near),
	    cmocka_unit_test(scattered_stores_write_through),
	    cmocka_unit_test(bytes_read_before_come_from_l2),
	    cmocka_unit_test(bytes_at_unknown_addresses),
	    cmocka_unit_test(measured_bandwidth),
	    cmocka_unit_test(shared_memory),
	    cmocka_unit_test(atomics),
	    cmocka_unit_test(latency),
	    cmocka_unit_test(latency_of_waves),
	    cmocka_unit_test(latency_of_shared_memory),
	    cmocka_unit_test(spilled_registers),
	    cmocka_unit_test(joined),
	    cmocka_unit_test(floors),
	    cmocka_unit_test(what_cannot_be_told_is_refused),
	    cmocka_unit_test(what_is_beyond_all_time_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "joined.h"

#include "predictor/device/throughput.h"
#include "predictor/device/units.h"
#include "predictor/math/duration.h"

#include <errno.h>
#include <math.h>

/*
 * p of the norm is 2, chosen on the open half of the HeCBench launches on an RTX 3080 and an H200
 * (scripts/first-guesses): there 2.5 and 3 have the same median and predict too short on average (0.82, 0.79 times), as
 * they come closer to the longest alone.
 */

/* Share of the data sheet's bandwidth that kernels reach which only move data: 703 of 760 GB/s on the RTX 3080 of those
 * launches. A calibrated device's bandwidth is what such a kernel was measured to reach. */
#define BANDWIDTH_SHARE 0.92

/* Share of the bytes at unknown addresses that come from device memory, as tables and neighbours lie in the caches:
 * chosen on the same launches, on which 1/4 and 1/8 serve as well. Of the sectors counted for such lanes, beyond what
 * they ask for, the share that L1 serves, as neighbours have some in common: chosen there, too, where 1/8 serves as
 * well. */
#define UNKNOWN_SHARE 0.5
#define UNKNOWN_SECTOR_SHARE 0.25

/* Of sums that went through averages per thread. */
#define ALMOST 0.999999

/* Of what the threads of a block load of each other's, the share that L1 does not have any more: chosen on the same
 * launches and on Kernel Tuner's of a 2080 Ti, a Titan RTX, an A4000 and an A6000, where 1/8 to 1/4 serve alike. */
#define L1_LOST_SHARE 0.1875

/* Of an SM's L1: half of the smallest, 128 KiB of 8.6 (white paper), as shared memory is taken from it. */
#define L1_KEPT_BYTES 65536.0

/* Cycles. L1, shared memory, L2, device memory: Luo et al., "Benchmarking and Dissecting the Nvidia Hopper GPU
 * Architecture via Microbenchmarking" (2024), A100; H100 and RTX 4090 are within a sixth of it. Arithmetic: Jia et al.,
 * "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking" (2018). A barrier: chosen on the launches above,
 * where 0 and 60 serve nearly as well. Device memory of 9.0: 282 ns, as `kerncast calibrate` measured on an H100
 * (cuda_tests/results), at 1,980 MHz. */
#define L1_CYCLES 38.0
#define SHARED_CYCLES 29.0
#define L2_CYCLES 262.0
#define DEVICE_MEMORY_CYCLES 466.0
#define DEVICE_MEMORY_CYCLES_9 558.0
#define ARITHMETIC_CYCLES 4.0
#define BARRIER_CYCLES 30.0

/* A thread waits for the loads of a basic block together, but compilers seldom put more than this many next to each
 * other: nvcc unrolls loops four times. */
#define LOADS_TOGETHER 4.0

/* Atomics on different addresses, and on one, that L2 completes in a cycle. Source: NVIDIA, GeForce GTX 680 white
 * paper. Those on a line of 128 bytes: chosen on the launches above, where 16.8 million on one line took 1.9 ms on the
 * RTX 3080 and 1.2 ms on the H200. Shared memory takes two cycles for the lanes of a warp that address different words:
 * chosen there, too. */
#define ATOMICS_PER_CYCLE 64.0
#define ATOMICS_PER_CYCLE_SAME 1.0
#define ATOMICS_PER_CYCLE_LINE 8.0
#define LINE_WORDS 32.0
#define SHARED_ATOMIC_CYCLES 2.0

/* One thread after the other loads a word of shared memory, adds to it and exchanges it if it is still the same: two
 * accesses, and three instructions that wait for each other. */
#define CONTENDED_CYCLES (2 * SHARED_CYCLES + 3 * ARITHMETIC_CYCLES)

/* In which an SM serves a request of constant memory at an address in a register: chosen on Kernel Tuner's pnpoly, of
 * which each thread goes through 600 corners of 8 bytes, on an RTX 3090 and a 3060 laptop, where 6 to 12 serve alike.
 * On 7.x what the warps of a block ask for together is fetched once for them all, after CONSTANT_LATENCY_7
 * (gpu-arch-microbenchmark, RTX 2070): chosen on pnpoly on a 2080 Ti, where 110 to 160 for a block serve alike, and 12
 * to 24 for each of its warps. */
#define CONSTANT_CYCLES 8.0
#define CONSTANT_CYCLES_7 16.0
#define CONSTANT_BLOCK_CYCLES_7 128.0
#define CONSTANT_LATENCY_7 448.0

/* For an SM to start a warp of a block: 1,687,500 blocks of 32 warps that mostly return at once took 6.1 ms on the
 * 68 SMs of an RTX 3080. */
#define WARP_START_CYCLES 13.0

/* Of a thread's own memory a warp accesses a word per lane, which lie next to each other where all access the same. */
#define LOCAL_ACCESS_BYTES 4.0

/* Before, a scheduler may issue two instructions of a warp in a cycle (programming guide, "Compute capabilities"). */
#define SINGLE_ISSUE_CC 7
#define GLOBAL_L1_CC 7

#define PARTITIONS 4.0 /* of an SM; a warp stays in one, and uses no other's units */

static const struct {
	const char *key, *name;
} texts[] = {
#define X(constant, key, name) {key, name},
    KC_RESOURCES(X)
#undef X
};

const char *kc_resource_name(uint32_t resource)
{
	return resource < KC_RESOURCE_COUNT ? texts[resource].name : "unknown";
}

const char *kc_resource_key(uint32_t resource)
{
	return resource < KC_RESOURCE_COUNT ? texts[resource].key : "unknown";
}

double kc_resource_floor_ns(const struct kc_device *device)
{
	/* Kernels of one block that do next to nothing: RTX 3080 by ncu's clock (2.1 µs), H200 by CUPTI's. Others as in
	 * work.c. */
	if (device->empty_kernel_ns)
		return device->empty_kernel_ns;
	if (device->cc_major == 8 && device->cc_minor == 6)
		return 2080;
	return device->cc_major == 9 ? 670 : KC_WORK_LAUNCH_NS;
}

/* One thread's instructions by the units that execute them, on average. */
struct operations {
	double fp16, fp32, fp64, integer, special, convert, tensor;
	double local;       /* loads and stores of the thread's own memory */
	double local_bytes; /* that these move */
	double memory;      /* loads, stores, atomics */
	double all;
};

/* Loads and stores of registers that ptxas spilled: a thread's own memory where the PTX accesses none. Each of its
 * words is stored and loaded once in each basic block, as in the eight of 208 variants of a matrix multiplication of
 * 255 registers that spill: their loop has 83 to 101 of each for 54 to 100 words (nvdisasm). */
static double spills_of(const struct kc_work *work, const struct kc_counts *counts)
{
	const double *n = counts->of;

	if (counts->accesses_local || n[KC_COUNT_OF_LD_LOCAL] + n[KC_COUNT_OF_ST_LOCAL] > 0)
		return 0;
	return 2 * fmax(n[KC_COUNT_OF_CONTROL], 1) * work->local_bytes / LOCAL_ACCESS_BYTES;
}

static struct operations operations_of(const struct kc_work *work, const struct kc_counts *counts)
{
	const double *n = counts->of;
	double local = n[KC_COUNT_OF_LD_LOCAL] + n[KC_COUNT_OF_ST_LOCAL] + spills_of(work, counts);
	double floating = n[KC_COUNT_OF_FMA] + n[KC_COUNT_OF_ADD] + n[KC_COUNT_OF_MUL];
	struct operations o = {
	    .fp16 = n[KC_COUNT_OF_HALF],
	    .fp32 = fmax(floating - n[KC_COUNT_OF_DOUBLE] - n[KC_COUNT_OF_HALF], 0),
	    .fp64 = n[KC_COUNT_OF_DOUBLE],
	    .integer = n[KC_COUNT_OF_INT] + KC_THROUGHPUT_DIVISION_INSTRUCTIONS * n[KC_COUNT_OF_DIVMOD],
	    .special = n[KC_COUNT_OF_SPECIAL],
	    .convert = n[KC_COUNT_OF_CONVERT],
	    .tensor = n[KC_COUNT_OF_TENSOR],
	    .local = local,
	    .local_bytes =
		local * LOCAL_ACCESS_BYTES + counts->scattered_local * (KC_SECTOR_BYTES - LOCAL_ACCESS_BYTES),
	    .memory = n[KC_COUNT_OF_LD_GLOBAL] + n[KC_COUNT_OF_ST_GLOBAL] + n[KC_COUNT_OF_LD_SHARED] +
		      n[KC_COUNT_OF_ST_SHARED] + local + n[KC_COUNT_OF_ATOMICS],
	};

	o.all = o.fp16 + o.fp32 + o.fp64 + o.integer + o.special + o.convert + o.memory + n[KC_COUNT_OF_CONTROL] +
		n[KC_COUNT_OF_BARRIERS];
	return o;
}

/* What the launch can use of the device, in cycles of an SM. */
struct use {
	double sms;        /* as many as would be busy all the time */
	double partitions; /* share of an SM's that have warps */
	double hz;         /* cycles per ns */
	uint8_t is_single; /* no SM has more than one block */
};

static double warps_of_block(const struct kc_work *work)
{
	return ceil((double)work->threads_per_block / KC_WARP_LANES);
}

static struct use use_of(const struct kc_device *device, const struct kc_work *work)
{
	double rounds = ceil((double)work->blocks / device->sm_count); /* blocks of the SM that has most */
	double resident = fmin(work->blocks_per_sm, rounds) * warps_of_block(work);

	return (struct use){
	    .sms = (double)work->blocks / rounds,
	    .partitions = fmin(resident / PARTITIONS, 1),
	    .hz = device->clock_khz / 1e6,
	    .is_single = rounds <= 1,
	};
}

/* Bytes of the launch at each level. */
struct traffic {
	double l1;     /* sectors of all requests */
	double given;  /* to the registers of lanes, where those that load the same each have it */
	double asked;  /* of these, at most what the threads ask for: next to it lies what the warp accesses next */
	double missed; /* of these, what L1 does not have */
	double load_misses; /* share of the loads that a warp waits for longer than L1 takes */
	double l2;     /* of stores all sectors: L1 writes through, as global data is coherent in L2 (PTX ISA, cache
			  operators) */
	double device; /* at most what differs */
	double local;  /* of threads' own memory: through L1 to L2 */
};

/* Also where a part of the launch was evaluated for all of it, which is within 2 % (counts.h), and where atomics may
 * take further turns, which are no accesses to global memory. 0: branches are counted half, lanes at unknown addresses
 * with a sector each. */
static int is_nothing_assumed(const struct kc_counts *counts)
{
	return counts->exact ||
	       ((counts->sampled || counts->assumed) && !(counts->assumed & ~(uint32_t)KC_ASSUMED_TURNS));
}

/* Of one direction, where it is not known what differs: all. Where addresses are not known, all that is accessed counts
 * as different, with a sector for each lane or as near as its neighbours': the share of what lanes ask for, and no more
 * than the device has. So much can it be, too, where only a part of the launch was evaluated. */
static double distinct(const struct kc_device *device, const struct kc_counts *counts, double known, double requested,
		       double all)
{
	double most = device->memory_bytes ? (double)device->memory_bytes : INFINITY;
	int is_unknown = counts->assumed & KC_ASSUMED_ADDRESS && known >= ALMOST * all;

	if (counts->exact || !(requested > 0) || (known <= requested && !is_unknown))
		return known > 0 ? known : requested;
	if (is_nothing_assumed(counts))
		return requested;
	return fmin(UNKNOWN_SHARE * fmin(requested, known), most);
}

/* L1 keeps what the threads of a block load for each other. A warp waits as long for it, as those of a block ask for
 * the same at about the same time. Before 7.0 global memory goes past L1 (programming guide, "Compute capabilities").
 */
static double past_l1(const struct kc_device *device, const struct kc_counts *counts, double loaded)
{
	if (device->cc_major < GLOBAL_L1_CC || !(counts->block_loaded_bytes > 0))
		return loaded;
	return loaded - (1 - L1_LOST_SHARE) * fmax(loaded - counts->block_loaded_bytes, 0);
}

/* Of a launch of at most one block for each SM, what they load stays in L1, if they share it among them. */
static int fits_in_l1(const struct kc_counts *counts, const struct use *use)
{
	double bytes = counts->distinct_loaded_bytes;

	return use->is_single && is_nothing_assumed(counts) && bytes > 0 && bytes / use->sms <= L1_KEPT_BYTES;
}

static struct traffic traffic_of(const struct kc_device *device, const struct kc_counts *counts,
				 const struct operations *o, const struct use *use)
{
	const double *n = counts->of;
	double loaded = counts->threads * n[KC_COUNT_OF_BYTES_LOADED],
	       stored = counts->threads * n[KC_COUNT_OF_BYTES_STORED];
	double requested = loaded + stored;
	struct traffic t = {
	    .l1 = counts->threads * n[KC_COUNT_OF_SECTORS] * KC_SECTOR_BYTES,
	    .given = loaded,
	    .local = counts->threads * o->local_bytes,
	};

	t.asked = requested > 0 ? fmin(t.l1, requested) : t.l1;
	t.missed = requested > 0 ? fmin(t.l1, past_l1(device, counts, loaded) + stored) : t.l1;
	t.load_misses = t.l1 > 0 ? t.asked / t.l1 : 1;
	if (fits_in_l1(counts, use) && loaded > counts->distinct_loaded_bytes) {
		t.missed = fmin(t.missed, counts->distinct_loaded_bytes + stored);
		t.load_misses = counts->distinct_loaded_bytes / loaded;
	}
	t.l2 = t.device = t.missed;
	if (t.missed < t.l1 && is_nothing_assumed(counts))
		t.l2 += stored * fmax(t.l1 / requested - 1, 0);
	if (counts->distinct_loaded_bytes > 0 || counts->distinct_stored_bytes > 0)
		t.device = fmin(t.l1, distinct(device, counts, counts->distinct_loaded_bytes, loaded, t.l1) +
					  distinct(device, counts, counts->distinct_stored_bytes, stored, t.l1));
	return t;
}

/* Bytes of all requests that L1 serves. Lanes at unknown addresses are counted with a sector each. */
static double bytes_of_l1(const struct kc_counts *counts, const struct traffic *traffic)
{
	if (is_nothing_assumed(counts))
		return traffic->l1;
	return traffic->asked + UNKNOWN_SECTOR_SHARE * (traffic->l1 - traffic->asked);
}

/* Cycles of an SM's L1: what it finds or gives to lanes, or a line in each: 4,704 requests of 32 lines for each SM of
 * an RTX 3080 took 86.3 µs, 88 by that (HeCBench's channelSum). */
static double cycles_of_l1(const struct kc_throughput *row, const struct kc_counts *counts,
			   const struct traffic *traffic)
{
	double lines = counts->assumed & KC_ASSUMED_UNTOLD ? 0 : counts->threads * counts->lines;

	double bytes = fmax(bytes_of_l1(counts, traffic), traffic->given);

	return fmax(bytes / row->l1_bytes, lines) + traffic->local / row->l1_bytes;
}

static void time_units(const struct kc_throughput *row, const struct kc_counts *counts, const struct operations *o,
		       const struct use *use, double ns[])
{
	double share = counts->active_share > 0 ? counts->active_share : 1;
	double lanes = counts->threads / share / (use->sms * use->partitions * use->hz);
	/* CUDA C++ programming guide, conversions from and to 64-bit types: as fast as others, or as arithmetic of 64
	 * bits where that is slower. */
	double wide = fmin(counts->wide_conversions, o->convert);
	int on_fp64 = row->fp64 < row->convert;

	ns[KC_RESOURCE_ISSUE] = lanes * o->all / fmax(PARTITIONS * KC_WARP_LANES, row->fp32);
	ns[KC_RESOURCE_FP16] = lanes * o->fp16 / row->fp16;
	ns[KC_RESOURCE_FP32] = lanes * o->fp32 / row->fp32;
	ns[KC_RESOURCE_FP64] = lanes * (o->fp64 + (on_fp64 ? wide : 0)) / row->fp64;
	ns[KC_RESOURCE_INTEGER] = lanes * o->integer / row->integer;
	ns[KC_RESOURCE_SPECIAL] =
	    lanes * (o->special / row->special + (o->convert - (on_fp64 ? wide : 0)) / row->convert);
	ns[KC_RESOURCE_TENSOR] = lanes * share * o->tensor / (row->tensor > 0 ? row->tensor : row->fp32);
	ns[KC_RESOURCE_LOAD_STORE] = lanes * o->memory / row->load_store;
}

static void time_memory(double bytes_per_s, const struct kc_throughput *row, const struct kc_counts *counts,
			const struct traffic *traffic, const struct use *use, double ns[])
{
	double cycles = use->sms * use->hz;
	double passes = counts->threads * counts->of[KC_COUNT_OF_SHARED_PASSES];

	ns[KC_RESOURCE_SHARED] = passes / (row->shared_passes * cycles);
	ns[KC_RESOURCE_L1] = cycles_of_l1(row, counts, traffic) / cycles;
	ns[KC_RESOURCE_L2] = (traffic->l2 + traffic->local) / (row->l2_bytes * cycles);
	ns[KC_RESOURCE_DRAM] = bytes_per_s > 0 ? traffic->device / bytes_per_s * KC__NS_PER_S : 0;
}

/* Those on global memory are spread over the parts of L2, which the SMs share; equal addresses go one after another. */
static double atomics_ns(const struct kc_counts *counts, const struct use *use)
{
	double shared = counts->threads * counts->of[KC_COUNT_OF_ATOMICS_SHARED];
	double global = counts->threads * counts->of[KC_COUNT_OF_ATOMICS] - shared;
	double words = counts->distinct_atomics, lines = words > 0 ? ceil(words / LINE_WORDS) : INFINITY;
	double same = words > 0 ? fmax(global, 0) / words : 0;
	double cycles = fmax(fmax(global, 0) / fmin(ATOMICS_PER_CYCLE, lines * ATOMICS_PER_CYCLE_LINE),
			     same / ATOMICS_PER_CYCLE_SAME);

	return (cycles + shared / KC_WARP_LANES * SHARED_ATOMIC_CYCLES / use->sms) / use->hz;
}

static double constant_ns(const struct kc_throughput *row, const struct kc_work *work, const struct kc_counts *counts,
			  const struct use *use)
{
	double cycles =
	    row->cc_major == 7 ? CONSTANT_CYCLES_7 + CONSTANT_BLOCK_CYCLES_7 / warps_of_block(work) : CONSTANT_CYCLES;

	return counts->threads * counts->constant_requests * cycles / (use->sms * use->hz);
}

/* How often a thread waits for loads: once for those of a basic block. */
static double waits(double loads, double blocks)
{
	return fmax(fmin(loads, fmax(blocks, 1)), loads / LOADS_TOGETHER);
}

/* For which a warp's instructions keep the units of its part of an SM, and its issue slots. */
static double warp_cycles(const struct kc_throughput *row, const struct kc_work *work, const struct kc_counts *counts,
			  const struct operations *o)
{
	double warps = warps_of_block(work);
	double threads = work->threads_per_block / warps / (counts->active_share > 0 ? counts->active_share : 1);

	return threads * PARTITIONS *
		   (o->fp16 / row->fp16 + o->fp32 / row->fp32 + o->fp64 / row->fp64 + o->integer / row->integer +
		    o->special / row->special + o->convert / row->convert + o->memory / row->load_store) +
	       threads / KC_WARP_LANES * o->all;
}

/* How long a load from global memory takes, as the level that its bytes come from does, on average. A request of lanes
 * at unknown addresses waits for L2 unless all of its sectors are in L1. */
static double load_cycles(const struct kc_throughput *row, const struct kc_counts *counts,
			  const struct traffic *traffic)
{
	double device_memory = row->cc_major >= 9 ? DEVICE_MEMORY_CYCLES_9 : DEVICE_MEMORY_CYCLES;
	double requests = counts->of[KC_COUNT_OF_REQUESTS], l1_misses = traffic->load_misses, l2_misses;

	if (counts->assumed & KC_ASSUMED_ADDRESS && requests > 0 && traffic->l1 > 0)
		l1_misses = 1 - pow(1 - traffic->missed / traffic->l1, counts->of[KC_COUNT_OF_SECTORS] / requests);
	l2_misses = fmin(traffic->l1 > 0 ? traffic->device / traffic->l1 : 1, l1_misses);
	return L1_CYCLES + l1_misses * (L2_CYCLES - L1_CYCLES) + l2_misses * (device_memory - L2_CYCLES);
}

/* near: of these loads so many are of constant memory as its requests allow. */
static double chain_cycles(const struct kc_throughput *row, const struct kc_counts *counts, double cycles, double far,
			   double near, double load)
{
	double constant = row->cc_major == 7 ? fmin(counts->constant_requests * KC_WARP_LANES, near) : 0;

	return cycles + load * far + SHARED_CYCLES * (near - constant) + CONSTANT_LATENCY_7 * constant +
	       BARRIER_CYCLES * counts->of[KC_COUNT_OF_BARRIERS];
}

/* A warp by itself: what waits for each other, while its units execute all. common: what a load takes from where all
 * threads load alike. Where chains are not known, each instruction waits for the one before. */
static double warp_by_itself_cycles(const struct kc_throughput *row, const struct kc_work *work,
				    const struct kc_counts *counts, const struct operations *o, double load,
				    double common)
{
	const double *n = counts->of;
	/* Of basic blocks that it executes: of its branches the last one is the return. */
	double blocks = n[KC_COUNT_OF_CONTROL] - 1, barriers = n[KC_COUNT_OF_BARRIERS];
	double near = n[KC_COUNT_OF_LD_SHARED] + n[KC_COUNT_OF_LD_LOCAL];

	if (counts->chain_cycles > 0)
		return hypot(chain_cycles(row, counts, counts->chain_cycles + common * counts->chain_common,
					  counts->chain_far, counts->chain_near, load),
			     warp_cycles(row, work, counts, o));
	return ARITHMETIC_CYCLES * o->all + load * waits(n[KC_COUNT_OF_LD_GLOBAL], blocks) +
	       SHARED_CYCLES * waits(near, fmax(blocks, barriers)) + BARRIER_CYCLES * barriers;
}

/* The warp that takes longest: as long as its own chain, or as an average one times what it has more of. */
static double longest_warp_cycles(const struct kc_throughput *row, const struct kc_work *work,
				  const struct kc_counts *counts, const struct operations *o, double load, double mean)
{
	double more = fmax(counts->longest_warp, 1);

	if (!(counts->longest_cycles + counts->longest_far + counts->longest_near > 0))
		return mean * more;
	return fmax(mean, hypot(chain_cycles(row, counts, counts->longest_cycles,
					     counts->longest_far + counts->longest_common, counts->longest_near, load),
				warp_cycles(row, work, counts, o) * more));
}

/* The chain of a warp's instructions, as often as waves follow each other; in one of them that of the longest warp. The
 * first wave brings into L1 what all threads load alike. */
static double latency_ns(const struct kc_throughput *row, const struct kc_work *work, const struct kc_counts *counts,
			 const struct operations *o, const struct traffic *traffic, const struct use *use)
{
	double load = load_cycles(row, counts, traffic), waves = ceil(work->waves);
	double first = warp_by_itself_cycles(row, work, counts, o, load, load),
	       later = warp_by_itself_cycles(row, work, counts, o, load, L1_CYCLES);
	double longest = longest_warp_cycles(row, work, counts, o, load, first);
	double contended = counts->contended * work->threads_per_block * CONTENDED_CYCLES;

	return (later * (waves - 1) + longest + contended * waves) / use->hz;
}

/* Shared memory and L1 are one memory, which takes its accesses one after another from the load and store units. */
static double way_to_memory_ns(const double *ns)
{
	return fmax(ns[KC_RESOURCE_LOAD_STORE], ns[KC_RESOURCE_SHARED] + ns[KC_RESOURCE_L1]);
}

double kc__sum_of_squares(const struct kc_resource_times *times)
{
	const double *ns = times->ns;
	double way = way_to_memory_ns(ns), squares = way * way;

	for (uint32_t r = 0; r < KC_RESOURCE_COUNT; r++)
		if (r != KC_RESOURCE_LOAD_STORE && r != KC_RESOURCE_SHARED && r != KC_RESOURCE_L1)
			squares += ns[r] * ns[r];
	return squares;
}

static void join(struct kc_resource_times *times)
{
	times->limit = 0;
	for (uint32_t r = 0; r < KC_RESOURCE_COUNT; r++)
		if (times->ns[r] > times->ns[times->limit])
			times->limit = r;
	times->total_ns = times->floor_ns + sqrt(kc__sum_of_squares(times));
}

static double reached_bytes_per_s(const struct kc_device *device)
{
	return device->copy_bytes_per_s ? (double)device->copy_bytes_per_s
					: BANDWIDTH_SHARE * (double)device->memory_bytes_per_s;
}

int kc_resource_times(const struct kc_device *device, const struct kc_work *work, const struct kc_counts *counts,
		      struct kc_resource_times *times)
{
	const struct kc_throughput *row = kc_throughput(device->cc_major, device->cc_minor);
	struct operations o = operations_of(work, counts);
	struct traffic traffic;
	struct use use;

	*times = (struct kc_resource_times){.floor_ns = kc_resource_floor_ns(device)};
	times->total_ns = times->floor_ns;
	if (!device->clock_khz || !device->sm_count || !work->blocks || !(work->waves > 0) ||
	    !(counts->threads * (o.all + o.tensor) > 0) || !isfinite(counts->threads * (o.all + o.tensor)))
		return -ENODATA;
	use = use_of(device, work);
	traffic = traffic_of(device, counts, &o, &use);
	time_units(row, counts, &o, &use, times->ns);
	time_memory(reached_bytes_per_s(device), row, counts, &traffic, &use, times->ns);
	times->ns[KC_RESOURCE_CONSTANT] = constant_ns(row, work, counts, &use);
	times->ns[KC_RESOURCE_ATOMICS] = atomics_ns(counts, &use);
	times->ns[KC_RESOURCE_BLOCKS] =
	    WARP_START_CYCLES * (double)work->blocks * warps_of_block(work) / (use.sms * use.hz);
	times->ns[KC_RESOURCE_LATENCY] = latency_ns(row, work, counts, &o, &traffic, &use);
	join(times);
	if (isfinite(times->total_ns))
		return 0;
	*times = (struct kc_resource_times){.floor_ns = times->floor_ns, .total_ns = times->floor_ns};
	return -ENODATA;
}

/* Half as many for integers, as one machine instruction adds three, shifts and adds, multiplies and adds, or takes any
 * logic of three; on no unit of theirs, as that of FP32 multiplies and adds them, too. ptxas unrolls loops, which
 * spares branches, divides by constants without a division, and keeps a thread's own memory in registers. */
static struct operations least_operations(const struct kc_work *work, const struct kc_counts *counts)
{
	struct operations o = operations_of(work, counts);

	o.all -= o.integer + o.local + counts->of[KC_COUNT_OF_CONTROL];
	o.all += counts->of[KC_COUNT_OF_INT] / 2;
	o.memory -= o.local;
	o.integer = o.local = 0;
	return o;
}

static double beyond_l2(const struct kc_device *device, double bytes)
{
	return device->l2_bytes ? fmax(bytes - device->l2_bytes, 0) : 0;
}

/* What the caches cannot hold back: L2 may have what is loaded from before, as far as it holds that, and afterwards
 * keep what is stored. Distinct bytes are an estimate, those that threads ask for are counted. How much L2 delivers at
 * most is published of few GPUs. */
static struct traffic least_traffic(const struct kc_device *device, const struct kc_counts *counts)
{
	double loaded = counts->threads * counts->of[KC_COUNT_OF_BYTES_LOADED],
	       stored = counts->threads * counts->of[KC_COUNT_OF_BYTES_STORED];

	return (struct traffic){
	    .l1 = counts->threads * counts->of[KC_COUNT_OF_SECTORS] * KC_SECTOR_BYTES,
	    .device = beyond_l2(device, fmin(counts->distinct_loaded_bytes, loaded)) +
		      beyond_l2(device, fmin(counts->distinct_stored_bytes, stored)),
	};
}

/* Empty kernels took 0.5 to 1 µs on the GPUs for which KC_WORK_LAUNCH_NS is 0.75. */
#define FLOOR_SHARE (2.0 / 3)

double kc_resource_bound_ns(const struct kc_device *device, const struct kc_work *work, const struct kc_counts *counts,
			    uint32_t *by)
{
	const struct kc_throughput *row = kc_throughput(device->cc_major, device->cc_minor);
	struct operations o = least_operations(work, counts);
	struct traffic traffic = least_traffic(device, counts);
	struct kc_counts undivided = *counts; /* which instructions not all lanes of a warp execute is not known */
	double ns[KC_RESOURCE_COUNT] = {0}, floor_ns = FLOOR_SHARE * kc_resource_floor_ns(device), longest = 0;
	struct use use;

	*by = 0;
	if (!counts->exact || !device->clock_khz || !device->sm_count || !work->blocks ||
	    !isfinite(counts->threads * (o.all + o.tensor)))
		return 0;
	use = use_of(device, work);
	use.sms = fmin((double)work->blocks, device->sm_count);
	undivided.active_share = 1;
	undivided.lines = 0; /* how many L1 finds at once is not published */
	time_units(row, &undivided, &o, &use, ns);
	time_memory((double)device->memory_bytes_per_s, row, &undivided, &traffic, &use, ns);
	if (row->cc_major < SINGLE_ISSUE_CC)
		ns[KC_RESOURCE_ISSUE] /= 2;
	for (uint32_t r = 0; r < KC_RESOURCE_COUNT; r++) {
		if (!(ns[r] > longest))
			continue;
		longest = ns[r];
		*by = r;
	}
	if (longest < floor_ns)
		*by = KC_RESOURCE_COUNT;
	return floor_ns + longest;
}

/* Of counts of a part of a launch, which are within 2 % (counts.h). */
#define SAMPLED_SHARE 0.98

double kc_resource_least_ns(const struct kc_device *device, const struct kc_work *work, const struct kc_counts *counts)
{
	struct kc_counts all = *counts;
	uint32_t by;

	all.exact = is_nothing_assumed(counts) && !counts->other_architecture;
	return fmax((counts->exact ? 1 : SAMPLED_SHARE) * kc_resource_bound_ns(device, work, &all, &by),
		    kc_resource_floor_ns(device));
}

double kc_resource_low_ns(double estimate_ns, double width, double least_ns)
{
	return fmin(fmax(estimate_ns / width, least_ns), estimate_ns);
}

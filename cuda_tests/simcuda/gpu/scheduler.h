/*
 * The block scheduler of one simulated device: pure arithmetic on a virtual
 * clock, no locks, no allocation, no CUDA.
 *
 *   sm_limits   what one SM offers, and the device's memory bandwidth
 *   sm_kernel   a kernel execution: what a block needs, how long it takes, how
 *               many blocks are not yet placed, and how many are resident
 *   sm_class    SMs in exactly the same state: the same blocks with the same
 *               work left. An idle device is one class, a lone big grid one or
 *               two, so a wave costs the same whatever the number of SMs.
 *   sm_device   the classes; together they hold every SM once. Before them the
 *               execution queues, one per priority level: only the head of the
 *               highest level that is not empty places blocks, even where a later
 *               kernel would fit; it leaves when its last block is placed.
 *
 * SMs are numbered by rank in the device's tie order (Gilman et al. 2021): the
 * lowest rank is taken first among SMs with equal room.
 *
 * Rules of time. block_ns is what one block takes alone on an SM. A block uses
 * `share` of its SM's issue slots; while the shares of an SM's blocks sum to
 * U > 1, all of them run at 1/U. A kernel's blocks ask for traffic_bytes in that
 * time; while all resident blocks together ask for more than the bandwidth, by
 * a factor D > 1, a kernel of memory intensity m runs at 1 / (1 - m + m D).
 */
#ifndef SIMCUDA_SCHEDULER_H
#define SIMCUDA_SCHEDULER_H

#include <stdint.h>

#define SM_MAX 256       /* SMs of a device */
#define SM_BLOCKS_MAX 32 /* blocks resident on an SM, programming guide, technical specifications */
#define SM_LEVELS 8      /* of priority; 0 is the highest */
#define SM_NEVER 1e300

struct sm_resources {
	uint32_t threads;
	uint32_t warps;
	uint32_t registers;
	uint32_t shared_bytes;
	uint32_t blocks;
};

struct sm_limits {
	struct sm_resources sm;
	uint32_t sm_count;
	double bytes_per_ns; /* device memory bandwidth */
	uint32_t grids;      /* resident at once, 0: no limit */
};

struct sm_kernel {
	struct sm_resources need; /* of one block; blocks is 1 */
	double block_ns;
	double share; /* 0 to 1 */
	double traffic_bytes;
	uint64_t unplaced;
	/* kept by the scheduler */
	uint64_t resident;
	double intensity;         /* 0 to 1: traffic at full occupancy / bandwidth */
	double speed;             /* 0 to 1: 1 while the bandwidth suffices */
	double start_ns;          /* first block placed; < 0: none yet */
	double end_ns;            /* last block ended; < 0: not yet */
	struct sm_kernel *next;   /* running, then ended */
	struct sm_kernel *behind; /* in the execution queue, then placed */
};

struct sm_group {
	struct sm_kernel *kernel;
	uint32_t count; /* on each SM of the class */
	double left_ns; /* work left, at full speed */
};

struct sm_class {
	uint64_t members[SM_MAX / 64];
	uint32_t size;
	uint32_t groups;
	uint32_t changed; /* since the last sm_settle() */
	struct sm_resources free;
	double rate; /* 1 / U */
	double as_of_ns;
	double next_ns; /* when its first group ends */
	struct sm_group group[SM_BLOCKS_MAX];
};

struct sm_device {
	struct sm_limits limits;
	uint32_t classes;
	uint32_t grids;            /* started and not ended */
	struct sm_kernel *running; /* with resident blocks */
	struct sm_kernel *head[SM_LEVELS], *tail[SM_LEVELS];
	struct sm_kernel *placed; /* by the latest sm_dispatch(): their last block has been */
	struct sm_class class[SM_MAX];
};

void sm_device_init(struct sm_device *device, const struct sm_limits *limits);

/* Sets the members that the scheduler maintains. The caller has set need, block_ns,
 * share, traffic_bytes and unplaced. */
void sm_kernel_init(struct sm_kernel *kernel, const struct sm_limits *limits);

/* Returns how many blocks of this need fit on one SM with these free resources. */
uint32_t sm_room(const struct sm_resources *free, const struct sm_resources *need);

/* Appends a kernel that its stream allows to start to the execution queue of its level. */
void sm_submit(struct sm_device *device, struct sm_kernel *kernel, unsigned level);

/* Places the blocks that may be placed now and updates all speeds. Call it after
 * sm_submit() and sm_finish(), with the same time. */
void sm_dispatch(struct sm_device *device, double now_ns);

/* Places as many of the kernel's blocks as fit, each on the SM with the most
 * room. Returns how many. sm_dispatch() does this for the kernels whose turn it is. */
uint64_t sm_place(struct sm_device *device, struct sm_kernel *kernel, double now_ns);

/* Removes the blocks that end at or before now_ns, which must not be later than
 * sm_next(). Kernels without any resident or unplaced block left get their end_ns and
 * are returned in a list linked through next. */
struct sm_kernel *sm_finish(struct sm_device *device, double now_ns);

/* Returns when the next block ends, or SM_NEVER if none is resident. */
double sm_next(const struct sm_device *device);

/* Returns how many blocks of the kernel are resident on the SM of this rank. */
uint32_t sm_resident(const struct sm_device *device, const struct sm_kernel *kernel, uint32_t rank);

#endif

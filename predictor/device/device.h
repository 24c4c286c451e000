/*
 * What the models know of a GPU. The shim fills one struct kc_device per
 * device from driver attributes, the store keeps it as a row of `device`, the
 * offline commands take a built-in one; every model reads the same struct.
 */
#ifndef KC_DEVICE_H
#define KC_DEVICE_H

#include <stdint.h>

struct kc_device {
	char name[96];
	uint32_t cc_major, cc_minor;
	uint32_t sm_count;
	uint32_t cores_per_sm; /* FP32 lanes, programming guide, "Arithmetic instructions" */
	uint32_t warp_size;
	uint32_t clock_khz;
	uint32_t memory_clock_khz;
	uint32_t memory_bus_bits;
	uint64_t memory_bytes_per_s; /* peak */
	uint64_t memory_bytes;
	uint32_t l2_bytes;
	uint32_t max_threads_per_block;
	uint32_t max_threads_per_sm;
	uint32_t max_blocks_per_sm;
	uint32_t registers_per_sm;
	uint32_t registers_per_block;
	uint32_t shared_per_sm_bytes;
	uint32_t shared_per_block_bytes;       /* without opt-in */
	uint32_t shared_per_block_optin_bytes; /* 0: no opt-in */
	uint32_t shared_reserved_per_block_bytes;
	uint32_t copy_engines;
	uint32_t hardware_queues;    /* CUDA_DEVICE_MAX_CONNECTIONS, 8 by default */
	uint32_t simulated;          /* 1: a stand-in, not hardware */
	uint32_t launch_overhead_ns; /* launch call to first block on an idle device */
	uint32_t launch_gap_ns;      /* between back-to-back kernels of one stream */
	uint32_t empty_kernel_ns;    /* shortest time of a kernel, measured; 0: not known */
	uint64_t copy_bytes_per_s;   /* what a copying kernel reads and writes, measured; 0: not known */
	uint64_t flops_per_s;        /* FP32, measured; 0: not known */
};

/* What was measured of a device (`kerncast calibrate`); 0 or NAN: not measured. */
struct kc_calibration {
	double launch_overhead_ns, empty_kernel_ns, launch_gap_ns;
	double copy_bytes_per_s, flops_per_s;
};

/* A built-in device by name ("k40", "gtx950", "v100", "a100", "h200", …; case
 * ignored), NULL where there is none. Those of builtin.c: what NVIDIA has made from Kepler on, as far as published. */
const struct kc_device *kc_device_builtin(const char *name);

/* The built-in device that a longer name refers to ("GeForce GTX 1080 Ti", "Tesla K40c", "run7_2080ti"), by its longest
 * match; NULL: none. */
const struct kc_device *kc_device_builtin_meant(const char *name);

/* Whether the name tells that this is no GPU of NVIDIA: "AMD Instinct MI300X", "gfx942", "Intel(R) Arc(TM)". The models
 * do not hold for one, whatever numbers it has. */
int kc_device_is_foreign(const char *name);

/* The i-th built-in device, NULL past the end. */
const struct kc_device *kc_device_builtin_at(unsigned i);
/* Its short name, "k40". */
const char *kc_device_builtin_alias(unsigned i);

/* The document that its figures are from. */
const char *kc_device_builtin_source(unsigned i);

/* The compute capability of a GPU by the series that its name tells ("NVIDIA RTX A3000 Laptop GPU": 8.6), built in or
 * not. 0; -ENOENT: the name tells none. Source: NVIDIA, "CUDA GPU compute capability". */
int kc_device_capability_of(const char *name, uint32_t *cc_major, uint32_t *cc_minor);

/* A built-in device that may stand for one of which only the compute capability is known: that with the middle number
 * of SMs among those of the capability, or else of the newest one that is not newer. */
const struct kc_device *kc_device_builtin_like(uint32_t cc_major, uint32_t cc_minor);

/* How well a name as people type it fits the i-th built-in device; blanks, dashes, maker and series do not matter. */
enum kc_device_match {
	KC_MATCH_NONE,
	KC_MATCH_LETTERS,    /* its letters occur: "a10" in a100, "1080" in gtx1080ti, which are other devices */
	KC_MATCH_NAME_PARTS, /* whole words and numbers of the device's full name alone: "h100 80gb" */
	KC_MATCH_PARTS,      /* of its short name: "4090", "a100-80" */
	KC_MATCH_WHOLE,      /* the whole name: "RTX 4090" */
};
enum kc_device_match kc_device_builtin_match(unsigned i, const char *typed);

/* FP32 lanes per SM of a compute capability; 128 for one not yet known.
 * Source: CUDA C++ programming guide, arithmetic instruction throughput. */
uint32_t kc_device_cores_per_sm(uint32_t cc_major, uint32_t cc_minor);

/* Kernels that may be on the device at once; 128 for a compute capability not
 * yet known. Source: CUDA C++ programming guide, "Maximum number of resident
 * grids per device". */
uint32_t kc_device_resident_grids(uint32_t cc_major, uint32_t cc_minor);

/* Blocks in the largest cluster that a kernel may ask for: 16 (8 where it does not opt in) from compute capability 9.0
 * on, 1 before. Source: CUDA C++ programming guide, "Thread block clusters". */
uint32_t kc_device_cluster_max(uint32_t cc_major);

/* Fills in what the driver has no attribute for, from the compute capability (cores per SM, default overheads), every
 * per-SM and per-block limit that is 0, and the memory bandwidth from clock and bus. */
void kc_device_complete(struct kc_device *device);

/* Takes what is not known of a device from another one: SMs, clocks, memory, and the compute capability. The limits per
 * SM and block are those of its own compute capability, if that is known. */
void kc_device_assume(struct kc_device *device, const struct kc_device *other);

/* Whether no attribute of a completed device is missing or beyond what hardware will have for long. One from a damaged
 * file can be anything, and the models divide by it. */
int kc_device_is_possible(const struct kc_device *device);

/* Replaces built-in values by measured ones. */
void kc_device_calibrate(struct kc_device *device, const struct kc_calibration *calibration);

/* FP32 operations per second: cores × clock × 2. */
double kc_device_peak_flops(const struct kc_device *device);

/* Memory bandwidth that kernels get: measured, or else the peak. */
static inline double kc_device_bandwidth(const struct kc_device *device)
{
	return (double)(device->copy_bytes_per_s ? device->copy_bytes_per_s : device->memory_bytes_per_s);
}

#endif

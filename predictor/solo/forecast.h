/*
 * The way from a launch to a solo time, and from a measured time back to λ.
 *
 *   kc_resources   what a kernel's code needs (driver attributes), per function
 *   kc_shape       how it was launched: grid, block, dynamic shared memory
 *   kc_work        both, on one device: occupancy, waves, BSP time with λ = 1.
 *                  Computed once per kernel and launch shape, then only read.
 *   kc_lambda      one level of what was learned; a tree: device -> key (kernel,
 *                  block shape, registers, shared memory) -> launch shape.
 *                  Owned and written by one thread.
 *   kc_belief      a small copy of a kc_lambda, published to launching threads.
 *   kc_solo        the prediction: time and 90 % interval.
 *
 * A launching thread needs a kc_work and a kc_belief and calls
 * kc_forecast_solo(); whoever learns calls kc_lambda_learn() with measured
 * durations and publishes the new beliefs. No function here allocates, locks
 * or reads a clock.
 */
#ifndef KC_FORECAST_H
#define KC_FORECAST_H

#include "predictor/papers/leftover.h"

#include <stdint.h>

struct kc_resources {
	uint32_t registers; /* per thread */
	uint32_t static_shared_bytes;
	uint32_t local_bytes; /* per thread */
	uint32_t max_threads_per_block;
};

struct kc_shape {
	uint32_t grid[3];
	uint32_t block[3];
	uint32_t dynamic_shared_bytes;
	uint32_t cluster_blocks; /* that the hardware places together (compute capability 9.0 on); 0 or 1: none */
};

struct kc_work {
	uint64_t blocks;
	uint32_t threads_per_block;
	uint32_t registers;
	uint32_t shared_bytes;  /* static + dynamic, per block */
	uint32_t blocks_per_sm; /* occupancy; 0: cannot run on this device */
	double waves;           /* blocks / (SMs * blocks_per_sm), not rounded */
	double unit_ns;         /* BSP time with λ = 1 after wave quantisation, without the launch term */
	double traffic_bytes;   /* to and from device memory, caches left out; 0: not known */
	float issue;            /* share of the device's warp slots it takes */
	float prior_log_lambda; /* before anything was measured on the device */
	uint32_t counted;       /* 1: unit_ns is the kernel's code's work (counted.h), else a nominal one per thread */
	double launch_ns;       /* fixed term: the shortest a kernel can take */
	struct kc_grid grid;    /* the same launch as the block scheduler sees it */
};

enum kc_model {
	KC_MODEL_NONE = 0,
	KC_MODEL_BSP_DEVICE = 1, /* λ of the device: kernel not measured before */
	KC_MODEL_BSP_KERNEL = 2, /* λ of kernel, block shape and resources */
	KC_MODEL_BSP_SHAPE = 3,  /* λ of the launch shape as well */
	KC_MODEL_BSP_CODE = 4,   /* the code's work and λ of the device */
	KC_MODEL_BSP_SIZES = 5,  /* the code's work and other sizes that were measured */
	KC_MODEL_CONTEXT = 6,    /* earlier launches of the shape, by what came before them */
	KC_MODEL_MIX = 7,        /* several of the above */
	KC_MODEL_SCALING = 8,    /* other sizes that were measured, without the code's work (scaling.h) */
	KC_MODELS,
};
const char *kc_model_name(uint32_t model);

/* Design.md, "Words" */
enum kc_novelty {
	KC_FIRST_SEEN = 0,
	KC_NEW_SIZE = 1,
	KC_REPEATED = 2,
};

/* From the measurements known of this launch shape and of its kernel. */
enum kc_novelty kc_novelty(uint32_t of_shape, uint32_t of_kernel);

struct kc_belief {
	float log_lambda;
	float half_width; /* of the 90 % interval, in log time */
	float factor;     /* 1 / λ: worked out once, not at every launch */
	float width;      /* the interval's: of its upper end to the middle */
	uint32_t count;   /* measurements behind it; 0: nothing learned */
	uint32_t state;   /* id of the row in `lambda` it is */
};

struct kc_lambda {
	struct kc_lambda *parent; /* NULL: the device's */
	double log_value;
	double variance; /* of single observations around it, log time */
	double weight;   /* evidence, in measurements */
	double widening; /* of the interval, a factor: what coverage so far asks for */
	uint32_t count;
	uint32_t spread_count; /* measurements behind the variance */
	uint32_t run;          /* consecutive outliers on one side: a change of phase */
	int32_t side;          /* of that run: -1 faster than predicted, 1 slower */
};

struct kc_solo {
	int64_t ns, low_ns, high_ns; /* 90 % interval */
	float half_width;            /* of it, in log time */
	uint32_t model;              /* enum kc_model */
	uint32_t state;
};

/*
 * blocks_per_sm: the driver's occupancy answer, or 0 to compute it here.
 * Returns 0; -EINVAL where a dimension is 0; -ERANGE where the kernel cannot
 * run on this device (work->blocks_per_sm is 0 then).
 */
int kc_work_init(struct kc_work *work, const struct kc_device *device, const struct kc_resources *resources,
		 const struct kc_shape *shape, uint32_t blocks_per_sm);

/* With what follows from the logarithms. */
struct kc_belief kc_belief_of(float log_lambda, float half_width, uint32_t count, uint32_t state);

/* Prediction from the first belief of shape, key, device with count > 0; from
 * the built-in prior where none has. Any of the three may be NULL. */
struct kc_solo kc_forecast_solo(const struct kc_work *work, const struct kc_belief *shape, const struct kc_belief *key,
				const struct kc_belief *device);

/* A node starts from its parent (or the built-in prior, parent == NULL). */
void kc_lambda_init(struct kc_lambda *node, struct kc_lambda *parent);

/* What another node learned of the same launches, in other units of work, or in the same (NULL). node keeps its
 * parent. */
void kc_lambda_adopt(struct kc_lambda *node, const struct kc_work *work, const struct kc_lambda *from,
		     const struct kc_work *from_work);

/* The same of launches that are only related: other code of the same name, another device. It is believed until
 * something of this one is measured, and counts for little then. */
void kc_lambda_suppose(struct kc_lambda *node, const struct kc_work *work, const struct kc_lambda *from,
		       const struct kc_work *from_work);

/* One measured duration, > 0 ns, of this work; overlapped: another kernel ran
 * meanwhile, slowdown is what was predicted for that (1: none). Refines node
 * and its parents. */
void kc_lambda_learn(struct kc_lambda *node, const struct kc_work *work, int64_t measured_ns, int overlapped,
		     double slowdown);

struct kc_belief kc_lambda_belief(const struct kc_lambda *node, uint32_t state);

/* 1: so different from the one in use that it is worth publishing: half a
 * percent of the predicted time, or a tenth of the interval's half width. */
int kc_lambda_is_news(const struct kc_lambda *node, const struct kc_belief *in_use);

#endif

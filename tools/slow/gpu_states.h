/*
 * Why a run drifted: how its GPUs were while launches were slower than in other parts of the run (table gpu_state), as
 * NVML told. Their time lost is told by what differed from the run's best: the clock was lower than its highest, by
 * more than 2 %, and the library said why; more processes used the GPU than the fewest.
 */
#ifndef KC_SLOW_GPU_STATES_H
#define KC_SLOW_GPU_STATES_H

#include "causes.h"

struct kc_store;

#define KC_SLOW_WHY_BYTES 256u

struct kc_slow_gpu_states {
	double known_ns; /* lost to drift while the state of the GPU was known; of this: */
	double clock_ns; /* while its clock was lower */
	double lower;    /* by this share, on average over clock_ns */
	/* Why, of clock_ns: */
	double power_ns, thermal_ns, hardware_ns;
	double others_ns; /* while more processes used it */
};

/* A state that holds from then on; rows of one GPU stand together, by time. */
struct kc_slow_gpu_state {
	int64_t device, at_ns; /* at_ns: on the clock of the run */
	int64_t slowed;        /* enum kc_gpu_slowed */
	uint32_t sm_mhz;       /* 0: not known */
	uint32_t others;
	uint32_t highest_mhz, fewest; /* of all states of the GPU: kc_slow_gpu_state_compare() */
};

/* Fills in what the states of each GPU are compared with. */
void kc_slow_gpu_state_compare(struct kc_slow_gpu_state *at, size_t count);
/* Adds time lost on this GPU at this moment. at: count states as above. */
void kc_slow_gpu_state_add(struct kc_slow_gpu_states *sums, const struct kc_slow_gpu_state *at, size_t count,
			   int64_t device, int64_t at_ns, double lost_ns);

/* Of the launches that drifted. 0 or -errno. */
int kc_slow_gpu_states(struct kc_store *store, const struct kc_measured_run *run, const struct kc_slow *slow,
		       struct kc_slow_gpu_states *out);

/* "the GPU's clock was 12.0 % lower (power cap) for 85.0 % of it, other processes used it for 10.0 %"; "": nothing that
 * is known was different for a tenth of the time. */
char *kc_slow_gpu_text(const struct kc_slow_gpu_states *states, char out[static KC_SLOW_WHY_BYTES]);

#endif

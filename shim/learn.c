/*
 * From measured times to what is believed next. A belief is published, and its
 * history written, when it has changed enough to matter to a prediction.
 */
#include "shim/shim.h"

#include <math.h>

#define LOG_CHANGE 0.005             /* of λ: 0.5 % of the predicted time, */
#define WIDTH_SHARE 0.1              /* or this share of its interval's half width, if that is more */
#define WIDTH_CHANGE 0.25            /* relative, of the interval itself */
#define SMALL_COPY_BYTES (64u << 10) /* below, latency hides the rate */
#define MIB 1048576.0
#define COPY_WEIGHT 0.25 /* of one measured copy in the running rate */

/* Every power of two counts as a change: a belief ripens even where it is stable. */
static bool matters(const struct kc_belief *old, const struct kc_belief *new)
{
	return !old->count || (new->count &(new->count - 1)) == 0 ||
	       fabs((double)new->log_lambda - old->log_lambda) > fmax(LOG_CHANGE, WIDTH_SHARE * new->half_width) ||
	       fabsf(new->half_width - old->half_width) > WIDTH_CHANGE * old->half_width;
}

static void publish(struct kc__learned *learned, struct kc_lambda_entry *entry)
{
	static uint32_t states; /* worker only */
	struct kc_belief belief = kc_lambda_belief(&learned->lambda, states + 1);

	if (!matters(&learned->last, &belief))
		return;
	entry->state = ++states;
	entry->count = belief.count;
	entry->log_value = learned->lambda.log_value;
	entry->variance = learned->lambda.variance;
	entry->time_ns = kc__now_ns();
	kc_journal_put(kc__shim.journal, KC_KIND_LAMBDA, entry, sizeof(*entry));
	learned->last = belief;
	kc__belief_write(&learned->cell, &belief);
}

void kc__learn(const struct kc_launch *launch)
{
	struct kc__shape *shape = atomic_load_explicit(&kc__shim.shape_by_id[launch->shape], memory_order_acquire);
	struct kc_lambda_entry entry = {0};

	if (!shape || launch->measured_end_ns <= launch->measured_start_ns)
		return;
	kc_lambda_learn(&shape->learned.lambda, &shape->work, launch->measured_end_ns - launch->measured_start_ns,
			launch->overlap > KC_OVERLAP_NONE, launch->slowdown);
	atomic_fetch_add_explicit(&shape->kernel->measured, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&shape->measured, 1, memory_order_relaxed);

	entry.device = shape->kernel->device->ordinal;
	entry.level = KC_MODEL_BSP_DEVICE;
	publish(&shape->kernel->device->learned, &entry);
	entry.level = KC_MODEL_BSP_KERNEL;
	entry.kernel = shape->kernel->id;
	entry.dynamic_shared_bytes = shape->dims.dynamic_shared_bytes;
	for (int i = 0; i < 3; i++)
		entry.block[i] = (uint16_t)shape->dims.block[i];
	publish(&shape->lambda_key->learned, &entry);
	entry.level = KC_MODEL_BSP_SHAPE;
	for (int i = 0; i < 3; i++)
		entry.grid[i] = shape->dims.grid[i];
	publish(&shape->learned, &entry);
}

void kc__learn_transfer(const struct kc_transfer *transfer)
{
	struct kc__device *device = &kc__shim.devices[transfer->device];
	int64_t duration = transfer->measured_end_ns - transfer->measured_start_ns;
	uint64_t before, rate;

	if (transfer->bytes < SMALL_COPY_BYTES || duration <= 0)
		return;
	before = atomic_load_explicit(&device->copy_ns_per_mib[transfer->kind], memory_order_relaxed);
	rate = (uint64_t)((double)duration / ((double)transfer->bytes / MIB));
	if (before)
		rate = (uint64_t)((1 - COPY_WEIGHT) * (double)before + COPY_WEIGHT * (double)rate);
	atomic_store_explicit(&device->copy_ns_per_mib[transfer->kind], rate, memory_order_relaxed);
}

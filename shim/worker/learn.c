/*
 * From measured times to what is believed next. A belief is published, and its
 * history written, when it has changed enough to matter to a prediction.
 */
#include "shim/shim.h"

#include "predictor/device/copy.h"

#include <math.h>

static void publish(struct kc__learned *learned, struct kc_lambda_entry *entry)
{
	static uint32_t states; /* worker only */
	struct kc_belief belief;

	if (!kc_lambda_is_news(&learned->lambda, &learned->last))
		return;
	belief = kc_lambda_belief(&learned->lambda, ++states);
	entry->state = states;
	entry->count = belief.count;
	entry->log_value = learned->lambda.log_value;
	entry->variance = learned->lambda.variance;
	entry->time_ns = kc__now_ns();
	kc_journal_put(kc__shim.journal, KC_KIND_LAMBDA, entry, sizeof(*entry));
	learned->last = belief;
	kc__belief_write(&learned->cell, &belief);
}

/* Of the device and of kernel and block shape; *entry names the key afterwards. */
static void publish_parents(struct kc__shape *shape, uint32_t unit, struct kc_lambda_entry *entry)
{
	bool counted = unit == KC__UNIT_COUNTED;

	entry->device = shape->kernel->device->ordinal;
	entry->level = counted ? KC_MODEL_BSP_CODE : KC_MODEL_BSP_DEVICE;
	publish(&shape->kernel->device->learned[unit], entry);
	entry->level = counted ? KC_MODEL_BSP_SIZES : KC_MODEL_BSP_KERNEL;
	entry->kernel = shape->kernel->id;
	entry->dynamic_shared_bytes = shape->dims.dynamic_shared_bytes;
	for (int i = 0; i < 3; i++)
		entry->block[i] = (uint16_t)shape->dims.block[i];
	publish(&shape->lambda_key->learned[unit], entry);
}

/* tables_lock held. */
static void learn_size(struct kc__key *key, const struct kc_work *work, const struct kc_curve_point *size,
		       int64_t measured_ns)
{
	kc_sizes_learn(&key->sizes, size, work->launch_ns, measured_ns);
	atomic_fetch_add_explicit(&key->sizes_measured, 1, memory_order_release);
}

void kc__learn_known(struct kc__shape *shape)
{
	struct kc_solo solo = kc_forecast_solo(&shape->work, &shape->learned.last, NULL, NULL);

	learn_size(shape->lambda_key, &shape->work, &shape->size, solo.ns);
}

void kc__learn_size(struct kc__shape *shape, const struct kc_work *work, const struct kc_curve_point *size,
		    int64_t measured_ns)
{
	struct kc__key *key = shape->lambda_key;
	struct kc_lambda_entry entry = {0};

	pthread_mutex_lock(&kc__shim.tables_lock);
	learn_size(key, work, size, measured_ns);
	kc_lambda_learn(&key->learned[KC__UNIT_COUNTED].lambda, work, measured_ns, 0, 1);
	pthread_mutex_unlock(&kc__shim.tables_lock);
	publish_parents(shape, KC__UNIT_COUNTED, &entry);
}

/* Whose this launch is now. The first one of a shape also counts as a size, once its code is read. */
static struct kc__shape *heir_of(struct kc__shape *shape, const struct kc_launch *launch)
{
	struct kc__shape *heir;

	if (launch->overlap == KC_OVERLAP_NONE)
		kc__early_measured(shape, launch->predicted_at_ns, launch->measured_end_ns - launch->measured_start_ns);
	pthread_mutex_lock(&kc__shim.tables_lock);
	heir = shape->successor ? shape->successor : shape;
	pthread_mutex_unlock(&kc__shim.tables_lock);
	return heir;
}

/* Which model was right, and how wide the interval had to be. */
static void judge(struct kc__shape *shape, const struct kc_launch *launch, const struct kc_lesson *lesson)
{
	struct kc_outcome outcome = {
	    .device = &shape->kernel->device->experience,
	    .kernel = &shape->kernel->experience,
	    .name = shape->name,
	    .context = launch->context,
	    .slowdown = kc_contention_slowdown(&shape->contention, &lesson->meeting),
	    .low_ns = (int64_t)((double)launch->solo_low_ns * lesson->slowdown),
	    .high_ns = (int64_t)ceil((double)launch->solo_high_ns * lesson->slowdown),
	    .novelty = kc_novelty(atomic_load(&shape->measured), atomic_load(&shape->kernel->measured)),
	    .solo = kc__solo_time(shape),
	    .measured_ns = lesson->measured_ns,
	};

	kc_outlook_measured(&outcome);
	if (kc_outlook_is_news(&outcome, atomic_load(&shape->measured)))
		atomic_fetch_add_explicit(&shape->news, 1, memory_order_release);
}

void kc__learn(const struct kc_launch *launch, const struct kc_load *met)
{
	struct kc__shape *shape = atomic_load_explicit(&kc__shim.shape_by_id[launch->shape], memory_order_acquire);
	struct kc_lambda_entry entry = {0};
	struct kc_lesson lesson;

	if (!shape || launch->measured_end_ns <= launch->measured_start_ns)
		return;
	shape = heir_of(shape, launch);
	lesson = (struct kc_lesson){
	    .work = &shape->work,
	    .lambda = &shape->learned.lambda,
	    .contention = launch->overlap == KC_OVERLAP_UNKNOWN ? NULL : &shape->contention,
	    .meeting = kc_meeting_unpack(launch->meeting),
	    .met = *met,
	    .slowdown = (double)launch->slowdown,
	    .overlapped = launch->overlap != KC_OVERLAP_NONE,
	    .solos = atomic_load_explicit(&shape->solos, memory_order_relaxed),
	    .measured_ns = launch->measured_end_ns - launch->measured_start_ns,
	};
	judge(shape, launch, &lesson);
	pthread_mutex_lock(&kc__shim.tables_lock);
	kc_outlook_learn(&lesson);
	if (!lesson.overlapped && shape->work.counted)
		learn_size(shape->lambda_key, &shape->work, &shape->size, lesson.measured_ns);
	kc_scaling_learn(&shape->kernel->scaling, &shape->scale, lesson.measured_ns);
	atomic_fetch_add_explicit(&shape->kernel->scaling_measured, 1, memory_order_release);
	pthread_mutex_unlock(&kc__shim.tables_lock);
	atomic_fetch_add_explicit(&shape->solos, !lesson.overlapped, memory_order_relaxed);
	atomic_fetch_add_explicit(&shape->kernel->measured, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&shape->measured, 1, memory_order_relaxed);

	publish_parents(shape, shape->work.counted, &entry);
	entry.level = KC_MODEL_BSP_SHAPE;
	for (int i = 0; i < 3; i++)
		entry.grid[i] = shape->dims.grid[i];
	publish(&shape->learned, &entry);
}

void kc__learn_transfer(const struct kc_transfer *transfer)
{
	struct kc__device *device = &kc__shim.devices[transfer->device];
	uint64_t rate = atomic_load_explicit(&device->copy_ns_per_mib[transfer->kind], memory_order_relaxed);

	rate = kc_copy_learn(rate, transfer->bytes, transfer->measured_end_ns - transfer->measured_start_ns);
	atomic_store_explicit(&device->copy_ns_per_mib[transfer->kind], rate, memory_order_relaxed);
}

/*
 * The shim as a driver of the engine (predictor/engine.h): its lock, the history
 * of λ that it records, and the launches that are told what became of them.
 */
#include "shim/shim.h"

static void lock(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&kc__shim.tables_lock);
}

static void unlock(void *unused)
{
	(void)unused;
	pthread_mutex_unlock(&kc__shim.tables_lock);
}

#define ENTRY_OF(type, part) ((const type *)(const void *)((const char *)(part)-offsetof(type, engine)))

static void fill_key(struct kc_lambda_entry *entry, const struct kc__key *key)
{
	entry->kernel = ENTRY_OF(struct kc__kernel, key->engine.kernel)->id;
	entry->dynamic_shared_bytes = key->block.dynamic_shared_bytes;
	for (int i = 0; i < 3; i++)
		entry->block[i] = (uint16_t)key->block.block[i];
}

static void published(const struct kc_engine_publication *p, void *unused)
{
	struct kc_lambda_entry entry = {
	    .level = p->model,
	    .device = ENTRY_OF(struct kc__device, p->device)->ordinal,
	    .state = p->belief.state,
	    .count = p->belief.count,
	    .log_value = p->lambda->log_value,
	    .variance = p->lambda->variance,
	    .time_ns = kc__now_ns(),
	};

	(void)unused;
	if (p->key)
		fill_key(&entry, ENTRY_OF(struct kc__key, p->key));
	for (int i = 0; p->variant && i < 3; i++)
		entry.grid[i] = ENTRY_OF(struct kc__variant, p->variant)->dims.grid[i];
	kc_journal_put(kc__shim.journal, KC_KIND_LAMBDA, &entry, sizeof(entry));
}

void kc__learn_begin(void)
{
	kc__shim.engine.driver = (struct kc_engine_driver){lock, unlock, published, NULL};
	kc__shim.engine.states = 0;
	atomic_store(&kc__shim.engine.events, 0);
}

void kc__learn_event(enum kc_order_event kind, const struct kc__kernel *kernel)
{
	const struct kc_event_entry entry = {
	    .number = kc_engine_event(&kc__shim.engine),
	    .kind = kind,
	    .kernel = kernel ? kernel->id : 0,
	    .time_ns = kc__now_ns(),
	};

	kc_journal_put(kc__shim.journal, KC_KIND_EVENT, &entry, sizeof(entry));
}

/* Whose this launch is now: once the code is read, a launch made before belongs to the variant with its arguments. */
static struct kc__variant *current_variant(const struct kc_launch *launch)
{
	struct kc__variant *variant =
	    atomic_load_explicit(&kc__shim.variant_by_id[launch->variant], memory_order_acquire);

	if (!variant) /* the launch could not be predicted */
		return NULL;
	pthread_mutex_lock(&kc__shim.tables_lock);
	if (variant->successor)
		variant = variant->successor;
	pthread_mutex_unlock(&kc__shim.tables_lock);
	return variant;
}

static struct kc_engine_launch engine_launch(const struct kc_launch *launch)
{
	struct kc_engine_launch kept = {
	    .context = launch->context,
	    .meeting = launch->meeting,
	    .solo_ns = launch->solo_ns,
	    .slowdown = launch->slowdown,
	    .contended = launch->contended,
	};

	kc_engine_interval(launch->solo_low_ns, launch->solo_high_ns, launch->slowdown, &kept);
	return kept;
}

static int64_t measured_ns(const struct kc_launch *launch)
{
	return launch->measured_end_ns - launch->measured_start_ns;
}

/* The event that has just been taken in, counted from an earlier one. */
static uint32_t event_after(uint64_t earlier)
{
	return (uint32_t)(kc_engine_event(&kc__shim.engine) - earlier);
}

/* The device's lock is held. */
static void correct_timeline(uint32_t stream_id, uint32_t ticket, int64_t start_ns, int64_t end_ns)
{
	struct kc__stream *stream = stream_id < KC__STREAM_IDS_MAX
					? atomic_load_explicit(&kc__shim.stream_by_id[stream_id], memory_order_acquire)
					: NULL;

	if (stream && ticket && stream->id == stream_id)
		kc_timeline_measured(stream->device->timeline, stream->lane, ticket, start_ns, end_ns);
}

/* With the device's lock held, so that a prediction uses all of an event or nothing of it. */
void kc__learn_measured(struct kc_launch *launch)
{
	pthread_mutex_t *device_lock = &kc__shim.devices[launch->device].lock;
	struct kc__variant *variant = current_variant(launch);
	struct kc_engine_launch kept = engine_launch(launch);
	struct kc_outcome outcome;
	bool teaches =
	    variant && kc_engine_weigh(&kc__shim.engine, &variant->engine, &kept, measured_ns(launch), &outcome);

	pthread_mutex_lock(device_lock);
	correct_timeline(launch->stream, launch->ticket, launch->measured_start_ns, launch->measured_end_ns);
	if (teaches)
		kc_engine_measured(&variant->engine, &outcome);
	launch->order.measured_after = event_after(launch->order.known);
	pthread_mutex_unlock(device_lock);
}

struct kc_load kc__learn_load(const struct kc_launch *launch)
{
	const struct kc__variant *variant = current_variant(launch);

	return variant ? kc_engine_load(&variant->engine, launch->solo_ns) : (struct kc_load){{0}};
}

void kc__learn_decided(struct kc_launch *launch, const struct kc_load *met)
{
	struct kc__variant *first =
	    atomic_load_explicit(&kc__shim.variant_by_id[launch->variant], memory_order_acquire);
	struct kc_engine_launch kept = engine_launch(launch);
	pthread_mutex_t *device_lock = &kc__shim.devices[launch->device].lock;
	struct kc_lesson lesson;
	int64_t solo_ns = 0;
	struct kc__variant *variant;

	/* The first launch of a variant also counts as a size, once its code is read. */
	if (first && launch->overlap == KC_OVERLAP_NONE)
		kc__early_measured(first, launch->predicted_at_ns, measured_ns(launch));
	variant = current_variant(launch);
	if (variant)
		solo_ns = kc_engine_decided(&kc__shim.engine, &variant->engine, &kept, launch->overlap, met,
					    measured_ns(launch), &lesson);
	pthread_mutex_lock(device_lock);
	kc_engine_contended(&lesson, solo_ns);
	launch->order.decided_after = event_after(launch->order.known + launch->order.measured_after);
	pthread_mutex_unlock(device_lock);
}

void kc__learn_transfer(struct kc_transfer *transfer)
{
	struct kc__device *device = &kc__shim.devices[transfer->device];

	pthread_mutex_lock(&device->lock);
	correct_timeline(transfer->stream, transfer->ticket, transfer->measured_start_ns, transfer->measured_end_ns);
	kc_engine_copy_measured(&device->engine, transfer->kind, transfer->bytes,
				transfer->measured_end_ns - transfer->measured_start_ns);
	transfer->order.measured_after = event_after(transfer->order.known);
	pthread_mutex_unlock(&device->lock);
}

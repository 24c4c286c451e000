/*
 * The shim as a driver of the engine (predictor/engine.h): its lock, the history
 * of λ that it records, and the launches that are told what became of them.
 */
#include "shim/calls/launch.h"
#include "shim/code/formulas.h"
#include "shim/worker/cupti/measuring.h"
#include "windows.h"
#include "shim/code/early.h"
#include "shim/tables/streams.h"
#include "learn.h"

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

/* What an event has published: the journal gets it when no launch waits any more, unless it is more than there is room
 * for. kc__shim.learning. */
static struct {
	struct kc_lambda_entry at[16];
	int64_t time_ns; /* read before the locks of devices */
	uint32_t count;
} history;

/* An entry that fits a slot. */
static int put(uint32_t kind, const void *entry, size_t bytes)
{
	int error = kc_journal_put(kc__shim.journal, kind, entry, bytes);

	if (!error)
		kc__windows_put();
	return error;
}

static void put_history(void)
{
	for (uint32_t i = 0; i < history.count && !kc__shim.choosing; i++) { /* of every launch: too much then */
		history.at[i].time_ns = history.time_ns;
		put(KC_KIND_LAMBDA, &history.at[i], sizeof(history.at[i]));
	}
	history.count = 0;
}

static void published(const struct kc_engine_publication *p, void *unused)
{
	struct kc_lambda_entry *entry;

	(void)unused;
	if (history.count == sizeof(history.at) / sizeof(*history.at))
		put_history();
	entry = &history.at[history.count++];
	*entry = (struct kc_lambda_entry){
	    .level = p->model,
	    .device = ENTRY_OF(struct kc__device, p->device)->ordinal,
	    .state = p->belief.state,
	    .count = p->belief.count,
	    .log_value = p->lambda->log_value,
	    .variance = p->lambda->variance,
	};
	if (p->key)
		fill_key(entry, ENTRY_OF(struct kc__key, p->key));
	for (int i = 0; p->variant && i < 3; i++)
		entry->grid[i] = ENTRY_OF(struct kc__variant, p->variant)->dims.grid[i];
}

/* An event begins. Until it ends no launch is predicted, so that a prediction uses all of it or nothing: about a
 * microsecond. Devices share what is known of contexts, so all of them wait. The engine's lock comes before theirs.
 * Returns the event's number: it is put down before the event ends, or a process that is killed then would leave
 * launches that know of an event and no event. */
static uint64_t begin_event(void)
{
	pthread_mutex_lock(&kc__shim.learning);
	history.time_ns = kc__now_ns();
	pthread_mutex_lock(&kc__shim.tables_lock);
	for (int i = 0; i < kc__shim.device_count; i++)
		kc__lock(&kc__shim.devices[i].lock);
	return kc_engine_known(&kc__shim.engine) + 1;
}

static void let_go(void)
{
	for (int i = 0; i < kc__shim.device_count; i++)
		kc__unlock(&kc__shim.devices[i].lock);
	pthread_mutex_unlock(&kc__shim.tables_lock);
	put_history();
	pthread_mutex_unlock(&kc__shim.learning);
}

static void end_event(void)
{
	kc_engine_event(&kc__shim.engine);
	let_go();
}

static void put_event(enum kc_order_event kind, const struct kc__kernel *kernel, uint64_t number)
{
	const struct kc_event_entry entry = {
	    .number = number,
	    .kind = kind,
	    .kernel = kernel ? kernel->id : 0,
	    .time_ns = kc__now_ns(),
	    .device = kernel ? kernel->device->ordinal : 0,
	};

	if (put(KC_KIND_EVENT, &entry, sizeof(entry)))
		kc__count(KC_COUNT_EVENTS_DROPPED);
}

void kc__learn_begin(void)
{
	kc__shim.engine.driver = (struct kc_engine_driver){lock, unlock, published, NULL};
	kc__shim.engine.states = 0;
	history.count = 0;
	atomic_store(&kc__shim.engine.events, 0);
}

void kc__learn_past(void)
{
	put_event(KC_EVENT_PAST, NULL, kc_engine_known(&kc__shim.engine) + 1);
	kc_engine_event(&kc__shim.engine);
}

void kc__learn_formula(struct kc__kernel *kernel, struct kc__formula *formula, const struct kc__early *prepared)
{
	uint64_t number = begin_event();

	kc__early_prepare_rest(kernel, formula, prepared);
	kc__early_succeed(kernel);
	atomic_store_explicit(&kernel->formula, formula, memory_order_release);
	atomic_fetch_add(&kc__shim.formulas, 1);
	put_event(KC_EVENT_FORMULA, kernel, number);
	end_event();
}

void kc__learn_sizes(struct kc__kernel *kernel)
{
	uint64_t number = begin_event();

	kc__early_teach_all(kernel);
	put_event(KC_EVENT_SIZE, kernel, number);
	end_event();
}

static struct kc__variant *variant_of(const struct kc_launch *launch)
{
	return atomic_load_explicit(&kc__shim.variant_by_id[launch->variant], memory_order_acquire);
}

/* Whose this launch is now: once the code is read, a launch made before belongs to the variant with its arguments.
 * Those of the first launch of a shape are known; later ones may have had others, where any matter. Successors are made
 * before the event by which the formula is known: until then nothing is theirs. NULL: the launch could not be
 * predicted. Within an event, or tables_lock is held. */
static struct kc__variant *current_variant(const struct kc_launch *launch)
{
	struct kc__variant *variant = variant_of(launch), *successor;

	if (!variant || !atomic_load_explicit(&variant->kernel->formula, memory_order_acquire))
		return variant;
	successor = variant->successor;
	if (successor && (!successor->arguments || kc__early_is(variant, launch->predicted_at_ns)))
		return successor;
	return variant;
}

static struct kc_engine_launch engine_launch(const struct kc_launch *launch)
{
	return (struct kc_engine_launch){
	    .context = launch->context,
	    .known = launch->order.known,
	    .meeting = launch->meeting,
	    .solo_ns = launch->solo_ns,
	    .solo_low_ns = launch->solo_low_ns,
	    .solo_high_ns = launch->solo_high_ns,
	    .slowdown = launch->slowdown,
	    .contended = launch->contended,
	    .in_graph = launch->graph_launch != 0,
	};
}

static int64_t measured_ns(const struct kc_launch *launch)
{
	return launch->measured_end_ns - launch->measured_start_ns;
}

/* The device's lock is held. The stream may have been destroyed, and its handle be another stream's by now. */
static void correct_timeline(struct kc__device *device, uint32_t stream_id, uint32_t ticket, int64_t start_ns,
			     int64_t end_ns)
{
	int lane = kc__stream_lane(stream_id);

	if (lane >= 0 && ticket)
		kc_timeline_measured(device->timeline, (uint32_t)lane, ticket, start_ns, end_ns);
}

static void note_first(const struct kc_launch *launch)
{
	struct kc__variant *made = variant_of(launch);

	if (!made || !made->awaits_first)
		return;
	made->awaits_first = false;
	kc__flush_shape_measured();
}

void kc__learn_measured(struct kc_launch *launch)
{
	struct kc__device *device = &kc__shim.devices[launch->device];
	struct kc_engine_launch kept = engine_launch(launch);
	struct kc__variant *variant;
	int64_t low_ns, high_ns;
	uint64_t number;

	note_first(launch);
	number = begin_event();
	variant = current_variant(launch);
	correct_timeline(device, launch->stream, launch->ticket, launch->measured_start_ns, launch->measured_end_ns);
	if (variant)
		kc_engine_measured(&kc__shim.engine, &variant->engine, &kept, measured_ns(launch));
	launch->order.measured_after = (uint32_t)(number - launch->order.known);
	end_event();
	kc_engine_interval(&kept, &low_ns, &high_ns);
	if (variant)
		kc__windows_measured(variant, launch, low_ns, high_ns);
}

struct kc_load kc__learn_load(const struct kc_launch *launch)
{
	const struct kc__variant *variant;

	pthread_mutex_lock(&kc__shim.tables_lock);
	variant = current_variant(launch);
	pthread_mutex_unlock(&kc__shim.tables_lock);
	return variant ? kc_engine_load(&variant->engine, launch->solo_ns) : (struct kc_load){{0}};
}

/* The first launch of a variant also counts as a size, once its code is read. What the code says of it may take long to
 * work out: that is done before the event, and again where the formula has become known until then. Formulas are held.
 * Returns the event's number. */
static uint64_t begin_as_size(struct kc__variant *first, const struct kc_launch *launch, bool *is_size)
{
	const struct kc__formula *formula;
	uint64_t number;

	for (;;) {
		formula = atomic_load_explicit(&first->kernel->formula, memory_order_acquire);
		*is_size = kc__early_measured(first, launch->predicted_at_ns, measured_ns(launch));
		number = begin_event();
		if (formula == atomic_load_explicit(&first->kernel->formula, memory_order_acquire))
			return number;
		let_go();
	}
}

void kc__learn_decided(struct kc_launch *launch, const struct kc_load *met)
{
	struct kc__variant *first = variant_of(launch), *variant;
	struct kc_engine_launch kept = engine_launch(launch);
	bool is_early, is_size = false;
	uint64_t number;

	if (launch->overlap == KC_OVERLAP_NONE && kc__windows_unclear(launch))
		launch->overlap = KC_OVERLAP_UNKNOWN;
	is_early = launch->overlap == KC_OVERLAP_NONE && first && first->early;
	if (is_early)
		kc__formulas_hold();
	number = is_early ? begin_as_size(first, launch, &is_size) : begin_event();
	if (is_size)
		kc__early_teach(first);
	variant = current_variant(launch);
	if (variant)
		kc_engine_decided(&kc__shim.engine, &variant->engine, &kept, launch->overlap, met, measured_ns(launch));
	launch->order.decided_after = (uint32_t)(number - launch->order.known - launch->order.measured_after);
	end_event();
	if (is_early)
		kc__formulas_release();
}

void kc__learn_graph(struct kc_graph_launch *launch)
{
	uint64_t number = begin_event();

	correct_timeline(&kc__shim.devices[launch->device], launch->stream, launch->ticket, launch->measured_start_ns,
			 launch->measured_end_ns);
	launch->measured_after = (uint32_t)(number - launch->known);
	end_event();
}

void kc__learn_transfer(struct kc_transfer *transfer)
{
	struct kc__device *device = &kc__shim.devices[transfer->device];
	uint64_t number = begin_event();

	correct_timeline(device, transfer->stream, transfer->ticket, transfer->measured_start_ns,
			 transfer->measured_end_ns);
	kc_engine_copy_measured(&device->engine, transfer->kind, transfer->bytes,
				transfer->measured_end_ns - transfer->measured_start_ns);
	transfer->order.measured_after = (uint32_t)(number - transfer->order.known);
	end_event();
}

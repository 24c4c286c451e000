/*
 * Streams, and executable graphs, by their handles.
 */
#include "shim/calls/launch.h"
#include "tables.h"
#include "shim/entry/real.h"
#include "streams.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOOK_NS 100000000ll /* for threads that have ended */

/* Which default stream a handle stands for; 0: it is a stream that the application made. */
static uint64_t default_stream(CUstream stream, bool per_thread)
{
	if (stream == NULL)
		return (uint64_t)(uintptr_t)(per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY);
	return stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD ? (uint64_t)(uintptr_t)stream : 0;
}

static struct kc__device *device_of_stream(CUstream stream, struct kc__device *current)
{
	__auto_type get_ctx = KC_ASK(cuStreamGetCtx);
	__auto_type push = KC_ASK(cuCtxPushCurrent_v2);
	__auto_type pop = KC_ASK(cuCtxPopCurrent_v2);
	__auto_type get_device = KC_ASK(cuCtxGetDevice);
	struct kc__device *device = NULL;
	CUcontext context = NULL;
	CUdevice handle;

	if (!get_ctx || !push || !pop || !get_device || get_ctx(stream, &context) != CUDA_SUCCESS)
		return current;
	if (push(context) != CUDA_SUCCESS)
		return current;
	if (get_device(&handle) == CUDA_SUCCESS)
		device = kc__device_of_handle(handle);
	pop(&context);
	return device;
}

static bool in_green_context(CUstream stream)
{
	__auto_type get = KC_ASK(cuStreamGetCtx_v2); /* 12.5 and later */
	CUcontext context = NULL;
	CUgreenCtx green = NULL;

	return get && get(stream, &context, &green) == CUDA_SUCCESS && green;
}

static void stream_properties(struct kc_stream_entry *entry, CUstream stream)
{
	__auto_type get_flags = KC_ASK(cuStreamGetFlags);
	__auto_type get_priority = KC_ASK(cuStreamGetPriority);
	unsigned flags = 0;
	int priority = 0;

	if (get_flags && get_flags(stream, &flags) == CUDA_SUCCESS)
		entry->flags = flags;
	if (get_priority && get_priority(stream, &priority) == CUDA_SUCCESS)
		entry->priority = priority;
	if (in_green_context(stream))
		atomic_store_explicit(&kc__shim.green_contexts, true, memory_order_relaxed);
	entry->kind = flags & CU_STREAM_NON_BLOCKING ? KC_STREAM_NONBLOCKING : KC_STREAM_BLOCKING;
}

/* tables_lock held. Of all devices: a lane of a timeline is 41 KiB. */
static uint32_t lanes_taken(void)
{
	uint32_t count = 0;

	for (int i = 0; i < kc__shim.device_count; i++)
		for (uint32_t k = 0; k < KC__LANES_MAX / 64; k++)
			count += (uint32_t)__builtin_popcountll(kc__shim.devices[i].lanes[k]);
	return count;
}

/* tables_lock held. When all lanes are taken, further streams share their device's last one. */
static uint32_t lane_take(struct kc__device *device)
{
	if (lanes_taken() >= KC__LANES_MAX)
		return KC__LANES_MAX - 1;
	for (uint32_t i = 0; i < KC__LANES_MAX / 64; i++)
		if (~device->lanes[i]) {
			uint32_t bit = (uint32_t)__builtin_ctzll(~device->lanes[i]);

			device->lanes[i] |= 1ull << bit;
			return i * 64 + bit;
		}
	return KC__LANES_MAX - 1;
}

void kc__put_stream_call(const struct kc__device *device, const struct kc__stream *stream,
			 enum kc_stream_call_kind kind, int64_t time_ns, int64_t ns)
{
	const struct kc_stream_call call = {
	    .time_ns = time_ns,
	    .ns = ns,
	    .known = kc_engine_known(&kc__shim.engine),
	    .kind = kind,
	    .stream = stream ? stream->id : 0,
	    .device = device->ordinal,
	};

	if (kc__shim.choosing) /* no replay can do the same without the launches that are not stored */
		return;
	if (kc_journal_note(kc__shim.journal, KC_KIND_STREAM_CALL, &call, sizeof(call)))
		kc__count(KC_COUNT_DROPPED_CALLS(kind));
}

/* tables_lock held. */
static struct kc__stream *_Atomic *place_of(uint32_t id)
{
	return &kc__shim.stream_by_id[id % KC__STREAM_PLACES];
}

/* tables_lock held. There are more places than streams. */
static uint32_t next_id(void)
{
	uint32_t id = kc__shim.stream_count;

	do
		id++;
	while (!id || *place_of(id));
	kc__shim.stream_count = id;
	return id;
}

struct kc__stream *kc__stream_by_id(uint32_t id)
{
	struct kc__stream *s = atomic_load_explicit(place_of(id), memory_order_acquire);

	return s && s->id == id ? s : NULL;
}

int kc__stream_lane(uint32_t id)
{
	uint64_t at = kc__shim.stream_lanes[id % KC__STREAM_PLACES];

	return at >> 8 == id ? (int)(at & 0xff) : -1;
}

static void stream_begin(struct kc__stream *s, struct kc__device *device, struct kc_stream_entry *entry, int64_t now_ns)
{
	uint32_t lane = lane_take(device);

	entry->device = device->ordinal;
	entry->lane = lane + 1;
	entry->id = next_id();
	kc_journal_put(kc__shim.journal, KC_KIND_STREAM, entry, sizeof(*entry));
	kc__lock(&device->lock);
	kc_timeline_stream(device->timeline, lane, (enum kc_stream_kind)entry->kind, entry->priority);
	s->device = device;
	s->lane = lane;
	s->id = entry->id;
	kc__shim.stream_lanes[entry->id % KC__STREAM_PLACES] = (uint64_t)entry->id << 8 | lane;
	kc__put_stream_call(device, s, KC_CALL_CREATE, kc__in_order(device, now_ns), 0);
	kc__unlock(&device->lock);
	s->thread = entry->per_thread;
	atomic_store_explicit(&s->gone, 0, memory_order_release);
	atomic_store_explicit(place_of(entry->id), s, memory_order_release);
}

/* tables_lock held. NULL: there is no room. */
static struct kc__stream *stream_fresh(const uint64_t *key)
{
	struct kc__stream *s = kc__shim.free_streams;

	if (!s)
		return kc__fresh(&kc__shim.streams, sizeof(*s), key, 2);
	kc__shim.free_streams = s->next;
	memset(&s->wait, 0, sizeof(s->wait));
	kc__set_key(s->key, key, 2);
	return s;
}

static struct kc__stream *stream_make(const uint64_t *key, struct kc__device *device, struct kc_stream_entry *entry)
{
	int64_t now_ns = kc__now_ns();
	struct kc__stream *s;

	pthread_mutex_lock(&kc__shim.tables_lock);
	s = kc__find(&kc__shim.streams, key, 2);
	if (!s && (s = stream_fresh(key))) {
		stream_begin(s, device, entry, now_ns);
		kc__insert(&kc__shim.streams, s, 2);
	}
	pthread_mutex_unlock(&kc__shim.tables_lock);
	return s;
}

/* One of the default streams. */
static struct kc__stream *default_stream_on(uint64_t special, CUstream stream, struct kc__device **on)
{
	struct kc_stream_entry entry = {.handle = (uint64_t)(uintptr_t)stream};
	struct kc__thread *t = &kc__thread;
	struct kc__device *device;
	struct kc__stream *s;
	CUcontext context;
	uint64_t key[2];

	*on = device = kc__current_device(t, &context);
	if (!device)
		return NULL;
	key[0] = special | (special == 2 ? (uint64_t)kc__thread_id(t) << 8 : 0);
	key[1] = (uint64_t)(uintptr_t)context;
	s = kc__find(&kc__shim.streams, key, 2);
	if (s)
		return s;
	entry.context = key[1];
	entry.per_thread = special == 2 ? kc__thread_id(t) : 0;
	entry.kind = special == 2 ? KC_STREAM_BLOCKING : KC_STREAM_LEGACY;
	return stream_make(key, device, &entry);
}

/* Of the application's own streams, one that was not seen to be made. */
static __attribute__((noinline, cold)) struct kc__stream *met_stream_on(CUstream stream, struct kc__device **on)
{
	struct kc_stream_entry entry = {.handle = (uint64_t)(uintptr_t)stream};
	uint64_t key[2] = {(uint64_t)(uintptr_t)stream, 0};
	struct kc__device *device;
	CUcontext context;

	*on = device = device_of_stream(stream, kc__current_device(&kc__thread, &context));
	if (!device)
		return NULL;
	stream_properties(&entry, stream);
	return stream_make(key, device, &entry);
}

__attribute__((hot)) struct kc__stream *kc__stream_on(CUstream stream, bool per_thread, struct kc__device **on)
{
	uint64_t special = default_stream(stream, per_thread);
	uint64_t key[2] = {(uint64_t)(uintptr_t)stream, 0};
	struct kc__stream *s;

	if (special)
		return default_stream_on(special, stream, on);
	s = kc__find(&kc__shim.streams, key, 2);
	if (!s || __builtin_expect(atomic_load_explicit(&s->gone, memory_order_relaxed), 0))
		return met_stream_on(stream, on);
	*on = s->device;
	return s;
}

struct kc__stream *kc__stream_of(CUstream stream, bool per_thread)
{
	struct kc__device *device;

	return kc__stream_on(stream, per_thread, &device);
}

void kc__stream_created(CUstream stream)
{
	int saved_errno = errno;

	kc__stream_of(stream, false);
	errno = saved_errno;
}

/* Nothing more is launched in it. */
static void end(struct kc__stream *s)
{
	int64_t now;

	if (atomic_exchange_explicit(&s->gone, 1, memory_order_acq_rel))
		return;
	now = kc__now_ns();
	kc__lock(&s->device->lock);
	kc_timeline_stream_gone(s->device->timeline, s->lane);
	kc__put_stream_call(s->device, s, KC_CALL_DESTROY, kc__in_order(s->device, now), 0);
	kc__unlock(&s->device->lock);
	pthread_mutex_lock(&kc__shim.tables_lock);
	s->device->lanes[s->lane / 64] &= ~(1ull << s->lane % 64);
	kc__remove(&kc__shim.streams, s, 2);
	s->gone_at = kc_journal_claimed(kc__shim.journal);
	s->next = kc__shim.gone_streams;
	kc__shim.gone_streams = s;
	pthread_mutex_unlock(&kc__shim.tables_lock);
}

void kc__stream_destroyed(CUstream stream)
{
	uint64_t key[2] = {(uint64_t)(uintptr_t)stream, 0};
	struct kc__stream *s = kc__find(&kc__shim.streams, key, 2);

	if (s)
		end(s);
}

/* Its number may be another's by now: then its stream is taken to be that one's, too. */
static bool has_ended(uint32_t thread)
{
	int saved_errno = errno;
	bool ended = syscall(SYS_tgkill, getpid(), thread, 0) && errno == ESRCH;

	errno = saved_errno;
	return ended;
}

static void end_those_of_ended_threads(void)
{
	for (uint32_t place = 0; place < KC__STREAM_PLACES; place++) {
		struct kc__stream *s = atomic_load_explicit(&kc__shim.stream_by_id[place], memory_order_acquire);

		if (s && s->thread && !s->gone && has_ended(s->thread))
			end(s);
	}
}

/* What awaits a measurement finds its stream by the id until then. */
static void free_those_not_awaited(uint64_t looked_at)
{
	struct kc__stream **link = &kc__shim.gone_streams, *s;

	pthread_mutex_lock(&kc__shim.tables_lock);
	while ((s = *link)) {
		if (s->gone_at > looked_at || s->wait.awaited.count) {
			link = &s->next;
			continue;
		}
		*link = s->next;
		s->next = kc__shim.free_streams;
		kc__shim.free_streams = s;
		atomic_store_explicit(place_of(s->id), NULL, memory_order_release);
		kc__let_go(&kc__shim.streams);
	}
	pthread_mutex_unlock(&kc__shim.tables_lock);
}

void kc__streams_give_back(uint64_t looked_at, int64_t now_ns)
{
	if (now_ns - kc__shim.streams_looked_at_ns >= LOOK_NS) {
		kc__shim.streams_looked_at_ns = now_ns;
		end_those_of_ended_threads();
	}
	free_those_not_awaited(looked_at);
}

/* tables_lock held. NULL: there is no room. */
static struct kc__graph *graph_fresh(const uint64_t *key)
{
	struct kc__graph *graph = kc__shim.free_graphs;

	if (!graph)
		return kc__fresh(&kc__shim.graphs, sizeof(*graph), key, 1);
	kc__shim.free_graphs = graph->next;
	kc__set_key(graph->key, key, 1);
	return graph;
}

void kc__graph_let_go(struct kc__graph *graph)
{
	pthread_mutex_lock(&kc__shim.tables_lock);
	kc__remove(&kc__shim.graphs, graph, 1);
	kc__let_go(&kc__shim.graphs);
	graph->next = kc__shim.free_graphs;
	kc__shim.free_graphs = graph;
	pthread_mutex_unlock(&kc__shim.tables_lock);
}

struct kc__graph *kc__graph_of(CUgraphExec exec, bool make)
{
	uint64_t key[1] = {(uint64_t)(uintptr_t)exec};
	struct kc__graph *graph = kc__find(&kc__shim.graphs, key, 1);

	if (graph || !make)
		return graph;
	pthread_mutex_lock(&kc__shim.tables_lock);
	graph = kc__find(&kc__shim.graphs, key, 1);
	if (!graph && (graph = graph_fresh(key)))
		kc__insert(&kc__shim.graphs, graph, 1);
	pthread_mutex_unlock(&kc__shim.tables_lock);
	return graph;
}

#include "tables.h"
#include "shim/entry/real.h"
#include "memory.h"
#include "streams.h"

#include <errno.h>
#include <stdio.h>

/*
 * Limits, in entries. A program that exceeds them is still recorded; a launch
 * without an entry is "table_full" in the ledger. Entries are in the arena, whose
 * limit is often reached first.
 */
enum {
	FUNCTIONS_MAX = 32768,
	KERNELS_MAX = 16384,
	SHAPES_MAX = KC__VARIANTS_MAX,
	STREAMS_MAX = KC__STREAM_PLACES / 2,
	HANDLES_MAX = 65536,
	GRAPHS_MAX = 16384,
	CODES_MAX = 8192,
};
#define ARENA_CHUNK_BYTES (256u << 10)
/* Kept for kernels that are launched again, in a program that has unloaded so many. */
#define RESERVE_BYTES (3u << 20)
#define RESERVE_KERNELS (KERNELS_MAX / 4)
#define UNLOADED_MANY 256

#define NOT_PREDICTED "are recorded, but not predicted"
static const struct {
	struct kc__table *table;
	uint32_t limit;
	const char *what, *without; /* an entry */
} tables[] = {
    {&kc__shim.functions, FUNCTIONS_MAX, "functions", "launches of further ones " NOT_PREDICTED},
    {&kc__shim.kernels, KERNELS_MAX, "kernels", "launches of further ones " NOT_PREDICTED},
    {&kc__shim.keys, SHAPES_MAX, "block shapes", "launches with further ones " NOT_PREDICTED},
    {&kc__shim.shapes, SHAPES_MAX, "launch shapes", "launches with further ones " NOT_PREDICTED},
    {&kc__shim.variants, SHAPES_MAX, "launch shapes with their arguments", "launches with further ones " NOT_PREDICTED},
    {&kc__shim.streams, STREAMS_MAX, "streams",
     "launches on further ones " NOT_PREDICTED ", and copies are not recorded"},
    {&kc__shim.handles, HANDLES_MAX, "handles of functions, modules and libraries",
     "the code of further ones is not read"},
    {&kc__shim.graphs, GRAPHS_MAX, "executable graphs", "launches of further ones are counted, but not recorded"},
    {&kc__shim.codes, CODES_MAX, "loaded images", "the code of further ones is not read"},
};
enum { TABLES = sizeof(tables) / sizeof(*tables) };

/* Eight bytes at a time, mixed like the keys. */
uint64_t kc__hash_bytes(uint64_t h, const void *bytes, size_t length)
{
	const char *p = bytes;
	uint64_t word;

	for (; length >= sizeof(word); p += sizeof(word), length -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		h = (h ^ word) * 0x9E3779B97F4A7C15u;
		h ^= h >> 29;
	}
	word = 0;
	memcpy(&word, p, length);
	return (h ^ word) * 0x9E3779B97F4A7C15u;
}

static char *new_chunk(size_t bytes)
{
	struct kc__arena *arena = &kc__shim.arena;
	char *p = kc__share_take(KC__SHARE_ENTRIES, bytes) ? kc__map_root(bytes) : NULL;

	if (p)
		arena->total_bytes += bytes;
	return p;
}

void *kc__arena(size_t bytes)
{
	struct kc__arena *arena = &kc__shim.arena;
	char *p;

	bytes = (bytes + 63) & ~(size_t)63;
	if (bytes > arena->left_bytes) {
		size_t chunk = bytes > ARENA_CHUNK_BYTES ? bytes : ARENA_CHUNK_BYTES;

		if (!(p = new_chunk(chunk))) {
			atomic_store_explicit(&arena->full.reached, true, memory_order_relaxed);
			return NULL;
		}
		arena->at = p;
		arena->left_bytes = chunk;
	}
	p = arena->at;
	arena->at += bytes;
	arena->left_bytes -= bytes;
	return p;
}

static bool has_been_reached(const struct kc__limit *full)
{
	return atomic_load_explicit(&full->reached, memory_order_relaxed);
}

bool kc__entries_are_scarce(void)
{
	bool scarce =
	    kc__shim.functions_gone >= UNLOADED_MANY && (kc__share_left(KC__SHARE_ENTRIES) < RESERVE_BYTES ||
							 kc__shim.kernels.count >= KERNELS_MAX - RESERVE_KERNELS);

	if (scarce)
		atomic_store_explicit(&kc__shim.arena.scarce.reached, true, memory_order_relaxed);
	return scarce;
}

bool kc__tables_have_kept_loads(void)
{
	return !has_been_reached(&kc__shim.arena.full) && !has_been_reached(&kc__shim.codes.full) &&
	       !has_been_reached(&kc__shim.handles.full);
}

static int table_init(struct kc__table *t, uint32_t limit)
{
	t->mask = limit * 2 - 1;
	t->limit = limit;
	t->count = 0;
	atomic_store(&t->full.reached, false);
	t->full.said = false;
	t->slots = kc__map((size_t)limit * 2 * sizeof(*t->slots));
	return t->slots ? 0 : -ENOMEM;
}

int kc__tables_init(void)
{
	kc__shares_begin();
	memset(&kc__shim.arena, 0, sizeof(kc__shim.arena)); /* that of a parent stays mapped */
	for (int i = 0; i < TABLES; i++)
		if (table_init(tables[i].table, tables[i].limit))
			return -ENOMEM;
	if (kc__events_init() || kc__deep_begin())
		return -ENOMEM;
	kc__shim.variant_by_id = kc__map((KC__VARIANTS_MAX + 1) * sizeof(*kc__shim.variant_by_id));
	kc__shim.stream_by_id = kc__map(KC__STREAM_PLACES * sizeof(*kc__shim.stream_by_id));
	kc__shim.stream_lanes = kc__map(KC__STREAM_PLACES * sizeof(*kc__shim.stream_lanes));
	kc__shim.gone_streams = kc__shim.free_streams = NULL;
	kc__shim.free_graphs = NULL;
	kc__shim.free_functions = NULL;
	kc__shim.functions_gone = 0;
	kc__shim.free_handles = NULL;
	kc__shim.engine.cells = kc__map(kc_cells_bytes());
	if (!kc__shim.variant_by_id || !kc__shim.stream_by_id || !kc__shim.stream_lanes || !kc__shim.engine.cells)
		return -ENOMEM;
	kc_cells_init(kc__shim.engine.cells);
	return 0;
}

/* In the place of an entry that was removed, as searches must go on behind it. No key has all bits set. */
static uint64_t removed[] = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};

static void *there(const struct kc__table *t, uint32_t at)
{
	return atomic_load_explicit(&t->slots[at & t->mask], memory_order_relaxed);
}

void kc__insert(struct kc__table *t, void *entry, int words)
{
	uint32_t at = (uint32_t)kc__mix(entry, words) & t->mask;

	while (there(t, at) && there(t, at) != removed)
		at = (at + 1) & t->mask;
	atomic_store_explicit(&t->slots[at], entry, memory_order_release);
	t->count++;
}

void kc__remove(struct kc__table *t, const void *entry, int words)
{
	uint32_t at = (uint32_t)kc__mix(entry, words) & t->mask;

	while (there(t, at) && there(t, at) != entry)
		at = (at + 1) & t->mask;
	if (!there(t, at))
		return;
	atomic_store_explicit(&t->slots[at], removed, memory_order_relaxed);
	/* Where a search ends behind it, it may end here. */
	for (; there(t, at) == removed && !there(t, at + 1); at = (at - 1) & t->mask)
		atomic_store_explicit(&t->slots[at], NULL, memory_order_relaxed);
}

void kc__let_go(struct kc__table *t)
{
	t->count--;
}

void kc__set_key(void *entry, const uint64_t *key, int words)
{
	for (int i = 0; i < words; i++)
		__atomic_store_n((uint64_t *)entry + i, key[i], __ATOMIC_RELAXED);
}

void *kc__fresh(struct kc__table *t, size_t bytes, const uint64_t *key, int words)
{
	void *entry = NULL;

	if (t->count < t->limit)
		entry = kc__arena(bytes);
	else
		atomic_store_explicit(&t->full.reached, true, memory_order_relaxed);
	if (entry)
		kc__set_key(entry, key, words);
	return entry;
}

/* A number as messages show it: 16,384. */
static const char *grouped(uint32_t n, char text[16])
{
	if (n < 1000)
		snprintf(text, 16, "%u", n);
	else
		snprintf(text, 16, "%u,%03u", n / 1000, n % 1000);
	return text;
}

static void say_arena(const char *without)
{
	char text[256], kernels[16], shapes[16], streams[16];
	uint32_t counts[3];
	size_t bytes;

	pthread_mutex_lock(&kc__shim.tables_lock);
	counts[0] = kc__shim.kernels.count;
	counts[1] = kc__shim.variants.count;
	counts[2] = kc__shim.streams.count;
	bytes = kc__shim.arena.total_bytes;
	pthread_mutex_unlock(&kc__shim.tables_lock);
	snprintf(text, sizeof(text),
		 "%u MiB for what is known of the program (kernels: %s, launch shapes: %s, streams: %s); "
		 "%s " NOT_PREDICTED,
		 (unsigned)(bytes >> 20), grouped(counts[0], kernels), grouped(counts[1], shapes),
		 grouped(counts[2], streams), without);
	kc__say_again(KC_MESSAGE_TABLE_FULL, text);
}

/* Whether a limit has been reached that has not been said yet. */
static bool to_be_said(struct kc__limit *full)
{
	bool news = atomic_load_explicit(&full->reached, memory_order_relaxed) && !full->said;

	full->said |= news;
	return news;
}

static void say_full(struct kc__limit *full, uint32_t limit, const char *what, const char *without)
{
	char text[256], number[16];

	if (!to_be_said(full))
		return;
	snprintf(text, sizeof(text), "%s %s; %s", grouped(limit, number), what, without);
	kc__say_again(KC_MESSAGE_TABLE_FULL, text);
}

void kc__tables_say_full(void)
{
	if (to_be_said(&kc__shim.arena.scarce))
		say_arena("the first launches of further kernels");
	if (to_be_said(&kc__shim.arena.full))
		say_arena("launches of anything new");
	for (int i = 0; i < TABLES; i++)
		say_full(&tables[i].table->full, tables[i].limit, tables[i].what, tables[i].without);
	say_full(&kc__shim.events_full, KC__EVENTS_MAX, "events",
		 "what waits for further ones is predicted to begin too early");
}

char *kc__keep_text(const char *text)
{
	size_t n = strlen(text) + 1;
	char *copy = kc__arena(n);

	return copy ? memcpy(copy, text, n) : NULL;
}

/* Contexts and devices */

struct kc__device *kc__device_of_handle(CUdevice handle)
{
	for (int i = 0; i < kc__shim.device_count; i++)
		if (kc__shim.devices[i].handle == handle)
			return kc__shim.devices[i].known ? &kc__shim.devices[i] : NULL;
	return NULL;
}

void kc__context_ends(void)
{
	atomic_fetch_add_explicit(&kc__shim.context_generation, 1, memory_order_relaxed);
	atomic_store_explicit(&kc__shim.last_context, NULL, memory_order_relaxed);
}

struct kc__device *kc__current_device(struct kc__thread *t, CUcontext *context)
{
	static __typeof__(&cuCtxGetCurrent) _Atomic get_current;
	static __typeof__(&cuCtxGetDevice) _Atomic get_device;
	uint32_t generation = atomic_load_explicit(&kc__shim.context_generation, memory_order_relaxed);
	__auto_type current_of = atomic_load_explicit(&get_current, memory_order_relaxed);
	__auto_type device_of = atomic_load_explicit(&get_device, memory_order_relaxed);
	CUcontext current = NULL;
	CUdevice handle;

	if (!current_of || !device_of) {
		get_current = current_of = KC_ASK(cuCtxGetCurrent);
		get_device = device_of = KC_ASK(cuCtxGetDevice);
	}
	*context = NULL;
	if (!current_of || !device_of || current_of(&current) != CUDA_SUCCESS || !current)
		return NULL;
	*context = current;
	if (t->context != current || t->context_generation != generation || !t->device) {
		t->device = device_of(&handle) == CUDA_SUCCESS ? kc__device_of_handle(handle) : NULL;
		t->context = current;
		atomic_store_explicit(&kc__shim.last_context, current, memory_order_relaxed);
		t->context_generation = generation;
	}
	return t->device;
}

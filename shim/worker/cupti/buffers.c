#include "shim/shim.h"
#include "shim/tables/memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

/* Of a kernel's record: 216 in CUDA 13.0, and it has grown from version to version. Others are shorter. */
#define RECORD_BYTES 256u
#define SMALLEST_BYTES 1024u /* that CUPTI is given: a few records */
#define MARK 0x6b636266u     /* of a buffer's head */
#define MANY 64u             /* launches for which one request is no burden */

#define WAIT_MOST_NS 200000000ll /* of a buffer, from its return until it is read */
#define LATE_NS 500000000ll      /* for so long: a worker that has stood still catches up sooner */
#define RAISE_NS 50000000ll      /* between two steps by which the limit is raised */
#define LIMIT_LEAST_BYTES (1u << 20)

/* Memory comes in three sizes. The larger ones leave some for the smaller, which are for threads that launch little:
 * a server has hundreds of those, and each holds a buffer. */
static const struct {
	size_t memory_bytes;
	size_t left_bytes; /* to smaller ones */
	uint32_t ready;    /* kept ready */
} sizes[] = {
    {4u << 10, 0, 32},
    {32u << 10, 4u << 20, 4},
    {128u << 10, 8u << 20, 2},
};
enum { SIZES = sizeof(sizes) / sizeof(*sizes), HEAD_BYTES = (sizeof(struct kc__buffer) + 63) & ~63ul };

static struct {
	pthread_mutex_t lock; /* never across a call of CUPTI or the system */
	struct kc__buffer *spare[SIZES], *delivered, **delivered_end;
	uint32_t spares[SIZES];
	size_t made_bytes, used_bytes; /* used: by CUPTI, or to be read */
	/* Of those that are used, while they come back faster than they are read. */
	size_t limit_bytes;
	int64_t raised_ns;    /* when it was raised last */
	int64_t late_ns;      /* since when they have waited for too long; 0: they do not */
	bool late;            /* that has been for long enough, and there was no memory */
	_Atomic bool refused; /* there was no memory, since they began to wait for too long */
	bool clear;
	_Atomic bool exhausted;
} buffers = {.lock = PTHREAD_MUTEX_INITIALIZER, .delivered_end = &buffers.delivered, .limit_bytes = KC__BUFFERS_BYTES};

uint32_t kc__launch_rate(struct kc__launch_rate *rate, uint64_t made, int64_t now_ns)
{
	uint64_t count = made - rate->since, most = sizes[SIZES - 1].memory_bytes / RECORD_BYTES;
	int64_t elapsed_ns = now_ns - rate->since_ns;

	if (count > most)
		count = most;
	if (elapsed_ns >= KC__FILL_NS) {
		rate->records = (uint32_t)((int64_t)count * KC__FILL_NS / elapsed_ns);
		rate->since_ns = now_ns;
		rate->since = made;
	}
	return 2 * count > rate->records && elapsed_ns < KC__FILL_NS ? (uint32_t)(2 * count) : rate->records;
}

static int size_of(size_t bytes)
{
	int i = 0;

	while (i < SIZES - 1 && bytes + HEAD_BYTES > sizes[i].memory_bytes)
		i++;
	return i;
}

uint8_t *kc__buffer_at(struct kc__buffer *buffer)
{
	return (uint8_t *)buffer + HEAD_BYTES;
}

static struct kc__buffer *take_spare(int size)
{
	struct kc__buffer *buffer;

	pthread_mutex_lock(&buffers.lock);
	buffer = buffers.spare[size];
	if (buffer) {
		buffers.spare[size] = buffer->next;
		buffers.spares[size]--;
	}
	pthread_mutex_unlock(&buffers.lock);
	return buffer;
}

static void put_spare(struct kc__buffer *buffer)
{
	int size = size_of(buffer->memory_bytes - HEAD_BYTES);

	pthread_mutex_lock(&buffers.lock);
	buffer->next = buffers.spare[size];
	buffers.spare[size] = buffer;
	buffers.spares[size]++;
	pthread_mutex_unlock(&buffers.lock);
}

static bool reserve(int size)
{
	bool fits;

	pthread_mutex_lock(&buffers.lock);
	fits = buffers.made_bytes + sizes[size].memory_bytes + sizes[size].left_bytes <= KC__BUFFERS_BYTES &&
	       kc__share_left(KC__SHARE_BUFFERS) >= sizes[size].memory_bytes + sizes[size].left_bytes &&
	       kc__share_take(KC__SHARE_BUFFERS, sizes[size].memory_bytes);
	if (fits)
		buffers.made_bytes += sizes[size].memory_bytes;
	pthread_mutex_unlock(&buffers.lock);
	return fits;
}

/* flags: MAP_POPULATE, so that no page is missing when CUPTI writes to it, or 0 */
static struct kc__buffer *make(int size, int flags)
{
	struct kc__buffer *buffer;

	if (!reserve(size))
		return NULL;
	buffer =
	    mmap(NULL, sizes[size].memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
	if (buffer == MAP_FAILED) {
		pthread_mutex_lock(&buffers.lock);
		buffers.made_bytes -= sizes[size].memory_bytes;
		pthread_mutex_unlock(&buffers.lock);
		kc__share_give(KC__SHARE_BUFFERS, sizes[size].memory_bytes);
		return NULL;
	}
	buffer->memory_bytes = sizes[size].memory_bytes;
	buffer->mark = MARK;
	return buffer;
}

/* One of this size, or else a larger one that is ready, or else a smaller one. */
static struct kc__buffer *find(int wanted)
{
	struct kc__buffer *buffer = take_spare(wanted);

	if (!buffer)
		buffer = make(wanted, 0);
	for (int size = wanted + 1; !buffer && size < SIZES; size++)
		buffer = take_spare(size);
	for (int size = wanted - 1; !buffer && size >= 0; size--) {
		buffer = take_spare(size);
		if (!buffer)
			buffer = make(size, 0);
	}
	return buffer;
}

static bool is_limited(void)
{
	return __atomic_load_n(&buffers.limit_bytes, __ATOMIC_RELAXED) < KC__BUFFERS_BYTES;
}

/* Threads that launch little get theirs in any case. */
static bool exceeds_limit(int size)
{
	bool exceeds;

	if (!size || !is_limited())
		return false;
	pthread_mutex_lock(&buffers.lock);
	exceeds = buffers.used_bytes + sizes[size].memory_bytes > buffers.limit_bytes;
	pthread_mutex_unlock(&buffers.lock);
	return exceeds;
}

static void count_used(size_t bytes)
{
	pthread_mutex_lock(&buffers.lock);
	buffers.used_bytes += bytes;
	pthread_mutex_unlock(&buffers.lock);
}

/* lock held */
static void set_limit(size_t bytes)
{
	bytes = bytes < LIMIT_LEAST_BYTES ? LIMIT_LEAST_BYTES : bytes;
	bytes = bytes > KC__BUFFERS_BYTES ? KC__BUFFERS_BYTES : bytes;
	__atomic_store_n(&buffers.limit_bytes, bytes, __ATOMIC_RELAXED);
}

/* While they are late, one is handed out for two that have been read. */
static void no_longer_used(size_t bytes)
{
	pthread_mutex_lock(&buffers.lock);
	buffers.used_bytes -= bytes;
	if (buffers.late)
		set_limit(buffers.limit_bytes - bytes / 2);
	pthread_mutex_unlock(&buffers.lock);
}

bool kc__buffers_waited(int64_t waited_ns, int64_t now_ns)
{
	bool late;

	pthread_mutex_lock(&buffers.lock);
	if (waited_ns <= WAIT_MOST_NS) {
		buffers.late_ns = 0;
		buffers.refused = false;
	} else if (!buffers.late_ns) {
		buffers.late_ns = now_ns;
	}
	late = buffers.late_ns && now_ns - buffers.late_ns >= LATE_NS && buffers.refused;
	if (late && !buffers.late && buffers.used_bytes < buffers.limit_bytes)
		set_limit(buffers.used_bytes);
	buffers.late = late;
	if (waited_ns < WAIT_MOST_NS / 2 && now_ns - buffers.raised_ns >= RAISE_NS) {
		set_limit(buffers.limit_bytes + buffers.limit_bytes / 8);
		buffers.raised_ns = now_ns;
	}
	pthread_mutex_unlock(&buffers.lock);
	return late && waited_ns > LATE_NS;
}

uint8_t *kc__buffer_take(uint32_t records, size_t *bytes)
{
	size_t most = sizes[is_limited() ? SIZES - 2 : SIZES - 1].memory_bytes - HEAD_BYTES, wanted, room;
	struct kc__buffer *buffer;

	/* The sooner it is full the better, if only CUPTI does not ask too often. */
	if (records > MANY)
		records = records / 2 > MANY ? records / 2 : MANY;
	wanted = (size_t)records * RECORD_BYTES;
	wanted = wanted < SMALLEST_BYTES ? SMALLEST_BYTES : wanted > most ? most : wanted;
	buffer = exceeds_limit(size_of(wanted)) ? NULL : find(size_of(wanted));
	if (!buffer) {
		atomic_store_explicit(&buffers.exhausted, true, memory_order_relaxed);
		atomic_store_explicit(&buffers.refused, true, memory_order_relaxed);
		return NULL;
	}
	count_used(buffer->memory_bytes);
	room = buffer->memory_bytes - HEAD_BYTES;
	buffer->bytes = *bytes = wanted < room ? wanted : room;
	return kc__buffer_at(buffer);
}

/* Two requests at once would share it: their records mix, and nobody reads them. */
static struct {
	struct kc__buffer head;
	uint8_t records[KC__EXCESS_BYTES - HEAD_BYTES] __attribute__((aligned(64)));
} last_resort __attribute__((aligned(64))) = {.head = {.excess = true, .mark = MARK}};
_Static_assert(offsetof(__typeof__(last_resort), records) == HEAD_BYTES, "as kc__buffer_at() has it");

uint8_t *kc__buffer_take_excess(bool mapped, size_t *bytes)
{
	struct kc__buffer *buffer = MAP_FAILED;

	if (mapped)
		buffer = mmap(NULL, KC__EXCESS_BYTES, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (buffer == MAP_FAILED)
		buffer = &last_resort.head;
	else
		*buffer = (struct kc__buffer){.excess = true, .mark = MARK};
	*bytes = KC__EXCESS_BYTES - HEAD_BYTES;
	return kc__buffer_at(buffer);
}

/* The head is in the page of the address, or there is none. */
bool kc__buffer_is_ours(const uint8_t *at)
{
	return at == last_resort.records || ((uintptr_t)at % KC__PAGE_BYTES == HEAD_BYTES &&
					     ((const struct kc__buffer *)(at - HEAD_BYTES))->mark == MARK);
}

bool kc__buffer_is_excess(const uint8_t *at, bool *readable)
{
	*readable = at != last_resort.records;
	return ((const struct kc__buffer *)(at - HEAD_BYTES))->excess;
}

void kc__buffer_drop_excess(uint8_t *at)
{
	if (at != last_resort.records)
		munmap(at - HEAD_BYTES, KC__EXCESS_BYTES);
}

void kc__buffer_delivered(uint8_t *at, size_t valid_bytes, void *context, uint32_t stream, bool forced, int64_t now_ns)
{
	struct kc__buffer *buffer = (struct kc__buffer *)(at - HEAD_BYTES);

	buffer->delivered_ns = now_ns;
	buffer->valid_bytes = valid_bytes;
	buffer->context = context;
	buffer->stream = stream;
	buffer->forced = forced;
	buffer->next = NULL;
	pthread_mutex_lock(&buffers.lock);
	*buffers.delivered_end = buffer;
	buffers.delivered_end = &buffer->next;
	pthread_mutex_unlock(&buffers.lock);
}

struct kc__buffer *kc__buffer_next_delivered(void)
{
	struct kc__buffer *buffer;

	pthread_mutex_lock(&buffers.lock);
	buffer = buffers.delivered;
	if (buffer)
		buffers.delivered = buffer->next;
	if (!buffers.delivered)
		buffers.delivered_end = &buffers.delivered;
	pthread_mutex_unlock(&buffers.lock);
	return buffer;
}

bool kc__buffers_wait(void)
{
	bool waits;

	pthread_mutex_lock(&buffers.lock);
	waits = buffers.delivered != NULL;
	pthread_mutex_unlock(&buffers.lock);
	return waits;
}

void kc__buffer_give_back(struct kc__buffer *buffer)
{
	if (buffers.clear)
		memset(kc__buffer_at(buffer), 0, buffer->bytes);
	no_longer_used(buffer->memory_bytes);
	put_spare(buffer);
}

void kc__buffers_prepare(void)
{
	struct kc__buffer *buffer;
	uint32_t spares[SIZES];

	pthread_mutex_lock(&buffers.lock);
	memcpy(spares, buffers.spares, sizeof(spares));
	pthread_mutex_unlock(&buffers.lock);
	for (int size = 0; size < SIZES; size++)
		for (uint32_t n = spares[size]; n < sizes[size].ready && (buffer = make(size, MAP_POPULATE)); n++)
			put_spare(buffer);
}

bool kc__buffers_exhausted(void)
{
	return atomic_load_explicit(&buffers.exhausted, memory_order_relaxed);
}

void kc__buffers_begin(bool clear)
{
	buffers.clear = clear;
	kc__buffers_prepare();
}

void kc__buffers_forget(void)
{
	pthread_mutex_init(&buffers.lock, NULL);
	memset(buffers.spare, 0, sizeof(buffers.spare));
	memset(buffers.spares, 0, sizeof(buffers.spares));
	buffers.delivered = NULL;
	buffers.delivered_end = &buffers.delivered;
	kc__share_give(KC__SHARE_BUFFERS, buffers.made_bytes);
	buffers.made_bytes = buffers.used_bytes = 0;
	buffers.limit_bytes = KC__BUFFERS_BYTES;
	buffers.raised_ns = buffers.late_ns = 0;
	buffers.late = false;
	buffers.refused = false;
	atomic_store(&buffers.exhausted, false);
}

#include "context.h"

#define PART_BITS KC_CONTEXT_PART_BITS
#define SINCE_SHIFT ((KC_CONTEXT_SINCE - 1) * PART_BITS)

/* 2^64 / golden ratio: Knuth, TAOCP 6.4 */
#define HASH_MULTIPLIER UINT64_C(0x9E3779B97F4A7C15)
/* Any odd number; its powers let the oldest launch leave the window. */
#define POLYNOMIAL_BASE UINT64_C(0xD1342543DE82EF95)

#define POLYNOMIAL_BASE_2 (POLYNOMIAL_BASE * POLYNOMIAL_BASE)
#define POLYNOMIAL_BASE_4 (POLYNOMIAL_BASE_2 * POLYNOMIAL_BASE_2)
#define POLYNOMIAL_BASE_8 (POLYNOMIAL_BASE_4 * POLYNOMIAL_BASE_4)
#define POLYNOMIAL_BASE_32 (POLYNOMIAL_BASE_8 * POLYNOMIAL_BASE_8 * POLYNOMIAL_BASE_8 * POLYNOMIAL_BASE_8)

static uint64_t scramble(uint64_t x)
{
	x *= HASH_MULTIPLIER;
	return x ^ x >> 32;
}

void kc_history_init(struct kc_history *history, int joined)
{
	*history = (struct kc_history){.count = joined ? KC_HISTORY_LAUNCHES : 0};
}

/* back: 1 for the last launch, at most KC_HISTORY_LAUNCHES */
static uint64_t before(const struct kc_history *h, uint32_t back)
{
	return h->identities[(h->count - back) % KC_HISTORY_LAUNCHES];
}

static uint64_t part_of(uint64_t x, enum kc_context_kind kind)
{
	return x * HASH_MULTIPLIER >> (64 - PART_BITS) << ((kind - 1) * PART_BITS);
}

/* A sum, so that it does not depend on how streams are numbered, and without branches, as times have no pattern. */
static uint64_t concurrent(const struct kc_history *h, uint32_t stream, int64_t now_ns)
{
	int64_t end_ns = h->stream_of[stream % KC_HISTORY_STREAMS].end_ns;
	int64_t start_ns = end_ns > now_ns ? end_ns : now_ns; /* which its own stream does not outlast */
	uint64_t sum = 0;

	for (uint32_t i = 0; i < h->stream_count; i++)
		sum += h->stream_of[i].scrambled & -(uint64_t)(h->stream_of[i].end_ns > start_ns);
	return sum;
}

static uint64_t since(const struct kc_history *h, uint64_t identity)
{
	uint32_t back = 1;

	while (back < KC_HISTORY_LAUNCHES && before(h, back) != identity)
		back++;
	return 32u - (uint32_t)__builtin_clz(back);
}

static uint64_t concurrent_part(uint64_t last, uint64_t others)
{
	return part_of(last * POLYNOMIAL_BASE + others, KC_CONTEXT_CONCURRENT);
}

__attribute__((hot)) void kc_history_look(const struct kc_history *history, uint64_t identity, uint32_t stream,
					  int64_t now_ns, struct kc_history_view *view)
{
	view->key = scramble(history->last_32 + identity * POLYNOMIAL_BASE);
	view->concurrent = concurrent(history, stream, now_ns);
	view->beside = concurrent_part(scramble(before(history, 1)), view->concurrent);
}

/* The first launches are numbered, and two numbers never share a part. */
static uint64_t last_32_part(const struct kc_history *h)
{
	uint64_t spread = h->last_32 * HASH_MULTIPLIER >> 32, part;

	if (h->count < KC_HISTORY_START)
		part = h->count + KC_HISTORY_START * (spread % (KC_CONTEXT_START_PARTS / KC_HISTORY_START));
	else
		part = KC_CONTEXT_START_PARTS + spread % ((1u << PART_BITS) - KC_CONTEXT_START_PARTS);
	return part << (KC_CONTEXT_LAST_32 - 1) * PART_BITS;
}

uint64_t kc_history_context_beside(const struct kc_history *history, uint64_t identity, uint64_t others)
{
	uint64_t last = scramble(before(history, 1));

	return part_of(last, KC_CONTEXT_LAST_1) |
	       part_of(last * POLYNOMIAL_BASE + scramble(before(history, 2)), KC_CONTEXT_LAST_2) |
	       part_of(history->last_8, KC_CONTEXT_LAST_8) | last_32_part(history) | concurrent_part(last, others) |
	       since(history, identity) << SINCE_SHIFT;
}

__attribute__((hot)) void kc_history_add(struct kc_history *history, uint64_t identity, uint32_t stream, int64_t end_ns)
{
	uint64_t new = scramble(identity);
	uint32_t stream_of = stream % KC_HISTORY_STREAMS;

	history->last_8 = history->last_8 * POLYNOMIAL_BASE + new - scramble(before(history, 8)) * POLYNOMIAL_BASE_8;
	history->last_32 =
	    history->last_32 * POLYNOMIAL_BASE + new - scramble(before(history, 32)) * POLYNOMIAL_BASE_32;
	history->identities[history->count++ % KC_HISTORY_LAUNCHES] = identity;
	history->stream_of[stream_of].scrambled = new;
	history->stream_of[stream_of].end_ns = end_ns;
	if (stream_of >= history->stream_count)
		history->stream_count = stream_of + 1;
}

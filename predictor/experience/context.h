/*
 * Which launches came before a launch. The same kernel and shape can have several
 * durations that alternate with the application's loop; what came before tells
 * them apart.
 *
 *   kc_history   the last launches on a device
 *   a context    64 bits for each launch: for each kind of context
 *                (enum kc_context_kind) a few bits that name it among those of one
 *                launch shape. Kept with the launch until it is measured.
 *
 * Launching threads own the history and serialise what they do with it. It holds
 * predictions only, never a measurement. Nothing allocates; the cost does not
 * depend on the number of launches.
 */
#ifndef KC_CONTEXT_H
#define KC_CONTEXT_H

#include <stdint.h>

#define KC_HISTORY_LAUNCHES 32u
#define KC_HISTORY_STREAMS 16u
#define KC_HISTORY_START 8u /* launches; the sequence before later ones has mostly been seen */

enum kc_context_kind {
	KC_CONTEXT_SHAPE,      /* no launch before: one context for all launches with this shape and these arguments */
	KC_CONTEXT_LAST_1,     /* the last launch */
	KC_CONTEXT_LAST_2,     /* the last two launches */
	KC_CONTEXT_LAST_8,     /* the last eight */
	KC_CONTEXT_LAST_32,    /* the last 32, in their order; at the start of a history, all of them */
	KC_CONTEXT_CONCURRENT, /* the last launch, and the last one in every other busy stream */
	KC_CONTEXT_SINCE,      /* launches since the shape was last launched: 1, 2, 4, 8, 16 or more, 32 or more */
	KC_CONTEXT_ANY,        /* no launch before either: one context for all launches with this shape */
	KC_CONTEXT_KINDS,
};

/* The bits of a context that are always 0 here; whoever keeps the context may use them. */
#define KC_CONTEXT_FREE_SHIFT 58
#define KC_CONTEXT_FREE_MASK 0x3fu

/* Numbers that name a launch; not 0. */
struct kc_name {
	uint64_t launch; /* its launch shape and arguments */
	uint64_t shape;  /* its launch shape alone; equal to `launch` where the arguments are not known. 0: durations
			  * with other arguments say nothing about it */
};

struct kc_history {
	uint64_t identities[KC_HISTORY_LAUNCHES]; /* a ring buffer */
	uint64_t last_8, last_32;                 /* polynomial hashes of the last 8 and 32 identities */
	uint32_t count;
	uint32_t stream_count; /* streams seen so far, at most KC_HISTORY_STREAMS */
	struct {
		uint64_t scrambled; /* of the identity of its last launch */
		int64_t end_ns;     /* predicted end of it */
	} stream_of[KC_HISTORY_STREAMS];
};

/* Has the processor fetch what the functions below read of it, where up to eleven streams are in use. */
static inline void kc_history_expect(const struct kc_history *history)
{
	enum {
		LINE_BYTES = 64,
		OF_LINE = LINE_BYTES / sizeof(history->identities[0]),
		STREAMS_OF_LINE = LINE_BYTES / sizeof(history->stream_of[0]),
	};

	__builtin_prefetch(&history->identities[0], 1);
	__builtin_prefetch(&history->identities[OF_LINE], 1);
	__builtin_prefetch(&history->identities[2 * OF_LINE], 1);
	__builtin_prefetch(&history->identities[3 * OF_LINE], 1);
	__builtin_prefetch(&history->last_8, 1);
	__builtin_prefetch(&history->stream_of[STREAMS_OF_LINE], 1);
	__builtin_prefetch(&history->stream_of[2 * STREAMS_OF_LINE], 1);
}

/* joined: 1 if earlier launches were made of which nothing is known. */
void kc_history_init(struct kc_history *history, int joined);

/* What tells a launch that is about to be made from others. identity: any number but 0 that names the launch shape and
 * what else is known of the launch. */
struct kc_history_view {
	/* A number for the identity and the launches before it, in order. Within one history, equal keys mean equal
	 * contexts except for KC_CONTEXT_CONCURRENT. */
	uint64_t key;
	/* A number for the last launches of the other streams that are predicted to be busy when it begins; 0: none is.
	 */
	uint64_t concurrent;
	uint64_t beside; /* the KC_CONTEXT_CONCURRENT part of its context, in its place */
};

void kc_history_look(const struct kc_history *history, uint64_t identity, uint32_t stream, int64_t now_ns,
		     struct kc_history_view *view);
/* The context with that number of the other streams. */
uint64_t kc_history_context_beside(const struct kc_history *history, uint64_t identity, uint64_t others);

/* The launch was made and is predicted to end at end_ns. */
void kc_history_add(struct kc_history *history, uint64_t identity, uint32_t stream, int64_t end_ns);

/* Bits that name a context of one kind: 2,048 of one launch shape are told apart. */
#define KC_CONTEXT_PART_BITS 11u
#define KC_CONTEXT_CONCURRENT_SHIFT ((KC_CONTEXT_CONCURRENT - 1) * KC_CONTEXT_PART_BITS)
#define KC_CONTEXT_CONCURRENT_MASK (((UINT64_C(1) << KC_CONTEXT_PART_BITS) - 1) << KC_CONTEXT_CONCURRENT_SHIFT)
/* Smaller parts of KC_CONTEXT_LAST_32 belong to the first launches of a history. */
#define KC_CONTEXT_START_PARTS 256u

static inline uint32_t kc_context_part(uint64_t context, enum kc_context_kind kind)
{
	uint32_t bits = kind == KC_CONTEXT_SINCE ? 3 : KC_CONTEXT_PART_BITS;

	return kind == KC_CONTEXT_SHAPE || kind == KC_CONTEXT_ANY
		   ? 0
		   : (uint32_t)(context >> ((kind - 1) * KC_CONTEXT_PART_BITS)) & ((1u << bits) - 1);
}

/* Returns 1 if the launch was among the first KC_HISTORY_START of its history. */
static inline int kc_context_is_start(uint64_t context)
{
	return kc_context_part(context, KC_CONTEXT_LAST_32) < KC_CONTEXT_START_PARTS;
}

#endif

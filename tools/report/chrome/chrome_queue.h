/*
 * What happened, in the order of time, when most of it comes nearly in that order: a line, in which a happening that
 * comes late goes back a few places, and a heap of those that would have to go further.
 */
#ifndef KC_CHROME_QUEUE_H
#define KC_CHROME_QUEUE_H

#include <stddef.h>
#include <stdint.h>

struct kc__happening {
	int64_t time_ns;
	int64_t change; /* what it means is up to the counter */
};

struct kc__happenings {
	struct kc__happening *at;
	size_t first, end, capacity; /* those from first up to end, which is not one of them */
};

/* All zeros: empty. */
struct kc__queue {
	struct kc__happenings line; /* in the order of time */
	struct kc__happenings heap; /* from 0; none is earlier than the one that it is below, (i - 1) / 2 */
};

static inline size_t kc__queue_count(const struct kc__queue *queue)
{
	return queue->line.end - queue->line.first + queue->heap.end;
}

/* 0, -ENOMEM */
int kc__queue_put(struct kc__queue *queue, struct kc__happening happening);
/* The earliest; of those of one time, any. The queue must not be empty. */
const struct kc__happening *kc__queue_first(const struct kc__queue *queue);
struct kc__happening kc__queue_take(struct kc__queue *queue);
/* Empty again. */
void kc__queue_clear(struct kc__queue *queue);
void kc__queue_free(struct kc__queue *queue);

#endif

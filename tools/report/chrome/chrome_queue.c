#include "chrome_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 64u
#define NEAR 64u /* places that a happening goes back in the line: about what the heap would cost */

/* Room behind the last. 0, -ENOMEM. */
static int make_room(struct kc__happenings *in)
{
	size_t count = in->end - in->first, wanted = in->capacity ? 2 * in->capacity : FIRST_CAPACITY;
	struct kc__happening *at;

	if (in->end < in->capacity)
		return 0;
	if (in->first > in->capacity / 2) {
		memcpy(in->at, in->at + in->first, count * sizeof(*in->at));
		in->first = 0;
		in->end = count;
		return 0;
	}
	at = reallocarray(in->at, wanted, sizeof(*at));
	if (!at)
		return -ENOMEM;
	in->at = at;
	in->capacity = wanted;
	return 0;
}

/* Its place in the line; one behind the end: it is too far back. */
static size_t place_in_line(const struct kc__happenings *line, int64_t time_ns)
{
	size_t least = line->end - line->first > NEAR ? line->end - NEAR : line->first, place = line->end;

	while (place > least && line->at[place - 1].time_ns > time_ns)
		place--;
	return place > line->first && line->at[place - 1].time_ns > time_ns ? line->end + 1 : place;
}

static void put_up(struct kc__happening *heap, size_t i, struct kc__happening happening)
{
	for (; i > 0 && happening.time_ns < heap[(i - 1) / 2].time_ns; i = (i - 1) / 2)
		heap[i] = heap[(i - 1) / 2];
	heap[i] = happening;
}

static void put_down(struct kc__happening *heap, size_t count, struct kc__happening happening)
{
	size_t i = 0;

	for (size_t next; (next = 2 * i + 1) < count; i = next) {
		next += next + 1 < count && heap[next + 1].time_ns < heap[next].time_ns;
		if (happening.time_ns <= heap[next].time_ns)
			break;
		heap[i] = heap[next];
	}
	heap[i] = happening;
}

int kc__queue_put(struct kc__queue *queue, struct kc__happening happening)
{
	struct kc__happenings *line = &queue->line, *heap = &queue->heap;
	size_t place;

	if (make_room(line))
		return -ENOMEM;
	place = place_in_line(line, happening.time_ns);
	if (place <= line->end) {
		memmove(line->at + place + 1, line->at + place, (line->end - place) * sizeof(*line->at));
		line->at[place] = happening;
		line->end++;
		return 0;
	}
	if (make_room(heap))
		return -ENOMEM;
	put_up(heap->at, heap->end++, happening);
	return 0;
}

static int is_in_heap(const struct kc__queue *queue)
{
	const struct kc__happenings *line = &queue->line, *heap = &queue->heap;

	return heap->end && (line->first == line->end || heap->at[0].time_ns < line->at[line->first].time_ns);
}

const struct kc__happening *kc__queue_first(const struct kc__queue *queue)
{
	return is_in_heap(queue) ? queue->heap.at : queue->line.at + queue->line.first;
}

struct kc__happening kc__queue_take(struct kc__queue *queue)
{
	struct kc__happenings *heap = &queue->heap;
	struct kc__happening first = *kc__queue_first(queue);

	if (!is_in_heap(queue)) {
		queue->line.first++;
		return first;
	}
	heap->end--;
	put_down(heap->at, heap->end, heap->at[heap->end]);
	return first;
}

void kc__queue_clear(struct kc__queue *queue)
{
	queue->line.first = queue->line.end = queue->heap.end = 0;
}

void kc__queue_free(struct kc__queue *queue)
{
	free(queue->line.at);
	free(queue->heap.at);
}

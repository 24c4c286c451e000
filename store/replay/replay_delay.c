#include "replay_internal.h"
#include "predictor/math/order.h"
#include "store/common/growing.h"

#include <errno.h>
#include <stdlib.h>

#define HELD_NS 2000000000ll /* let go without waiting any longer, as live */

/* Of two that ended at once, the one that was called first. */
KC_ORDER_OF_POINTERS(by_end, struct kc__op, KC_UP(end_ns) ?: KC_BY(x, y))

static int64_t later(int64_t ns, int64_t delay_ns)
{
	return ns < INT64_MAX - delay_ns ? ns + delay_ns : INT64_MAX;
}

int64_t kc__known_ns(const struct kc__ops *ops, size_t place, const struct kc_replay_delay *delay)
{
	return delay->batch > 1 ? ops->known_ns[place] : later(ops->at[place].end_ns, delay->ns);
}

/* The measurements of a batch become known together, after the last of its operations has ended. A batch that is never
 * full becomes known when the process ends. */
static void set_batches(struct kc__ops *ops, struct kc__op **ended, size_t count, const struct kc_replay_delay *delay)
{
	for (size_t i = 0; i < count; i++) {
		size_t last = i / delay->batch * delay->batch + (delay->batch - 1);

		ops->known_ns[ended[i] - ops->at] = last < count ? later(ended[last]->end_ns, delay->ns) : INT64_MAX;
	}
}

int kc__delays_set(struct kc__ops *ops, const struct kc_replay_delay *delay)
{
	struct kc__op **ended;
	size_t count = 0;

	if (delay->batch <= 1)
		return 0;
	free(ops->known_ns);
	ops->known_ns = malloc((ops->count + 1) * sizeof(*ops->known_ns));
	ended = malloc((ops->count + 1) * sizeof(struct kc__op *));
	if (!ops->known_ns || !ended) {
		free(ended);
		return -ENOMEM;
	}
	for (size_t i = 0; i < ops->count; i++)
		if (ops->at[i].end_ns)
			ended[count++] = &ops->at[i];
	qsort(ended, count, sizeof(struct kc__op *), by_end);
	set_batches(ops, ended, count, delay);
	free(ended);
	return 0;
}

/* Measurements still to come */

static int push(struct kc__pending *p, int64_t known_ns, uint32_t op)
{
	size_t i = p->count;

	if (KC_ROOM(p->at, p->capacity, i))
		return -ENOMEM;
	p->count++;
	for (; i && p->at[(i - 1) / 2].known_ns > known_ns; i = (i - 1) / 2)
		p->at[i] = p->at[(i - 1) / 2];
	p->at[i] = (struct kc__awaited_op){known_ns, op};
	return 0;
}

/* The gap at the top goes down to the lowest level first, as the last one nearly always belongs there. */
static uint32_t pop(struct kc__pending *p)
{
	struct kc__awaited_op top = p->at[0], last = p->at[--p->count];
	size_t i = 0, child;

	while ((child = 2 * i + 2) < p->count) {
		child -= p->at[child - 1].known_ns <= p->at[child].known_ns;
		p->at[i] = p->at[child];
		i = child;
	}
	if (child == p->count) {
		p->at[i] = p->at[child - 1];
		i = child - 1;
	}
	for (; i && p->at[(i - 1) / 2].known_ns >= last.known_ns; i = (i - 1) / 2)
		p->at[i] = p->at[(i - 1) / 2];
	p->at[i] = last;
	return top.op;
}

/* The one after it is fetched meanwhile: it was made long ago. */
static struct kc__op *next_measured(struct kc__replay_state *r)
{
	struct kc__op *op = &r->ops.at[pop(&r->pending)];

	if (r->pending.count) {
		const struct kc__op *after = &r->ops.at[r->pending.at[0].op];

		__builtin_prefetch(after);
		__builtin_prefetch(&after->kept);
	}
	return op;
}

/* Nothing still awaited on this device can have started before. */
static int64_t watermark_ns(const struct kc__used_device *device, int64_t now_ns)
{
	int64_t least = now_ns;

	for (uint32_t i = 0; i < device->stream_count; i++) {
		const struct kc_awaited *a = &device->streams[i]->awaited;

		if (a->count && kc_awaited_bound_ns(a) < least)
			least = kc_awaited_bound_ns(a);
	}
	return least;
}

/* Takes in the next measurement. Among thousands of launches that overlap each other, one takes some 50 us. */
static int learn_next(struct kc__replay_state *r)
{
	struct kc__op *op = next_measured(r);
	int rc = kc__within(r->loader.store);

	return rc ? rc : kc__replay_measured(r, op);
}

/* All that became known before now. */
static int reveal(struct kc__replay_state *r, int64_t now_ns)
{
	int rc = 0;

	r->now_ns = now_ns;
	while (rc == 0 && r->pending.count && r->pending.at[0].known_ns < now_ns)
		rc = learn_next(r);
	for (uint32_t i = 0; i < r->used.count; i++) {
		struct kc__used_device *device = &r->used.at[i];

		if (device->spans.count)
			kc_spans_decide(&device->spans, watermark_ns(device, now_ns), now_ns - HELD_NS,
					kc__replay_decided, r);
	}
	return rc;
}

/* The process is over: everything is known. */
static int reveal_all(struct kc__replay_state *r)
{
	int rc = 0;

	r->now_ns = INT64_MAX;
	while (rc == 0 && r->pending.count)
		rc = learn_next(r);
	for (uint32_t i = 0; i < r->used.count; i++)
		kc_spans_decide(&r->used.at[i].spans, INT64_MAX, INT64_MIN, kc__replay_decided, r);
	return rc;
}

int kc__replay_by_delay(struct kc__replay_state *r, const struct kc_replay_delay *delay)
{
	int rc = kc__delays_set(&r->ops, delay);

	for (uint32_t i = 0; rc == 0 && i < r->ops.count; i++) {
		struct kc__op *op = &r->ops.at[i];

		rc = kc__within(r->loader.store);
		if (rc == 0)
			rc = reveal(r, op->issued_ns);
		if (rc == 0)
			rc = kc__replay_op(r, op);
		if (rc == 0 && op->at && op->end_ns && !kc__never_awaited(op))
			rc = push(&r->pending, kc__known_ns(&r->ops, i, delay), i);
	}
	return rc ? rc : reveal_all(r);
}

/* Copies in a device's copy engines, each of which runs one at a time. */
#include "timeline_parts.h"

#include "predictor/math/duration.h"

#include <string.h>

/* INT64_MIN: no longer known. */
static int64_t copy_end_ns(const struct kc_timeline *tl, const struct kc__copy *copy)
{
	struct kc__interval interval;

	return kc__ring_look(&tl->streams[copy->stream], tl->rings[copy->stream], copy->ticket, &interval)
		   ? interval.end_ns
		   : INT64_MIN;
}

void kc__copies_expire(const struct kc_timeline *tl, struct kc__copy_engine *engine, int64_t now_ns)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < engine->count; i++) {
		if (copy_end_ns(tl, &engine->copies[i]) > now_ns)
			engine->copies[left++] = engine->copies[i];
	}
	engine->count = left;
}

/* Each step passes the end of one. A copy that begins later
 * does not count: it, or its stream, was ready later. */
int64_t kc__copies_free_ns(const struct kc_timeline *tl, const struct kc__copy_engine *engine, int64_t t)
{
	int64_t before;

	do {
		before = t;
		for (uint32_t i = 0; i < engine->count; i++) {
			const struct kc__copy *copy = &engine->copies[i];
			int64_t end_ns = copy_end_ns(tl, copy);

			if (kc__real_ns(&tl->streams[copy->stream], copy->from_ns) <= t)
				t = kc__later_ns(t, end_ns);
		}
	} while (t > before);
	return t;
}

static void merge_oldest_copies(const struct kc_timeline *tl, struct kc__copy_engine *engine)
{
	const struct kc__copy *oldest = &engine->copies[0];
	struct kc__copy *next = &engine->copies[1];
	int64_t from_ns =
	    kc__stored_ns(&tl->streams[next->stream], kc__real_ns(&tl->streams[oldest->stream], oldest->from_ns));

	next->from_ns = from_ns < next->from_ns ? from_ns : next->from_ns;
	memmove(engine->copies, next, --engine->count * sizeof(*next));
}

void kc__copies_add(struct kc_timeline *tl, struct kc__copy_engine *engine, uint32_t index,
		    const struct kc_placement *out)
{
	if (engine->count == KC__ENGINE_COPIES)
		merge_oldest_copies(tl, engine);
	engine->copies[engine->count++] =
	    (struct kc__copy){index, out->ticket, kc__stored_ns(&tl->streams[index], out->start_ns)};
}

void kc__copies_remove(struct kc__copy_engine *engine, uint32_t stream, uint32_t ticket)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < engine->count; i++) {
		if (engine->copies[i].stream != stream || engine->copies[i].ticket != ticket)
			engine->copies[left++] = engine->copies[i];
	}
	engine->count = left;
}

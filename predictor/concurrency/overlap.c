#include "overlap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_SPANS 64u

const char *kc_overlap_name(uint32_t overlap)
{
	static const char *const names[] = {"unknown", "none", "behind", "overtaken"};

	return overlap < sizeof(names) / sizeof(names[0]) ? names[overlap] : "unknown";
}

static void record_overlap(struct kc_span *a, struct kc_span *b)
{
	struct kc_span *first = a->order < b->order ? a : b, *second = first == a ? b : a;
	int64_t from_ns = a->start_ns > b->start_ns ? a->start_ns : b->start_ns;
	int64_t to_ns = a->end_ns < b->end_ns ? a->end_ns : b->end_ns;

	if (a->start_ns >= b->end_ns || b->start_ns >= a->end_ns)
		return;
	if (a->stream && a->stream == b->stream)
		a->in_stream = b->in_stream = 1;
	a->beside_opaque |= b->opaque;
	b->beside_opaque |= a->opaque;
	kc_load_add_overlap(&a->met, &b->load, to_ns - from_ns, a->end_ns - a->start_ns);
	kc_load_add_overlap(&b->met, &a->load, to_ns - from_ns, b->end_ns - b->start_ns);
	if (*first->overlap != KC_OVERLAP_BEHIND)
		*first->overlap = KC_OVERLAP_OVERTAKEN;
	*second->overlap = KC_OVERLAP_BEHIND;
}

/* Moves the spans to the front of their room. */
static void close_up(struct kc_spans *spans)
{
	if (!spans->gone)
		return;
	memmove(spans->at - spans->gone, spans->at, spans->count * sizeof(*spans->at));
	spans->at -= spans->gone;
	spans->gone = 0;
}

static int grow(struct kc_spans *spans)
{
	uint32_t capacity = spans->capacity ? 2 * spans->capacity : FIRST_SPANS;
	struct kc_span *at = realloc(spans->at, capacity * sizeof(*at));

	if (!at)
		return -ENOMEM;
	spans->at = at;
	spans->capacity = capacity;
	return 0;
}

/* For one more span. */
static int make_room(struct kc_spans *spans)
{
	int is_sparse = spans->gone > spans->count;

	if (spans->count >= KC_SPANS_MAX)
		return -ENOBUFS;
	if (spans->gone + spans->count < spans->capacity)
		return 0;
	close_up(spans);
	return is_sparse ? 0 : grow(spans);
}

int kc_spans_add(struct kc_spans *spans, const struct kc_span *span)
{
	struct kc_span added = *span, *at;
	uint32_t place;
	int rc = make_room(spans);

	if (rc)
		return rc;
	at = spans->at;
	if (added.end_ns - added.start_ns > spans->longest_ns)
		spans->longest_ns = added.end_ns - added.start_ns;
	added.doubtful = added.start_ns < spans->let_go_ns;
	place = spans->count++;
	for (; place && at[place - 1].start_ns > added.start_ns; place--)
		at[place] = at[place - 1];
	at[place] = added;
	for (uint32_t i = place; i-- && at[i].start_ns > added.start_ns - spans->longest_ns;)
		record_overlap(&at[i], &at[place]);
	for (uint32_t i = place + 1; i < spans->count && at[i].start_ns < added.end_ns; i++)
		record_overlap(&at[place], &at[i]);
	return 0;
}

void kc_spans_drop(struct kc_spans *spans, const struct kc_span *span)
{
	if (span->end_ns > spans->let_go_ns)
		spans->let_go_ns = span->end_ns;
	if (*span->overlap != KC_OVERLAP_BEHIND || span->beside_opaque)
		*span->overlap = KC_OVERLAP_UNKNOWN;
}

/* Records the overlap of a span that nothing can overlap any more. */
static void settle(const struct kc_span *span)
{
	if (span->beside_opaque)
		*span->overlap = KC_OVERLAP_UNKNOWN;
	if (*span->overlap == KC_OVERLAP_BEHIND || span->beside_opaque)
		return;
	if (span->doubtful)
		*span->overlap = KC_OVERLAP_UNKNOWN;
	else if (*span->overlap == KC_OVERLAP_UNKNOWN)
		*span->overlap = KC_OVERLAP_NONE;
}

void kc_spans_decide(struct kc_spans *spans, int64_t watermark_ns, int64_t since_ns,
		     void (*decided)(const struct kc_span *span, void *arg), void *arg)
{
	uint32_t kept = 0;
	int64_t longest_ns = 0;

	for (uint32_t i = 0; i < spans->count; i++) {
		struct kc_span *span = &spans->at[i];

		if (span->end_ns <= watermark_ns || span->since_ns < since_ns) {
			if (span->end_ns <= watermark_ns)
				settle(span);
			else
				kc_spans_drop(spans, span);
			decided(span, arg);
			continue;
		}
		if (span->end_ns - span->start_ns > longest_ns)
			longest_ns = span->end_ns - span->start_ns;
		if (kept != i)
			spans->at[kept] = *span;
		kept++;
	}
	spans->count = kept;
	spans->longest_ns = longest_ns;
}

int kc_spans_take(struct kc_spans *spans, const void *owner, struct kc_span *out)
{
	uint32_t i = 0;

	while (i < spans->count && spans->at[i].owner != owner)
		i++;
	if (i == spans->count)
		return 0;
	*out = spans->at[i];
	spans->count--;
	if (i <= spans->count / 2) { /* fewer are before it than behind it */
		memmove(spans->at + 1, spans->at, i * sizeof(*spans->at));
		spans->at++;
		spans->gone++;
	} else {
		memmove(spans->at + i, spans->at + i + 1, (spans->count - i) * sizeof(*spans->at));
	}
	return 1;
}

void kc_spans_free(struct kc_spans *spans)
{
	close_up(spans);
	free(spans->at);
	*spans = (struct kc_spans){0};
}

#include "timeline.h"

#include "lambda.h"
#include "ring.h"

/* With rings of 1,024 this keeps a timeline below 4 MiB. The last stream
 * stands for all that do not fit. */
#define STREAMS 126u
#define OVERFLOW_STREAM (STREAMS - 1)

struct kc_timeline {
	struct kc__site site;
	int64_t launch_overhead_ns;
	int64_t launch_gap_ns;
	uint32_t busy_count;
	uint32_t busy[STREAMS]; /* streams with work that has not ended */
	struct kc__stream streams[STREAMS];
	struct kc__interval rings[STREAMS][KC__RING];
};

_Static_assert(sizeof(struct kc_timeline) <= 4u << 20, "a timeline fits into 4 MiB");

size_t kc_timeline_size(void)
{
	return sizeof(struct kc_timeline);
}

static uint32_t index_of(uint32_t stream)
{
	return stream < OVERFLOW_STREAM ? stream : OVERFLOW_STREAM;
}

/* Tickets go on where they were: those of the stream's last life stay unknown. */
static void begin_stream(struct kc__stream *s, enum kc_stream_kind kind, int priority)
{
	*s = (struct kc__stream){
	    .first = s->next,
	    .next = s->next,
	    .chain = s->next,
	    .measured = s->next,
	    .cursor = s->next,
	    .priority = priority,
	    .kind = (uint8_t)kind,
	    .busy = s->busy,
	};
}

void kc_timeline_init(struct kc_timeline *tl, const struct kc_device *device)
{
	tl->site.sm = kc_sm_limits(device);
	tl->site.sm_count = device->sm_count;
	tl->launch_overhead_ns = device->launch_overhead_ns;
	tl->launch_gap_ns = device->launch_gap_ns;
	tl->busy_count = 0;
	for (uint32_t i = 0; i < STREAMS; i++) {
		tl->streams[i].busy = 0;
		tl->streams[i].next = 1;
		begin_stream(&tl->streams[i], KC_STREAM_BLOCKING, 0);
	}
}

void kc_timeline_stream(struct kc_timeline *tl, uint32_t stream, enum kc_stream_kind kind, int priority)
{
	if (index_of(stream) != OVERFLOW_STREAM)
		begin_stream(&tl->streams[stream], kind, priority);
}

/* What it still holds runs on; only its waits and rank go. */
void kc_timeline_stream_gone(struct kc_timeline *tl, uint32_t stream)
{
	if (index_of(stream) != OVERFLOW_STREAM)
		tl->streams[stream].ready_ns = 0;
}

static int64_t max_i64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Forgets streams whose work has ended by now. */
static void expire(struct kc_timeline *tl, int64_t now_ns)
{
	for (uint32_t i = 0; i < tl->busy_count;) {
		struct kc__stream *s = &tl->streams[tl->busy[i]];

		if (kc__stream_tail_ns(s) > now_ns) {
			i++;
			continue;
		}
		s->busy = 0;
		tl->busy[i] = tl->busy[--tl->busy_count];
	}
}

/* The legacy default stream and the blocking streams hold each other back. */
static int holds_back(const struct kc__stream *other, const struct kc__stream *s)
{
	return (s->kind == KC_STREAM_LEGACY && other->kind == KC_STREAM_BLOCKING) ||
	       (s->kind == KC_STREAM_BLOCKING && other->kind == KC_STREAM_LEGACY);
}

/* When all that the stream's next operation has to wait for has ended, its own
 * stream's work apart. */
static int64_t others_done_ns(const struct kc_timeline *tl, const struct kc__stream *s)
{
	int64_t t = s->ready_ns;

	for (uint32_t i = 0; i < tl->busy_count; i++) {
		const struct kc__stream *other = &tl->streams[tl->busy[i]];

		if (holds_back(other, s))
			t = max_i64(t, kc__stream_tail_ns(other));
	}
	return t;
}

/* The moment the operation heads its stream; *behind: the stream's own work decides it. */
static int64_t ready_ns(const struct kc_timeline *tl, const struct kc__stream *s, int64_t now_ns, int *behind)
{
	int64_t free_ns = kc__stream_tail_ns(s) + tl->launch_gap_ns;
	int64_t t = max_i64(now_ns + tl->launch_overhead_ns, others_done_ns(tl, s));

	*behind = free_ns >= t;
	return *behind ? free_ns : t;
}

static void describe(struct kc__rival *rival, const struct kc__stream *s, const struct kc__interval *interval)
{
	rival->start_ns = interval->start_ns;
	rival->placed_ns = max_i64(interval->end_ns - (int64_t)interval->wave_ns, interval->start_ns);
	rival->end_ns = interval->end_ns;
	rival->resident = (struct kc_resident){
	    .block = {{
		[KC_SM_SLOTS] = 1,
		[KC_SM_WARPS] = interval->warps,
		[KC_SM_REGISTERS] = (int32_t)(interval->register_units * KC_REGISTER_UNIT),
		[KC_SM_SHARED_BYTES] = (int32_t)(interval->shared_units * KC__SHARED_UNIT_BYTES),
	    }},
	    .count = {.base = interval->base, .extra = interval->extra},
	};
	rival->priority = s->priority;
	rival->waits = interval->waits;
}

/* What heads the other streams at t. */
static unsigned find_rivals(struct kc_timeline *tl, const struct kc__stream *self, int64_t t, struct kc__rival *rivals)
{
	unsigned count = 0;

	for (uint32_t i = 0; i < tl->busy_count && count < KC__RIVALS_MAX; i++) {
		uint32_t stream = tl->busy[i];
		struct kc__stream *other = &tl->streams[stream];
		struct kc__interval interval;

		if (other == self || !kc__ring_at(other, tl->rings[stream], t, &interval) || !interval.warps)
			continue;
		describe(&rivals[count++], other, &interval);
	}
	return count;
}

static struct kc__interval interval_of(const struct kc_grid *grid, const struct kc_placement *out,
				       const struct kc__tail *tail, int waits)
{
	return (struct kc__interval){
	    .start_ns = out->start_ns,
	    .end_ns = out->end_ns,
	    .wave_ns = (float)tail->wave_ns,
	    .warps = (uint16_t)grid->block.of[KC_SM_WARPS],
	    .register_units = (uint16_t)((uint32_t)grid->block.of[KC_SM_REGISTERS] / KC_REGISTER_UNIT),
	    .shared_units = (uint16_t)((uint32_t)grid->block.of[KC_SM_SHARED_BYTES] / KC__SHARED_UNIT_BYTES),
	    .extra = (uint16_t)tail->last.extra,
	    .base = (uint8_t)tail->last.base,
	    .waits = (uint8_t)waits,
	};
}

static void mark_busy(struct kc_timeline *tl, uint32_t stream)
{
	if (tl->streams[stream].busy)
		return;
	tl->streams[stream].busy = 1;
	tl->busy[tl->busy_count++] = stream;
}

static void append(struct kc_timeline *tl, uint32_t stream, const struct kc__interval *interval, int behind,
		   struct kc_placement *out)
{
	out->ticket = kc__ring_append(&tl->streams[stream], tl->rings[stream], interval, behind);
	mark_busy(tl, stream);
}

static int64_t sane_ns(int64_t duration_ns)
{
	if (duration_ns < 0)
		return 0;
	return duration_ns < (int64_t)KC__LONGEST_NS ? duration_ns : (int64_t)KC__LONGEST_NS;
}

void kc_timeline_kernel(struct kc_timeline *tl, uint32_t stream, int64_t now_ns, const struct kc_work *work,
			int64_t solo_ns, struct kc_placement *out)
{
	uint32_t index = index_of(stream);
	struct kc__stream *s = &tl->streams[index];
	struct kc__rival rivals[KC__RIVALS_MAX];
	struct kc__interval interval;
	struct kc__tail tail;
	unsigned count;
	int64_t ready;
	int behind;

	expire(tl, now_ns);
	kc__ring_expire(s, tl->rings[index], now_ns);
	ready = ready_ns(tl, s, now_ns, &behind);
	count = tl->busy_count > s->busy ? find_rivals(tl, s, ready, rivals) : 0;
	kc__place(&tl->site, rivals, count, s->priority, ready, work, sane_ns(solo_ns), out, &tail);
	interval = interval_of(&work->grid, out, &tail, out->start_ns > ready);
	append(tl, index, &interval, behind, out);
}

void kc_timeline_occupy(struct kc_timeline *tl, uint32_t stream, int64_t now_ns, int64_t duration_ns,
			struct kc_placement *out)
{
	uint32_t index = index_of(stream);
	struct kc__stream *s = &tl->streams[index];
	struct kc__interval interval;
	int behind;

	expire(tl, now_ns);
	kc__ring_expire(s, tl->rings[index], now_ns);
	*out = (struct kc_placement){.slowdown = 1, .slowdown_waves = 1, .concurrency_case = KC_CASE_ALONE};
	out->start_ns = ready_ns(tl, s, now_ns, &behind);
	out->end_ns = out->start_ns + sane_ns(duration_ns);
	interval = (struct kc__interval){.start_ns = out->start_ns, .end_ns = out->end_ns};
	append(tl, index, &interval, behind, out);
}

void kc_timeline_cancel(struct kc_timeline *tl, uint32_t stream, uint32_t ticket)
{
	uint32_t index = index_of(stream);

	kc__ring_cancel(&tl->streams[index], tl->rings[index], ticket);
}

int64_t kc_timeline_tail(struct kc_timeline *tl, uint32_t stream, int64_t now_ns)
{
	const struct kc__stream *s = &tl->streams[index_of(stream)];

	return max_i64(now_ns, max_i64(kc__stream_tail_ns(s), others_done_ns(tl, s)));
}

void kc_timeline_wait(struct kc_timeline *tl, uint32_t stream, int64_t ready_ns)
{
	struct kc__stream *s = &tl->streams[index_of(stream)];

	s->ready_ns = max_i64(s->ready_ns, ready_ns);
}

/* The stream that stands for several is not idle because one of them is. */
void kc_timeline_stream_idle(struct kc_timeline *tl, uint32_t stream, int64_t now_ns)
{
	if (index_of(stream) != OVERFLOW_STREAM)
		kc__ring_clear(&tl->streams[stream], now_ns);
}

void kc_timeline_device_idle(struct kc_timeline *tl, int64_t now_ns)
{
	for (uint32_t i = 0; i < STREAMS; i++) {
		kc__ring_clear(&tl->streams[i], now_ns);
		tl->streams[i].busy = 0;
	}
	tl->busy_count = 0;
}

void kc_timeline_measured(struct kc_timeline *tl, uint32_t stream, uint32_t ticket, int64_t start_ns, int64_t end_ns)
{
	uint32_t index = index_of(stream);

	if (start_ns <= 0 || end_ns < start_ns || end_ns > INT64_MAX / 2)
		return;
	kc__ring_ended(&tl->streams[index], tl->rings[index], ticket, end_ns, tl->launch_gap_ns);
	mark_busy(tl, index);
}

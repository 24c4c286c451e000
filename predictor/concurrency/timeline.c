#include "timeline_parts.h"

#include "predictor/math/duration.h"

#include <string.h>

/* 146 years after the clock's zero: what is added to it does not overflow. */
#define LATEST_NS (INT64_C(1) << 62)

size_t kc_timeline_size(void)
{
	return sizeof(struct kc_timeline);
}

static uint32_t index_of(uint32_t stream)
{
	return stream < KC__OVERFLOW_STREAM ? stream : KC__OVERFLOW_STREAM;
}

static uint32_t level_of(int priority)
{
	return (0u - (uint32_t)priority) % KC__PRIORITY_LEVELS;
}

/* Tickets continue, so that those of the number's previous stream stay unknown. */
static void begin_stream(struct kc_timeline *tl, struct kc__timeline_stream *s, enum kc_stream_kind kind, int priority)
{
	uint32_t level = level_of(priority);

	*s = (struct kc__timeline_stream){
	    .first = s->next,
	    .next = s->next,
	    .chain = s->next,
	    .measured = s->next,
	    .reported = s->next,
	    .cursor = s->next,
	    .priority = priority,
	    .kind = (uint8_t)kind,
	    .busy = s->busy,
	    .level = (uint8_t)level,
	    .queue = (uint8_t)(tl->next_queue[level]++ % tl->queue_count),
	};
}

void kc_timeline_init(struct kc_timeline *tl, const struct kc_device *device)
{
	tl->limits.sm = kc_sm_limits(device);
	tl->limits.sm_count = device->sm_count;
	tl->limits.grids_max = kc_device_resident_grids(device->cc_major, device->cc_minor);
	tl->launch_overhead_ns = device->launch_overhead_ns;
	tl->launch_gap_ns = device->launch_gap_ns;
	tl->engine_count = device->copy_engines > 1 ? KC__ENGINES : 1;
	tl->busy_count = 0;
	tl->untouched = 0;
	kc__in_flight_init(&tl->in_flight, &tl->limits);
	tl->before = 0;
	tl->queue_count = device->hardware_queues < KC__QUEUES ? device->hardware_queues : KC__QUEUES;
	if (!tl->queue_count)
		tl->queue_count = KC__QUEUES;
	memset(tl->queues, 0, sizeof(tl->queues));
	memset(tl->engines, 0, sizeof(tl->engines));
	memset(tl->next_queue, 0, sizeof(tl->next_queue));
	for (uint32_t i = 0; i < KC__STREAMS; i++) {
		tl->streams[i].busy = 0;
		tl->streams[i].next = 1;
		begin_stream(tl, &tl->streams[i], KC_STREAM_BLOCKING, 0);
	}
	memset(tl->next_queue, 0, sizeof(tl->next_queue));
}

__attribute__((hot)) void kc_timeline_expect(const struct kc_timeline *tl, uint32_t stream)
{
	const struct kc__timeline_stream *s = &tl->streams[index_of(stream)];
	const struct kc__span *spans = tl->in_flight.spans;
	enum { SPANS_OF_LINE = KC__CACHE_LINE_BYTES / sizeof(*spans) };

	__builtin_prefetch(s, 1);
	__builtin_prefetch(tl, 1);
	__builtin_prefetch(tl->busy);
	__builtin_prefetch(&tl->in_flight, 1);
	__builtin_prefetch(spans, 1);
	__builtin_prefetch(spans + SPANS_OF_LINE, 1);
}

/* Invalidates the cached head of the stream. Call before changing it. */
static void invalidate_head(struct kc_timeline *tl, uint32_t stream)
{
	if (tl->streams[stream].busy)
		kc__in_flight_vacate(&tl->in_flight, tl->streams[stream].busy - 1u);
}

void kc_timeline_stream(struct kc_timeline *tl, uint32_t stream, enum kc_stream_kind kind, int priority)
{
	if (index_of(stream) == KC__OVERFLOW_STREAM)
		return;
	invalidate_head(tl, stream);
	begin_stream(tl, &tl->streams[stream], kind, priority);
}

/* Work already in it continues; the events it waits for are forgotten. */
void kc_timeline_stream_gone(struct kc_timeline *tl, uint32_t stream)
{
	if (index_of(stream) != KC__OVERFLOW_STREAM)
		tl->streams[stream].ready_ns = 0;
}

static void remove_from_busy(struct kc_timeline *tl, uint32_t stream)
{
	uint32_t place = tl->streams[stream].busy - 1u;

	if (!tl->streams[stream].busy)
		return;
	kc__in_flight_remove(&tl->in_flight, place);
	tl->busy[place] = tl->busy[--tl->busy_count];
	tl->streams[tl->busy[place]].busy = (uint8_t)(place + 1);
	tl->streams[stream].busy = 0;
}

/* The legacy default stream and the blocking streams wait for each other. */
static int holds_back(const struct kc__timeline_stream *other, const struct kc__timeline_stream *s)
{
	return (s->kind == KC_STREAM_LEGACY && other->kind == KC_STREAM_BLOCKING) ||
	       (s->kind == KC_STREAM_BLOCKING && other->kind == KC_STREAM_LEGACY);
}

/* When everything that the stream's next operation waits for has ended, apart from the stream's own work. */
static int64_t others_done_ns(const struct kc_timeline *tl, const struct kc__timeline_stream *s)
{
	int64_t t = s->ready_ns;

	for (uint32_t i = 0; i < tl->busy_count; i++) {
		const struct kc__timeline_stream *other = &tl->streams[tl->busy[i]];

		if (holds_back(other, s))
			t = kc__later_ns(t, kc__stream_tail_ns(other));
	}
	return t;
}

/* The same; nothing but events holds most streams back. */
static int64_t held_back_ns(const struct kc_timeline *tl, const struct kc__timeline_stream *s)
{
	return s->kind == KC_STREAM_NONBLOCKING ? s->ready_ns : others_done_ns(tl, s);
}

/* A hardware queue starts its operations in order: none passes one that another stream put into it. That one is ready
 * at the latest when its stream is empty. */
static int64_t queue_ready_ns(const struct kc_timeline *tl, const struct kc__timeline_stream *s)
{
	const struct kc__queue *queue = &tl->queues[s->level][s->queue];
	const struct kc__timeline_stream *last = &tl->streams[queue->stream];

	if (last == s || !last->busy)
		return 0;
	return kc__real_ns(last, queue->ready_ns < last->tail_ns ? queue->ready_ns : last->tail_ns);
}

static void enter_queue(struct kc_timeline *tl, uint32_t stream, int64_t ready_ns)
{
	const struct kc__timeline_stream *s = &tl->streams[stream];

	tl->queues[s->level][s->queue] = (struct kc__queue){stream, kc__stored_ns(s, ready_ns)};
}

/* When the operation comes to the head of its stream. *behind: that is when the stream's own work ends. */
static inline __attribute__((always_inline)) int64_t
ready_ns(const struct kc_timeline *tl, const struct kc__timeline_stream *s, int64_t now_ns, int *behind)
{
	int64_t free_ns = kc__stream_tail_ns(s) + tl->launch_gap_ns;
	int64_t t = kc__later_ns(now_ns + tl->launch_overhead_ns, held_back_ns(tl, s));

	t = kc__later_ns(t, queue_ready_ns(tl, s));
	*behind = free_ns >= t;
	t = *behind ? free_ns : t;
	return t < LATEST_NS ? t : LATEST_NS;
}

static void fill_head(struct kc__head *head, const struct kc__timeline_stream *s, const struct kc__interval *interval)
{
	head->start_ns = kc__real_ns(s, interval->start_ns);
	head->end_ns = kc__real_ns(s, interval->end_ns);
	head->placed_ns = kc__later_ns(head->end_ns - (int64_t)interval->wave_ns, head->start_ns);
	head->busy_until_ns = kc__stream_tail_ns(s);
	head->sm_blocks = interval->sm_blocks;
	head->priority = s->priority;
	memcpy(head->load, interval->load, sizeof(head->load));
	head->flags = interval->flags;
}

/* The head of the stream at t, of which nothing is known yet. */
static void find_head(struct kc__in_flight *in_flight, uint32_t place, struct kc__timeline_stream *s,
		      const struct kc__interval *ring, int64_t t)
{
	const struct kc__interval *interval = kc__ring_find(s, ring, t);
	struct kc__span *span = &in_flight->spans[place];

	if (!interval) {
		if (kc__stream_tail_ns(s) <= t)
			*span = (struct kc__span){kc__stream_tail_ns(s), KC__FOR_GOOD};
		return;
	}
	if (interval->sm_blocks.warps)
		fill_head(kc__in_flight_fill(in_flight, place), s, interval);
	span->from_ns = s->cursor == s->first ? INT64_MIN : kc__real_ns(s, kc__ring_slot(ring, s->cursor - 1)->end_ns);
	span->until_ns = kc__real_ns(s, interval->end_ns);
}

/* Whether a head that was found is that at t, too, and its stream has not ended by now. */
static int is_of(const struct kc__span *span, int64_t now_ns, int64_t t)
{
	return span->from_ns <= t && t < span->until_ns && (span->until_ns != KC__FOR_GOOD || span->from_ns > now_ns);
}

/* The heads of the busy streams at t, which is not before now. Streams whose work has ended by now are removed. */
static void find_heads(struct kc_timeline *tl, int64_t now_ns, int64_t t)
{
	for (uint32_t i = 0; i < tl->busy_count;) {
		uint32_t stream;

		if (is_of(&tl->in_flight.spans[i], now_ns, t)) {
			i++;
			continue;
		}
		stream = tl->busy[i];
		if (kc__stream_tail_ns(&tl->streams[stream]) <= now_ns) {
			remove_from_busy(tl, stream);
			continue;
		}
		kc__in_flight_vacate(&tl->in_flight, i);
		find_head(&tl->in_flight, i, &tl->streams[stream], tl->rings[stream], t);
		i++;
	}
}

static uint8_t load_units(float load)
{
	return (uint8_t)(load < 0 ? 0 : load < 1 ? load * KC__LOAD_UNITS + 0.5f : KC__LOAD_UNITS);
}

/* Its blocks are written already. All members are set one by one, as copying a struct just written in parts would
 * stall. */
static void fill_interval(struct kc__interval *interval, const struct kc_demand *demand, const struct kc_placement *out,
			  const struct kc__last_wave *last_wave, uint8_t flags)
{
	interval->start_ns = out->start_ns;
	interval->end_ns = out->end_ns;
	interval->wave_ns = (float)last_wave->wave_ns;
	interval->flags = flags;
	for (int i = 0; i < KC_LOAD_TERMS; i++)
		interval->load[i] = load_units(demand->load.of[i]);
}

static void mark_busy(struct kc_timeline *tl, uint32_t stream)
{
	if (tl->streams[stream].busy)
		return;
	tl->busy[tl->busy_count++] = (uint8_t)stream;
	tl->streams[stream].busy = (uint8_t)tl->busy_count;
	tl->untouched = 0;
	kc__in_flight_add(&tl->in_flight);
}

/* Its head was invalidated before. */
static inline __attribute__((always_inline)) void append(struct kc_timeline *tl, uint32_t stream, int behind,
							 struct kc_placement *out)
{
	out->ticket = kc__ring_append(&tl->streams[stream], tl->rings[stream], behind);
	mark_busy(tl, stream);
}

static int64_t clamp_duration_ns(int64_t duration_ns)
{
	if (duration_ns < 0)
		return 0;
	return duration_ns < (int64_t)KC__LONGEST_NS ? duration_ns : (int64_t)KC__LONGEST_NS;
}

/* Replaces duration and slowdown by what launches like this one took, where that is known. */
static inline __attribute__((always_inline)) void apply_learned_duration(const struct kc_demand *demand,
									 int64_t solo_ns, struct kc_placement *out)
{
	float slowdown = out->slowdown;
	double ns;

	if (!demand->contention && !(demand->direct.share > 0))
		return;
	if (demand->contention && !kc__estimate_is_all(&demand->direct))
		slowdown = out->contended;
	if (!(slowdown >= 1))
		return;
	ns = (double)solo_ns * slowdown;
	if (demand->direct.share > 0) {
		ns = kc__estimate_ns(&demand->direct, ns);
		slowdown = solo_ns > 0 && ns > (double)solo_ns ? (float)(ns / (double)solo_ns) : 1;
	}
	out->slowdown = slowdown;
	out->end_ns = out->start_ns + (int64_t)ns;
}

/* A launch that had nothing else in flight. */
static __attribute__((noinline)) void remember(struct kc_repeated *repeated, uint32_t before,
					       const struct kc_demand *demand, const struct kc_placement *out,
					       const struct kc__interval *interval, uint64_t waves)
{
	repeated->known = 1;
	repeated->before = before;
	repeated->waves = waves;
	repeated->direct = demand->direct;
	repeated->placement = *out;
	repeated->placement.start_ns = 0;
	repeated->placement.end_ns = out->end_ns - out->start_ns;
	repeated->interval = *interval;
}

static int is_same(const struct kc_duration_estimate *a, const struct kc_duration_estimate *b)
{
	return a->log_ns == b->log_ns && a->share == b->share && a->tick_ns == b->tick_ns;
}

static __attribute__((noinline)) void estimate_again(struct kc_repeated *repeated, const struct kc_demand *demand)
{
	int64_t solo_ns = clamp_duration_ns(demand->solo_ns);
	struct kc__last_wave last_wave = {.waves = repeated->waves};

	repeated->direct = demand->direct;
	repeated->placement.end_ns = solo_ns;
	repeated->placement.slowdown = 1;
	apply_learned_duration(demand, solo_ns, &repeated->placement);
	kc__last_wave_of(&last_wave, repeated->placement.end_ns - repeated->placement.start_ns);
	repeated->interval.wave_ns = (float)last_wave.wave_ns;
}

/* Places it as its like was placed before. 0: not known, or something else is in flight. */
static int place_again(struct kc_timeline *tl, uint32_t index, int64_t ready_ns, const struct kc_demand *demand,
		       struct kc_placement *out)
{
	struct kc__timeline_stream *s = &tl->streams[index];
	struct kc_repeated *repeated = demand->repeated;
	struct kc__interval *interval;

	if (!repeated || !repeated->known || repeated->before != tl->before || tl->busy_count != (s->busy != 0))
		return 0;
	if (!is_same(&repeated->direct, &demand->direct))
		estimate_again(repeated, demand);
	*out = repeated->placement;
	out->start_ns = ready_ns;
	out->end_ns += ready_ns;
	invalidate_head(tl, index);
	interval = kc__ring_next(s, tl->rings[index]);
	*interval = repeated->interval;
	interval->start_ns = out->start_ns;
	interval->end_ns = out->end_ns;
	return 1;
}

static void place(struct kc_timeline *tl, uint32_t index, int64_t now_ns, int64_t ready_ns,
		  const struct kc_demand *demand, struct kc_placement *out)
{
	struct kc__timeline_stream *s = &tl->streams[index];
	struct kc__interval *interval = kc__ring_next(s, tl->rings[index]);
	struct kc__last_wave last_wave = {.sm_blocks = &interval->sm_blocks};
	int64_t solo_ns = clamp_duration_ns(demand->solo_ns);

	remove_from_busy(tl, index);
	find_heads(tl, now_ns, ready_ns);
	kc__place(&tl->limits, &tl->in_flight, s->priority, ready_ns, demand->work, solo_ns, out, &last_wave);
	kc_expected_contention_classify(&out->meeting, tl->busy_count);
	out->contended = demand->contention ? kc_contention_slowdown(demand->contention, &out->meeting) : 0;
	apply_learned_duration(demand, solo_ns, out);
	kc__last_wave_of(&last_wave, out->end_ns - out->start_ns);
	fill_interval(interval, demand, out, &last_wave, out->start_ns > ready_ns ? KC__WAITS_FOR_ROOM : 0);
	if (demand->repeated && !tl->busy_count)
		remember(demand->repeated, tl->before, demand, out, interval, last_wave.waves);
}

__attribute__((hot)) void kc_timeline_launch(struct kc_timeline *tl, uint32_t stream, int64_t now_ns,
					     const struct kc_demand *demand, struct kc_placement *out)
{
	uint32_t index = index_of(stream);
	struct kc__timeline_stream *s = &tl->streams[index];
	int64_t ready;
	int behind;

	kc__ring_expire(s, tl->rings[index], now_ns);
	ready = ready_ns(tl, s, now_ns, &behind);
	if (!place_again(tl, index, ready, demand, out))
		place(tl, index, now_ns, ready, demand, out);
	enter_queue(tl, index, ready);
	append(tl, index, behind, out);
	tl->before = demand->identity;
}

void kc_timeline_kernel(struct kc_timeline *tl, uint32_t stream, int64_t now_ns, const struct kc_work *work,
			int64_t solo_ns, struct kc_placement *out)
{
	struct kc_demand demand = {.work = work, .solo_ns = solo_ns};

	kc_timeline_launch(tl, stream, now_ns, &demand, out);
}

/* Enters an operation that needs no SM into its hardware queue; out->start_ns: when it heads its stream. */
static void begin_occupying(struct kc_timeline *tl, uint32_t index, int64_t now_ns, int *behind,
			    struct kc_placement *out)
{
	struct kc__timeline_stream *s = &tl->streams[index];

	kc__ring_expire(s, tl->rings[index], now_ns);
	*out = (struct kc_placement){.slowdown = 1, .slowdown_waves = 1, .concurrency_case = KC_CASE_ALONE};
	out->meeting.room = 1;
	out->start_ns = ready_ns(tl, s, now_ns, behind);
	enter_queue(tl, index, out->start_ns);
}

static void occupy(struct kc_timeline *tl, uint32_t index, int64_t duration_ns, int behind, struct kc_placement *out)
{
	out->end_ns = out->start_ns + clamp_duration_ns(duration_ns);
	invalidate_head(tl, index);
	*kc__ring_next(&tl->streams[index], tl->rings[index]) =
	    (struct kc__interval){.start_ns = out->start_ns, .end_ns = out->end_ns};
	append(tl, index, behind, out);
}

void kc_timeline_occupy(struct kc_timeline *tl, uint32_t stream, int64_t now_ns, int64_t duration_ns,
			struct kc_placement *out)
{
	uint32_t index = index_of(stream);
	int behind;

	begin_occupying(tl, index, now_ns, &behind, out);
	occupy(tl, index, duration_ns, behind, out);
}

void kc_timeline_copy(struct kc_timeline *tl, uint32_t stream, int64_t now_ns, enum kc_copy_route route,
		      int64_t duration_ns, struct kc_placement *out)
{
	uint32_t index = index_of(stream);
	struct kc__copy_engine *engine;
	int64_t ready_ns;
	int behind;

	if (route != KC_ROUTE_TO_DEVICE && route != KC_ROUTE_TO_HOST) {
		kc_timeline_occupy(tl, stream, now_ns, duration_ns, out);
		return;
	}
	engine = &tl->engines[route == KC_ROUTE_TO_HOST ? tl->engine_count - 1 : 0];
	kc__copies_expire(tl, engine, now_ns);
	begin_occupying(tl, index, now_ns, &behind, out);
	ready_ns = out->start_ns;
	out->start_ns = kc__copies_free_ns(tl, engine, ready_ns);
	occupy(tl, index, duration_ns, behind && out->start_ns == ready_ns, out);
	kc__copies_add(tl, engine, index, out);
}

void kc_timeline_cancel(struct kc_timeline *tl, uint32_t stream, uint32_t ticket)
{
	uint32_t index = index_of(stream);

	invalidate_head(tl, index);
	for (uint32_t i = 0; i < tl->engine_count; i++)
		kc__copies_remove(&tl->engines[i], index, ticket);
	kc__ring_cancel(&tl->streams[index], tl->rings[index], ticket);
}

int64_t kc_timeline_tail(struct kc_timeline *tl, uint32_t stream, int64_t now_ns)
{
	const struct kc__timeline_stream *s = &tl->streams[index_of(stream)];

	return kc__later_ns(now_ns, kc__later_ns(kc__stream_tail_ns(s), held_back_ns(tl, s)));
}

void kc_timeline_wait(struct kc_timeline *tl, uint32_t stream, int64_t ready_ns)
{
	struct kc__timeline_stream *s = &tl->streams[index_of(stream)];

	s->ready_ns = kc__later_ns(s->ready_ns, ready_ns);
}

/* The entry shared by several streams is not idle when one of them is. */
int kc_timeline_stream_idle(struct kc_timeline *tl, uint32_t stream, int64_t now_ns)
{
	if (index_of(stream) == KC__OVERFLOW_STREAM || kc__ring_is_clear(&tl->streams[stream], now_ns))
		return 0;
	invalidate_head(tl, stream);
	kc__ring_clear(&tl->streams[stream], now_ns);
	return 1;
}

int kc_timeline_device_idle(struct kc_timeline *tl, int64_t now_ns)
{
	int known = tl->untouched;

	for (uint32_t i = 0; i < KC__STREAMS; i++) {
		known &= kc__ring_is_clear(&tl->streams[i], now_ns);
		kc__ring_clear(&tl->streams[i], now_ns);
		tl->streams[i].busy = 0;
	}
	tl->busy_count = 0;
	tl->untouched = 1;
	kc__in_flight_init(&tl->in_flight, &tl->limits);
	return !known;
}

__attribute__((hot)) uint32_t kc_timeline_awaited(const struct kc_timeline *tl, uint32_t stream)
{
	const struct kc__timeline_stream *s = &tl->streams[index_of(stream)];

	return s->next - s->reported;
}

void kc_timeline_measured(struct kc_timeline *tl, uint32_t stream, uint32_t ticket, int64_t start_ns, int64_t end_ns)
{
	uint32_t index = index_of(stream);

	if (start_ns <= 0 || end_ns < start_ns || end_ns > INT64_MAX / 2)
		return;
	invalidate_head(tl, index);
	kc__ring_ended(&tl->streams[index], tl->rings[index], ticket, end_ns, tl->launch_gap_ns);
	mark_busy(tl, index);
}

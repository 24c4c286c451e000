#include "ring.h"

static struct kc__interval *slot(struct kc__interval *ring, uint32_t ticket)
{
	return &ring[ticket & (KC__RING - 1)];
}

void kc__ring_merge_oldest(struct kc__timeline_stream *s, struct kc__interval *ring)
{
	slot(ring, s->first + 1)->start_ns = kc__ring_slot(ring, s->first)->start_ns;
	s->first++;
}

/* Intervals by their distance from the first, as tickets wrap around. */
struct range {
	uint32_t low, high; /* the answer is in [low, high] */
};

static int ends_after(const struct kc__timeline_stream *s, const struct kc__interval *ring, uint32_t distance,
		      int64_t t)
{
	return kc__ring_slot(ring, s->first + distance)->end_ns > t;
}

/* Doubling steps from the cursor: consecutive searches end close to each other. */
static struct range gallop(const struct kc__timeline_stream *s, const struct kc__interval *ring, int64_t t)
{
	struct range r = {0, s->next - s->first};
	uint32_t from = s->cursor - s->first < r.high ? s->cursor - s->first : 0;
	int back = ends_after(s, ring, from, t);

	if (back)
		r.high = from;
	else
		r.low = from + 1;
	for (uint32_t step = 1; r.low < r.high; step *= 2) {
		uint32_t reach = step < r.high - r.low ? step : r.high - r.low;
		uint32_t probe = back ? r.high - reach : r.low + reach - 1;
		int after = ends_after(s, ring, probe, t);

		if (after)
			r.high = probe;
		else
			r.low = probe + 1;
		if (after != back)
			break;
	}
	return r;
}

/* Binary search: ends never decrease with tickets. */
uint32_t kc__ring_search(const struct kc__timeline_stream *s, const struct kc__interval *ring, int64_t t)
{
	struct range r = gallop(s, ring, t);

	while (r.low < r.high) {
		uint32_t middle = r.low + (r.high - r.low) / 2;

		if (ends_after(s, ring, middle, t))
			r.high = middle;
		else
			r.low = middle + 1;
	}
	return s->first + r.low;
}

static void read_interval(const struct kc__timeline_stream *s, const struct kc__interval *ring, uint32_t ticket,
			  struct kc__interval *found)
{
	*found = *kc__ring_slot(ring, ticket);
	found->start_ns = kc__real_ns(s, found->start_ns);
	found->end_ns = kc__real_ns(s, found->end_ns);
}

__attribute__((hot)) void kc__ring_drop_ended(struct kc__timeline_stream *s, const struct kc__interval *ring,
					      int64_t now_ns)
{
	/* A measurement that comes late brings back all that has been launched since. */
	if (kc__stream_tail_ns(s) <= now_ns)
		s->first = s->next;
	else if (kc__real_ns(s, kc__ring_slot(ring, s->first + 1)->end_ns) > now_ns)
		s->first++;
	else
		s->first = kc__ring_search(s, ring, kc__stored_ns(s, now_ns));
}

/* Whether it has not been overwritten. */
static int is_readable(const struct kc__timeline_stream *s, uint32_t ticket)
{
	uint32_t age = s->next - ticket;

	return age && age <= KC__RING && age < s->next;
}

int kc__ring_look(const struct kc__timeline_stream *s, const struct kc__interval *ring, uint32_t ticket,
		  struct kc__interval *found)
{
	if (!is_readable(s, ticket))
		return 0;
	read_interval(s, ring, ticket, found);
	return 1;
}

static int is_before(uint32_t ticket, uint32_t other)
{
	return (int32_t)(ticket - other) < 0;
}

void kc__ring_cancel(struct kc__timeline_stream *s, struct kc__interval *ring, uint32_t ticket)
{
	struct kc__interval *interval;

	if (!is_readable(s, ticket) || is_before(ticket, s->first))
		return;
	interval = slot(ring, ticket);
	if (ticket + 1 == s->next) {
		s->next--;
		s->tail_ns = is_readable(s, ticket - 1) ? kc__ring_slot(ring, ticket - 1)->end_ns : kc__stored_ns(s, 0);
		return;
	}
	interval->end_ns = interval->start_ns;
	interval->sm_blocks.warps = 0;
}

/* How far this end moves the present chain. If it is of an earlier chain: only as far as that one now runs into it. */
static int64_t correction_ns(const struct kc__timeline_stream *s, const struct kc__interval *ring, uint32_t ticket,
			     int64_t end_ns, int64_t gap_ns)
{
	int64_t late_ns = end_ns - kc__real_ns(s, kc__ring_slot(ring, ticket)->end_ns);
	int64_t begin_ns, before_ns;

	if (!is_before(ticket, s->chain) || s->chain == s->next)
		return late_ns;
	begin_ns = kc__real_ns(s, kc__ring_slot(ring, s->chain)->start_ns);
	before_ns = kc__real_ns(s, kc__ring_slot(ring, s->chain - 1)->end_ns) + late_ns + gap_ns;
	return (before_ns > s->origin_ns ? before_ns : s->origin_ns) - begin_ns;
}

void kc__ring_ended(struct kc__timeline_stream *s, const struct kc__interval *ring, uint32_t ticket, int64_t end_ns,
		    int64_t gap_ns)
{
	if (is_before(ticket, s->next) && !is_before(ticket, s->reported))
		s->reported = ticket + 1;
	if (!is_readable(s, ticket) || is_before(ticket, s->measured))
		return;
	s->shift_ns = kc__real_ns(s, correction_ns(s, ring, ticket, end_ns, gap_ns));
	s->measured = ticket + 1;
	s->first = ticket + 1;
}

void kc__ring_clear(struct kc__timeline_stream *s, int64_t now_ns)
{
	s->first = s->next;
	s->measured = s->next;
	s->ready_ns = 0;
	if (kc__stream_tail_ns(s) > now_ns)
		s->shift_ns = (int64_t)((uint64_t)now_ns - (uint64_t)s->tail_ns);
}

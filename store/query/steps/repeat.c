#include "repeat.h"
#include "predictor/math/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ALIKE 0.9 /* share of the calls of a repeat that another one has, too */

struct finder {
	const struct kc_calls *calls;
	const struct kc_origins *origins;
	const struct kc_mark *mark;
	enum kc_step_start start;
	int64_t period, offset; /* calls; from an origin to the start after it */
};

/* How far from where it is expected a start is looked for; calls. */
static int64_t reach_of(const struct finder *f)
{
	if (f->period / 16 > 4)
		return f->period / 16;
	return f->period / 4 < 4 ? f->period / 4 : 4;
}

static int64_t wait_before(const struct finder *f, int64_t i)
{
	return i ? f->calls->at[i].ns - f->calls->at[i - 1].ns : INT64_MAX;
}

/* The call near `expected` with which a repeat begins by the longest wait: that which most begin with; where it is
 * missing, another one after half the usual wait. */
static int64_t after_wait(const struct finder *f, int64_t expected, int64_t first, int64_t last)
{
	int64_t best = -1, any = -1;

	for (int64_t i = first; i <= last; i++) {
		if (f->calls->name[i] == f->mark->name && (best < 0 || wait_before(f, i) > wait_before(f, best)))
			best = i;
		if (any < 0 || wait_before(f, i) > wait_before(f, any))
			any = i;
	}
	if (best >= 0)
		return best;
	return wait_before(f, any) >= f->mark->wait_ns / 2 ? any : expected;
}

static int64_t with_copy(const struct finder *f, int64_t expected, int64_t first, int64_t last)
{
	for (int64_t i = first; i <= last; i++)
		if (f->calls->at[i].kind == KC_CALL_FROM_HOST)
			return i;
	return expected;
}

static int64_t near(const struct finder *f, int64_t expected)
{
	int64_t first = expected - reach_of(f), last = expected + reach_of(f);

	if (f->start == KC_START_ASSUMED || last < 0 || first >= (int64_t)f->calls->count)
		return expected;
	first = first < 0 ? 0 : first;
	last = last < (int64_t)f->calls->count ? last : (int64_t)f->calls->count - 1;
	return f->start == KC_START_GAP ? after_wait(f, expected, first, last) : with_copy(f, expected, first, last);
}

static int follows(const struct finder *f, int64_t first, int64_t second)
{
	return second - first <= f->period + f->period / 4 + 2;
}

/* Where the repeat of an origin begins: of the two places that are a period apart, the nearer one. */
static int64_t start_of(const struct finder *f, int64_t origin)
{
	int is_before = f->start != KC_START_ASSUMED && f->offset > f->period / 2;

	return near(f, origin + f->offset - (is_before ? f->period : 0));
}

static uint32_t median(uint32_t *numbers, uint32_t count)
{
	if (!count)
		return 0;
	kc_sort_numbers(numbers, count);
	return numbers[count / 2];
}

/* Starts, of which those before the recording's are at it if they are near, and left out if not. */
static void set_starts(const struct finder *f, struct kc_repeat *out)
{
	for (size_t k = 0; k < f->origins->count; k++) {
		int64_t start = start_of(f, f->origins->at[k]);

		if (start < 0 && start >= -reach_of(f))
			start = 0;
		if (start < 0 || start >= (int64_t)f->calls->count ||
		    (out->count && start <= (int64_t)out->at[out->count - 1].first))
			continue;
		out->at[out->count++] = (struct kc_call_span){(uint32_t)start, 0};
	}
}

/* The median distance between starts of repeats that follow each other. */
static uint32_t usual_calls(const struct finder *f, const struct kc_repeat *repeat, uint32_t *numbers)
{
	uint32_t count = 0;

	for (uint32_t k = 0; k + 1 < repeat->count; k++)
		if (follows(f, repeat->at[k].first, repeat->at[k + 1].first))
			numbers[count++] = repeat->at[k + 1].first - repeat->at[k].first;
	return count ? median(numbers, count) : (uint32_t)f->period;
}

/* Where a repeat ends that none follows. */
static int64_t end_of(const struct finder *f, int64_t first, uint32_t usual)
{
	int64_t after = first + usual, count = f->calls->count;

	if (after < count)
		after = near(f, after);
	return after < count ? after : count;
}

static int is_long_enough(int64_t first, int64_t after, uint32_t usual)
{
	return after > first && after - first + usual / 8 + 2 >= usual;
}

/* Each ends where the next one begins, or after the usual number of calls. One that the recording cuts off is left
 * out, and so is what is far shorter, such as the rest of a first one that did more. */
static void set_ends(const struct finder *f, uint32_t usual, struct kc_repeat *out)
{
	uint32_t kept = 0;

	for (uint32_t k = 0; k < out->count; k++) {
		int64_t first = out->at[k].first, next = k + 1 < out->count ? out->at[k + 1].first : INT64_MAX;
		int64_t after = next;

		if (next == INT64_MAX || !follows(f, first, next))
			after = end_of(f, first, usual);
		if (after > next)
			after = next;
		if (is_long_enough(first, after, usual))
			out->at[kept++] = (struct kc_call_span){(uint32_t)first, (uint32_t)after};
	}
	out->count = kept;
}

/* --- repeats at the ends of the recording, which too few anchors may be in */

/* Whether most calls of the span are in the other one, too. count: by number; zeros, before and after. */
static int is_alike(const struct kc_calls *calls, struct kc_call_span span, struct kc_call_span other, uint32_t *count)
{
	uint32_t common = 0;

	for (uint32_t i = other.first; i < other.after; i++)
		count[calls->id[i]]++;
	for (uint32_t i = span.first; i < span.after; i++) {
		common += count[calls->id[i]] > 0;
		count[calls->id[i]] -= count[calls->id[i]] > 0;
	}
	for (uint32_t i = other.first; i < other.after; i++)
		count[calls->id[i]] = 0;
	return common >= ALIKE * (span.after - span.first);
}

/* Adds the one before the first and the one after the last, if they are there. out->at: room for two more. */
static void complete(const struct finder *f, uint32_t usual, uint32_t *count, struct kc_repeat *out)
{
	struct kc_call_span last = out->at[out->count - 1], first = out->at[0], span;
	int64_t before = near(f, (int64_t)first.first - usual);

	span.first = last.after;
	span.after = (uint32_t)end_of(f, last.after, usual);
	if (is_long_enough(span.first, span.after, usual) && is_alike(f->calls, span, last, count))
		out->at[out->count++] = span;
	span.first = before > 0 ? (uint32_t)before : 0;
	span.after = first.first;
	if (is_long_enough(span.first, span.after, usual) && is_alike(f->calls, span, first, count)) {
		memmove(out->at + 1, out->at, out->count * sizeof(*out->at));
		out->at[0] = span;
		out->count++;
	}
}

static void count_launches(const struct kc_calls *calls, uint32_t *numbers, struct kc_repeat *out)
{
	uint32_t *each = numbers;

	for (uint32_t k = 0; k < out->count; k++) {
		each[k] = 0;
		for (uint32_t i = out->at[k].first; i < out->at[k].after; i++)
			each[k] += calls->at[i].kind == KC_CALL_LAUNCH;
	}
	out->launches = median(numbers, out->count);
	for (uint32_t k = 0; k < out->count; k++)
		out->regular += numbers[k] == out->launches;
}

static void choose_start(struct finder *f)
{
	f->offset = f->start == KC_START_GAP ? f->mark->offset : f->mark->copy_offset;
	/* The recording begins with one, if its first repeat is not far in. */
	if (f->start == KC_START_ASSUMED)
		f->offset = f->origins->at[0] < f->period ? -f->origins->at[0] : 0;
}

int kc_repeat_make(const struct kc_calls *calls, const struct kc_origins *origins, uint32_t period,
		   const struct kc_mark *mark, struct kc_repeat *out)
{
	struct finder f = {calls, origins, mark, out->start, period, 0};
	uint32_t *numbers = calloc(origins->count + 2, sizeof(*numbers)), usual;
	uint32_t *by_id = calloc((size_t)calls->ids + 1, sizeof(*by_id));
	int rc;

	out->at = calloc(origins->count + 2, sizeof(*out->at));
	rc = numbers && by_id && out->at ? 0 : -ENOMEM;
	if (rc == 0 && origins->count) {
		choose_start(&f);
		set_starts(&f, out);
		usual = usual_calls(&f, out, numbers);
		set_ends(&f, usual, out);
		if (out->count)
			complete(&f, usual, by_id, out);
		count_launches(calls, numbers, out);
	}
	free(by_id);
	free(numbers);
	return rc;
}

/* --- how they are */

struct counts {
	uint32_t *now, *before; /* by number */
	uint8_t *is_in;         /* 1: some repeat has it */
};

#define SEVERAL 3u /* calls of one number in a repeat, as those of layers are */

static void describe_span(const struct kc_calls *calls, const struct kc_repeat *repeat, uint32_t k, struct counts *c,
			  uint64_t *common, uint64_t *composite)
{
	const struct kc_call_span span = repeat->at[k];

	for (uint32_t i = span.first; i < span.after; i++) {
		uint32_t id = calls->id[i];

		c->is_in[id] = 1;
		c->now[id]++;
		*common += c->now[id] <= c->before[id];
		/* The third makes the first two count, too. */
		*composite += c->now[id] > SEVERAL ? 1 : c->now[id] == SEVERAL ? SEVERAL : 0;
	}
}

static void clear(const struct kc_calls *calls, const struct kc_call_span *span, uint32_t *of)
{
	for (uint32_t i = span->first; i < span->after; i++)
		of[calls->id[i]] = 0;
}

KC_ORDER(by_size, struct kc_call_span, KC_BY(x->after - x->first, y->after - y->first))

/* Of the repeats that another one follows, those within 5 % of the median number of calls, or within 2; as a share of
 * all but the last. */
static int measure_evenness(const struct kc_repeat *repeat, double *out)
{
	struct kc_call_span *sorted = calloc((size_t)repeat->count + 1, sizeof(*sorted));
	uint32_t usual, even = 0;

	if (!sorted)
		return -ENOMEM;
	if (repeat->count)
		memcpy(sorted, repeat->at, repeat->count * sizeof(*sorted));
	qsort(sorted, repeat->count, sizeof(*sorted), by_size);
	usual = sorted[repeat->count / 2].after - sorted[repeat->count / 2].first;
	for (uint32_t k = 0; k + 1 < repeat->count; k++) {
		uint32_t calls = repeat->at[k].after - repeat->at[k].first;
		uint32_t off = calls > usual ? calls - usual : usual - calls;

		even += repeat->at[k].after == repeat->at[k + 1].first && (off <= 2 || off <= usual / 20);
	}
	*out = repeat->count > 1 ? (double)even / (double)(repeat->count - 1) : 0;
	free(sorted);
	return 0;
}

static void describe(const struct kc_calls *calls, const struct kc_repeat *repeat, struct counts *c,
		     struct kc_repeat_is *out)
{
	uint64_t in = 0, compared = 0, common = 0, composite = 0, foreign = 0;
	uint32_t k;

	for (k = 0; k < repeat->count; k++) {
		uint32_t *was = c->before, size = repeat->at[k].after - repeat->at[k].first;

		describe_span(calls, repeat, k, c, &common, &composite);
		in += size;
		compared += k ? size : 0;
		if (k)
			clear(calls, &repeat->at[k - 1], c->before);
		c->before = c->now;
		c->now = was;
	}
	for (uint32_t i = 0; i < calls->count; i++)
		foreign += !c->is_in[calls->id[i]];
	*out = (struct kc_repeat_is){
	    .cover = (double)in / (double)calls->count,
	    .alike = compared ? (double)common / (double)compared : 0,
	    .composite = in ? (double)composite / (double)in : 0,
	    .foreign = (double)foreign / (double)calls->count,
	};
}

int kc_repeat_describe(const struct kc_calls *calls, const struct kc_repeat *repeat, struct kc_repeat_is *out)
{
	struct counts c = {calloc((size_t)calls->ids + 1, sizeof(*c.now)),
			   calloc((size_t)calls->ids + 1, sizeof(*c.before)),
			   calloc((size_t)calls->ids + 1, sizeof(*c.is_in))};
	int rc = c.now && c.before && c.is_in ? 0 : -ENOMEM;

	*out = (struct kc_repeat_is){0};
	if (rc == 0 && calls->count)
		describe(calls, repeat, &c, out);
	if (rc == 0)
		rc = measure_evenness(repeat, &out->even);
	free(c.now);
	free(c.before);
	free(c.is_in);
	return rc;
}

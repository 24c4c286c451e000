#include "together.h"

#include "predictor/papers/leftover.h"

#include <errno.h>
#include <math.h>

/* A wave that is not full lasts as long as kc__quantised() has it. Of that the second kernel finds more room, because
 * blocks do not keep in step, and less where the first one fills the SMs' warp slots: then blocks share what they are
 * limited by, and the last ones run faster. It is no more than a full wave, as the last block must have begun. Both
 * factors are chosen on 32 pairs of nine kernels on a V100 (together_trace_test.c). */
#define TAIL_WAVES 1.8
#define TAIL_OF_FULL 0.8

/* The most that a tail is longer than that is in most of those pairs. */
#define TAIL_AT_MOST (4.0 / 3)

/* Of the time of both: in a tail that is more, it matters what they need of the GPU. */
#define SHORT_TAIL 0.06

/* What a GPU may deliver of its rates, as its clock may be below the one that its data sheet has: 0.906 of it on the
 * V100 of together_trace_test.c, if that is an SXM2 module. */
#define LEAST_RATES 0.9

/* How near to its limit a resource serves two kernels as well as one: exponent of a norm of their use and 1. */
#define IMPERFECT_NORM 4.0

/* Of a cache: what passes through it without being missed by others, and how much more than fits makes two kernels
 * slower that both come back to it: 1.5 times L1 made copies on a V100 three times slower, as much as L1 cost them all
 * that they would have gained. */
#define PASSING 0.05
#define CROWDED 1.25

static const char *const keys[] = {
#define X(constant, key) key,
    KC_TOGETHER_WHYS(X)
#undef X
};

const char *kc_together_why_key(uint32_t why)
{
	return why < KC_TOGETHER_WHY_COUNT ? keys[why] : "unknown";
}

static int is_of_an_sm(uint32_t resource)
{
	return resource != KC_RESOURCE_L2 && resource != KC_RESOURCE_DRAM && resource != KC_RESOURCE_ATOMICS;
}

/* Shared memory and L1 are one memory (resources.h), which goes by the name of what both need more of. */
static int is_of_that_memory(uint32_t resource)
{
	return resource == KC_RESOURCE_SHARED || resource == KC_RESOURCE_L1;
}

/* rates: 1, or part of what the GPU delivers. */
static double share_of(const struct kc_neighbour *kernel, uint32_t resource, double rates)
{
	const double *of = kernel->shares->of;

	if (is_of_that_memory(resource))
		return fmin((of[KC_RESOURCE_SHARED] + of[KC_RESOURCE_L1]) / rates, 1);
	return fmin(of[resource] / rates, 1);
}

/* Two kernels whose blocks share the device, or SMs as well. */
struct sharing {
	const struct kc_neighbour *kernels[2];
	double room;       /* the second one's time, for want of room, over its time alone */
	uint8_t share_sms; /* 0: each has SMs of its own */
};

struct most {
	uint32_t resource; /* of which both together need most */
	double share;      /* sum of both shares, while both run as fast as they do for their room alone */
	double ns;         /* for which both together need a resource at most */
};

static struct most most_of(const struct sharing *s, double rates)
{
	struct most most = {0};

	for (uint32_t r = 0; r < KC_RESOURCE_COUNT; r++) {
		double first = share_of(s->kernels[0], r, rates), second = share_of(s->kernels[1], r, rates);

		if (is_of_an_sm(r) && !s->share_sms)
			continue;
		most.ns = fmax(most.ns, first * s->kernels[0]->solo_ns + second * s->kernels[1]->solo_ns);
		if (first + second / s->room <= most.share)
			continue;
		most.share = first + second / s->room;
		most.resource = r;
	}
	return most;
}

/* Both run at 1 / slowdown of their speed until one of them ends, the second one also as room makes it. */
static double both_slowed_ns(const struct sharing *s, double slowdown)
{
	double first = s->kernels[0]->solo_ns, second = s->kernels[1]->solo_ns, limited = s->room * second;

	if (first <= limited)
		return slowdown * first + second - first / s->room;
	return slowdown * limited + first - limited;
}

static uint32_t named(const struct sharing *s, uint32_t resource)
{
	const double *first = s->kernels[0]->shares->of, *second = s->kernels[1]->shares->of;

	if (!is_of_that_memory(resource))
		return resource;
	return first[KC_RESOURCE_L1] + second[KC_RESOURCE_L1] > first[KC_RESOURCE_SHARED] + second[KC_RESOURCE_SHARED]
		   ? KC_RESOURCE_L1
		   : KC_RESOURCE_SHARED;
}

static void tell_shares(struct kc_together *out, const struct sharing *s, uint32_t most)
{
	for (int i = 0; i < 2; i++) {
		const struct kc_shares joined = kc_shares_joined(s->kernels[i]->shares);

		out->resource[i] = out->why == KC_TOGETHER_SAME ? named(s, most) : kc_shares_most(&joined);
		out->share[i] = share_of(s->kernels[i], out->resource[i], 1);
	}
}

static void share_resources(struct kc_together *out, const struct sharing *s)
{
	struct most most = most_of(s, 1), at_least = most_of(s, LEAST_RATES);
	double slowdown = fmax(pow(1 + pow(at_least.share, IMPERFECT_NORM), 1 / IMPERFECT_NORM), at_least.share);

	out->ns = out->low_ns = fmin(fmax(both_slowed_ns(s, 1), most.ns), out->serial_ns);
	out->high_ns = fmin(fmax(both_slowed_ns(s, slowdown), out->ns), out->serial_ns);
	out->why = most.share > 1 ? KC_TOGETHER_SAME : KC_TOGETHER_APART;
	tell_shares(out, s, most.resource);
}

/* --- caches */

static int may_lose(const struct kc_held *held, double other_bytes, double cache_bytes)
{
	return held->reuse != KC_REUSE_NONE && other_bytes > PASSING * cache_bytes;
}

/* Whether one of the two may lose what it has in a cache. */
static int is_crowded(struct kc_together *out, const struct kc_held *first, const struct kc_held *second,
		      double cache_bytes)
{
	if (!(cache_bytes > 0) || first->bytes + second->bytes < cache_bytes ||
	    !(may_lose(first, second->bytes, cache_bytes) || may_lose(second, first->bytes, cache_bytes)))
		return 0;
	out->held_bytes[0] = first->bytes;
	out->held_bytes[1] = second->bytes;
	out->cache_bytes = cache_bytes;
	out->is_slower = first->reuse == KC_REUSE_HELD && second->reuse == KC_REUSE_HELD &&
			 first->bytes + second->bytes > CROWDED * cache_bytes;
	return 1;
}

/* slots: blocks of the second one that run at once. */
static int lacks_cache(const struct kc_device *device, const struct sharing *s, uint32_t slots, struct kc_together *out)
{
	double resident[2] = {
	    kc_resident_blocks(device, s->kernels[0]->work),
	    fmin(kc_resident_blocks(device, s->kernels[1]->work), ceil(slots / (double)device->sm_count))};
	struct kc_held l1[2];
	double shared = 0;

	for (int i = 0; i < 2; i++) {
		l1[i] = s->kernels[i]->shares->l1;
		l1[i].bytes *= resident[i];
		shared += resident[i] * s->kernels[i]->work->shared_bytes;
	}
	out->why = KC_TOGETHER_L1;
	if (s->share_sms && is_crowded(out, &l1[0], &l1[1], kc_l1_bytes(device, shared)))
		return 1;
	out->why = KC_TOGETHER_L2;
	return is_crowded(out, &s->kernels[0]->shares->l2, &s->kernels[1]->shares->l2, device->l2_bytes);
}

/* --- which blocks run at once */

double kc_tail_ns(const struct kc_device *device, const struct kc_work *work, double solo_ns)
{
	double waves = work->waves, of_last = waves - (ceil(waves) - 1);
	double wave_ns = solo_ns / kc__quantised(waves, 0);
	double warps = (double)work->grid.active * work->grid.block.of[KC_SM_WARPS];
	double full = fmin(warps / kc_sm_limits(device).of[KC_SM_WARPS], 1);

	if (!(waves > 1))
		return 0;
	return fmin(TAIL_WAVES * (1 - TAIL_OF_FULL * full) * kc__quantised(of_last, 0), 1) * wave_ns;
}

static double behind_ns(const struct sharing *s, double overlap_ns)
{
	double first = s->kernels[0]->solo_ns;

	return fmax(first, first - fmin(overlap_ns, first) + s->kernels[1]->solo_ns);
}

/* Whatever both need, no more than the first one's last wave overlaps. */
static void share_tail(const struct kc_device *device, struct kc_together *out, const struct sharing *s)
{
	double tail_ns = kc_tail_ns(device, s->kernels[0]->work, s->kernels[0]->solo_ns);
	int is_known = !out->is_unknown[0] && !out->is_unknown[1];
	double most_ns = is_known ? most_of(s, 1).ns : 0,
	       least_ns = fmax(behind_ns(s, TAIL_AT_MOST * tail_ns), most_ns);

	if (!is_known && out->serial_ns - least_ns > SHORT_TAIL * out->serial_ns)
		return;
	out->why = tail_ns > 0 ? KC_TOGETHER_TAIL : KC_TOGETHER_NO_ROOM;
	out->ns = fmin(fmax(behind_ns(s, tail_ns), most_ns), out->serial_ns);
	out->low_ns = fmin(least_ns, out->serial_ns);
	out->high_ns = out->serial_ns;
}

int kc_together(const struct kc_device *device, const struct kc_neighbour *first, const struct kc_neighbour *second,
		struct kc_together *out)
{
	struct sharing s = {.kernels = {first, second}, .room = 1, .share_sms = 1};
	struct kc_leftover leftover;

	*out = (struct kc_together){
	    .serial_ns = first->solo_ns + second->solo_ns,
	    .ns = NAN,
	    .low_ns = NAN,
	    .high_ns = NAN,
	    .why = KC_TOGETHER_UNKNOWN,
	    .is_unknown = {!first->shares, !second->shares},
	};
	if (!(first->solo_ns > 0) || !(second->solo_ns > 0) || !device->sm_count ||
	    kc_leftover_pair(&leftover, device, &first->work->grid, 0, &second->work->grid, KC_SPREAD) < 0)
		return -EINVAL;
	if (leftover.concurrency_case != KC_CASE_A) {
		share_tail(device, out, &s);
		return 0;
	}
	if (out->is_unknown[0] || out->is_unknown[1])
		return 0;
	s.room = leftover.slowdown;
	s.share_sms = first->work->blocks + second->work->blocks > device->sm_count;
	if (!lacks_cache(device, &s, leftover.slots, out))
		share_resources(out, &s);
	return 0;
}

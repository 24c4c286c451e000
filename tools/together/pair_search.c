#include "pair_search.h"
#include "launch_groups.h"
#include "pair_meetings.h"

#include "tools/command.h"
#include "tools/system/database.h"
#include "predictor/math/order.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct kc_measured_moment *moment_at(const struct kc_pair_search *s, size_t place)
{
	return (const struct kc_measured_moment *)s->side.runs[0].moments.at + place;
}

static int choose_kernels(struct kc_pair_search *s, const struct kc_launch_groups *g, unsigned most)
{
	struct kc_group_kernel *all;
	size_t n;
	int rc = kc_launch_groups_kernels(&s->side, g, &all, &n);

	if (rc < 0)
		return rc;
	s->count = (unsigned)(n < most ? n : most);
	s->other_kernels = n - s->count;
	for (size_t i = 0; i < n; i++)
		if (i < s->count)
			s->kernels[i].of = all[i];
		else
			s->other_share += all[i].share;
	free(all);
	return 0;
}

static int read_demand(struct kc_pair_search *s, const struct kc_device *otherwise, struct kc_pair_kernel *kernel)
{
	struct kc_launch_demand *demand = &kernel->demand;
	int rc = kc_launch_demand(s->side.store, kernel->of.launch, otherwise, demand);

	if (rc == -ENODATA)
		return 0;
	kernel->is_placed = rc == 0;
	kernel->is_known = rc == 0 && demand->is_counted &&
			   kc_shares_of(&demand->device, &demand->work, &demand->counts, KC_FOOTPRINT_UNKNOWN,
					kernel->of.solo_ns, &kernel->shares) == 0;
	return rc;
}

/* --- pairs */

unsigned kc_pair_kernel_at(const struct kc_pair_search *s, uint32_t kernel)
{
	unsigned i = 0;

	while (i < s->count && s->kernels[i].of.kernel != kernel)
		i++;
	return i;
}

/* By GPU, which kernels it ran. 0 or -ENOMEM. */
static int find_beside(struct kc_pair_search *s, const struct kc_launch_groups *g)
{
	uint32_t last = 0, *ran;

	for (size_t i = 0; i < g->timed_count; i++)
		if (moment_at(s, g->timed[i].place)->device > last)
			last = moment_at(s, g->timed[i].place)->device;
	ran = calloc((size_t)last + 1, sizeof(*ran));
	if (!ran)
		return -ENOMEM;
	for (size_t i = 0; i < g->timed_count; i++) {
		unsigned kernel = kc_pair_kernel_at(s, g->timed[i].kernel);

		if (kernel < s->count)
			ran[moment_at(s, g->timed[i].place)->device] |= 1u << kernel;
	}
	for (size_t gpu = 0; gpu <= last; gpu++)
		for (unsigned kernel = 0; kernel < s->count; kernel++)
			if (ran[gpu] >> kernel & 1)
				s->kernels[kernel].beside |= ran[gpu];
	free(ran);
	return 0;
}

/* A launch of each is looked at, which may have been on different GPUs. */
static int share_a_gpu(const struct kc_pair_search *s, unsigned first, unsigned second)
{
	const struct kc_launch_demand *one = &s->kernels[first].demand, *other = &s->kernels[second].demand;

	return (s->kernels[first].beside >> second & 1) &&
	       (one->device_id == other->device_id ||
		(strcmp(one->device.name, other->device.name) == 0 && one->device.sm_count == other->device.sm_count));
}

struct kc_neighbour kc_pair_neighbour(const struct kc_pair_kernel *kernel)
{
	return (struct kc_neighbour){&kernel->demand.work, kernel->of.solo_ns,
				     kernel->is_known ? &kernel->shares : NULL};
}

static struct kc_together not_known(double serial_ns)
{
	return (struct kc_together){
	    .serial_ns = serial_ns,
	    .ns = NAN,
	    .low_ns = NAN,
	    .high_ns = NAN,
	    .why = KC_TOGETHER_UNKNOWN,
	    .is_unknown = {1, 1},
	};
}

static struct kc_pair together(const struct kc_pair_search *s, unsigned first, unsigned second)
{
	const struct kc_pair_kernel *one = &s->kernels[first], *other = &s->kernels[second];
	const struct kc_neighbour a = kc_pair_neighbour(one), b = kc_pair_neighbour(other);
	struct kc_pair pair = {.first = first, .second = second, .measured_gain = NAN};

	if (!one->is_placed || !other->is_placed || kc_together(&one->demand.device, &a, &b, &pair.together))
		pair.together = not_known(a.solo_ns + b.solo_ns);
	return pair;
}

/* The least that both may gain, and then what they may: what is not known comes last. */
static int is_better(const struct kc_pair *a, const struct kc_pair *b)
{
	double sure = a->together.high_ns / a->together.serial_ns,
	       other_sure = b->together.high_ns / b->together.serial_ns;

	if (isnan(sure) || isnan(other_sure))
		return !isnan(sure) && isnan(other_sure);
	if (sure != other_sure)
		return sure < other_sure;
	return a->together.ns / a->together.serial_ns < b->together.ns / b->together.serial_ns;
}

KC_ORDER(by_gain, struct kc_pair, is_better(y, x) - is_better(x, y) ?: KC_UP(first) ?: KC_UP(second))

/* The better order. Where what one of them needs is not known, the better one may be that of which nothing is told. */
static int is_rather_told(const struct kc_pair *pair, const struct kc_pair *other)
{
	int is_unknown = pair->together.why == KC_TOGETHER_UNKNOWN;

	if (is_unknown != (other->together.why == KC_TOGETHER_UNKNOWN))
		return is_unknown;
	return is_better(pair, other);
}

static void add_pair(struct kc_pair_search *s, unsigned first, unsigned second)
{
	struct kc_pair pair, other;

	if (!share_a_gpu(s, first, second))
		return;
	pair = together(s, first, second);
	other = together(s, second, first);
	s->pairs[s->pair_count++] = is_rather_told(&other, &pair) ? other : pair;
}

static void find_pairs(struct kc_pair_search *s)
{
	for (unsigned i = 0; i < s->count; i++)
		for (unsigned k = i; k < s->count; k++)
			add_pair(s, i, k);
	qsort(s->pairs, s->pair_count, sizeof(*s->pairs), by_gain);
}

static int find(struct kc_pair_search *s, const struct kc_pair_asked *asked)
{
	struct kc_launch_groups groups = {0};
	int rc = kc_measured_names_tell_apart(&s->names);

	if (rc < 0)
		return rc;
	rc = kc_launch_groups_of(&s->side, &s->names, &groups);
	if (rc == 0)
		rc = choose_kernels(s, &groups, asked->most);
	for (unsigned i = 0; rc == 0 && i < s->count; i++)
		rc = read_demand(s, asked->device, &s->kernels[i]);
	if (rc == 0)
		rc = find_beside(s, &groups);
	if (rc == 0) {
		find_pairs(s);
		rc = kc_pair_meetings(s, groups.solo_ns);
	}
	kc_launch_groups_free(&groups);
	return rc;
}

int kc_pair_search(struct kc_pair_search *s, const struct kc_pair_asked *asked)
{
	int status = kc_side_select(&s->side, asked->run), rc;

	if (status == KC_EXIT_OK)
		status = kc_side_read(&s->side, asked->filter, 1, &s->names);
	if (status != KC_EXIT_OK)
		return status;
	rc = find(s, asked);
	if (rc == -ENOMEM)
		kc_error("%s", strerror(ENOMEM));
	else if (rc < 0)
		kc_database_unreadable(s->side.path, rc);
	return rc < 0 ? KC_EXIT_FAILED : KC_EXIT_OK;
}

void kc_pair_search_free(struct kc_pair_search *s)
{
	kc_side_close(&s->side);
	kc_measured_names_free(&s->names);
}

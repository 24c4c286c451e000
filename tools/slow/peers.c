#include "peers.h"
#include "items.h"
#include "tools/slow/processes/processes.h"

#include "predictor/math/median.h"
#include "predictor/prior/kernel_name.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EARLIER_LEAST 4u /* peers in earlier runs, or at the same position */
#define THIS_LEAST 8u    /* peers in this run; launches of known sizes */
#define TAIL 0.1         /* share of the peers that are unusual, at each end */
#define FAR_LEAST 0.05   /* less than this past the usual is not far, of the logarithm */
#define OLD_LEAST 4u     /* launches, after which a size is an old one */
#define KNOWN_LEAST 32u  /* launches of old sizes, one after the other, after which a size may be a new one */
#define KNOWN_SHARE 0.25 /* of a kernel's launches in the process, likewise */

/* What a group of peers has in common, beside their shape or kernel. */
enum depth { DEPTH_TWO, DEPTH_ONE, DEPTH_ARGUMENTS, DEPTH_NONE, DEPTHS };
enum common { COMMON_SHAPE, COMMON_KERNEL, COMMONS };

struct making {
	const struct kc_slow_runs *runs;
	struct kc__slow_items items;
	uint32_t *groups[COMMONS][DEPTHS];      /* by item; NULL: not made yet */
	uint32_t group_counts[COMMONS][DEPTHS]; /* the largest of them */
	uint8_t *is_new;                        /* by size */
	uint8_t *flags;                         /* by item: its flags, once they are known, close to one another */
	uint32_t *open;                         /* launches of this run, as places in out, that still lack peers */
	size_t open_count;
	struct kc_slow_launch *out;
};

static struct kc__slow_item *items_of(const struct making *m)
{
	return m->items.list.at;
}

static uint32_t kernel_of(const struct making *m, uint32_t shape)
{
	return kc_measured_shape(m->runs->names, shape)->kernel;
}

static uint32_t model_of(const struct making *m, uint32_t shape)
{
	return kc_measured_shape(m->runs->names, shape)->model;
}

/* --- processes */

/* By kernel: whether it waits for other processes, and so takes longer in those that are faster. */
static uint8_t *find_waiting(const struct making *m)
{
	size_t count = m->runs->names->kernels.count;
	uint8_t *waits = calloc(count + 1, 1);
	struct kc_name_traits traits;

	for (uint32_t kernel = 0; waits && kernel < count; kernel++) {
		kc_name_read(&traits, kc_measured_kernel(m->runs->names, kernel)->name);
		waits[kernel] = traits.family == KC_FAMILY_WAITING;
	}
	return waits;
}

/* Those of the launches of one run, from `first` up to `end`. */
static int level_run(struct making *m, const struct kc_diff_limits *limits, const uint8_t *waits, size_t first,
		     size_t end)
{
	struct kc_slow_timed *timed = calloc(end - first + 1, sizeof(*timed));
	struct kc_slow_excess *excess = calloc(end - first + 1, sizeof(*excess));
	uint32_t least = UINT32_MAX;
	int rc = timed && excess ? 0 : -ENOMEM;

	for (size_t i = first; i < end; i++)
		least = items_of(m)[i].part < least ? items_of(m)[i].part : least;
	for (size_t i = first; rc == 0 && i < end; i++) {
		const struct kc__slow_item *item = items_of(m) + i;

		timed[i - first] =
		    (struct kc_slow_timed){item->log, item->alike - 1, item->part - least,
					   (item->flags & KC__QUIET) != 0, waits[kernel_of(m, item->shape)]};
	}
	if (rc == 0)
		rc = kc_slow_processes(timed, end - first, limits, excess);
	for (size_t i = first; rc == 0 && i < end; i++) {
		struct kc__slow_item *item = items_of(m) + i;

		item->process_log = excess[i - first].log;
		item->log -= item->process_log;
		item->others = excess[i - first].others;
		item->whole = excess[i - first].whole;
		item->late = excess[i - first].late;
	}
	free(timed);
	free(excess);
	return rc;
}

/* Brings the launches of each process, on each of its GPUs, to the level of the others of its run. */
static int level_processes(struct making *m, const struct kc_diff_limits *limits)
{
	uint8_t *waits = find_waiting(m);
	int rc = waits ? 0 : -ENOMEM;

	for (size_t first = 0, end; rc == 0 && first < m->items.list.count; first = end) {
		int are_several = 0;

		for (end = first; end < m->items.list.count && items_of(m)[end].run == items_of(m)[first].run; end++)
			are_several = are_several || items_of(m)[end].part != items_of(m)[first].part;
		if (are_several)
			rc = level_run(m, limits, waits, first, end);
	}
	free(waits);
	return rc;
}

/* --- sizes */

struct history {           /* of a kernel in a process */
	uint32_t launches; /* in all */
	uint32_t so_far;
	uint32_t settled; /* the latest ones that were of an old size each */
};

/* Where no earlier run has the kernel: a size is known unless it first comes when the kernel has repeated others for a
 * while. */
static int note_early_sizes(const struct making *m, const uint32_t *in_earlier, uint8_t *is_known)
{
	uint32_t *launches = calloc((size_t)m->items.sizes + 1, sizeof(*launches)); /* so far, by size */
	struct history *histories = calloc((size_t)m->items.histories + 1, sizeof(*histories));
	int rc = launches && histories ? 0 : -ENOMEM;

	for (size_t i = m->items.this_first; rc == 0 && i < m->items.list.count; i++)
		histories[items_of(m)[i].history].launches++;
	for (size_t i = m->items.this_first; rc == 0 && i < m->items.list.count; i++) {
		const struct kc__slow_item *item = items_of(m) + i;
		struct history *of = histories + item->history;

		if (launches[item->size] == 0 && in_earlier[kernel_of(m, item->shape)] == 0 &&
		    (of->settled < KNOWN_LEAST || of->so_far < KNOWN_SHARE * of->launches))
			is_known[item->size] = 1;
		of->settled = launches[item->size] >= OLD_LEAST ? of->settled + 1 : 0;
		of->so_far++;
		launches[item->size]++;
	}
	free(launches);
	free(histories);
	return rc;
}

/* A size is known where it was launched before, or where its arguments are not known and its shape was. */
static int find_new_sizes(struct making *m)
{
	const struct kc_measured_names *names = m->runs->names;
	uint32_t *in_earlier = calloc(names->kernels.count + 1, sizeof(*in_earlier));        /* by kernel: launches */
	uint32_t *with_arguments = calloc(names->shapes.count + 1, sizeof(*with_arguments)); /* by shape, likewise */
	uint8_t *is_known = calloc((size_t)m->items.sizes + 1, 1), *knows_shape = calloc(names->shapes.count + 1, 1);
	int rc = in_earlier && with_arguments && is_known && knows_shape ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < m->items.this_first; i++) {
		const struct kc__slow_item *item = items_of(m) + i;

		in_earlier[kernel_of(m, item->shape)]++;
		is_known[item->size] = 1;
	}
	if (rc == 0)
		rc = note_early_sizes(m, in_earlier, is_known);
	for (size_t i = 0; rc == 0 && i < m->items.list.count; i++) {
		const struct kc__slow_item *item = items_of(m) + i;

		knows_shape[item->shape] |= is_known[item->size];
		with_arguments[item->shape] += is_known[item->size] && item->arguments;
	}
	for (size_t i = 0; rc == 0 && i < m->items.list.count; i++) {
		struct kc__slow_item *item = items_of(m) + i;
		uint32_t of_kernel = in_earlier[kernel_of(m, item->shape)];
		int same_shape =
		    knows_shape[item->shape] && (item->arguments == 0 || with_arguments[item->shape] < THIS_LEAST);

		if (is_known[item->size] && (of_kernel == 0 || item->flags & KC__EARLIER))
			item->flags |= KC__KNOWN;
		m->is_new[item->size] =
		    !is_known[item->size] && !same_shape && (of_kernel == 0 || of_kernel >= THIS_LEAST);
	}
	free(in_earlier);
	free(with_arguments);
	free(is_known);
	free(knows_shape);
	return rc;
}

/* --- groups: of launches on one model of GPU each */

static void group_key(const struct making *m, const struct kc__slow_item *item, enum common common, enum depth depth,
		      uint32_t key[static 4])
{
	int by_kernel = common == COMMON_KERNEL;

	memset(key, 0, 4 * sizeof(*key));
	key[0] = by_kernel ? kernel_of(m, item->shape) : item->shape;
	if (by_kernel)
		key[1] = model_of(m, item->shape);
	else if (depth <= DEPTH_ARGUMENTS)
		key[1] = item->arguments;
	for (int i = 0; i < 2; i++)
		if (depth <= (i == 0 ? DEPTH_ONE : DEPTH_TWO) && item->before[i])
			key[2 + i] = by_kernel ? kernel_of(m, item->before[i] - 1) + 1 : item->before[i];
}

static int make_groups(struct making *m, enum common common, enum depth depth)
{
	struct kc_intern keys = {0};
	uint32_t key[4], *groups;
	int rc = 0;

	if (m->groups[common][depth])
		return 0;
	groups = m->groups[common][depth] = calloc(m->items.list.count + 1, sizeof(*groups));
	if (!groups)
		return -ENOMEM;
	for (size_t i = 0; rc == 0 && i < m->items.list.count; i++) {
		group_key(m, items_of(m) + i, common, depth, key);
		groups[i] = kc_intern(&keys, 'g', key, sizeof(key));
		rc = groups[i] ? 0 : -ENOMEM;
	}
	m->group_counts[common][depth] = keys.count;
	kc_intern_free(&keys);
	return rc;
}

/* --- who is whose peer, best first */

struct rule {
	enum common common;
	uint8_t mask, flags; /* an item with these flags is a peer */
	uint32_t least;      /* so many make a group */
	enum kc_slow_from from;
	uint8_t alone;
};

static const struct rule own_rules[] = {
    {COMMON_SHAPE, KC__QUIET | KC__EARLIER, KC__QUIET | KC__EARLIER, EARLIER_LEAST, KC_FROM_EARLIER, 1},
    {COMMON_SHAPE, KC__QUIET | KC__EARLIER, KC__QUIET, THIS_LEAST, KC_FROM_THIS, 1},
    {COMMON_SHAPE, KC__LATER | KC__EARLIER, KC__LATER | KC__EARLIER, EARLIER_LEAST, KC_FROM_EARLIER, 0},
    {COMMON_SHAPE, KC__LATER | KC__EARLIER, KC__LATER, THIS_LEAST, KC_FROM_THIS, 0},
};

static const struct rule size_rules[] = {
    {COMMON_KERNEL, KC__QUIET | KC__KNOWN, KC__QUIET | KC__KNOWN, THIS_LEAST, KC_FROM_NOTHING, 1},
    {COMMON_KERNEL, KC__LATER | KC__KNOWN, KC__LATER | KC__KNOWN, THIS_LEAST, KC_FROM_NOTHING, 0},
};

/* Whether launch i of this run has no peers yet. */
static int lacks(const struct making *m, enum common common, size_t i)
{
	if (common == COMMON_KERNEL)
		return m->is_new[items_of(m)[m->items.this_first + i].size] && isnan(m->out[i].known_log);
	return m->out[i].from == KC_FROM_NOTHING;
}

/* A new size has peers of its own in this run alone, and only launches of its own size. */
static int may_have(const struct making *m, const struct rule *rule, enum depth depth, size_t i)
{
	return rule->common == COMMON_KERNEL || (rule->from != KC_FROM_EARLIER && depth <= DEPTH_ARGUMENTS) ||
	       !m->is_new[items_of(m)[m->items.this_first + i].size];
}

struct group {
	uint32_t first, count; /* of the values */
	int wanted;
	double median, far;
};

static void judge_group(struct group *group, double *values)
{
	double low, high;

	group->median = kc_quantile(values + group->first, group->count, 0.5);
	low = kc_quantile(values + group->first, group->count, TAIL);
	high = kc_quantile(values + group->first, group->count, 1 - TAIL);
	group->far = high - group->median + fmax(high - low, FAR_LEAST);
}

static void take(const struct rule *rule, const struct group *group, struct kc_slow_launch *launch)
{
	if (rule->common == COMMON_KERNEL) {
		launch->known_log = group->median;
		return;
	}
	launch->peers_log = group->median;
	launch->far = group->far;
	launch->from = (uint8_t)rule->from;
	launch->alone = rule->alone;
}

/* Sets wanted of the groups that have both an open launch and peers enough, and collects the peers' values. */
static void collect(const struct making *m, const struct rule *rule, enum depth depth, struct group *groups,
		    double *values)
{
	const uint32_t *of = m->groups[rule->common][depth];
	uint32_t least = rule->common == COMMON_SHAPE && depth < DEPTH_ARGUMENTS ? EARLIER_LEAST : rule->least,
		 first = 0;

	for (size_t i = 0; i < m->items.list.count; i++)
		groups[of[i]].count += (m->flags[i] & rule->mask) == rule->flags;
	for (size_t i = 0; i < m->open_count; i++)
		if (may_have(m, rule, depth, m->open[i])) {
			struct group *group = groups + of[m->items.this_first + m->open[i]];

			group->wanted = group->count >= least;
		}
	for (uint32_t g = 1; g <= m->group_counts[rule->common][depth]; g++) {
		groups[g].first = first;
		first += groups[g].wanted ? groups[g].count : 0;
		groups[g].count = 0;
	}
	for (size_t i = 0; i < m->items.list.count; i++) {
		struct group *group = groups + of[i];

		if ((m->flags[i] & rule->mask) == rule->flags && group->wanted)
			values[group->first + group->count++] = items_of(m)[i].log;
	}
}

/* Gives them what their groups have, and keeps those that still lack it. */
static void take_all(struct making *m, const struct rule *rule, enum depth depth, const struct group *groups)
{
	const uint32_t *of = m->groups[rule->common][depth];
	size_t kept = 0;

	for (size_t i = 0; i < m->open_count; i++) {
		uint32_t place = m->open[i];
		const struct group *group = groups + of[m->items.this_first + place];

		if (group->wanted && may_have(m, rule, depth, place))
			take(rule, group, m->out + place);
		else
			m->open[kept++] = place;
	}
	m->open_count = kept;
}

static int apply_at(struct making *m, const struct rule *rule, enum depth depth)
{
	int rc = make_groups(m, rule->common, depth);
	uint32_t group_count = m->group_counts[rule->common][depth];
	struct group *groups = calloc((size_t)group_count + 1, sizeof(*groups));
	double *values = calloc(m->items.list.count + 1, sizeof(*values));

	if (!groups || !values)
		rc = -ENOMEM;
	if (rc == 0) {
		collect(m, rule, depth, groups, values);
		for (uint32_t g = 1; g <= group_count; g++)
			if (groups[g].wanted)
				judge_group(groups + g, values);
		take_all(m, rule, depth, groups);
	}
	free(groups);
	free(values);
	return rc;
}

static int apply(struct making *m, const struct rule *rules, size_t count)
{
	int rc = 0;

	m->open_count = 0;
	for (uint32_t i = 0; i < m->items.list.count - m->items.this_first; i++)
		if (lacks(m, rules->common, i))
			m->open[m->open_count++] = i;
	for (size_t i = 0; i < count; i++)
		for (enum depth depth = DEPTH_TWO; rc == 0 && depth < DEPTHS && m->open_count; depth++)
			if (m->items.this_first || !(rules[i].flags & KC__EARLIER)) /* else there are no such peers */
				rc = apply_at(m, rules + i, depth);
	return rc;
}

static void begin(struct making *m)
{
	for (size_t i = m->items.this_first; i < m->items.list.count; i++) {
		const struct kc__slow_item *item = items_of(m) + i;

		m->out[i - m->items.this_first] = (struct kc_slow_launch){
		    .log = item->log,
		    .process_log = item->process_log,
		    .peers_log = NAN,
		    .known_log = NAN,
		    .place = item->place,
		    .shape = item->shape,
		    .company = item->company,
		    .is_quiet = (item->flags & KC__QUIET) != 0,
		    .is_first = item->first,
		    .is_whole = item->whole,
		    .is_late = item->late,
		    .others = item->others,
		};
	}
}

int kc_slow_peers(const struct kc_slow_runs *runs, const struct kc_diff_limits *limits, struct kc_slow_launch **out,
		  size_t *count)
{
	struct making m = {.runs = runs};
	int rc = kc__slow_items(runs, &m.items);

	*count = m.items.list.count - m.items.this_first;
	m.out = calloc(*count + 1, sizeof(*m.out));
	m.is_new = calloc((size_t)m.items.sizes + 1, 1);
	m.flags = calloc(m.items.list.count + 1, 1);
	m.open = calloc(*count + 1, sizeof(*m.open));
	if (!m.out || !m.is_new || !m.flags || !m.open)
		rc = -ENOMEM;
	if (rc == 0)
		rc = level_processes(&m, limits);
	if (rc == 0) {
		begin(&m);
		rc = find_new_sizes(&m);
	}
	for (size_t i = 0; rc == 0 && i < m.items.list.count; i++)
		m.flags[i] = items_of(&m)[i].flags;
	if (rc == 0)
		rc = apply(&m, own_rules, sizeof(own_rules) / sizeof(*own_rules));
	if (rc == 0)
		rc = apply(&m, size_rules, sizeof(size_rules) / sizeof(*size_rules));
	for (int i = 0; i < COMMONS * DEPTHS; i++)
		free(m.groups[i / DEPTHS][i % DEPTHS]);
	free(m.is_new);
	free(m.flags);
	free(m.open);
	free(m.items.list.at);
	if (rc < 0)
		free(m.out);
	*out = rc < 0 ? NULL : m.out;
	return rc;
}

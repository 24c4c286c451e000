#include "peers.h"
#include "processes.h"

#include "predictor/concurrency/timeline.h"
#include "predictor/math/median.h"
#include "predictor/prior/kernel_name.h"
#include "store/database/schema.h"
#include "store/journal/journal.h"

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

enum flag {
	QUIET = 1,   /* ran alone, not the first of its kernel */
	EARLIER = 2, /* in an earlier run */
	KNOWN = 4,   /* of a known size */
	LATER = 8,   /* not the first of its kernel in its process */
};

/* What a group of peers has in common, beside their shape or kernel. */
enum depth { DEPTH_TWO, DEPTH_ONE, DEPTH_ARGUMENTS, DEPTH_NONE, DEPTHS };
enum common { COMMON_SHAPE, COMMON_KERNEL, COMMONS };

struct item {
	double log; /* less process_log, once that is known */
	double process_log;
	uint32_t shape, arguments, place;
	uint32_t before[2]; /* shapes of the latest and the second latest launch, plus 1; 0: there was none */
	uint32_t process;   /* within all runs, from 1 */
	uint32_t size;      /* number of shape and arguments, from 1 */
	uint32_t alike;     /* number of run, shape with its model of GPU, and arguments */
	uint8_t flags, company, first;
};

struct making {
	const struct kc_slow_runs *runs;
	struct kc__list items;                  /* struct item: earlier runs, then this one */
	size_t this_first;                      /* of items */
	uint32_t *groups[COMMONS][DEPTHS];      /* by item; NULL: not made yet */
	uint32_t group_counts[COMMONS][DEPTHS]; /* the largest of them */
	uint32_t sizes;                         /* the largest item.size */
	uint8_t *is_new;                        /* by size */
	struct kc_slow_launch *out;
};

static struct item *items_of(const struct making *m)
{
	return m->items.at;
}

static uint32_t kernel_of(const struct making *m, uint32_t shape)
{
	return kc_measured_shape(m->runs->names, shape)->kernel;
}

static uint32_t model_of(const struct making *m, uint32_t shape)
{
	return kc_measured_shape(m->runs->names, shape)->model;
}

/* --- items */

struct reading {
	struct kc_intern processes; /* (run, process) */
	struct kc_intern firsts;    /* (process, kernel) */
	struct kc_intern sizes;     /* (shape, arguments) */
	struct kc_intern alikes;    /* (run, shape, arguments) */
	uint32_t (*latest)[2];      /* by stream */
};

/* Whether it is its kernel's first launch in its process. -ENOMEM. */
static int note_first(struct making *m, struct reading *r, uint32_t process, uint32_t shape)
{
	const uint32_t key[] = {process, kernel_of(m, shape)};
	uint32_t had = r->firsts.count;

	if (!kc_intern(&r->firsts, 'f', key, sizeof(key)))
		return -ENOMEM;
	return r->firsts.count > had;
}

/* The number of a size, whatever model of GPU it ran on. 0: no memory. */
static uint32_t size_number(const struct making *m, struct reading *r, const struct kc_measured_launch *launch)
{
	struct kc_measured_shape shape = *kc_measured_shape(m->runs->names, launch->shape);

	shape.model = 0;
	return kc_intern_two(&r->sizes, 'z', &shape, sizeof(shape), &launch->arguments, sizeof(launch->arguments));
}

static int add_launch(struct making *m, struct reading *r, const struct kc_measured_run *run, size_t run_number,
		      size_t i)
{
	const struct kc_measured_launch *launch = (const struct kc_measured_launch *)run->launches.at + i;
	const struct kc_measured_moment *moment = (const struct kc_measured_moment *)run->moments.at + i;
	const int64_t process_key[] = {(int64_t)run_number, moment->id >> KC_SEQUENCE_BITS};
	uint32_t process = kc_intern(&r->processes, 'p', process_key, sizeof(process_key));
	uint32_t *before = r->latest[launch->stream];
	int first = process ? note_first(m, r, process, launch->shape) : -ENOMEM, earlier = run != m->runs->run;

	if (first < 0)
		return first;
	if (launch->ns > 0) {
		const uint32_t alike_key[] = {(uint32_t)run_number, launch->shape, launch->arguments};
		uint32_t size = size_number(m, r, launch),
			 alike = kc_intern(&r->alikes, 'a', alike_key, sizeof(alike_key));
		struct item *item = kc__list_add(&m->items, sizeof(*item));

		if (!size || !alike || !item)
			return -ENOMEM;
		*item = (struct item){
		    .log = log((double)launch->ns),
		    .shape = launch->shape,
		    .arguments = launch->arguments,
		    .place = (uint32_t)i,
		    .before = {before[0], before[1]},
		    .process = process,
		    .size = size,
		    .alike = alike,
		    .flags = (uint8_t)((launch->overlap == KC_OVERLAP_NONE && !first ? QUIET : 0) |
				       (earlier ? EARLIER : 0) | (first ? 0 : LATER)),
		    .company = launch->overlap != KC_OVERLAP_NONE && launch->overlap != KC_OVERLAP_UNKNOWN,
		    .first = (uint8_t)first,
		};
	}
	before[1] = before[0];
	before[0] = launch->shape + 1;
	return 0;
}

static int add_run(struct making *m, struct reading *r, const struct kc_measured_run *run, size_t run_number)
{
	int rc = 0;

	r->latest = calloc((size_t)run->streams + 1, sizeof(*r->latest));
	if (!r->latest)
		return -ENOMEM;
	for (size_t i = 0; rc == 0 && i < run->launches.count; i++)
		rc = add_launch(m, r, run, run_number, i);
	free(r->latest);
	return rc;
}

static int add_items(struct making *m)
{
	struct reading r = {0};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < m->runs->earlier_count; i++)
		rc = add_run(m, &r, m->runs->earlier + i, i);
	m->this_first = m->items.count;
	if (rc == 0)
		rc = add_run(m, &r, m->runs->run, m->runs->earlier_count);
	m->sizes = r.sizes.count;
	kc_intern_free(&r.processes);
	kc_intern_free(&r.firsts);
	kc_intern_free(&r.sizes);
	kc_intern_free(&r.alikes);
	return rc;
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

/* Brings the launches of each process to the level of the others of its run. */
static int level_processes(struct making *m, const struct kc_diff_limits *limits)
{
	struct kc_slow_timed *timed = calloc(m->items.count + 1, sizeof(*timed));
	double *excess = calloc(m->items.count + 1, sizeof(*excess));
	uint8_t *waits = find_waiting(m);
	int rc = timed && excess && waits ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < m->items.count; i++) {
		const struct item *item = items_of(m) + i;

		timed[i] = (struct kc_slow_timed){item->log, item->alike, item->process,
						  item->flags & QUIET && !waits[kernel_of(m, item->shape)]};
	}
	if (rc == 0)
		rc = kc_slow_processes(timed, m->items.count, limits, excess);
	for (size_t i = 0; rc == 0 && i < m->items.count; i++) {
		items_of(m)[i].process_log = excess[i];
		items_of(m)[i].log -= excess[i];
	}
	free(timed);
	free(excess);
	free(waits);
	return rc;
}

/* --- sizes */

struct history {           /* of a kernel in a process */
	uint32_t launches; /* in all */
	uint32_t so_far;
	uint32_t settled; /* the latest ones that were of an old size each */
};

static int count_launches(const struct making *m, struct kc_intern *keys, struct kc__list *histories, size_t i,
			  struct history **out)
{
	const struct item *item = items_of(m) + i;
	const uint32_t key[] = {item->process, kernel_of(m, item->shape)};
	uint32_t number = kc_intern(keys, 'k', key, sizeof(key));

	if (!number || (number > histories->count && !kc__list_add(histories, sizeof(**out))))
		return -ENOMEM;
	*out = (struct history *)histories->at + number - 1;
	return 0;
}

/* Where no earlier run has the kernel: a size is known unless it first comes when the kernel has repeated others for a
 * while. */
static int note_early_sizes(const struct making *m, const uint32_t *in_earlier, uint8_t *is_known)
{
	uint32_t *launches = calloc((size_t)m->sizes + 1, sizeof(*launches)); /* so far, by size */
	struct kc_intern keys = {0};                                          /* (process, kernel) */
	struct kc__list histories = {0};
	struct history *of;
	int rc = launches ? 0 : -ENOMEM;

	for (size_t i = m->this_first; rc == 0 && i < m->items.count; i++) {
		rc = count_launches(m, &keys, &histories, i, &of);
		if (rc == 0)
			of->launches++;
	}
	for (size_t i = m->this_first; rc == 0 && i < m->items.count; i++) {
		const struct item *item = items_of(m) + i;

		rc = count_launches(m, &keys, &histories, i, &of);
		if (rc < 0)
			break;
		if (launches[item->size] == 0 && in_earlier[kernel_of(m, item->shape)] == 0 &&
		    (of->settled < KNOWN_LEAST || of->so_far < KNOWN_SHARE * of->launches))
			is_known[item->size] = 1;
		of->settled = launches[item->size] >= OLD_LEAST ? of->settled + 1 : 0;
		of->so_far++;
		launches[item->size]++;
	}
	free(launches);
	free(histories.at);
	kc_intern_free(&keys);
	return rc;
}

/* A size is known where it was launched before, or where its arguments are not known and its shape was. */
static int find_new_sizes(struct making *m)
{
	const struct kc_measured_names *names = m->runs->names;
	uint32_t *in_earlier = calloc(names->kernels.count + 1, sizeof(*in_earlier));        /* by kernel: launches */
	uint32_t *with_arguments = calloc(names->shapes.count + 1, sizeof(*with_arguments)); /* by shape, likewise */
	uint8_t *is_known = calloc((size_t)m->sizes + 1, 1), *knows_shape = calloc(names->shapes.count + 1, 1);
	int rc = in_earlier && with_arguments && is_known && knows_shape ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < m->this_first; i++) {
		const struct item *item = items_of(m) + i;

		in_earlier[kernel_of(m, item->shape)]++;
		is_known[item->size] = 1;
	}
	if (rc == 0)
		rc = note_early_sizes(m, in_earlier, is_known);
	for (size_t i = 0; rc == 0 && i < m->items.count; i++) {
		const struct item *item = items_of(m) + i;

		knows_shape[item->shape] |= is_known[item->size];
		with_arguments[item->shape] += is_known[item->size] && item->arguments;
	}
	for (size_t i = 0; rc == 0 && i < m->items.count; i++) {
		struct item *item = items_of(m) + i;
		uint32_t of_kernel = in_earlier[kernel_of(m, item->shape)];
		int same_shape =
		    knows_shape[item->shape] && (item->arguments == 0 || with_arguments[item->shape] < THIS_LEAST);

		if (is_known[item->size] && (of_kernel == 0 || item->flags & EARLIER))
			item->flags |= KNOWN;
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

static void group_key(const struct making *m, const struct item *item, enum common common, enum depth depth,
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
	groups = m->groups[common][depth] = calloc(m->items.count + 1, sizeof(*groups));
	if (!groups)
		return -ENOMEM;
	for (size_t i = 0; rc == 0 && i < m->items.count; i++) {
		group_key(m, items_of(m) + i, common, depth, key);
		groups[i] = kc_intern(&keys, 'g', key, sizeof(key));
		rc = groups[i] ? 0 : -ENOMEM;
	}
	m->group_counts[common][depth] = keys.count;
	kc_intern_free(&keys);
	return rc;
}

double kc_slow_quantile(double *values, size_t n, double at)
{
	double place = at * (double)(n - 1);
	size_t low = (size_t)place, high = low + 1 < n ? low + 1 : low;

	kc_sort(values, n);
	return values[low] + (place - (double)low) * (values[high] - values[low]);
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
    {COMMON_SHAPE, QUIET | EARLIER, QUIET | EARLIER, EARLIER_LEAST, KC_FROM_EARLIER, 1},
    {COMMON_SHAPE, QUIET | EARLIER, QUIET, THIS_LEAST, KC_FROM_THIS, 1},
    {COMMON_SHAPE, LATER | EARLIER, LATER | EARLIER, EARLIER_LEAST, KC_FROM_EARLIER, 0},
    {COMMON_SHAPE, LATER | EARLIER, LATER, THIS_LEAST, KC_FROM_THIS, 0},
};

static const struct rule size_rules[] = {
    {COMMON_KERNEL, QUIET | KNOWN, QUIET | KNOWN, THIS_LEAST, KC_FROM_NOTHING, 1},
    {COMMON_KERNEL, LATER | KNOWN, LATER | KNOWN, THIS_LEAST, KC_FROM_NOTHING, 0},
};

/* Whether item i, of this run, has no peers of this kind yet. A new size has them in this run alone, and only launches
 * of its own size. */
static int is_open(const struct making *m, const struct rule *rule, enum depth depth, size_t i)
{
	const struct kc_slow_launch *launch = m->out + (i - m->this_first);
	int is_new = m->is_new[items_of(m)[i].size];

	if (rule->common == COMMON_KERNEL)
		return is_new && isnan(launch->known_log);
	return launch->from == KC_FROM_NOTHING &&
	       !(is_new && (rule->from == KC_FROM_EARLIER || depth > DEPTH_ARGUMENTS));
}

struct group {
	uint32_t first, count; /* of the values */
	int wanted;
	double median, far;
};

static void judge_group(struct group *group, double *values)
{
	double low, high;

	group->median = kc_slow_quantile(values + group->first, group->count, 0.5);
	low = kc_slow_quantile(values + group->first, group->count, TAIL);
	high = kc_slow_quantile(values + group->first, group->count, 1 - TAIL);
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

	for (size_t i = 0; i < m->items.count; i++)
		groups[of[i]].count += (items_of(m)[i].flags & rule->mask) == rule->flags;
	for (size_t i = m->this_first; i < m->items.count; i++)
		if (is_open(m, rule, depth, i))
			groups[of[i]].wanted = groups[of[i]].count >= least;
	for (uint32_t g = 1; g <= m->group_counts[rule->common][depth]; g++) {
		groups[g].first = first;
		first += groups[g].wanted ? groups[g].count : 0;
		groups[g].count = 0;
	}
	for (size_t i = 0; i < m->items.count; i++) {
		struct group *group = groups + of[i];

		if (group->wanted && (items_of(m)[i].flags & rule->mask) == rule->flags)
			values[group->first + group->count++] = items_of(m)[i].log;
	}
}

static int apply_at(struct making *m, const struct rule *rule, enum depth depth)
{
	int rc = make_groups(m, rule->common, depth);
	uint32_t group_count = m->group_counts[rule->common][depth];
	struct group *groups = calloc((size_t)group_count + 1, sizeof(*groups));
	double *values = calloc(m->items.count + 1, sizeof(*values));

	if (!groups || !values)
		rc = -ENOMEM;
	if (rc == 0) {
		const uint32_t *of = m->groups[rule->common][depth];

		collect(m, rule, depth, groups, values);
		for (uint32_t g = 1; g <= group_count; g++)
			if (groups[g].wanted)
				judge_group(groups + g, values);
		for (size_t i = m->this_first; i < m->items.count; i++)
			if (groups[of[i]].wanted && is_open(m, rule, depth, i))
				take(rule, groups + of[i], m->out + (i - m->this_first));
	}
	free(groups);
	free(values);
	return rc;
}

static int has_open(const struct making *m, const struct rule *rule, enum depth depth)
{
	for (size_t i = m->this_first; i < m->items.count; i++)
		if (is_open(m, rule, depth, i))
			return 1;
	return 0;
}

static int apply(struct making *m, const struct rule *rules, size_t count)
{
	int rc = 0;

	for (size_t i = 0; i < count; i++)
		for (enum depth depth = DEPTH_TWO; rc == 0 && depth < DEPTHS; depth++)
			if (has_open(m, rules + i, depth))
				rc = apply_at(m, rules + i, depth);
	return rc;
}

static void begin(struct making *m)
{
	for (size_t i = m->this_first; i < m->items.count; i++) {
		const struct item *item = items_of(m) + i;

		m->out[i - m->this_first] = (struct kc_slow_launch){
		    .log = item->log,
		    .process_log = item->process_log,
		    .peers_log = NAN,
		    .known_log = NAN,
		    .place = item->place,
		    .shape = item->shape,
		    .company = item->company,
		    .is_quiet = (item->flags & QUIET) != 0,
		    .is_first = item->first,
		};
	}
}

int kc_slow_peers(const struct kc_slow_runs *runs, const struct kc_diff_limits *limits, struct kc_slow_launch **out,
		  size_t *count)
{
	struct making m = {.runs = runs};
	int rc = add_items(&m);

	*count = m.items.count - m.this_first;
	m.out = calloc(*count + 1, sizeof(*m.out));
	m.is_new = calloc((size_t)m.sizes + 1, 1);
	if (!m.out || !m.is_new)
		rc = -ENOMEM;
	if (rc == 0)
		rc = level_processes(&m, limits);
	if (rc == 0) {
		begin(&m);
		rc = find_new_sizes(&m);
	}
	if (rc == 0)
		rc = apply(&m, own_rules, sizeof(own_rules) / sizeof(*own_rules));
	if (rc == 0)
		rc = apply(&m, size_rules, sizeof(size_rules) / sizeof(*size_rules));
	for (int i = 0; i < COMMONS * DEPTHS; i++)
		free(m.groups[i / DEPTHS][i % DEPTHS]);
	free(m.is_new);
	free(m.items.at);
	if (rc < 0)
		free(m.out);
	*out = rc < 0 ? NULL : m.out;
	return rc;
}

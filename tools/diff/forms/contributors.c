#include "contributors.h"
#include "processes_changed.h"
#include "tools/output/format.h"
#include "tools/output/names/plain_name.h"
#include "predictor/math/order.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOTED 0.1       /* share of a contributor from which on a reason is told beside the first */
#define WAITED_MOST 1.2 /* of what a process became slower, the others wait no more */
#define NAME_WIDTH 80u  /* columns of a kernel's or process's name in a note */

#define AT(member) offsetof(struct kc_diff_contributor, member)
#define FIELD(key, head, unit, member) KC_FIELD_OF(struct kc_diff_contributor, key, head, unit, member)

static const struct kc_field fields[] = {
    FIELD("difference_ns", "difference", SIGNED_NS, ns),
    FIELD("why", NULL, TEXT, why),
    FIELD(NULL, "why", TEXT, words),
    FIELD(NULL, "launches", TEXT, shown_launches),
    FIELD("old_launches", NULL, MEAN, launches[KC_OLD]),
    FIELD("new_launches", NULL, MEAN, launches[KC_NEW]),
    FIELD("old_total_ns", "OLD", NS, total_ns[KC_OLD]),
    FIELD("new_total_ns", "NEW", NS, total_ns[KC_NEW]),
    FIELD("name", "kernel", NAME, name),
    FIELD(NULL, NULL, NOTE, note),
    FIELD("replaced", NULL, TEXT, replaced),
    FIELD("process", NULL, TEXT, process),
    FIELD("duration_ns", NULL, NS, duration_ns),
    FIELD("launches_ns", NULL, NS, count_ns),
    FIELD("sizes_ns", NULL, NS, sizes_ns),
    FIELD("positions_ns", NULL, NS, positions_ns),
    FIELD("overlap_ns", NULL, NS, overlap_ns),
    FIELD("rest_ns", NULL, NS, rest_ns),
};

const struct kc_fields kc_diff_contributor_fields = KC_FIELDS(fields, struct kc_diff_contributor);

/* Why a kernel takes more time, or less, as JSON has it and in words. */
enum reason { DURATION, COUNT, SIZES, POSITIONS, OVERLAP, REST, REASONS };

static const struct {
	size_t at;
	const char *why[2], *words[2]; /* more, less */
} reasons[REASONS] = {
    [DURATION] = {AT(duration_ns), {"slower", "faster"}, {"slower", "faster"}},
    [COUNT] = {AT(count_ns), {"more_launches", "fewer_launches"}, {"more launches", "fewer launches"}},
    [SIZES] = {AT(sizes_ns), {"other_sizes", "other_sizes"}, {"other sizes", "other sizes"}},
    [POSITIONS] = {AT(positions_ns), {"other_positions", "other_positions"}, {"after others", "after others"}},
    [OVERLAP] = {AT(overlap_ns), {"overlap", "overlap"}, {"overlapped more", "overlapped less"}},
    [REST] = {AT(rest_ns), {"unclear", "unclear"}, {"may be chance", "may be chance"}},
};

static double part_of(const struct kc_diff_contributor *c, enum reason reason)
{
	const double *at = (const void *)((const char *)c + reasons[reason].at);

	return *at;
}

/* The reason that makes most of it, in its direction. */
static enum reason main_reason(const struct kc_diff_contributor *c)
{
	double sign = c->ns < 0 ? -1 : 1;
	enum reason main = REST;

	for (enum reason i = 0; i < REASONS; i++)
		if (sign * part_of(c, i) > sign * part_of(c, main))
			main = i;
	return main;
}

/* Of what makes most of it. few: too few launches could be compared. */
static void find_reason(struct kc_diff_contributor *c, int few)
{
	enum reason main = main_reason(c);

	c->why = reasons[main].why[c->ns < 0];
	c->words = reasons[main].words[c->ns < 0];
	if (main == REST && few)
		c->why = "too_few", c->words = "too few to tell";
}

/* Without what is shown of it: describe(). */
static void make(const struct kc_measured_names *names, const struct kc_diff_limits *limits,
		 const struct kc_diff_kernel *kernel, struct kc_diff_contributor *out)
{
	*out = (struct kc_diff_contributor){
	    .name = kc_measured_kernel(names, kernel->kernel)->name,
	    .process = kernel->process ? ((char *const *)names->processes.at)[kernel->process - 1] : NULL,
	    .kernels = 1,
	    .ns = kernel->total_ns[KC_NEW] - kernel->total_ns[KC_OLD],
	    .launches = {kernel->launches[KC_OLD], kernel->launches[KC_NEW]},
	    .total_ns = {kernel->total_ns[KC_OLD], kernel->total_ns[KC_NEW]},
	};
	out->weight = fabs(out->ns);
	out->words = out->why = kernel->what == KC_DIFF_NEW ? "new" : "gone";
	if (kernel->what == KC_DIFF_NEW || kernel->what == KC_DIFF_GONE)
		return;
	if (kernel->what == KC_DIFF_SLOWER || kernel->what == KC_DIFF_FASTER)
		out->duration_ns = kernel->lost_ns;
	out->count_ns = kernel->count_ns;
	out->sizes_ns = kernel->sizes_ns;
	out->positions_ns = kernel->mix_ns - kernel->count_ns - kernel->sizes_ns;
	out->overlap_ns = kernel->company_ns;
	out->rest_ns = out->ns - out->duration_ns - kernel->mix_ns - kernel->company_ns;
	find_reason(out, kernel->what == KC_DIFF_FEW);
	if (!strcmp(out->why, "slower") && kc_diff_only_overlapped(kernel, limits))
		out->why = "slower_overlapped", out->words = "when overlapped";
}

static void add(struct kc_diff_contributor *to, const struct kc_diff_contributor *from)
{
	for (int side = 0; side < KC_SIDES; side++) {
		to->launches[side] += from->launches[side];
		to->total_ns[side] += from->total_ns[side];
	}
	to->ns += from->ns;
	to->weight = fabs(to->ns);
	to->kernels += from->kernels;
	to->duration_ns += from->duration_ns;
	to->count_ns += from->count_ns;
	to->sizes_ns += from->sizes_ns;
	to->positions_ns += from->positions_ns;
	to->overlap_ns += from->overlap_ns;
	to->rest_ns += from->rest_ns;
}

/* The gone kernel becomes a part of the one that came in its place. */
static void take_place(const struct kc_measured_names *names, const struct kc_diff_kernel *gone,
		       struct kc_diff_contributor *new)
{
	new->replaced = kc_measured_kernel(names, gone->kernel)->name;
	new->launches[KC_OLD] = gone->launches[KC_OLD];
	new->total_ns[KC_OLD] = gone->total_ns[KC_OLD];
	new->ns -= gone->total_ns[KC_OLD];
	new->weight = fabs(new->ns);
	new->why = new->words = "replaced";
}

static int is_small(const struct kc_diff_contributor *c, const struct kc_diff *diff,
		    const struct kc_diff_limits *limits)
{
	int is_unclear = !strcmp(c->why, "unclear") || !strcmp(c->why, "too_few");

	return fabs(c->ns) < 1 || (is_unclear && (fabs(c->ns) <= limits->over * c->total_ns[KC_OLD] ||
						  fabs(c->ns) < KC_DIFF_UNCLEAR * diff->total_ns[KC_OLD]));
}

KC_ORDER(by_part, struct kc_diff_contributor, KC_DOWN(weight) ?: KC_UP(is_wait) ?: strcmp(x->name, y->name))

/* --- what the program says of them */

/* The reasons that make a tenth of it or more, those that make most first, if there are several. */
static void note_reasons(struct kc_diff_contributor *c)
{
	double least = fmax(NOTED * fabs(c->ns), 1);
	unsigned told = 0, done = 0;
	char *at = c->texts[1];

	for (int n = 0; n < REASONS; n++) {
		char text[KC_FORMAT_BYTES];
		double ns = 0;
		enum reason most = REASONS;

		for (enum reason i = 0; i < REASONS; i++)
			if (!(done & 1u << i) && fabs(part_of(c, i)) >= fmax(least, fabs(ns))) {
				most = i;
				ns = part_of(c, i);
			}
		if (most == REASONS)
			break;
		done |= 1u << most;
		at += snprintf(at, 64, "%s%s %s", told++ ? ", " : "", reasons[most].words[ns < 0],
			       kc_format_signed_ns(ns, text));
	}
	c->note = told > 1 ? c->texts[1] : NULL;
}

static void describe(struct kc_diff_contributor *c)
{
	char old[KC_FORMAT_BYTES], new[KC_FORMAT_BYTES], name[4 * NAME_WIDTH + 4];

	kc_format_mean(kc_shown_number(c->launches[KC_OLD]), old);
	kc_format_mean(kc_shown_number(c->launches[KC_NEW]), new);
	snprintf(c->texts[0], sizeof(c->texts[0]), strcmp(old, new) ? "%s → %s" : "%s", old, new);
	c->shown_launches = c->texts[0];
	note_reasons(c);
	if (c->replaced)
		snprintf(c->texts[1], sizeof(c->texts[1]), "in place of %s",
			 kc_shorten_name(c->replaced, NAME_WIDTH, name, sizeof(name)));
	else if (c->is_wait)
		snprintf(c->texts[1], sizeof(c->texts[1]), "of others, for %s",
			 kc_shorten_middle(c->process, NAME_WIDTH, name, sizeof(name)));
	else if (c->change)
		snprintf(c->texts[1], sizeof(c->texts[1]), "%s for each launch, and not on the others",
			 kc_format_signed_percent(100 * c->change, old));
	if (c->replaced || c->is_wait || c->change)
		c->note = c->texts[1];
}

/* --- kernel by kernel */

struct building {
	const struct kc_measured_names *names;
	const struct kc_diff *diff;
	const struct kc_diff_limits *limits;
	struct kc_diff_process *processes; /* by their numbers, as the next two */
	double *may_wait;                  /* what it may have waited for the latest process, at most */
	struct kc_diff_contributor *rows;  /* of those that changed as a whole: all its kernels */
	uint32_t latest;                   /* the process that became slower, so that others wait; 0: none */
	struct kc_diff_contributors *out;
};

static void put(struct building *b, const struct kc_diff_contributor *c)
{
	if (!is_small(c, b->diff, b->limits)) {
		b->out->at[b->out->count++] = *c;
		return;
	}
	b->out->others++;
	b->out->rest.ns += c->ns;
	for (int side = 0; side < KC_SIDES; side++)
		b->out->rest.total_ns[side] += c->total_ns[side];
}

/* The process that changed as a whole, or the one of the kernel, that lost most. */
static void find_latest(struct building *b)
{
	double most = 0, lost = 0;

	for (uint32_t p = 1; p <= b->names->processes.count; p++)
		if (b->processes[p].is_changed && b->processes[p].ns > most) {
			most = b->processes[p].ns;
			b->latest = p;
		}
	for (size_t i = 0; !most && i < b->diff->count; i++) {
		const struct kc_diff_kernel *kernel = b->diff->kernels + i;

		if (kernel->what == KC_DIFF_SLOWER && kernel->process && !kernel->is_collective &&
		    kernel->lost_ns > lost) {
			lost = kernel->lost_ns;
			b->latest = kernel->process;
		}
	}
	for (uint32_t p = 0; b->latest && p <= b->names->processes.count; p++)
		b->may_wait[p] = WAITED_MOST * (b->processes[b->latest].ns - b->processes[p].ns);
}

/* Where a part of a kernel belongs: to its process, to what others waited for, or, NULL, to the kernel. */
static struct kc_diff_contributor *place_of(struct building *b, const struct kc_diff_kernel *part,
					    struct kc_diff_contributor *waits)
{
	double ns = part->total_ns[KC_NEW] - part->total_ns[KC_OLD];

	if (!part->is_collective)
		return b->processes[part->process].is_changed ? b->rows + part->process : NULL;
	if (!b->latest || part->process == b->latest || ns <= 0 || ns > b->may_wait[part->process])
		return NULL;
	b->may_wait[part->process] -= ns;
	return waits;
}

static void put_kernel(struct building *b, const struct kc_diff_kernel *kernel)
{
	struct kc_diff_contributor waits = {.kernels = 0}, left = waits, part;
	int moved = 0;

	for (size_t i = 0; i < b->diff->part_count; i++) {
		const struct kc_diff_kernel *of = b->diff->parts + i;
		struct kc_diff_contributor *place;

		if (of->whole != kernel->whole || (kernel->kernel != kernel->whole && of->process != kernel->process))
			continue;
		make(b->names, b->limits, of, &part);
		place = place_of(b, of, &waits);
		moved |= place != NULL;
		add(place ? place : &left, &part);
	}
	make(b->names, b->limits, kernel, &part);
	if (waits.kernels) {
		waits.name = part.name;
		waits.why = waits.words = "waiting";
		waits.is_wait = 1;
		b->out->at[b->out->count++] = waits;
	}
	if (!moved) {
		put(b, &part);
	} else if (left.kernels) {
		left.name = part.name;
		find_reason(&left, 0);
		put(b, &left);
	}
}

static int put_processes(struct building *b)
{
	for (uint32_t p = 1; p <= b->names->processes.count; p++) {
		struct kc_diff_contributor *row = b->rows + p;
		char **name;

		if (!row->kernels)
			continue;
		row->process = ((char *const *)b->names->processes.at)[p - 1];
		name = kc__list_add(&b->out->names, sizeof(*name));
		if (!name || asprintf(name, "%zu kernels on %s", row->kernels, row->process) < 0) {
			if (name)
				*name = NULL;
			return -ENOMEM;
		}
		row->name = *name;
		row->change = expm1(b->processes[p].log_change);
		row->why = row->ns < 0 ? "faster_process" : "slower_process";
		row->words = row->ns < 0 ? "all faster" : "all slower";
		b->out->at[b->out->count++] = *row;
	}
	return 0;
}

/* What others waited for goes with the first line of what they waited for. */
static void join_waits(struct building *b)
{
	const char *latest = b->latest ? ((char *const *)b->names->processes.at)[b->latest - 1] : NULL;
	struct kc_diff_contributor *first = NULL;
	double waited = 0;

	for (size_t i = 0; latest && i < b->out->count; i++) {
		struct kc_diff_contributor *c = b->out->at + i;

		if (c->is_wait)
			waited += c->ns;
		else if (c->process && !strcmp(c->process, latest) && c->ns > 0 && (!first || c->ns > first->ns))
			first = c;
	}
	if (first)
		first->weight += waited;
	for (size_t i = 0; first && i < b->out->count; i++)
		if (b->out->at[i].is_wait) {
			b->out->at[i].weight = first->weight;
			b->out->at[i].process = latest;
		}
}

static int build(struct building *b)
{
	const struct kc_diff *diff = b->diff;
	int rc;

	find_latest(b);
	for (size_t i = 0; i < diff->count; i++) {
		const struct kc_diff_kernel *kernel = diff->kernels + i, *gone = NULL;
		struct kc_diff_contributor c;

		if (kernel->replaced == KC_DIFF_NOWHERE) {
			put_kernel(b, kernel);
			continue;
		}
		for (size_t k = 0; k < diff->count; k++)
			if (diff->kernels[k].kernel == kernel->replaced)
				gone = diff->kernels + k;
		if (kernel->what == KC_DIFF_GONE && gone)
			continue;
		make(b->names, b->limits, kernel, &c);
		if (gone)
			take_place(b->names, gone, &c);
		put(b, &c);
	}
	rc = put_processes(b);
	if (rc < 0)
		return rc;
	join_waits(b);
	qsort(b->out->at, b->out->count, sizeof(*b->out->at), by_part);
	for (size_t i = 0; i < b->out->count; i++)
		describe(b->out->at + i);
	return 0;
}

int kc_diff_contributors(const struct kc_measured_names *names, const struct kc_diff *diff,
			 const struct kc_diff_limits *limits, struct kc_diff_contributors *out)
{
	size_t processes = names->processes.count + 1;
	int rc = -ENOMEM;
	struct building b = {
	    .names = names,
	    .diff = diff,
	    .limits = limits,
	    .processes = kc_diff_processes(names, diff, limits),
	    .may_wait = calloc(processes, sizeof(*b.may_wait)),
	    .rows = calloc(processes, sizeof(*b.rows)),
	    .out = out,
	};

	/* A kernel has two lines at most; two more are made where they are cut. */
	*out = (struct kc_diff_contributors){.at = calloc(2 * diff->count + processes + 2, sizeof(*out->at))};
	if (b.processes && b.may_wait && b.rows && out->at)
		rc = build(&b);
	free(b.rows);
	free(b.may_wait);
	free(b.processes);
	return rc;
}

/* Adds the kernels from `first` on up in one row at its place. */
static void join(struct kc_diff_contributors *contributors, size_t first)
{
	struct kc_diff_contributor *row = contributors->at + first, sum = {.note = "--top N shows them"};
	size_t n = contributors->count - first;

	for (size_t i = first; i < contributors->count; i++) {
		sum.ns += contributors->at[i].ns;
		for (int side = 0; side < KC_SIDES; side++)
			sum.total_ns[side] += contributors->at[i].total_ns[side];
	}
	*row = sum;
	snprintf(row->texts[0], sizeof(row->texts[0]), "%zu more", n);
	row->words = row->texts[0];
	contributors->count = first + 1;
}

void kc_diff_contributors_cut(struct kc_diff_contributors *contributors, size_t most)
{
	struct kc_diff_contributor *last;

	if (contributors->count > most)
		join(contributors, most);
	if (!contributors->others)
		return;
	last = contributors->at + contributors->count++;
	*last = contributors->rest;
	last->note = "below the limits, or by chance";
	snprintf(last->texts[0], sizeof(last->texts[0]), "%zu other%s", contributors->others,
		 contributors->others == 1 ? "" : "s");
	last->words = last->texts[0];
}

void kc_diff_contributors_free(struct kc_diff_contributors *contributors)
{
	for (size_t i = 0; i < contributors->names.count; i++)
		free(((char *const *)contributors->names.at)[i]);
	free(contributors->names.at);
	free(contributors->at);
	*contributors = (struct kc_diff_contributors){0};
}

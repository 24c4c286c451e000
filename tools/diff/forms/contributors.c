#include "contributors.h"
#include "tools/output/format.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOTED 0.1 /* share of a contributor from which on a reason is told beside the first */
#define NAME 80u  /* columns of a kernel's name in a note */

#define AT(member) offsetof(struct kc_diff_contributor, member)
#define FIELD(key, head, unit, member)                                                                                 \
	{                                                                                                              \
		key, head, KC_FIELD_##unit, AT(member)                                                                 \
	}

static const struct kc_field fields[] = {
    FIELD("difference_ns", "difference", SIGNED_NS, ns),
    FIELD("why", NULL, TEXT, why),
    FIELD(NULL, "why", TEXT, words),
    FIELD(NULL, "launches", TEXT, shown_launches),
    FIELD("old_launches", NULL, COUNT, launches[KC_OLD]),
    FIELD("new_launches", NULL, COUNT, launches[KC_NEW]),
    FIELD("old_total_ns", "OLD", NS, total_ns[KC_OLD]),
    FIELD("new_total_ns", "NEW", NS, total_ns[KC_NEW]),
    FIELD("name", "kernel", NAME, name),
    FIELD(NULL, NULL, NOTE, note),
    FIELD("replaced", NULL, TEXT, replaced),
    FIELD("duration_ns", NULL, NS, duration_ns),
    FIELD("launches_ns", NULL, NS, count_ns),
    FIELD("sizes_ns", NULL, NS, sizes_ns),
    FIELD("positions_ns", NULL, NS, positions_ns),
    FIELD("overlap_ns", NULL, NS, overlap_ns),
    FIELD("rest_ns", NULL, NS, rest_ns),
};

const struct kc_fields kc_diff_contributor_fields = {fields, sizeof(fields) / sizeof(*fields),
						     sizeof(struct kc_diff_contributor)};

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

/* All but what is text of the program's own. */
static void make(const struct kc_measured_names *names, const struct kc_diff_kernel *kernel,
		 struct kc_diff_contributor *out)
{
	enum reason main;

	*out = (struct kc_diff_contributor){
	    .name = kc_measured_kernel(names, kernel->kernel)->name,
	    .ns = kernel->total_ns[KC_NEW] - kernel->total_ns[KC_OLD],
	    .launches = {kernel->launches[KC_OLD], kernel->launches[KC_NEW]},
	    .total_ns = {kernel->total_ns[KC_OLD], kernel->total_ns[KC_NEW]},
	    .why = "new",
	};
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
	main = main_reason(out);
	out->why = reasons[main].why[out->ns < 0];
	out->words = reasons[main].words[out->ns < 0];
	if (main == REST && kernel->what == KC_DIFF_FEW)
		out->why = "too_few", out->words = "too few to tell";
}

/* The gone kernel becomes a part of the one that came in its place. */
static void take_place(const struct kc_measured_names *names, const struct kc_diff_kernel *gone,
		       struct kc_diff_contributor *new)
{
	new->replaced = kc_measured_kernel(names, gone->kernel)->name;
	new->launches[KC_OLD] = gone->launches[KC_OLD];
	new->total_ns[KC_OLD] = gone->total_ns[KC_OLD];
	new->ns -= gone->total_ns[KC_OLD];
	new->why = new->words = "replaced";
}

static int is_small(const struct kc_diff_contributor *c, const struct kc_diff *diff,
		    const struct kc_diff_limits *limits)
{
	int is_unclear = !strcmp(c->why, "unclear") || !strcmp(c->why, "too_few");

	return fabs(c->ns) < 1 || (is_unclear && (fabs(c->ns) <= limits->over * c->total_ns[KC_OLD] ||
						  fabs(c->ns) < KC_DIFF_UNCLEAR * diff->total_ns[KC_OLD]));
}

static int by_part(const void *a, const void *b)
{
	const struct kc_diff_contributor *x = a, *y = b;

	if (fabs(x->ns) != fabs(y->ns))
		return fabs(x->ns) > fabs(y->ns) ? -1 : 1;
	return strcmp(x->name, y->name);
}

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
	char old[KC_FORMAT_BYTES], new[KC_FORMAT_BYTES], name[4 * NAME + 4];

	kc_format_count((uint64_t)llround(c->launches[KC_OLD]), old);
	kc_format_count((uint64_t)llround(c->launches[KC_NEW]), new);
	snprintf(c->texts[0], sizeof(c->texts[0]), strcmp(old, new) ? "%s → %s" : "%s", old, new);
	c->shown_launches = c->texts[0];
	note_reasons(c);
	if (c->replaced) {
		snprintf(c->texts[1], sizeof(c->texts[1]), "in place of %s",
			 kc_shorten_middle(c->replaced, NAME, name, sizeof(name)));
		c->note = c->texts[1];
	}
}

int kc_diff_contributors(const struct kc_measured_names *names, const struct kc_diff *diff,
			 const struct kc_diff_limits *limits, struct kc_diff_contributors *out)
{
	const struct kc_diff_kernel **by_number = calloc(names->kernels.count + 1, sizeof(*by_number));

	*out = (struct kc_diff_contributors){.at = calloc(diff->count + 2, sizeof(*out->at))};
	if (!out->at || !by_number) {
		free(by_number);
		return -ENOMEM;
	}
	for (size_t i = 0; i < diff->count; i++)
		by_number[diff->kernels[i].kernel] = diff->kernels + i;
	for (size_t i = 0; i < diff->count; i++) {
		const struct kc_diff_kernel *kernel = diff->kernels + i;
		struct kc_diff_contributor *c = out->at + out->count;

		if (kernel->what == KC_DIFF_GONE && kernel->replaced != KC_DIFF_NOWHERE)
			continue;
		make(names, kernel, c);
		if (kernel->replaced != KC_DIFF_NOWHERE)
			take_place(names, by_number[kernel->replaced], c);
		if (!is_small(c, diff, limits)) {
			out->count++;
			continue;
		}
		out->others++;
		out->rest.ns += c->ns;
		for (int side = 0; side < KC_SIDES; side++)
			out->rest.total_ns[side] += c->total_ns[side];
	}
	free(by_number);
	qsort(out->at, out->count, sizeof(*out->at), by_part);
	for (size_t i = 0; i < out->count; i++)
		describe(out->at + i);
	return 0;
}

/* Adds the kernels from `first` on up in one row at its place. */
static void join(struct kc_diff_contributors *contributors, size_t first)
{
	struct kc_diff_contributor *row = contributors->at + first, sum = {.name = "--top N shows them"};
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
	last->name = "below the limits, or by chance";
	snprintf(last->texts[0], sizeof(last->texts[0]), "%zu other%s", contributors->others,
		 contributors->others == 1 ? "" : "s");
	last->words = last->texts[0];
}

void kc_diff_contributors_free(struct kc_diff_contributors *contributors)
{
	free(contributors->at);
	*contributors = (struct kc_diff_contributors){0};
}

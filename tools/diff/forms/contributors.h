/*
 * The difference between two sides, kernel by kernel: each nanosecond of it
 * belongs to one contributor, or to what is left, and the largest is the first.
 * A new kernel that came in place of a gone one is one contributor with it, and so
 * are all kernels of a process that changed as a whole (processes_changed.h). What
 * the other processes then wait longer in collectives follows it.
 */
#ifndef KC_DIFF_CONTRIBUTORS_H
#define KC_DIFF_CONTRIBUTORS_H

#include "tools/diff/compare.h"
#include "tools/output/fields.h"

#define KC_DIFF_UNCLEAR 0.01 /* of OLD's time: what may be chance is a contributor from here on */

/* What a kernel makes of the difference, and, where both sides have it, what of that each reason makes, which add up to
 * it. Times in ns, NEW less OLD. */
struct kc_diff_contributor {
	const char *name; /* NULL: of a row that adds up others, which its note names */
	const char *why;  /* the reason that makes most of it, as JSON has it */
	double ns;
	double launches[KC_SIDES], total_ns[KC_SIDES];
	const char *replaced; /* the gone kernel in whose place it came, of which OLD's figures are; NULL: none */
	double duration_ns;   /* slower or faster */
	double count_ns;      /* launched more or less often */
	double sizes_ns;      /* at other sizes */
	double positions_ns;  /* after other kernels */
	double overlap_ns;    /* overlapped more or less often */
	double rest_ns;       /* below the limits, chance, outliers; too few launches to be compared */
	const char *process;  /* whose kernel it is, or for whom others waited; NULL: of all */
	size_t kernels;
	double change; /* of all kernels of a process, 0.1 for 10 % slower; 0: of one kernel */
	double weight; /* by which it is listed: |ns|, and what others waited for it */
	int is_wait;
	const char *words, *shown_launches, *note;
	char texts[2][512]; /* of the last two */
};

struct kc_diff_contributors {
	struct kc_diff_contributor *at; /* by weight, most first */
	size_t count;
	struct kc__list names;           /* char *: those that are made here */
	size_t others;                   /* kernels that are none of them: within the limits, or small and by chance */
	struct kc_diff_contributor rest; /* of these, ns and total_ns alone */
};

/* The fields of a contributor. */
extern const struct kc_fields kc_diff_contributor_fields;

/* 0 or -ENOMEM. *out is to be freed either way, before the diff and the names. */
int kc_diff_contributors(const struct kc_measured_names *names, const struct kc_diff *diff,
			 const struct kc_diff_limits *limits, struct kc_diff_contributors *out);
/* Makes one row of all after the first `most`, and one of the others: the rows add up to the difference. */
void kc_diff_contributors_cut(struct kc_diff_contributors *contributors, size_t most);
void kc_diff_contributors_free(struct kc_diff_contributors *contributors);

#endif

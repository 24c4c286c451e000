/*
 * The time of the kernels that were launched in ranges, and in operators (tables
 * `scope` and `launched_in`), by name.
 *
 *   kc_scope_use       all ranges of a name, or all operators; or what was launched in none
 *   kc_scopes_report   those of the runs of a report
 *
 * A launch counts for each name once, however many scopes of it held the launch
 * call: recursion adds nothing. It is a name's own where the innermost scope of this
 * kind has the name, so that own times add up to that of all launches.
 *
 * It is made from the rows of launches, those that match the filter; of a report
 * that is not exact no more than KC_ACTIVITY_MOST are read (activity.h).
 */
#ifndef KC_SCOPE_USE_H
#define KC_SCOPE_USE_H

#include "store/journal/entry.h"
#include "store/query/filter.h"
#include "store/query/query.h"

struct kc_scope_use {
	char *name;
	uint64_t launches, measured; /* of kernels */
	uint64_t own_launches;
	double total_ns, own_ns; /* sums over the measured launches */
	double share;            /* of the time of all launches that match; NAN: that is 0 */
};

struct kc_scopes_report {
	int too_many;  /* nothing was made */
	int has_names; /* 0: none of this kind is known, and nothing was made */
	struct kc_scope_use *at;
	size_t count;
	int has_outside; /* the last row is what was launched in none */
};

/* By total time, most first. 0 or -errno. Free *out with kc_scopes_report_free(). */
int kc_query_scopes(struct kc_store *s, const struct kc_report *report, struct kc_filter *filter,
		    enum kc_scope_kind kind, struct kc_scopes_report **out);
void kc_scopes_report_free(struct kc_scopes_report *scopes);

#endif

/*
 * The runs of one database that a command compares: which ones, and their
 * measured launches. What is wrong is reported on stderr, and each function
 * returns an exit status.
 */
#ifndef KC_DIFF_SIDE_H
#define KC_DIFF_SIDE_H

#include "tools/diff/statistics/estimate.h"

#include "store/database/store.h"
#include "store/query/filter.h"
#include "store/query/measured.h"

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#define KC_SIDE_EARLIER_MOST 5 /* runs that stand for OLD where none are named */

/* Starts as zeros. */
struct kc_side {
	char path[PATH_MAX];
	struct kc_store *store;
	int is_borrowed;          /* the store is closed by another */
	struct kc_filter *filter; /* NULL: every launch */
	int with_steps;           /* whether to tell which launches were made in steps */
	struct kc_measured_steps steps;
	int64_t ids[KC_DIFF_OLD_MOST];
	struct kc_measured_run runs[KC_DIFF_OLD_MOST];
	size_t count, read; /* runs; those that were read */
};

/* database: NULL: the one in use. */
int kc_side_open(struct kc_side *side, const char *database);
/* Takes a database that is open, and stays so. path: PATH_MAX bytes at most. */
void kc_side_borrow(struct kc_side *side, struct kc_store *store, const char *path);
/* Adds run `which`; NULL: the latest. */
int kc_side_select(struct kc_side *side, const char *which);
/* Adds the runs of a list such as "1,2,3". option: names it in the message about too many. */
int kc_side_select_listed(struct kc_side *side, const char *option, const char *list);
/* KC_EXIT_USAGE where a run is given twice, or is the first of `new` in the same database. */
int kc_side_check(const struct kc_side *old, const struct kc_side *new);
/* Reads the runs. Each needs a measured launch; with a filter, one of them needs one that matches. choice: NULL: every
 * launch. moments: as for kc_measured_run_read(). */
int kc_side_read(struct kc_side *side, const struct kc_filter_choice *choice, int moments,
		 struct kc_measured_names *names);
void kc_side_close(struct kc_side *side);

/* Prints a line about a run. before: what it begins with; path: of the database, as the user named it. */
void kc_side_print_run(const char *before, const char *path, const struct kc_measured_run *run);

#endif

/*
 * Inside a report: rows are read one by one (rows.h), and each roll-up is added to
 * every group that it belongs to.
 */
#ifndef KC_REPORT_INTERNAL_H
#define KC_REPORT_INTERNAL_H

#include "store/query/filter.h"
#include "store/query/query.h"
#include "store/query/rows.h"
#include "store/database/internal.h"

struct kc__group { /* accuracy and hints are made from this */
	struct kc__sums sums;
	uint64_t counts[KC_SKETCH_BUCKETS];
	const struct kc__rollup **parts; /* exact reports: the roll-ups that hold the errors */
	size_t part_count, part_capacity;
	double overlapped_error_ns;
	uint64_t unfamiliar;              /* matched, and first seen or of a new size */
	struct kc__sums repeated;         /* repeated and solo */
	uint32_t kernel_class, has_class; /* of a kernel */
};

/* Adds a roll-up with its own sketch, or with counts, the sketch from the table. 0 or -ENOMEM. */
int kc__group_add(struct kc__group *group, const struct kc__rollup *rollup, const uint64_t *counts);
struct kc_accuracy kc__group_accuracy(const struct kc__group *group);
uint32_t kc__group_hints(const struct kc__group *group, const struct kc_accuracy *accuracy);
void kc__group_clear(struct kc__group *group);

/* report_scan.c: fills rollups from every launch of the selection that matches the filter, which may be NULL, and keeps
 * the errors. */
int kc__scan(struct kc_store *s, const struct kc_selection *selection, struct kc_filter *filter,
	     struct kc__rollups *rollups);

/* report_load.c: a report from the roll-ups given, instead of those of the database.
 * Its ledger and messages stay empty. 0 or -errno. */
int kc__report_of(struct kc_store *s, const struct kc__rollups *rollups, struct kc_report *report);

/* report_load.c: of struct kc_group, for qsort(): the longest first. */
int kc__by_time(const void *a, const void *b);

/* report_load.c: the names of streams, and that of the row ?1, "unknown" if there is none; NULL: no memory. */
char *kc__row_name(sqlite3_stmt *row, int64_t id);

/* kernels_apart.c: kernels of one name have behind it what tells them apart, such as their modules. */
int kc__kernels_tell_apart(struct kc_store *s, struct kc_groups *kernels);

/* report_tables.c */
int kc__ledger_load(struct kc_store *s, const struct kc_selection *selection, struct kc_ledger *ledger);
int kc__processes_load(struct kc_store *s, struct kc_report *report);
int kc__messages_load(struct kc_store *s, struct kc_report *report);
int kc__graphs_load(struct kc_store *s, struct kc_report *report);

#endif

/*
 * The operations of a trace between the file, where they stand in any order,
 * and the importer, which takes them by start.
 *
 *   kc_stage   a temporary database in TMPDIR (else /var/tmp): one table of
 *              operations, one of launch calls, which are joined by process and
 *              correlation id when the rows are taken out; operators and
 *              ranges, which are joined to the kernels that were launched in them
 *              (operators/link.h); and steps
 *
 * Memory is bounded by SQLite's page cache, the distinct names and the distinct
 * operators, disk by the operations and calls.
 */
#ifndef KC_IMPORT_STAGE_H
#define KC_IMPORT_STAGE_H

#include "operators/inputs.h"
#include "operators/scopes.h"
#include "trace_row.h"

struct kc_stage;

/* All of these return 0 or -errno (-ENOSPC: TMPDIR is full). */
int kc_stage_new(struct kc_stage **out);
int kc_stage_add(struct kc_stage *stage, const struct kc_trace_row *row);
/* Adds the call of a process that launched its operations with that correlation id; of several, the earliest counts. At
 * an impossible time it is none. thread: "": not known. */
int kc_stage_call(struct kc_stage *stage, const char *process, const char *thread, int64_t correlation,
		  int64_t launch_ns);
/* Adds a call of an operator, or a range; at an impossible time it is none. inputs: of an operator. */
struct kc_stage_span {
	const char *process, *thread; /* as of the calls that were made in it */
	int64_t start_ns, end_ns;
};
int kc_stage_span(struct kc_stage *stage, const struct kc_stage_span *span, enum kc_scope_kind kind, const char *name,
		  const struct kc_operator_inputs *inputs);
/* Adds a step of the process that makes the calls, on whichever threads; at an impossible time it is none. */
int kc_stage_step(struct kc_stage *stage, const struct kc_stage_span *span, int64_t number);
/* Rows and calls may be added under names of their own, and it be said later whose they are: the process of rows that
 * were added as `process`, and whose calls may have launched them beside those of `process`. */
int kc_stage_owner(struct kc_stage *stage, const char *process, const char *owner);
int kc_stage_caller(struct kc_stage *stage, const char *process, const char *caller);

uint64_t kc_stage_count(const struct kc_stage *stage);

/* Passes the rows to take(), ordered by start (without one, by their call), with times relative to zero_ns; without
 * one_clock process by process, as they first came. Stops where take() returns < 0, and returns that. */
int kc_stage_take(struct kc_stage *stage, int64_t zero_ns, int one_clock,
		  int (*take)(const struct kc_trace_row *row, void *arg), void *arg);
/* Passes the steps to take() likewise, by their starts, of processes that rows are of. */
struct kc_stage_step {
	const char *process; /* as in the rows */
	int64_t number, start_ns, end_ns;
};
int kc_stage_take_steps(struct kc_stage *stage, int64_t zero_ns,
			int (*take)(const struct kc_stage_step *step, void *arg), void *arg);
/* Of the rows that were passed. */
const struct kc_scopes *kc_stage_scopes(const struct kc_stage *stage);
/* The earliest start, or the earliest launch call where no row has a time; 0 if there are none. */
int kc_stage_earliest(struct kc_stage *stage, int64_t *start_ns);

void kc_stage_free(struct kc_stage *stage);

/* Of a result of the temporary database: 0 or -errno. */
int kc_stage_errno(int rc);

#endif

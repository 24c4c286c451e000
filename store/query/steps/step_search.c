#include "step_search.h"
#include "steps.h"

#include "store/common/ids/ids.h"
#include "store/database/internal.h"
#include "store/query/report/gaps.h"
#include "predictor/math/order.h"

#include <errno.h>
#include <stdlib.h>

/* A copy from the host of fewer bytes is one of numbers, such as a kernel's arguments, and not of data for a step. */
#define DATA_BYTES 64

#define CALLS                                                                                                          \
	"SELECT r.launched, r.shape, r.stream, s.kernel, NULL, 0 FROM launch_row r LEFT JOIN shape s ON s.id = "       \
	"r.shape"                                                                                                      \
	" WHERE r.id BETWEEN ?1 AND ?2"                                                                                \
	" UNION ALL SELECT coalesce(t.launched_ns, t.measured_start_ns) - p.started_ns, 0, t.stream, 0, t.kind,"       \
	" coalesce(t.bytes, 0) FROM transfer t JOIN process p ON p.id = t.process"                                     \
	" WHERE t.id BETWEEN ?1 AND ?2 AND p.id = ?3 AND coalesce(t.launched_ns, t.measured_start_ns) NOT NULL"
enum { COLUMN_NS, COLUMN_SHAPE, COLUMN_STREAM, COLUMN_KERNEL, COLUMN_KIND, COLUMN_BYTES };

struct loaded {
	int64_t ns;
	uint32_t order, shape, name;
	uint8_t kind;
};

struct loader {
	struct kc_ids shapes, kernels, streams;        /* of rows */
	struct kc_ids shape_on_stream, name_on_stream; /* pairs of their numbers */
	struct kc__list calls;                         /* struct loaded */
};

static enum kc_call_kind kind_of(enum kc_transfer_kind kind, int64_t bytes)
{
	if (kind == KC_COPY_DTOH)
		return KC_CALL_TO_HOST;
	return kind == KC_COPY_HTOD && bytes >= DATA_BYTES ? KC_CALL_FROM_HOST : KC_CALL_OTHER_COPY;
}

/* So that the time between any two calls is a number. */
static int64_t possible_ns(int64_t ns)
{
	if (ns < KC_INTERVAL_FIRST_NS)
		return KC_INTERVAL_FIRST_NS;
	return ns < KC_INTERVAL_LAST_NS ? ns : KC_INTERVAL_LAST_NS;
}

static uint32_t pair(struct kc_ids *pairs, uint32_t a, uint32_t b)
{
	return a && b ? kc_ids_number(pairs, (int64_t)((uint64_t)a << 32 | b)) : 0;
}

static int add_call(struct loader *l, sqlite3_stmt *row)
{
	struct loaded *call = kc__list_add(&l->calls, sizeof(*call));
	uint32_t stream = kc_ids_number(&l->streams, sqlite3_column_int64(row, COLUMN_STREAM)), shape, kernel;
	enum kc_transfer_kind copy = 0;

	if (!call || l->calls.count > UINT32_MAX / 2)
		return -ENOMEM;
	call->ns = possible_ns(sqlite3_column_int64(row, COLUMN_NS));
	call->order = (uint32_t)l->calls.count;
	if (sqlite3_column_type(row, COLUMN_KIND) != SQLITE_NULL)
		copy = kc_transfer_kind_of((const char *)sqlite3_column_text(row, COLUMN_KIND));
	if (copy)
		call->kind = (uint8_t)kind_of(copy, sqlite3_column_int64(row, COLUMN_BYTES));
	/* Ids of rows are positive. */
	shape = kc_ids_number(&l->shapes, copy ? -(int64_t)copy : sqlite3_column_int64(row, COLUMN_SHAPE));
	kernel = kc_ids_number(&l->kernels, copy ? -(int64_t)copy : sqlite3_column_int64(row, COLUMN_KERNEL));
	call->shape = pair(&l->shape_on_stream, shape, stream);
	call->name = pair(&l->name_on_stream, kernel, stream);
	return call->shape && call->name ? 0 : -ENOMEM;
}

static int read_calls(struct loader *l, struct kc_store *s, int64_t process, uint64_t *left)
{
	sqlite3_stmt *rows;
	int rc = sqlite3_prepare_v2(s->db, CALLS, -1, &rows, NULL), failed = 0;

	if (rc != SQLITE_OK)
		return kc__errno(s->db, rc);
	sqlite3_bind_int64(rows, 1, process << KC_SEQUENCE_BITS);
	sqlite3_bind_int64(rows, 2, process << KC_SEQUENCE_BITS | KC_SEQUENCE_MASK);
	sqlite3_bind_int64(rows, 3, process);
	while (!failed && (rc = sqlite3_step(rows)) == SQLITE_ROW) {
		failed = *left ? add_call(l, rows) : -E2BIG;
		*left -= *left > 0;
	}
	sqlite3_finalize(rows);
	return failed ? failed : kc__errno(s->db, rc);
}

KC_ORDER(by_time, struct loaded, KC_UP(ns) ?: KC_UP(order))

/* A step lasts up to the next call, of the step after it or of none: what the host waited for until then is a part of
 * it. */
static int add_steps(int64_t process, const struct kc_recording *recording, const struct kc_repeat *repeat,
		     struct kc__list *out)
{
	const struct kc_call *calls = recording->at;

	for (uint32_t k = 0; k < repeat->count; k++) {
		const struct kc_call_span *span = &repeat->at[k];
		int is_open = span->after >= recording->count;
		int64_t last_ns = kc_plus_ns(calls[span->after - 1].ns, 1); /* a clock may tick in us */
		struct kc_step *step = kc__list_add(out, sizeof(*step));

		if (!step)
			return -ENOMEM;
		*step = (struct kc_step){
		    .process = process,
		    .number = k + 1,
		    .start_ns = calls[span->first].ns,
		    .end_ns = is_open || calls[span->after].ns < last_ns ? last_ns : calls[span->after].ns,
		    .is_open = is_open,
		};
	}
	return 0;
}

static int take(int64_t process, const struct kc_recording *recording, struct kc_found_steps *found,
		struct kc__list *outer, struct kc__list *inner, struct kc_step_search *out)
{
	int is_nested = found->verdict == KC_STEPS_NESTED, rc = 0;

	if (is_nested || found->verdict == KC_STEPS_FOUND)
		rc = add_steps(process, recording, &found->outer, outer);
	if (rc == 0 && is_nested)
		rc = add_steps(process, recording, &found->inner, inner);
	out->verdict = found->verdict;
	out->outer = found->outer;
	out->inner = found->inner;
	out->outer.at = out->inner.at = NULL;
	return rc;
}

static int search(const struct loader *l, int64_t process, struct kc__list *outer, struct kc__list *inner,
		  struct kc_step_search *out)
{
	size_t n = l->calls.count;
	const struct loaded *loaded = l->calls.at;
	struct kc_call *at = calloc(n + 1, sizeof(*at));
	uint32_t *shape = calloc(n + 1, sizeof(*shape)), *name = calloc(n + 1, sizeof(*name));
	const struct kc_recording recording = {
	    at, shape, name, (uint32_t)n, l->shape_on_stream.count, l->name_on_stream.count};
	struct kc_found_steps found = {.verdict = KC_STEPS_NONE};
	int rc = at && shape && name ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < n; i++) {
		at[i] = (struct kc_call){loaded[i].ns, loaded[i].kind};
		shape[i] = loaded[i].shape - 1;
		name[i] = loaded[i].name - 1;
	}
	if (rc == 0)
		rc = kc_found_steps_find(&recording, &found);
	if (rc == 0)
		rc = take(process, &recording, &found, outer, inner, out);
	kc_found_steps_free(&found);
	free(at);
	free(shape);
	free(name);
	return rc;
}

int kc_step_search(struct kc_store *s, int64_t process, uint64_t *left, struct kc__list *outer, struct kc__list *inner,
		   struct kc_step_search *out)
{
	struct loader l = {.calls = {0}};
	int rc = read_calls(&l, s, process, left);

	*out = (struct kc_step_search){.process = process};
	if (rc == 0 && l.calls.count) {
		qsort(l.calls.at, l.calls.count, sizeof(struct loaded), by_time);
		rc = search(&l, process, outer, inner, out);
	}
	free(l.calls.at);
	kc_ids_free(&l.shapes);
	kc_ids_free(&l.kernels);
	kc_ids_free(&l.streams);
	kc_ids_free(&l.shape_on_stream);
	kc_ids_free(&l.name_on_stream);
	return rc;
}

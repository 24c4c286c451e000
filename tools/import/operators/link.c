#include "link.h"
#include "work.h"

#include "store/common/growing.h"
#include "store/common/ids/ids.h"
#include "store/common/ids/intern.h"
#include "store/query/readable.h"
#include "tools/import/import_stage.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INPUTS_TEXT_MAX 512u
#define OPEN_MOST 4096u              /* operators that call each other */
#define OPERATORS_MOST (1u << 18)    /* different ones of a file, as memory grows with them */
#define OTHERS (OPERATORS_MOST + 1u) /* the one that stands for all further ones: no kernel does its work */
#define CANDIDATES_KEPT 2u

/* What a kernel's name tells. */
struct named {
	enum kc_kernel_class of;
	uint8_t helps; /* it splits, adds up or turns about what others multiply */
	uint8_t is_input_gradient, is_filter_gradient;
};

struct candidate {
	int64_t row;
	struct named named;
};

/* A call of an operator that has begun and, at the launch looked at, not ended. */
struct open_call {
	int64_t end_ns, id; /* id 0: it is not known what it does, or it is a range */
	uint32_t name;      /* in a scope */
	enum kc_kernel_class of;
	uint32_t parts; /* 0: its operations, or how they are divided, are not known */
	uint64_t candidates;
	struct candidate at[CANDIDATES_KEPT]; /* the first ones */
};

/* Where in the threads of the trace: both lists are in this order. */
struct moment {
	int64_t process, thread, ns;
};

struct kc_operator_links {
	sqlite3 *db;
	sqlite3_stmt *add_operator, *add_span, *add_link, *add_scope, *set_parts, *name_of;
	sqlite3_stmt *spans, *launches; /* of kc_operator_links_make() */
	struct kc_scopes *scopes;
	struct kc_intern operators;
	uint32_t stored;
	uint64_t added;
	struct kc_ids names; /* a number less 1 is the place in `named` */
	struct named *named;
	size_t named_room;
	struct open_call *open; /* the innermost last */
	size_t open_count;
	int64_t ends_ns;       /* the first of these does, or later */
	struct moment begins;  /* the next span; process -1: there are no more */
	int64_t lost_until_ns; /* until then, more operators were open than are kept */
};

static const char schema[] =
    "CREATE TABLE operator(id INTEGER PRIMARY KEY, name, inputs, type, flop, bytes, nominal, class, parts);"
    "CREATE TABLE span(process, thread, start_ns, end_ns, operator, name);"
    "CREATE TABLE linked(id INTEGER PRIMARY KEY, operator, parts);"
    "CREATE TABLE enclosed(id INTEGER PRIMARY KEY, scope);";

static const char sql_spans[] = "SELECT s.process, s.thread, s.start_ns, s.end_ns, s.operator, o.class,"
				" CASE WHEN o.flop NOT NULL THEN o.parts ELSE 0 END, s.name FROM span s"
				" LEFT JOIN operator o ON o.id = s.operator ORDER BY 1, 2, 3, 4 DESC, s.rowid";

/* Kernels whose launch call is beyond doubt. A graph's are launched by one call for all of them. */
static const char sql_launches[] =
    "SELECT min(c.process), min(c.thread), min(c.launch_ns), r.rowid, r.name, r.graph_node FROM row r"
    " CROSS JOIN (SELECT process, caller FROM caller UNION SELECT process, process FROM row) k ON k.process = r.process"
    " CROSS JOIN call c ON c.process = k.caller AND c.correlation = r.correlation"
    " WHERE r.what = 0 AND c.thread NOT NULL GROUP BY r.rowid HAVING count(*) = 1"
    " ORDER BY 1, 2, 3, r.rowid";

static int prepare(struct kc_operator_links *l, const char *sql, sqlite3_stmt **stmt)
{
	return kc_stage_errno(sqlite3_prepare_v2(l->db, sql, -1, stmt, NULL));
}

int kc_operator_links_new(sqlite3 *db, struct kc_operator_links **out)
{
	struct kc_operator_links *l = calloc(1, sizeof(*l));
	int rc;

	*out = l;
	if (!l)
		return -ENOMEM;
	l->db = db;
	l->scopes = kc_scopes_new();
	if (!l->scopes)
		return -ENOMEM;
	rc = kc_stage_errno(sqlite3_exec(db, schema, NULL, NULL, NULL));
	if (rc == 0)
		rc = prepare(l, "INSERT INTO operator VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)", &l->add_operator);
	if (rc == 0)
		rc = prepare(l, "INSERT INTO span VALUES(?, ?, ?, ?, ?, ?)", &l->add_span);
	if (rc == 0)
		rc = prepare(l, "INSERT INTO linked VALUES(?, ?, NULL)", &l->add_link);
	if (rc == 0)
		rc = prepare(l, "INSERT INTO enclosed VALUES(?, ?)", &l->add_scope);
	if (rc == 0)
		rc = prepare(l, "UPDATE linked SET parts = ?2 WHERE id = ?1", &l->set_parts);
	if (rc == 0)
		rc = prepare(l, "SELECT value FROM text WHERE id = ?", &l->name_of);
	return rc;
}

void kc_operator_links_free(struct kc_operator_links *l)
{
	if (!l)
		return;
	sqlite3_finalize(l->add_operator);
	sqlite3_finalize(l->add_span);
	sqlite3_finalize(l->add_link);
	sqlite3_finalize(l->add_scope);
	sqlite3_finalize(l->set_parts);
	sqlite3_finalize(l->name_of);
	sqlite3_finalize(l->spans);
	sqlite3_finalize(l->launches);
	kc_scopes_free(l->scopes);
	kc_intern_free(&l->operators);
	kc_ids_free(&l->names);
	free(l->named);
	free(l->open);
	free(l);
}

static int run(sqlite3_stmt *stmt)
{
	int rc = sqlite3_step(stmt);

	sqlite3_reset(stmt);
	return kc_stage_errno(rc);
}

/* --- operators */

static void bind_amount(sqlite3_stmt *stmt, int at, double amount)
{
	if (isnan(amount))
		sqlite3_bind_null(stmt, at);
	else
		sqlite3_bind_double(stmt, at, amount);
}

static int store_operator(struct kc_operator_links *l, uint32_t id, const char *name, const char *inputs,
			  const struct kc_operator_work *work)
{
	sqlite3_bind_int64(l->add_operator, 1, id);
	sqlite3_bind_text(l->add_operator, 2, name, -1, SQLITE_STATIC);
	sqlite3_bind_text(l->add_operator, 3, inputs, -1, SQLITE_STATIC);
	sqlite3_bind_text(l->add_operator, 4, work->type, -1, SQLITE_STATIC);
	bind_amount(l->add_operator, 5, work->flop);
	bind_amount(l->add_operator, 6, work->bytes);
	sqlite3_bind_int(l->add_operator, 7, work->is_nominal);
	sqlite3_bind_int(l->add_operator, 8, (int)work->of);
	sqlite3_bind_int64(l->add_operator, 9, work->parts);
	return run(l->add_operator);
}

/* The id of an operator, which is stored at its first use. 0; -ENOMEM. */
static int number_operator(struct kc_operator_links *l, const char *name, const struct kc_operator_inputs *inputs,
			   struct kc_operator_work *work, uint32_t *id)
{
	char text[INPUTS_TEXT_MAX], key[INPUTS_TEXT_MAX + 256];
	int length;

	if (l->operators.count < OPERATORS_MOST) {
		kc_operator_inputs_text(inputs, text, sizeof(text));
		length = snprintf(key, sizeof(key), "%s\n%s\n%s\n%a %a %d %u", name, work->type, text, work->flop,
				  work->bytes, work->is_nominal, work->parts);
		*id =
		    kc_intern(&l->operators, 'o', key, (size_t)length < sizeof(key) ? (size_t)length : sizeof(key) - 1);
		if (!*id)
			return -ENOMEM;
	} else {
		*id = OTHERS;
		*text = '\0';
		*work = (struct kc_operator_work){.of = KC_CLASS_COUNT, .flop = NAN, .bytes = NAN, .type = ""};
	}
	if (*id <= l->stored)
		return 0;
	l->stored = *id;
	return store_operator(l, *id, name, text, work);
}

int kc_operator_links_add(struct kc_operator_links *l, const struct kc_operator_call *call,
			  const struct kc_operator_inputs *inputs)
{
	const int64_t numbers[] = {call->process, call->thread, call->start_ns, call->end_ns};
	struct kc_operator_work work;
	uint32_t id = 0, name = kc_scopes_name(l->scopes, call->kind, call->name);
	int rc = name ? 0 : -ENOMEM;

	if (rc == 0 && call->kind == KC_SCOPE_OPERATOR && kc_operator_work(call->name, inputs, &work))
		rc = number_operator(l, call->name, inputs, &work, &id);
	for (int i = 0; i < 4; i++)
		sqlite3_bind_int64(l->add_span, i + 1, numbers[i]);
	sqlite3_bind_int64(l->add_span, 5, id);
	sqlite3_bind_int64(l->add_span, 6, name);
	l->added++;
	return rc ? rc : run(l->add_span);
}

/* --- kernels */

static int has_any(const char *name, const char *const *words)
{
	for (; *words; words++)
		if (strcasestr(name, *words))
			return 1;
	return 0;
}

static void read_name(const char *name, struct named *out)
{
	/* cuBLAS adds up what it has split, and a bias; cuDNN turns tensors and filters about, and finds where things
	 * lie; flash attention prepares its gradients, and converts and joins results. */
	static const char *const helpers[] = {"splitkreduce",    "epilogue::impl::globalkernel",
					      "nchwtonhwc",      "nhwctonchw",
					      "addpadding",      "computeoffsets",
					      "computeboffsets", "im2col",
					      "col2im",          "flip_filter",
					      "precompute",      "scalepacked",
					      "dot_do_o",        "convert_dq",
					      "combine",         NULL};
	static const char *const input[] = {"dgrad", NULL}, *const filter[] = {"wgrad", NULL};
	char readable[KC_READABLE_BYTES];

	kc_readable_name(name, readable, sizeof(readable));
	*out = (struct named){
	    .of = kc_kernel_class_of(readable),
	    .helps = (uint8_t)has_any(readable, helpers),
	    .is_input_gradient = (uint8_t)has_any(readable, input),
	    .is_filter_gradient = (uint8_t)has_any(readable, filter),
	};
}

/* Read once for each name. 0 or -errno. */
static int name_at(struct kc_operator_links *l, int64_t text, struct named *out)
{
	uint32_t known = l->names.count, number = kc_ids_number(&l->names, text);
	const char *name;
	int rc = 0;

	if (!number)
		return -ENOMEM;
	if (KC_ROOM(l->named, l->named_room, number - 1))
		return -ENOMEM;
	if (number > known) {
		sqlite3_bind_int64(l->name_of, 1, text);
		rc = sqlite3_step(l->name_of);
		name = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(l->name_of, 0) : NULL;
		read_name(name ? name : "", &l->named[number - 1]);
		sqlite3_reset(l->name_of);
		rc = kc_stage_errno(rc);
	}
	*out = l->named[number - 1];
	return rc;
}

/* cuDNN convolves by products, too. */
static int is_part_of(const struct open_call *call, const struct named *named)
{
	return named->of == call->of || (call->of == KC_CLASS_CONVOLUTION && named->of == KC_CLASS_PRODUCT);
}

/* --- both in the order of time */

static int set_parts(struct kc_operator_links *l, int64_t row, uint32_t parts)
{
	sqlite3_bind_int64(l->set_parts, 1, row);
	sqlite3_bind_int64(l->set_parts, 2, parts);
	return run(l->set_parts);
}

static int one_for_each_gradient(const struct open_call *call)
{
	const struct named *a = &call->at[0].named, *b = &call->at[1].named;

	return (a->is_input_gradient && b->is_filter_gradient) || (a->is_filter_gradient && b->is_input_gradient);
}

/* All launches of the call are there. */
static int close_call(struct kc_operator_links *l, const struct open_call *call)
{
	int rc = 0;

	if (!call->parts || call->candidates != call->parts || (call->parts == 2 && !one_for_each_gradient(call)))
		return 0;
	for (uint32_t i = 0; rc == 0 && i < call->parts && i < CANDIDATES_KEPT; i++)
		rc = set_parts(l, call->at[i].row, call->parts);
	return rc;
}

static int close_until(struct kc_operator_links *l, int64_t ns)
{
	size_t kept = 0;
	int rc = 0;

	if (ns < l->ends_ns)
		return 0;
	l->ends_ns = INT64_MAX;
	for (size_t i = 0; i < l->open_count; i++) {
		struct open_call *call = &l->open[i];

		if (call->end_ns <= ns) {
			rc = rc ? rc : close_call(l, call);
			continue;
		}
		l->ends_ns = call->end_ns < l->ends_ns ? call->end_ns : l->ends_ns;
		if (kept != i)
			l->open[kept] = *call;
		kept++;
	}
	l->open_count = kept;
	return rc;
}

static int step_spans(struct kc_operator_links *l)
{
	int rc = sqlite3_step(l->spans);

	l->begins = rc == SQLITE_ROW
			? (struct moment){sqlite3_column_int64(l->spans, 0), sqlite3_column_int64(l->spans, 1),
					  sqlite3_column_int64(l->spans, 2)}
			: (struct moment){.process = -1};
	return kc_stage_errno(rc);
}

static int open_next(struct kc_operator_links *l)
{
	int64_t end_ns = sqlite3_column_int64(l->spans, 3);
	int rc = close_until(l, l->begins.ns);

	if (rc)
		return rc;
	if (l->open_count < OPEN_MOST)
		l->open[l->open_count++] = (struct open_call){
		    .end_ns = end_ns,
		    .name = (uint32_t)sqlite3_column_int64(l->spans, 7),
		    .id = sqlite3_column_int64(l->spans, 4),
		    .of = (enum kc_kernel_class)sqlite3_column_int(l->spans, 5),
		    .parts = (uint32_t)sqlite3_column_int(l->spans, 6),
		};
	else if (end_ns > l->lost_until_ns)
		l->lost_until_ns = end_ns;
	l->ends_ns = end_ns < l->ends_ns ? end_ns : l->ends_ns;
	return step_spans(l);
}

static int is_other_thread(const struct moment *a, const struct moment *b)
{
	return a->process != b->process || a->thread != b->thread;
}

static int is_before(const struct moment *a, const struct moment *b)
{
	if (a->process != b->process)
		return a->process < b->process;
	return a->thread < b->thread;
}

/* Until the calls are open that hold the moment, and no others. */
static int go_to(struct kc_operator_links *l, const struct moment *from, const struct moment *to)
{
	int rc = 0;

	if (is_other_thread(from, to)) {
		rc = close_until(l, INT64_MAX);
		l->lost_until_ns = INT64_MIN;
	}
	while (rc == 0 && l->begins.process >= 0 && is_before(&l->begins, to))
		rc = step_spans(l);
	while (rc == 0 && l->begins.process >= 0 && !is_other_thread(&l->begins, to) && l->begins.ns <= to->ns)
		rc = open_next(l);
	return rc ? rc : close_until(l, to->ns);
}

static struct open_call *innermost_known(const struct kc_operator_links *l)
{
	for (size_t i = l->open_count; i-- > 0;)
		if (l->open[i].id)
			return &l->open[i];
	return NULL;
}

static int link_operator(struct kc_operator_links *l, int64_t row, int64_t name)
{
	struct open_call *call = innermost_known(l);
	struct candidate one = {.row = row};
	int rc = call ? name_at(l, name, &one.named) : 0;

	if (rc || !call || !is_part_of(call, &one.named))
		return rc;
	if (!one.named.helps && call->candidates < CANDIDATES_KEPT)
		call->at[call->candidates] = one;
	call->candidates += !one.named.helps;
	sqlite3_bind_int64(l->add_link, 1, row);
	sqlite3_bind_int64(l->add_link, 2, call->id);
	return run(l->add_link);
}

static int link_scope(struct kc_operator_links *l, int64_t row)
{
	uint32_t scope = 0;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < l->open_count && i < KC_SCOPE_DEPTH_MOST; i++)
		rc = kc_scopes_enter(l->scopes, scope, l->open[i].name, &scope);
	if (rc || !scope)
		return rc;
	sqlite3_bind_int64(l->add_scope, 1, row);
	sqlite3_bind_int64(l->add_scope, 2, scope);
	return run(l->add_scope);
}

/* What a graph's call is in, its kernels are in; which of them does an operator's work is not known. */
static int link_launch(struct kc_operator_links *l, sqlite3_stmt *launch)
{
	int64_t row = sqlite3_column_int64(launch, 3);
	int rc = link_scope(l, row);

	if (rc || sqlite3_column_type(launch, 5) != SQLITE_NULL)
		return rc;
	return link_operator(l, row, sqlite3_column_int64(launch, 4));
}

static int link_all(struct kc_operator_links *l)
{
	struct moment at = {.process = -1}, to;
	int step = SQLITE_DONE, rc = step_spans(l);

	while (rc == 0 && (step = sqlite3_step(l->launches)) == SQLITE_ROW) {
		to = (struct moment){sqlite3_column_int64(l->launches, 0), sqlite3_column_int64(l->launches, 1),
				     sqlite3_column_int64(l->launches, 2)};
		rc = go_to(l, &at, &to);
		at = to;
		if (rc == 0 && to.ns >= l->lost_until_ns)
			rc = link_launch(l, l->launches);
	}
	if (rc == 0)
		rc = kc_stage_errno(step);
	return rc ? rc : close_until(l, INT64_MAX);
}

int kc_operator_links_make(struct kc_operator_links *l)
{
	int rc;

	if (!l->added)
		return 0;
	l->open = calloc(OPEN_MOST, sizeof(*l->open));
	if (!l->open)
		return -ENOMEM;
	l->ends_ns = INT64_MAX;
	rc = prepare(l, sql_spans, &l->spans);
	if (rc == 0)
		rc = prepare(l, sql_launches, &l->launches);
	return rc ? rc : link_all(l);
}

const struct kc_scopes *kc_operator_links_scopes(const struct kc_operator_links *l)
{
	return l->scopes;
}

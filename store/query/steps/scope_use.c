#include "scope_use.h"

#include "store/common/ids/ids.h"
#include "store/common/ids/intern.h"
#include "store/database/internal.h"
#include "store/query/report/activity.h"
#include "predictor/math/order.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MOST 64u /* import keeps no more in each other; parents of a damaged database may go round */

/* What kc_filter_row() takes comes first. */
#define LAUNCHES                                                                                                       \
	"SELECT r.id >> ?3, r.stream, s.kernel, r.launched, r.measured_span, s.device, r.id, i.scope"                  \
	" FROM launch_row r LEFT JOIN shape s ON s.id = r.shape LEFT JOIN launched_in i ON i.id = r.id"                \
	" WHERE r.id BETWEEN ?1 AND ?2"
#define SCOPES "SELECT local, parent, kind = ?2, name FROM scope WHERE process = ?1"

/* Of a process. What was launched in it, without what it holds. */
struct scope {
	int64_t parent; /* scope.local */
	size_t use;     /* the place of its name in `uses`; OUTSIDE: it is of another kind */
	uint64_t launches, measured;
	double ns;
};

struct use {
	struct kc_scope_use of;
	uint64_t counted; /* the last scope whose launches it has */
};

#define OUTSIDE 0u

struct reader {
	struct kc_store *store;
	struct kc_filter *filter;
	enum kc_scope_kind kind;
	struct kc_intern names; /* a number is a place in `uses` */
	struct kc__list uses;   /* struct use; first what is in none */
	struct kc_ids locals;   /* a number is a place in `scopes` */
	struct kc__list scopes; /* struct scope, of the process that is being read; first what is in none */
	sqlite3_stmt *launches, *of_process;
	uint64_t counted; /* scopes whose launches were added up */
	double ns;        /* of all */
	uint64_t left;    /* rows that may still be read */
};

/* The place of a name in `uses`. */
static int use_of(struct reader *r, const char *name, size_t *out)
{
	uint32_t number = kc_intern(&r->names, 'n', name, strlen(name));
	struct use *use;

	if (!number)
		return -ENOMEM;
	*out = number;
	if (number < r->uses.count)
		return 0;
	use = kc__list_add(&r->uses, sizeof(*use));
	if (!use)
		return -ENOMEM;
	use->of.name = strdup(name);
	return use->of.name ? 0 : -ENOMEM;
}

static int add_scope(struct reader *r, sqlite3_stmt *row)
{
	const char *name = (const char *)sqlite3_column_text(row, 3);
	uint32_t number = kc_ids_number(&r->locals, sqlite3_column_int64(row, 0));
	struct scope *scope = kc__list_add(&r->scopes, sizeof(*scope));

	if (!number || !scope)
		return -ENOMEM;
	scope->parent = sqlite3_column_int64(row, 1);
	return sqlite3_column_int(row, 2) ? use_of(r, name ? name : "", &scope->use) : 0;
}

static struct scope *scope_at(const struct reader *r, int64_t local)
{
	return (struct scope *)r->scopes.at + kc_ids_find(&r->locals, local);
}

static int add_launch(struct reader *r, sqlite3_stmt *row)
{
	int matches = kc_filter_row(r->filter, row, 0);
	struct scope *scope = scope_at(r, sqlite3_column_int64(row, 7));
	int64_t ns = sqlite3_column_int64(row, 4);

	if (!r->left)
		return -E2BIG;
	r->left--;
	if (matches <= 0)
		return matches;
	scope->launches++;
	if (sqlite3_column_type(row, 4) == SQLITE_NULL || ns < 0 || ns > KC_MEASURED_MAX_NS)
		return 0;
	scope->measured++;
	scope->ns += (double)ns;
	return 0;
}

static void count(struct use *use, const struct scope *scope, int is_own)
{
	use->of.launches += scope->launches;
	use->of.measured += scope->measured;
	use->of.total_ns += scope->ns;
	use->of.own_launches += is_own ? scope->launches : 0;
	use->of.own_ns += is_own ? scope->ns : 0;
}

/* What was launched in a scope counts for it and those that held it, for each name once. */
static void count_in_all(struct reader *r, const struct scope *scope)
{
	const struct scope *around = scope;
	struct use *uses = r->uses.at;
	int is_own = 1;

	r->counted++;
	r->ns += scope->ns;
	for (unsigned i = 0; i < DEPTH_MOST && around != r->scopes.at; i++, around = scope_at(r, around->parent)) {
		struct use *use = uses + around->use;

		if (around->use == OUTSIDE || use->counted == r->counted)
			continue;
		use->counted = r->counted;
		count(use, scope, is_own);
		is_own = 0;
	}
	if (is_own)
		count(&uses[OUTSIDE], scope, 1);
}

/* Calls fn for each row; resets the statement. */
static int each(struct reader *r, sqlite3_stmt *rows, int (*fn)(struct reader *r, sqlite3_stmt *row))
{
	int rc = SQLITE_DONE, failed = 0;

	while (!failed && (rc = sqlite3_step(rows)) == SQLITE_ROW)
		failed = fn(r, rows);
	sqlite3_reset(rows);
	return failed ? failed : kc__errno(r->store->db, rc);
}

static int read_process(sqlite3_stmt *process, void *arg)
{
	struct reader *r = arg;
	int64_t id = sqlite3_column_int64(process, 0);
	int rc;

	if (id < 1 || id > KC_PROCESS_MAX)
		return 0;
	kc_ids_clear(&r->locals);
	r->scopes.count = 0;
	if (!kc__list_add(&r->scopes, sizeof(struct scope)))
		return -ENOMEM;
	sqlite3_bind_int64(r->of_process, 1, id);
	sqlite3_bind_text(r->of_process, 2, kc_scope_kind_name(r->kind), -1, SQLITE_STATIC);
	rc = each(r, r->of_process, add_scope);
	sqlite3_bind_int64(r->launches, 1, id << KC_SEQUENCE_BITS);
	sqlite3_bind_int64(r->launches, 2, id << KC_SEQUENCE_BITS | KC_SEQUENCE_MASK);
	sqlite3_bind_int(r->launches, 3, KC_SEQUENCE_BITS);
	if (rc == 0)
		rc = each(r, r->launches, add_launch);
	for (size_t i = 0; rc == 0 && i < r->scopes.count; i++) {
		const struct scope *scope = (const struct scope *)r->scopes.at + i;

		if (scope->launches)
			count_in_all(r, scope);
	}
	return rc;
}

static int begin(struct reader *r)
{
	sqlite3 *db = r->store->db;
	struct use *outside = kc__list_add(&r->uses, sizeof(*outside));
	int rc = sqlite3_prepare_v2(db, LAUNCHES, -1, &r->launches, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(db, SCOPES, -1, &r->of_process, NULL);
	if (rc != SQLITE_OK)
		return kc__errno(db, rc);
	if (outside)
		outside->of.name = strdup(r->kind == KC_SCOPE_RANGE ? "outside of ranges" : "outside of operators");
	return outside && outside->of.name ? 0 : -ENOMEM;
}

KC_ORDER(more_first, struct kc_scope_use, KC_DOWN(total_ns) ?: strcmp(x->name, y->name))

/* Without names in which nothing was launched that matches. The names are the report's then. */
static int take(struct reader *r, struct kc_scopes_report *out)
{
	struct use *uses = r->uses.at;

	out->has_names = r->uses.count > 1;
	out->at = out->has_names ? calloc(r->uses.count, sizeof(*out->at)) : NULL;
	if (!out->at)
		return out->has_names ? -ENOMEM : 0;
	for (size_t i = 0; i < r->uses.count; i++) {
		struct kc_scope_use *use = &uses[(i + 1) % r->uses.count].of; /* what is in none comes last */

		if (!use->launches)
			continue;
		use->share = r->ns > 0 ? use->total_ns / r->ns : NAN;
		out->has_outside |= use == &uses[OUTSIDE].of;
		out->at[out->count++] = *use;
		use->name = NULL;
	}
	qsort(out->at, out->count - (out->has_outside != 0), sizeof(*out->at), more_first);
	return 0;
}

static void close_reader(struct reader *r)
{
	struct use *uses = r->uses.at;

	for (size_t i = 0; i < r->uses.count; i++)
		free(uses[i].of.name);
	sqlite3_finalize(r->launches);
	sqlite3_finalize(r->of_process);
	kc_intern_free(&r->names);
	kc_ids_free(&r->locals);
	free(r->uses.at);
	free(r->scopes.at);
}

int kc_query_scopes(struct kc_store *s, const struct kc_report *report, struct kc_filter *filter,
		    enum kc_scope_kind kind, struct kc_scopes_report **out)
{
	struct reader r = {
	    .store = s,
	    .filter = filter,
	    .kind = kind,
	    .left = report->exact ? UINT64_MAX : KC_ACTIVITY_MOST,
	};
	struct kc_scopes_report *made = calloc(1, sizeof(*made));
	int rc = made ? begin(&r) : -ENOMEM;

	if (rc == 0)
		rc = kc__select(s, &report->selection, "SELECT id FROM process WHERE run BETWEEN ?1 AND ?2 ORDER BY id",
				read_process, &r);
	if (rc == 0)
		rc = take(&r, made);
	close_reader(&r);
	*out = NULL;
	if (rc == -E2BIG)
		made->too_many = 1;
	else if (rc) {
		kc_scopes_report_free(made);
		return rc;
	}
	*out = made;
	return 0;
}

void kc_scopes_report_free(struct kc_scopes_report *scopes)
{
	if (!scopes)
		return;
	for (size_t i = 0; i < scopes->count; i++)
		free(scopes->at[i].name);
	free(scopes->at);
	free(scopes);
}

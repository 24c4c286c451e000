#include "internal.h"

#include <errno.h>
#include <stdlib.h>

struct table {
	sqlite3_vtab base;
	struct kc_store *store;
};

struct cursor {
	sqlite3_vtab_cursor base;
	struct kc_store *store;
	struct kc__launch_row *row; /* NULL: behind the last */
	uint32_t next;
};

/* "INSERT OR IGNORE" leaves the rowid of the last insertion alone where it inserts nothing; no row has the id 0. */
static void take_next(struct cursor *c)
{
	struct kc__launch_rows *rows = c->store->waiting;

	c->row = c->next < rows->count ? &rows->at[rows->order[c->next++]] : NULL;
	sqlite3_set_last_insert_rowid(c->store->db, 0);
}

static int next(sqlite3_vtab_cursor *base)
{
	struct cursor *c = (struct cursor *)base;

	c->row->is_new = sqlite3_last_insert_rowid(c->store->db) == c->row->values[KC__ROW_ID];
	take_next(c);
	return SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *text, int count, sqlite3_value **values)
{
	struct cursor *c = (struct cursor *)base;

	(void)number;
	(void)text;
	(void)count;
	(void)values;
	c->next = 0;
	take_next(c);
	return SQLITE_OK;
}

static int at_end(sqlite3_vtab_cursor *base)
{
	return ((struct cursor *)base)->row == NULL;
}

/* A column without a result is NULL. */
static int column(sqlite3_vtab_cursor *base, sqlite3_context *context, int i)
{
	const struct kc__launch_row *row = ((struct cursor *)base)->row;

	if (row->known >> i & 1)
		sqlite3_result_int64(context, row->values[i]);
	return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *id)
{
	*id = ((struct cursor *)base)->row->values[KC__ROW_ID];
	return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
	struct cursor *c = calloc(1, sizeof(*c));

	if (!c)
		return SQLITE_NOMEM;
	c->store = ((struct table *)base)->store;
	*out = &c->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	free(base);
	return SQLITE_OK;
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	(void)base;
	info->estimatedRows = KC__LAUNCH_ROWS_MAX;
	return SQLITE_OK;
}

static int connect_table(sqlite3 *db, void *store, int count, const char *const *arguments, sqlite3_vtab **out,
			 char **why)
{
	struct table *table;
	int rc = sqlite3_declare_vtab(db, "CREATE TABLE x(id, shape, stream, launched, lead, solo, below, above, wait,"
					  " span, measured_wait, measured_span, flags, slowdown, slowdown_waves,"
					  " result, correlation, thread, model_state, graph_launch, graph_node,"
					  " call_site, arguments, known, measured_after, decided_after)");

	(void)count;
	(void)arguments;
	(void)why;
	if (rc != SQLITE_OK)
		return rc;
	table = calloc(1, sizeof(*table));
	if (!table)
		return SQLITE_NOMEM;
	table->store = store;
	*out = &table->base;
	/* What a database says is not trusted: no view or trigger of its own may read from here. */
	return sqlite3_vtab_config(db, SQLITE_VTAB_DIRECTONLY);
}

static int disconnect_table(sqlite3_vtab *base)
{
	free(base);
	return SQLITE_OK;
}

/* Without xCreate no database can have a table of this kind; it exists by its name alone. */
static const sqlite3_module module = {
    .xConnect = connect_table,
    .xBestIndex = best_index,
    .xDisconnect = disconnect_table,
    .xOpen = open_cursor,
    .xClose = close_cursor,
    .xFilter = filter,
    .xNext = next,
    .xEof = at_end,
    .xColumn = column,
    .xRowid = rowid,
};

static int make_room(struct kc_store *s)
{
	if (s->waiting)
		return 0;
	if (sqlite3_create_module(s->db, "kc_launches", &module, s) != SQLITE_OK)
		return -ENOMEM;
	s->waiting = calloc(1, sizeof(*s->waiting));
	return s->waiting ? 0 : -ENOMEM;
}

/* Launches become final nearly in the order of their calls, so the place is found from the end. */
static void put_in_order(struct kc__launch_rows *rows, uint8_t place)
{
	int64_t id = rows->at[place].values[KC__ROW_ID];
	uint32_t i = rows->count;

	for (; i > 0 && rows->at[rows->order[i - 1]].values[KC__ROW_ID] > id; i--)
		rows->order[i] = rows->order[i - 1];
	rows->order[i] = place;
}

struct kc__launch_row *kc__launch_rows_add(struct kc_store *s, int64_t id)
{
	struct kc__launch_row *row;

	if (make_room(s))
		return NULL;
	row = &s->waiting->at[s->waiting->count];
	row->known = 0;
	row->is_new = 0;
	kc__row_put(row, KC__ROW_ID, id);
	put_in_order(s->waiting, (uint8_t)s->waiting->count);
	s->waiting->count++;
	return row;
}

int kc__launch_rows_insert(struct kc_store *s)
{
	int inserted = 0, rc;

	if (!s->waiting || !s->waiting->count)
		return 0;
	rc = kc__run(s, kc__statement(s, KC__LAUNCH));
	for (uint32_t i = 0; i < s->waiting->count; i++)
		inserted += s->waiting->at[i].is_new;
	return rc || inserted == sqlite3_changes(s->db) ? rc : -EIO;
}

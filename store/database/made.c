/* What sqlite_schema says after kerncast has made a database of some version. SQLite could be asked, but it reads the
 * whole schema again for each column that is added, which takes longer than the rest of opening a database. */
#include "internal.h"

#include <stdio.h>
#include <string.h>

static const char if_absent[] = "IF NOT EXISTS ";

struct kc__object *kc__object_find(struct kc__objects *objects, const char *name)
{
	for (int i = 0; i < objects->count; i++) {
		if (!strcmp(objects->at[i].name, name))
			return &objects->at[i];
	}
	return NULL;
}

/* Copies the word at text, which ends before a blank, a parenthesis or at end; returns what is behind it. */
static const char *take_word(const char *text, const char *end, char word[KC__OBJECT_NAME])
{
	size_t n = 0;

	while (text + n < end && text[n] != ' ' && text[n] != '(')
		n++;
	snprintf(word, KC__OBJECT_NAME, "%.*s", (int)n, text);
	return text + n;
}

static int is_at(const char **text, const char *end, const char *words)
{
	size_t n = strlen(words);

	if ((size_t)(end - *text) < n || strncmp(*text, words, n))
		return 0;
	*text += n;
	return 1;
}

static int add(struct kc__objects *objects, const char *type, const char *text, const char *end)
{
	struct kc__object *object = &objects->at[objects->count];
	int optional = is_at(&text, end, if_absent);
	const char *rest;

	if (objects->count == KC__OBJECTS_MAX)
		return SQLITE_FULL;
	*object = (struct kc__object){.type = type, .optional = optional};
	rest = take_word(text, end, object->name);
	memcpy(object->table, object->name, sizeof(object->table));
	if (is_at(&rest, end, " ON "))
		take_word(rest, end, object->table);
	object->sql = sqlite3_mprintf("CREATE %s %.*s",
				      !strcmp(type, "table")  ? "TABLE"
				      : !strcmp(type, "view") ? "VIEW"
							      : "INDEX",
				      (int)(end - text), text);
	objects->count += object->sql != NULL;
	return object->sql ? SQLITE_OK : SQLITE_NOMEM;
}

/* Where the columns of a table end: at its constraints, which we write in capitals, or at its last parenthesis. */
static size_t end_of_columns(const char *sql)
{
	static const char *const constraints[] = {", UNIQUE(", ", PRIMARY KEY("};
	const char *end = strrchr(sql, ')');

	for (size_t i = 0; i < sizeof(constraints) / sizeof(constraints[0]); i++) {
		const char *at = strstr(sql, constraints[i]);

		if (at && at < end)
			end = at;
	}
	return (size_t)(end - sql);
}

static int add_column(struct kc__objects *objects, const char *text, const char *end)
{
	char name[KC__OBJECT_NAME], *sql;
	struct kc__object *table;
	size_t columns;

	text = take_word(text, end, name);
	table = kc__object_find(objects, name);
	if (!table || !is_at(&text, end, " ADD COLUMN "))
		return SQLITE_ERROR;
	columns = end_of_columns(table->sql);
	sql = sqlite3_mprintf("%.*s, %.*s%s", (int)columns, table->sql, (int)(end - text), text, table->sql + columns);
	if (!sql)
		return SQLITE_NOMEM;
	sqlite3_free(table->sql);
	table->sql = sql;
	return SQLITE_OK;
}

static void drop(struct kc__objects *objects, const char *text, const char *end)
{
	char name[KC__OBJECT_NAME];
	struct kc__object *object;

	take_word(text, end, name);
	object = kc__object_find(objects, name);
	if (!object)
		return;
	sqlite3_free(object->sql);
	*object = objects->at[--objects->count];
}

static int take_statement(struct kc__objects *objects, const char *text, const char *end)
{
	while (text < end && *text == ' ')
		text++;
	if (is_at(&text, end, "CREATE TABLE "))
		return add(objects, "table", text, end);
	if (is_at(&text, end, "CREATE INDEX "))
		return add(objects, "index", text, end);
	if (is_at(&text, end, "CREATE VIEW "))
		return add(objects, "view", text, end);
	if (is_at(&text, end, "ALTER TABLE "))
		return add_column(objects, text, end);
	if (is_at(&text, end, "DROP TABLE "))
		drop(objects, text, end);
	return SQLITE_OK; /* it changes rows, or drops a view that is then made */
}

int kc__objects_add(struct kc__objects *objects, const char *sql)
{
	int rc = SQLITE_OK;

	while (rc == SQLITE_OK && *sql) {
		size_t n = strcspn(sql, ";");

		rc = take_statement(objects, sql, sql + n);
		sql += n + (sql[n] == ';');
	}
	return rc;
}

void kc__objects_free(struct kc__objects *objects)
{
	for (int i = 0; i < objects->count; i++)
		sqlite3_free(objects->at[i].sql);
	objects->count = 0;
}

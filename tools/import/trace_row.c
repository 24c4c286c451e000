#include "trace_row.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ABSENT (-1)

static int find(const struct kc_csv_record *header, const char *name, int *at)
{
	*at = ABSENT;
	for (unsigned i = 0; i < header->count; i++) {
		if (strcmp(header->fields[i], name))
			continue;
		if (*at != ABSENT)
			return -EINVAL;
		*at = (int)i;
	}
	return 0;
}

int kc_trace_columns(struct kc_trace_columns *columns, const struct kc_csv_record *header, char *why, size_t why_size)
{
	columns->count = header->count;
#define FIND(column, ...)                                                                                              \
	if (find(header, #column, &columns->column)) {                                                                 \
		snprintf(why, why_size, "the column %s is there twice", #column);                                      \
		return -EINVAL;                                                                                        \
	}
	KC_TRACE_NUMBERS(FIND)
	KC_TRACE_TEXTS(FIND)
#undef FIND
	if (columns->kind == ABSENT || columns->start_ns == ABSENT || columns->duration_ns == ABSENT ||
	    columns->name == ABSENT) {
		snprintf(why, why_size, "not a trace: its first row must name kind, start_ns, duration_ns and name");
		return -EINVAL;
	}
	return 0;
}

const struct kc_trace_row kc_trace_row_unknown = {
#define UNKNOWN(number, ...) .number = KC_TRACE_UNKNOWN,
    KC_TRACE_NUMBERS(UNKNOWN)
#undef UNKNOWN
#define EMPTY(text) .text = "",
	KC_TRACE_TEXTS(EMPTY)
#undef EMPTY
};

struct taking {
	const struct kc_csv_record *record;
	char *why;
	size_t why_size;
};

static int take_number(const struct taking *t, int column, const char *name, int64_t least, int64_t most, int64_t *out)
{
	const char *text = column == ABSENT ? "" : t->record->fields[column];
	char *end;

	*out = KC_TRACE_UNKNOWN;
	if (!*text)
		return 0;
	errno = 0;
	*out = strtoll(text, &end, 10);
	if (!errno && !*end && *out >= least && *out <= most && strchr("-0123456789", *text))
		return 0;
	snprintf(t->why, t->why_size, "%s is \"%.40s\", not a whole number from %" PRId64 " to %" PRId64, name, text,
		 least, most);
	return -EINVAL;
}

static int take_kind(const struct taking *t, struct kc_trace_row *row)
{
	static const char *const names[] = {"kernel", "memcpy", "memset"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!strcmp(row->kind, names[i])) {
			row->what = (enum kc_trace_kind)i;
			return 0;
		}
	}
	snprintf(t->why, t->why_size, "kind is \"%.40s\", not kernel, memcpy or memset", row->kind);
	return -EINVAL;
}

/* CUPTI, CUpti_ActivityKernel9: "A value of 0 for both the start and end timestamps indicates that timestamp
 * information could not be collected". */
static int settle_time(struct kc_trace_row *row, char *why, size_t why_size)
{
	if (row->start_ns == 0 && row->duration_ns == 0)
		row->start_ns = row->duration_ns = KC_TRACE_UNKNOWN;
	if ((row->start_ns == KC_TRACE_UNKNOWN) == (row->duration_ns == KC_TRACE_UNKNOWN))
		return 0;
	snprintf(why, why_size, "%s is empty", row->start_ns == KC_TRACE_UNKNOWN ? "start_ns" : "duration_ns");
	return -EINVAL;
}

int kc_trace_row_check(struct kc_trace_row *row, char *why, size_t why_size)
{
#define CHECK(number, least, most)                                                                                     \
	if (row->number != KC_TRACE_UNKNOWN && (row->number < (least) || row->number > (most))) {                      \
		snprintf(why, why_size, "%s is %" PRId64 ", not from %" PRId64 " to %" PRId64, #number, row->number,   \
			 (int64_t)(least), (int64_t)(most));                                                           \
		return -EINVAL;                                                                                        \
	}
	KC_TRACE_NUMBERS(CHECK)
#undef CHECK
	return settle_time(row, why, why_size);
}

int kc_trace_row(struct kc_trace_row *row, const struct kc_trace_columns *columns, const struct kc_csv_record *record,
		 char *why, size_t why_size)
{
	struct taking t = {record, why, why_size};
	int rc;

	if (record->count != columns->count) {
		snprintf(why, why_size, "%u fields, but the first row has %u", record->count, columns->count);
		return -EINVAL;
	}
#define TAKE(column, least, most)                                                                                      \
	rc = take_number(&t, columns->column, #column, least, most, &row->column);                                     \
	if (rc)                                                                                                        \
		return rc;
	KC_TRACE_NUMBERS(TAKE)
#undef TAKE
#define TAKE(column) row->column = columns->column == ABSENT ? "" : record->fields[columns->column];
	KC_TRACE_TEXTS(TAKE)
#undef TAKE
	row->launched_by.id = 0;
	row->scope = 0;
	rc = take_kind(&t, row);
	return rc ? rc : settle_time(row, why, why_size);
}

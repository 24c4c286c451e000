/* A recorded table, row by row, its columns by name. */
#ifndef KC_RECORDED_CSV_H
#define KC_RECORDED_CSV_H

#include "recorded.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { KC_CSV_LINE_MAX = 65536, KC_CSV_COLUMNS_MAX = 80 };

/* Too large for the stack. */
struct kc_recorded_csv {
	FILE *file;
	char *header[KC_CSV_COLUMNS_MAX], *field[KC_CSV_COLUMNS_MAX];
	char header_line[KC_CSV_LINE_MAX], line[KC_CSV_LINE_MAX];
};

/* Fields may be quoted, and have commas then. */
static inline void kc_csv_split(char *line, char **fields)
{
	int count = 0;

	line[strcspn(line, "\r\n")] = '\0';
	for (char *at = line; at && count < KC_CSV_COLUMNS_MAX; count++) {
		char *end;

		fields[count] = *at == '"' ? ++at : at;
		end = at[-(at != line)] == '"' ? strchr(at, '"') : NULL;
		if (end)
			*end++ = '\0';
		at = strchr(end ? end : at, ',');
		if (at)
			*at++ = '\0';
	}
}

/* 0: there is no such file, and the test has said so. */
static inline int kc_csv_open(struct kc_recorded_csv *csv, const char *folder, const char *name)
{
	memset(csv, 0, sizeof(*csv));
	csv->file = kc_open_recorded(folder, name);
	if (!csv->file)
		return 0;
	assert_non_null(fgets(csv->header_line, sizeof(csv->header_line), csv->file));
	kc_csv_split(csv->header_line, csv->header);
	return 1;
}

/* 0: there is none, and the file is closed. */
static inline int kc_csv_next(struct kc_recorded_csv *csv)
{
	if (!fgets(csv->line, sizeof(csv->line), csv->file)) {
		pclose(csv->file);
		return 0;
	}
	kc_csv_split(csv->line, csv->field);
	return 1;
}

static inline const char *kc_csv_text(const struct kc_recorded_csv *csv, const char *column)
{
	for (int i = 0; i < KC_CSV_COLUMNS_MAX && csv->header[i]; i++)
		if (!strcmp(csv->header[i], column))
			return csv->field[i];
	fail_msg("no column %s", column);
	return "";
}

static inline double kc_csv_number(const struct kc_recorded_csv *csv, const char *column)
{
	return strtod(kc_csv_text(csv, column), NULL);
}

#endif

/* A row of a recorded trace, for the unit tests: the columns of all traces (README.md) are told here alone. */
#ifndef KC_TRACE_ROW_H
#define KC_TRACE_ROW_H

#include "recorded.h"
#include "predictor/solo/work.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define KC_TRACE_LINE_BYTES 8192

enum {
	KC_TRACE_PROCESS,
	KC_TRACE_MODULE,
	KC_TRACE_STREAM = 4,
	KC_TRACE_KIND,
	KC_TRACE_START,
	KC_TRACE_DURATION,
	KC_TRACE_ISSUED, /* empty: not known */
	KC_TRACE_GRID,
	KC_TRACE_BLOCK = KC_TRACE_GRID + 3,
	KC_TRACE_REGISTERS = KC_TRACE_BLOCK + 3,
	KC_TRACE_STATIC_SHARED,
	KC_TRACE_DYNAMIC_SHARED,
	KC_TRACE_ARGS = 22,
	KC_TRACE_NAME, /* as it is quoted, to the end of the line */
	KC_TRACE_COLUMNS
};

struct kc_trace_row {
	const char *fields[KC_TRACE_COLUMNS];
	int64_t start_ns, duration_ns;
	int64_t issued_ns; /* start_ns where it is not known */
	/* Of a kernel: */
	struct kc_shape shape;
	struct kc_resources resources;
};

/* Takes the line apart; *row is valid as long as it is. */
static inline void kc_trace_read(char *line, struct kc_trace_row *row)
{
	const char *const *fields = row->fields;

	*row = (struct kc_trace_row){.start_ns = 0};
	for (int i = 0; i < KC_TRACE_NAME; i++) {
		assert_non_null(line);
		row->fields[i] = strsep(&line, ",");
	}
	row->fields[KC_TRACE_NAME] = line;
	row->start_ns = atoll(fields[KC_TRACE_START]);
	row->duration_ns = atoll(fields[KC_TRACE_DURATION]);
	row->issued_ns = *fields[KC_TRACE_ISSUED] ? atoll(fields[KC_TRACE_ISSUED]) : row->start_ns;
	for (int i = 0; i < 3; i++) {
		row->shape.grid[i] = (uint32_t)atol(fields[KC_TRACE_GRID + i]);
		row->shape.block[i] = (uint32_t)atol(fields[KC_TRACE_BLOCK + i]);
	}
	row->shape.dynamic_shared_bytes = (uint32_t)atol(fields[KC_TRACE_DYNAMIC_SHARED]);
	row->resources.registers = (uint32_t)atol(fields[KC_TRACE_REGISTERS]);
	row->resources.static_shared_bytes = (uint32_t)atol(fields[KC_TRACE_STATIC_SHARED]);
}

static inline int kc_trace_is_kernel(const struct kc_trace_row *row)
{
	return strcmp(row->fields[KC_TRACE_KIND], "kernel") == 0;
}

#endif

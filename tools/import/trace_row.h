/*
 * One row of a trace: a device operation that somebody's profiler recorded.
 * Its start and duration are both unknown where the profiler had no time of it.
 *
 *   kc_trace_columns   where each column stands in this file, from its first row
 *   kc_trace_row       one row; what the file does not say is KC_TRACE_UNKNOWN
 */
#ifndef KC_TRACE_ROW_H
#define KC_TRACE_ROW_H

#include "tools/input/files/csv_read.h"

#include <stdint.h>

#define KC_TRACE_UNKNOWN INT64_MIN
/* Times: sums and differences of two of them do not overflow. */
#define KC_TRACE_FIRST_NS (-(INT64_C(1) << 50))
#define KC_TRACE_LAST_NS (INT64_C(1) << 61)

/* X(name, least, most) */
#define KC_TRACE_NUMBERS(X)                                                                                            \
	X(device, 0, 255)                                                                                              \
	X(context, 0, INT64_MAX)                                                                                       \
	X(stream, 0, INT64_MAX)                                                                                        \
	X(start_ns, KC_TRACE_FIRST_NS, KC_TRACE_LAST_NS)                                                               \
	X(duration_ns, 0, INT64_C(1) << 52)                                                                            \
	X(launch_ns, KC_TRACE_FIRST_NS, KC_TRACE_LAST_NS)                                                              \
	X(grid_x, 1, UINT32_MAX)                                                                                       \
	X(grid_y, 1, UINT32_MAX)                                                                                       \
	X(grid_z, 1, UINT32_MAX)                                                                                       \
	X(block_x, 1, UINT16_MAX)                                                                                      \
	X(block_y, 1, UINT16_MAX)                                                                                      \
	X(block_z, 1, UINT16_MAX)                                                                                      \
	X(registers, 0, UINT16_MAX)                                                                                    \
	X(static_shared_bytes, 0, UINT32_MAX)                                                                          \
	X(dynamic_shared_bytes, 0, UINT32_MAX)                                                                         \
	X(bytes, 0, INT64_MAX)                                                                                         \
	X(correlation, 0, INT64_MAX)                                                                                   \
	X(graph_node, 0, UINT32_MAX)                                                                                   \
	X(priority, INT32_MIN, INT32_MAX)

#define KC_TRACE_TEXTS(X) X(process) X(module) X(device_name) X(kind) X(args) X(name)

enum kc_trace_kind { KC_TRACE_KERNEL, KC_TRACE_COPY, KC_TRACE_MEMSET };

struct kc_trace_columns {
	unsigned count; /* of fields in every row */
#define KC_TRACE_COLUMN(name, ...) int name;
	KC_TRACE_NUMBERS(KC_TRACE_COLUMN)
	KC_TRACE_TEXTS(KC_TRACE_COLUMN)
#undef KC_TRACE_COLUMN
};

/* What launched a kernel: import/operators/work.h. */
struct kc_trace_operator {
	uint32_t id; /* of the file; 0: not known */
	const char *name, *inputs, *type;
	double flop, bytes; /* NAN: not known */
	int is_nominal;
	uint32_t parts; /* 0: not known how much of that is this kernel's; n: all n launches have done the same */
};

struct kc_trace_row {
	enum kc_trace_kind what;
#define KC_TRACE_NUMBER(name, ...) int64_t name;
	KC_TRACE_NUMBERS(KC_TRACE_NUMBER)
#undef KC_TRACE_NUMBER
#define KC_TRACE_TEXT(column) const char *column; /* "": unknown */
	KC_TRACE_TEXTS(KC_TRACE_TEXT)
#undef KC_TRACE_TEXT
	struct kc_trace_operator launched_by;
	uint32_t scope; /* of the file, in which it was launched: operators/scopes.h; 0: none is known */
};

static inline int kc_trace_row_has_time(const struct kc_trace_row *row)
{
	return row->start_ns != KC_TRACE_UNKNOWN;
}

/* Reads the header row. 0; -EINVAL: kind, start_ns, duration_ns or name is missing, or a column is there twice. */
int kc_trace_columns(struct kc_trace_columns *columns, const struct kc_csv_record *header, char *why, size_t why_size);

/* 0; -EINVAL with why. Keeps pointers into the record. */
int kc_trace_row(struct kc_trace_row *row, const struct kc_trace_columns *columns, const struct kc_csv_record *record,
		 char *why, size_t why_size);

/* A row with every field unknown. */
extern const struct kc_trace_row kc_trace_row_unknown;
/* Checks the ranges of a row that was filled in otherwise; one that starts at 0 and lasts for 0 has no time. 0; -EINVAL
 * with why. */
int kc_trace_row_check(struct kc_trace_row *row, char *why, size_t why_size);

#endif

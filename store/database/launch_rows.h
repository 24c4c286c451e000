/*
 * Launches on their way into `launch_row`. Most of what a row would cost by itself is what SQLite does once for each
 * statement, so the launches of the open transaction wait here, and one statement inserts all that wait: it selects
 * them from the table-valued function kc_launches(), which exists for the writer's connection alone.
 */
#ifndef KC_LAUNCH_ROWS_H
#define KC_LAUNCH_ROWS_H

#include "store/database/rollups/rollup.h"

#include <stdint.h>

#define KC__LAUNCH_ROWS_MAX 128u

/* In the order in which KC__LAUNCH names the columns. */
enum kc__launch_column {
	KC__ROW_ID,
	KC__ROW_SHAPE,
	KC__ROW_STREAM,
	KC__ROW_LAUNCHED,
	KC__ROW_LEAD,
	KC__ROW_SOLO,
	KC__ROW_BELOW,
	KC__ROW_ABOVE,
	KC__ROW_WAIT,
	KC__ROW_SPAN,
	KC__ROW_MEASURED_WAIT,
	KC__ROW_MEASURED_SPAN,
	KC__ROW_FLAGS,
	KC__ROW_SLOWDOWN,
	KC__ROW_SLOWDOWN_WAVES,
	KC__ROW_RESULT,
	KC__ROW_CORRELATION,
	KC__ROW_THREAD,
	KC__ROW_MODEL_STATE,
	KC__ROW_GRAPH_LAUNCH,
	KC__ROW_GRAPH_NODE,
	KC__ROW_CALL_SITE,
	KC__ROW_ARGUMENTS,
	KC__ROW_KNOWN,
	KC__ROW_MEASURED_AFTER,
	KC__ROW_DECIDED_AFTER,
	KC__ROW_COLUMNS,
};

struct kc__launch_row {
	int64_t values[KC__ROW_COLUMNS];
	uint32_t known; /* a bit for each column; 0: NULL */
	int is_new;     /* it was inserted: the table had no row of this id */
	struct kc__fact fact;
};

struct kc__launch_rows {
	uint32_t count;
	uint8_t order[KC__LAUNCH_ROWS_MAX]; /* their places, by id: a table grows fastest at its end */
	struct kc__launch_row at[KC__LAUNCH_ROWS_MAX];
};

static inline void kc__row_put(struct kc__launch_row *row, enum kc__launch_column column, int64_t value)
{
	row->values[column] = value;
	row->known |= 1u << column;
}

static inline void kc__row_put_if(struct kc__launch_row *row, enum kc__launch_column column, int known, int64_t value)
{
	row->values[column] = value;
	row->known |= (uint32_t)(known != 0) << column;
}

struct kc_store;
/* A place for one more, which has its id and no other value; fewer than KC__LAUNCH_ROWS_MAX wait. NULL: no memory. */
struct kc__launch_row *kc__launch_rows_add(struct kc_store *s, int64_t id);
/* Inserts those that wait and sets is_new of each. They still wait. 0 or -errno. */
int kc__launch_rows_insert(struct kc_store *s);

#endif

/* Launches and transfers of a selection, those that match a filter, as files for other programs. Rows are read one by
 * one, so memory does not grow with their number. */
#ifndef KC_EXPORT_H
#define KC_EXPORT_H

#include "store/query/query.h"

#include <stdio.h>

/* The view `launch` and the kernels' names, RFC 4180. */
int kc_export_csv(struct kc_store *store, const struct kc_selection *selection, struct kc_filter *filter, FILE *to);

/* Imported launches, which have no prediction of their own, and the replay that made one for them. */
struct kc_export_replay {
	uint64_t launches, predicted; /* 0: none was imported */
	int64_t delay_ns;             /* from the end of a launch until its measurement is known */
	uint64_t assumed_launches;    /* on a device that the trace does not tell enough of */
	char assumed_device[96];      /* what stood for the first one of them */
};

/* Trace event format (JSON): every process of the selection, with two tracks per stream, predicted and measured. Memory
 * grows with the launches of an imported process, as the replay's does. */
int kc_export_chrome(struct kc_store *store, const struct kc_selection *selection, struct kc_filter *filter, FILE *to,
		     struct kc_export_replay *replay);

/* filter NULL: all of them. Both return 0, also where writing failed, which ferror() of the file tells; -EBADMSG: the
 * database is damaged; -EIO: it could not be read to its end; -ENOSPC: no room for temporary files; -ENOMEM. */

/* The same error codes for an SQLite result code. */
int kc__export_error(int sqlite_rc);

/* The last columns of a query, which kc_filter_row() needs: of row `from`, with its process p. */
#define KC__EXPORT_FILTER(from, kernel)                                                                                \
	from ".process, " from ".stream, " kernel ", " from ".launched_ns - p.started_ns, " from                       \
	     ".measured_end_ns - " from ".measured_start_ns, " from ".device, " from ".process << 40 | " from          \
	     ".sequence"
#define KC__EXPORT_FILTER_COLUMNS 7

#endif

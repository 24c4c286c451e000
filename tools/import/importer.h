/*
 * From the rows of a trace to the rows of a database, through the store's
 * slots, as the live worker does.
 *
 *   kc_importer   one trace file on its way into one database: a process for
 *                 each `process` of the trace, all of one run, which other
 *                 files may share. Slots are kept back
 *                 until it is known what a kernel overlapped, and until there
 *                 are enough of them for a transaction.
 *
 * An imported file is recognised by its contents: importing it again adds
 * nothing. Memory grows with the number of processes, kernels and streams of a
 * file, not with its rows.
 */
#ifndef KC_IMPORTER_H
#define KC_IMPORTER_H

#include "trace_row.h"

#include "predictor/device/device.h"
#include "store/database/store.h"

struct kc_importer;

struct kc_imported {
	uint64_t kernels, copies, memsets; /* rows */
	uint64_t untimed;                  /* of these, rows without a time, which are unmeasured */
	uint64_t processes;
};

/* device: the device of all rows; NULL: the one that their device_name tells. content: a hash of the file; run: a
 * number that the files of one run share. 0 or -errno. */
int kc_importer_new(struct kc_store *store, const char *source, uint64_t content, uint64_t run,
		    const struct kc_device *device, struct kc_importer **out);

/* What the file tells about a device: its name and all fields other than 0 apply to rows added from now on. An
 * ordinal that is too large is ignored. */
void kc_importer_device(struct kc_importer *importer, int64_t ordinal, const struct kc_device *said);

/* 1: the whole file is in the database already. */
int kc_importer_has_all(const struct kc_importer *importer);

/* 0 or -errno of the database. */
int kc_importer_add(struct kc_importer *importer, const struct kc_trace_row *row);

/* Stores the rest. 0 or -errno. */
int kc_importer_finish(struct kc_importer *importer, struct kc_imported *out);
void kc_importer_free(struct kc_importer *importer);

#endif

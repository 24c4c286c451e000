/*
 * From the rows of a trace to the rows of a database, through the store's
 * slots, as the live worker does.
 *
 *   kc_importer   one trace file on its way into one database: a process for
 *                 each `process` of the trace, all of one run, which other
 *                 files may share. A GPU is known by its ordinal, and its UUID
 *                 or place where the file tells it, never by its name; a stream
 *                 by its number and context. Slots are kept back
 *                 until it is known what a kernel overlapped, and until there
 *                 are enough of them for a transaction.
 *
 * An imported file is recognised by its contents: importing it again adds
 * nothing. Memory grows with the number of processes, kernels and streams of a
 * file, not with its rows.
 */
#ifndef KC_IMPORTER_H
#define KC_IMPORTER_H

#include "operators/scopes.h"
#include "trace_row.h"

#include "predictor/device/device.h"
#include "store/database/store.h"
#include "store/journal/journal.h"

struct kc_importer;

struct kc_imported {
	uint64_t kernels, copies, memsets; /* rows */
	uint64_t untimed;                  /* of these, rows without a time, which are unmeasured */
	uint64_t processes;
};

struct kc_trace_file {
	const char *source; /* its path */
	uint64_t content;   /* a hash of it */
	uint64_t run;       /* a number that the files of one run share */
	uint32_t before;    /* processes in the files of the run before it */
};

/* What a file tells about a process, which its rows call by a text (kc_trace_row.process). */
struct kc_trace_process {
	const char *name;    /* "": the file's */
	int64_t pid;         /* KC_TRACE_UNKNOWN: its number among those of the run */
	const char *place;   /* whose GPUs its ordinals count, as ranks may each see one GPU 0. "": the machine's */
	uint32_t world_size; /* ranks of its job; 0: not known */
};

struct kc_trace_device {
	struct kc_device device;     /* what is known of it: fields other than 0 */
	uint8_t uuid[KC_UUID_BYTES]; /* zeros: not known */
	char bus[32];                /* location on the PCI bus; "": not known */
};

/* device: the device of all rows; NULL: the one that their device_name tells. 0 or -errno. */
int kc_importer_new(struct kc_store *store, const struct kc_trace_file *file, const struct kc_device *device,
		    struct kc_importer **out);

/* For rows added from now on. A process of which nothing is told has its text for a name, or the file's where that
 * would say nothing. Of a device, an ordinal that is too large is ignored. */
void kc_importer_device(struct kc_importer *importer, int64_t ordinal, const struct kc_trace_device *said);
void kc_importer_process(struct kc_importer *importer, const char *process, const struct kc_trace_process *said);
/* All processes of the file share a clock: rows come in the order of their starts, whichever process they are of.
 * Otherwise each has a clock of its own, and only its own rows come in that order. Call it before any row is added. */
void kc_importer_one_clock(struct kc_importer *importer);

/* What the scopes of rows added from now on are; NULL: they have none. It is not kept beyond the next call. */
void kc_importer_scopes(struct kc_importer *importer, const struct kc_scopes *scopes);

/* How many processes the file has, where the whole of it is in the database already; 0: it is not. */
uint32_t kc_importer_has_all(const struct kc_importer *importer);

/* 0 or -errno of the database. */
int kc_importer_add(struct kc_importer *importer, const struct kc_trace_row *row);

/* A step of a process that has rows. 0 or -errno. */
int kc_importer_step(struct kc_importer *importer, const char *process, int64_t number, int64_t start_ns,
		     int64_t end_ns);

/* Stores the rest. 0 or -errno. */
int kc_importer_finish(struct kc_importer *importer, struct kc_imported *out);
void kc_importer_free(struct kc_importer *importer);

#endif

/*
 * A process of a trace on its way into the database, for importer.c.
 *
 *   kc__import_process   what the file tells about it, which of its kernels, streams
 *                        and devices are in the database, and slots to be stored
 */
#ifndef KC_IMPORT_PROCESS_H
#define KC_IMPORT_PROCESS_H

#include "importer.h"

#include "store/journal/journal.h"

#include <stdint.h>

#define KC__IMPORT_DEVICES 256u /* of a process: what struct kc_launch has room for */

struct kc__import_process {
	char *name, *place; /* as in struct kc_trace_process; never NULL */
	uint32_t number;    /* in the file, from 1 */
	uint32_t pid, world_size;
	uint64_t next_index;
	uint64_t *declared; /* bits by interned id */
	size_t declared_words;
	uint32_t gpus[KC__IMPORT_DEVICES]; /* numbers of the importer's, by ordinal; 0: not used yet */
	struct kc_slot *queue;             /* to be stored */
	size_t queued, capacity;
	uint64_t kernels, transfers, untimed_kernels;
	int64_t start_ns; /* of the latest row that has a time */
	int64_t last_ns;
};

/* What the processes of a file have in common. */
struct kc__import_file {
	char source[1024];
	uint64_t content, run;
	uint32_t before; /* processes of the run before those of this file */
	int one_clock;   /* of all of its processes */
	int64_t realtime_ns;
};

/* key: what the file's rows call it. NULL: no memory. */
struct kc__import_process *kc__import_process_new(const struct kc__import_file *file, const char *key, uint32_t number);
void kc__import_process_free(struct kc__import_process *process);
/* 0 or -ENOMEM. */
int kc__import_process_describe(const struct kc__import_file *file, struct kc__import_process *process,
				const struct kc_trace_process *said);

/* 1: it has rows. */
static inline int kc__import_process_is_used(const struct kc__import_process *process)
{
	return process->kernels || process->transfers;
}

/* As if it had been recorded live. */
void kc__import_process_header(const struct kc__import_file *file, const struct kc__import_process *process,
			       struct kc_journal_header *header);

/* 1: the id was not used in this process before; it is marked as used. 0; -ENOMEM. */
int kc__import_declare(struct kc__import_process *process, uint32_t id);

/* Room for one more slot, all zeros; NULL: no memory. */
struct kc_slot *kc__import_enqueue(struct kc__import_process *process);
/* Queues an entry in as many slots as it takes. 0 or -ENOMEM. */
int kc__import_put_entry(struct kc__import_process *process, uint32_t kind, const void *payload, size_t bytes);

#endif

/*
 * What reports call streams, processes and GPUs, and filters take: the numbers
 * and names that they have for whoever recorded them. A live stream has its
 * number in the process, an imported one that of its trace; a process its pid,
 * and where it was imported its rank or file; a GPU the ordinal under which a
 * process sees it.
 */
#ifndef KC_NAMES_H
#define KC_NAMES_H

#include "store/database/devices/device_row.h"

#include <stdint.h>

struct kc_selection;
struct kc_store;

/* Of a row p of `process`: "pid 4102", "rank 1 (pid 2001)". */
#define KC__PROCESS_NAME "iif(p.source IS NULL, 'pid ' || p.pid, p.command_line || ' (pid ' || p.pid || ')')"
/* Of a row s of `stream`, with its process p. */
#define KC__STREAM_NUMBER "iif(p.source IS NULL, s.local, s.handle)"

enum kc_stream_naming {
	KC_STREAM_OF_PROCESS, /* "stream 3", "GPU 1, stream 3", "stream 7 of context 2", "default" */
	KC_STREAM_OF_RUN,     /* with its process: "pid 4102, stream 3", "rank 1 (pid 2001), stream 7" */
};
/* A statement whose only column is the name of stream ?1. */
const char *kc__stream_name_sql(enum kc_stream_naming naming);

#define KC_PROCESS_NAME_BYTES 256u

/* "pid 4102", "rank 1 (pid 2001)"; cut where it is longer. "": the database does not know it. 0 or -errno. */
int kc_process_name(struct kc_store *s, int64_t process, int64_t *pid, char name[KC_PROCESS_NAME_BYTES]);

/* "GPU 0", the least of its ordinals in these runs; where several GPUs of theirs have that one, with whose it is or its
 * UUID: "GPU 0 of rank 1", "GPU 0 (GPU-0f3e1122)". "": the runs did not use it. 0 or -errno. */
int kc_gpu_name(struct kc_store *s, const struct kc_selection *selection, int64_t device, char name[KC_GPU_NAME_BYTES]);

#endif

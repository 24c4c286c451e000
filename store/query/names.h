/*
 * What reports call streams, processes and GPUs, and filters take: the numbers
 * and names that they have for whoever recorded them. A live stream has its
 * number in the process, an imported one that of its trace; a process its pid,
 * and its rank where a launcher gave it one; where it was imported its rank or
 * file; a GPU the number by which CUDA_VISIBLE_DEVICES calls it, else the ordinal
 * under which a process sees it.
 */
#ifndef KC_NAMES_H
#define KC_NAMES_H

#include "store/database/devices/device_row.h"

#include <stdint.h>

struct kc_selection;
struct kc_store;

/* Of a row p of `process`, whose run has processes on several hosts: ", node7". */
#define KC__HOST_SUFFIX                                                                                                \
	"iif(p.host NOT NULL AND EXISTS (SELECT 1 FROM process h WHERE h.run = p.run AND h.host <> p.host),"           \
	" ', ' || p.host, '')"
/* "rank 3", "rank 3, node7", and without a rank NULL. */
#define KC__RANK_NAME "iif(p.source IS NULL, 'rank ' || p.rank || " KC__HOST_SUFFIX ", NULL)"
/* "pid 4102", "rank 3, node7 (pid 4102)", without a rank "node7 (pid 4102)"; imported: "rank 1 (pid 2001)". */
#define KC__PROCESS_NAME                                                                                               \
	"iif(p.source IS NULL, coalesce(coalesce(" KC__RANK_NAME ", nullif(substr(" KC__HOST_SUFFIX ", 3), '')) ||"    \
	" ' (pid ' || p.pid || ')', 'pid ' || p.pid), p.command_line || ' (pid ' || p.pid || ')')"
/* The number of a GPU, by rows x of `process_device` and p: that of CUDA_VISIBLE_DEVICES, where that is a list of
 * numbers, else the ordinal. */
#define KC__GPU_NUMBER                                                                                                 \
	"iif(p.visible_devices GLOB '[0-9]*' AND NOT p.visible_devices GLOB '*[^0-9,]*' AND"                           \
	" length(p.visible_devices) < 255 AND json_valid('[' || p.visible_devices || ']')"                             \
	" AND typeof(x.ordinal) = 'integer' AND x.ordinal >= 0, coalesce((SELECT seen.number FROM"                     \
	" (SELECT json_extract('[' || p.visible_devices || ']', '$[' || x.ordinal || ']') AS number) seen"             \
	" WHERE typeof(seen.number) = 'integer'), x.ordinal), x.ordinal)"
/* Of a row p of `process`, the numbers of the GPUs that it used: "0, 1". NULL: of none. */
#define KC__GPU_NUMBERS                                                                                                \
	"(SELECT group_concat(number, ', ') FROM (SELECT DISTINCT " KC__GPU_NUMBER                                     \
	" AS number FROM process_device x WHERE x.process = p.id AND x.device IN"                                      \
	" (SELECT device FROM stream WHERE process = p.id) ORDER BY 1))"
/* Of a row s of `stream`, with its process p. */
#define KC__STREAM_NUMBER "iif(p.source IS NULL, s.local, s.handle)"

enum kc_stream_naming {
	KC_STREAM_OF_PROCESS, /* "stream 3", "GPU 1, stream 3", "stream 7 of context 2", "default" */
	KC_STREAM_OF_RUN,     /* with its process: "pid 4102, stream 3", "rank 1 (pid 2001), stream 7" */
};
/* A statement whose only column is the name of stream ?1. */
const char *kc__stream_name_sql(enum kc_stream_naming naming);

#define KC_PROCESS_NAME_BYTES 256u

/* "pid 4102", "rank 1 (pid 2001)", "rank 3, node7 (pid 2001)"; cut where it is longer. "": the database does not know
 * it. 0 or -errno. */
int kc_process_name(struct kc_store *s, int64_t process, int64_t *pid, char name[KC_PROCESS_NAME_BYTES]);

/* "GPU 0", the least of its numbers in these runs; where several GPUs of theirs have that one, with whose it is, its
 * host or its UUID: "GPU 0 of rank 1", "GPU 0 of node7", "GPU 0 (GPU-0f3e1122)". "": the runs did not use it. 0 or
 * -errno. */
int kc_gpu_name(struct kc_store *s, const struct kc_selection *selection, int64_t device, char name[KC_GPU_NAME_BYTES]);

#endif

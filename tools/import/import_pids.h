/*
 * Which process the events of a trace in JSON belong to.
 *
 *   kc_import_pids   the pids met so far
 *
 * An event of a device has the device's number for a pid, a call that of its
 * process. Tools that merge the traces of several ranks into one file keep them
 * apart by a label ("[TP00] 1000"; SGLang), by the argument "rank" or by a number
 * that is added to all pids of a rank (TraceLens); correlation ids begin anew in
 * each rank. Whose an event is can be told once all of them are read: until then
 * it is staged under a name of its own.
 */
#ifndef KC_IMPORT_PIDS_H
#define KC_IMPORT_PIDS_H

#include "import_stage.h"
#include "importer.h"

struct kc_import_pids;

/* NULL: no memory. */
struct kc_import_pids *kc_import_pids_new(void);
void kc_import_pids_free(struct kc_import_pids *pids);

/* What to stage an event as. pid, rank: as in the file, "" where it does not say. NULL: no memory. */
const char *kc_import_pids_operation(struct kc_import_pids *pids, const char *pid, const char *rank, int64_t device);
const char *kc_import_pids_call(struct kc_import_pids *pids, const char *pid, const char *rank);

/* What calls of a pid are staged as; this is none of them, and tells nothing about the pid. */
#define KC_IMPORT_PID_BYTES 192u
void kc_import_pids_name(const struct kc_import_pids *pids, const char *pid, const char *rank, char *out, size_t size);

/* Tells the stage and the importer whose everything is. rank: of the process, where there is only one; "": not known.
 * world_size: 0: not known. 0 or -errno of the stage. */
int kc_import_pids_settle(struct kc_import_pids *pids, struct kc_stage *stage, struct kc_importer *importer,
			  const char *rank, uint32_t world_size);

#endif

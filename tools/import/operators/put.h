/*
 * What launched a kernel, on its way into the database: into the queue of a process, for importer.c.
 */
#ifndef KC_OPERATOR_PUT_H
#define KC_OPERATOR_PUT_H

#include "scopes.h"
#include "tools/import/import_process.h"
#include "tools/import/trace_row.h"

#include "store/common/ids/intern.h"

/* Both queue what is not yet declared of it, and that it launched the kernel. names: gives the ids. launch: index of
 * its slot. 0 or -ENOMEM. */
int kc__import_put_operator(struct kc_intern *names, struct kc__import_process *process,
			    const struct kc_trace_operator *of, uint64_t launch);
int kc__import_put_scope(struct kc_intern *names, struct kc__import_process *process, const struct kc_scopes *scopes,
			 uint32_t of, uint64_t launch);

#endif

/*
 * Files of tools that kerncast does not read: what they are, and what to do.
 *
 *   kc_foreign   one kind of such files; found by the first bytes of a file, by
 *                the columns of a CSV table, or by what a reader of JSON or
 *                SQLite comes upon
 */
#ifndef KC_IMPORT_FOREIGN_H
#define KC_IMPORT_FOREIGN_H

#include "tools/input/files/csv_read.h"

#include <stddef.h>
#include <stdint.h>

struct kc_foreign {
	const char *what; /* "a trace of XLA/JAX" */
	const char *way;  /* what to do in place of it; begins a sentence */
};

extern const struct kc_foreign kc_foreign_xla, kc_foreign_onnx, kc_foreign_nsys_json, kc_foreign_rocpd;

/* By the first bytes, and for formats without a sign of their own by the ending of the file's name. NULL: none. */
const struct kc_foreign *kc_foreign_by_start(const char *path, const unsigned char *at, size_t bytes);
const struct kc_foreign *kc_foreign_by_columns(const struct kc_csv_record *header);

/* Whether a process of a JSON trace has a name that XLA gives: "/device:GPU:0", "/host:CPU". */
int kc_foreign_is_xla(const unsigned char *name, size_t bytes);

/* Says it. Returns -EINVAL. */
int kc_foreign_refuse(const char *path, const struct kc_foreign *foreign);
/* Says why JSON without a kernel has nothing to import. is_trace: it has events; calls: of the CUDA API among them.
 * Returns -errno. */
int kc_foreign_say_nothing(const char *path, int is_trace, uint64_t calls);

#endif

/*
 * Inside the replay.
 *
 *   kc__op       one recorded operation, launch or transfer; what was predicted
 *                for it stays with it until it is measured
 *   kc__subject  what is known of devices, kernels and launch shapes: grows while
 *                operations are replayed, and outlives processes
 *   kc__figures  sums of errors
 */
#ifndef KC_REPLAY_INTERNAL_H
#define KC_REPLAY_INTERNAL_H

#include "internal.h"
#include "intern.h"
#include "overlap.h"
#include "replay.h"
#include "report.h"

#include "predictor/copy.h"
#include "predictor/outlook.h"

enum kc__op_kind { KC__OP_LAUNCH, KC__OP_TRANSFER };

struct kc__op {
	int64_t issued_ns, start_ns, end_ns; /* end 0: not measured */
	int64_t process;
	uint64_t sequence;
	uint64_t bytes;                                   /* transfer */
	uint32_t shape, stream, device;                   /* rows; device: of a transfer */
	uint8_t kind, transfer_kind, overlap, unmeasured; /* as recorded */
	/* From here on the replay's own. */
	uint8_t met; /* enum kc_overlap, as known by then */
	uint32_t ticket, plain_ticket;
	struct kc__site_stream *at; /* NULL: not on any timeline */
	struct kc__shape *of;
	double slowdown;
	int64_t solo_ns;
	uint64_t meeting; /* packed */
};

struct kc__ops {
	struct kc__op *at; /* of one process, in the order of their calls */
	size_t count, capacity;
};

/* What was learned on one level, and what is believed of it. */
struct kc__known {
	struct kc_lambda lambda;
	struct kc_belief belief;
};

struct kc__board { /* a device */
	struct kc_device info;
	int assumed;
	struct kc__known known;
	struct kc_contention contention;
	uint64_t copy_rates[KC_MEMSET + 1];
};

struct kc__code { /* a kernel on a device */
	uint32_t measured;
	int excluded;
	struct kc_resources resources;
};

struct kc__shape {
	int64_t kernel, device; /* rows */
	uint32_t unpredictable; /* enum kc_unpredictable */
	uint32_t measured, solos;
	struct kc_work work;
	struct kc__board *board;
	struct kc__code *code;
	struct kc__known *key, known;
	struct kc_contention contention;
};

struct kc__subject;

/* replay_subject.c. NULL: no memory, or the database cannot be read (kc__subject_error). */
struct kc__subject *kc__subject_new(struct kc_store *s, const struct kc_replay_options *options, char *why,
				    size_t why_size);
void kc__subject_free(struct kc__subject *subject);
struct kc__shape *kc__subject_shape(struct kc__subject *subject, int64_t row);
struct kc__board *kc__subject_board(struct kc__subject *subject, int64_t row);
int kc__subject_error(const struct kc__subject *subject);
/* Every process begins knowing nothing. */
void kc__subject_forget(struct kc__subject *subject);
/* A launch of this shape was measured. */
void kc__subject_learn(struct kc__shape *shape, const struct kc__op *op, const struct kc_load *met);

enum kc__load { KC__LOAD_LAUNCHES, KC__LOAD_TRANSFERS, KC__LOAD_STREAM, KC__LOADS };
struct kc__loader {
	struct kc_store *store;
	sqlite3_stmt *statements[KC__LOADS];
};

/* replay_load.c: the operations of a process in order of their calls. 0 or -errno. */
int kc__ops_load(struct kc__loader *loader, int64_t process, struct kc__ops *ops);
void kc__loader_close(struct kc__loader *loader);
struct kc__stream_row {
	int64_t device;
	int32_t priority;
	enum kc_stream_kind kind;
};
int kc__stream_load(struct kc__loader *loader, int64_t row, struct kc__stream_row *out);

/* replay_figures.c: errors. Processes follow one another on one clock. */
struct kc__figures;
struct kc__figures *kc__figures_new(void);
void kc__figures_free(struct kc__figures *figures);
/* A process begins at first_ns of its own clock; forget: what came before is not known. */
void kc__figures_begin(struct kc__figures *figures, int forget, int64_t first_ns);
/* plain: predicted without contention. Fills in the reference. 0 or -ENOMEM. */
int kc__figures_add(struct kc__figures *figures, struct kc_replay_launch *launch, int64_t device,
		    const struct kc_placement *plain);
/* The process's launches are all there. */
void kc__figures_close(struct kc__figures *figures);
int kc__figures_finish(struct kc__figures *figures, struct kc_store *s, struct kc_replay *out);

#endif

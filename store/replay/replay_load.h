/*
 * Recorded operations, and what else the replay reads from the database.
 *
 *   kc__op        one operation: a launch, a transfer, or a call that orders
 *                 streams; what is predicted for it stays with it
 *   kc__part      a process, or a part of its operations
 *   kc__loader    the statements that read all of this
 */
#ifndef KC_REPLAY_LOAD_H
#define KC_REPLAY_LOAD_H

#include "predictor/code/cost.h"
#include "predictor/engine.h"
#include "store/common/ids/ids.h"
#include "store/database/internal.h"

struct kc__replay_stream;
struct kc__replay_shape;

enum kc__op_kind { KC__OP_LAUNCH, KC__OP_TRANSFER, KC__OP_STREAM_CALL };

/* Of one operation in a run that is to be replayed as it was recorded. */
struct kc__recorded_op {
	int64_t predicted_at_ns; /* of a launch */
	/* struct kc_order: how many events were known when it was predicted, and the numbers of its own events; 0: not
	 * recorded. It is measured after what was known, and decided after it was measured. */
	uint64_t known, measured_event, decided_event;
	struct {
		int64_t solo_ns, low_ns, high_ns, span_ns; /* solo 0: nothing */
	} said;                                            /* what the run itself predicted of a launch */
	struct kc__op *cancels; /* the operation that a KC_CALL_CANCEL is about; NULL: none */
};

/* What is read when an operation is made, when its measurement becomes known and when its overlap is decided lies
 * together, as other operations lie between these moments and much memory is read meanwhile. For the same reason it is
 * kept small: those that await their measurement should stay in the cache. */
struct kc__op {
	int64_t start_ns, end_ns;                         /* end_ns 0: it was not measured */
	uint8_t kind, transfer_kind, overlap, unmeasured; /* as recorded */
	uint8_t call; /* of a call that orders streams: its enum kc_stream_call_kind, 0: none that is known */
	/* Set by the replay: */
	uint8_t met;       /* enum kc_overlap, as far as it is known at that time */
	uint8_t beside;    /* enum kc_order_in_stream */
	uint8_t cancelled; /* a KC_CALL_CANCEL says when it was known to have failed; else: at once */
	uint32_t ticket, plain_ticket;
	struct kc__replay_stream *at; /* NULL: not on any timeline */
	struct kc__replay_shape *of;  /* NULL: not in the database */
	struct kc_engine_launch kept;
	/* As recorded: */
	int64_t issued_ns;
	uint64_t sequence;
	int64_t stream; /* a row, as shape and device */
	union {
		int64_t shape;  /* of a launch */
		int64_t device; /* of all others */
	};
	union {
		int64_t arguments; /* of a launch: of the process; 0: not known */
		uint64_t bytes;    /* of a transfer */
		int64_t ns;        /* of a call that orders streams: struct kc_stream_call */
	};
	uint32_t recorded; /* kc__recorded_of() */
	uint8_t not_kept;  /* kc_launch.not_kept */
	uint8_t in_graph;  /* set by the replay: a KC_CALL_GRAPH_LAUNCH predicts it */
};

struct kc__ops {
	struct kc_store *store; /* whose memory they are taken from */
	int64_t process;
	struct kc__op *at; /* of the process, in the order of their calls */
	size_t count, capacity;
	struct kc__recorded_op *recorded; /* NULL: not asked for */
	size_t recorded_capacity;
	int64_t *known_ns;  /* of batches (kc__known_ns), by place */
	int as_recorded;    /* 1: recorded is asked for */
	int with_arguments; /* 1: some have arguments */
};

/* Where ops->as_recorded is set. */
static inline struct kc__recorded_op *kc__recorded_of(const struct kc__ops *ops, const struct kc__op *op)
{
	return &ops->recorded[op->recorded];
}

/* The arguments of the launches of a process, as texts. */
struct kc__argument_texts {
	struct kc_store *store;
	struct kc_ids ids;
	char **at; /* by the number of the id; NULL: the database has none */
};

/* Reads rows of a table by id. Most are asked for in order, and a step to the next row costs less than a search. All
 * zeros at first, except sql, which selects the rows whose id is at least ?1, in order, with the id as its last column.
 */
struct kc__cursor {
	const char *sql;
	sqlite3_stmt *stmt;
	int64_t at; /* id of the row it stands on; 0: on none */
};

enum kc__load {
	KC__LOAD_LAUNCHES,
	KC__LOAD_RECORDED_LAUNCHES,
	KC__LOAD_TRANSFERS,
	KC__LOAD_ARGUMENTS,
	KC__LOAD_EVENTS,
	KC__LOAD_PAST,
	KC__LOAD_GRAPHS_MEASURED,
	KC__LOAD_COUNTED_WORK,
	KC__LOAD_STREAM_CALLS,
	KC__LOAD_SHORTFALL,
	KC__LOADS
};
struct kc__loader {
	struct kc_store *store;
	sqlite3_stmt *statements[KC__LOADS];
	struct kc__cursor streams;
};

/* The statement; NULL: it cannot be prepared. */
sqlite3_stmt *kc__loader_ask(struct kc__loader *loader, enum kc__load which);

/* replay_load.c: the time in column i, within 73 years. */
int64_t kc__time_at(sqlite3_stmt *row, int i);
/* 1: the statement stands on that row; 0: there is none; -errno. */
int kc__cursor_to(sqlite3 *db, struct kc__cursor *cursor, int64_t id);

/* A process's operations with these sequence numbers. */
struct kc__part {
	int64_t process;
	uint64_t first_sequence, last_sequence; /* both included */
};
/* Operations are in the order of their calls. as_recorded 0: of launches, without what was known and predicted when
 * they were made, which doubles what reading takes. 0 or -errno. */
int kc__ops_load(struct kc__loader *loader, const struct kc__part *part, int as_recorded, struct kc__ops *ops);
/* Adds the calls that order streams to all that the process did. 0 or -errno. */
int kc__stream_calls_load(struct kc__loader *loader, int64_t process, struct kc__ops *ops);
void kc__ops_free(struct kc__ops *ops);
void kc__argument_texts_free(struct kc__argument_texts *texts);
void kc__loader_close(struct kc__loader *loader);

/* replay_process.c */

/* An event that belongs to no launch: struct kc_event_entry. */
struct kc__recorded_event {
	uint64_t number;
	int64_t kernel;  /* row; 0: of none, or not known */
	int64_t device;  /* row: where the kernel is; 0: not recorded, by schema 9 */
	int64_t time_ns; /* since the process began, as those of operations; 0: not known */
	uint32_t kind;   /* enum kc_order_event */
};

struct kc__recorded_events { /* of one process, by their numbers */
	struct kc__recorded_event *at;
	size_t count, capacity;
};

/* What a kernel's cost formula yielded for a launch shape and arguments. */
struct kc__counted_launch {
	int64_t shape;     /* row */
	int64_t arguments; /* of the process; 0: not known */
	struct kc_counts counts;
};

struct kc__counted_work { /* of one process, by shape and arguments */
	struct kc__counted_launch *at;
	size_t count, capacity;
	size_t refused; /* rows that hold no counts: damaged, or of a version that counted less */
};

/* At most KC__EVENTS_MAX and KC__COUNTED_MAX rows of a process; no process records more. These functions replace what
 * the struct held; it is all zeros at first. 0 or -errno. */
#define KC__EVENTS_MAX 1048576u
#define KC__COUNTED_MAX 65536u
int kc__events_load(struct kc__loader *loader, int64_t process, struct kc__recorded_events *events);
/* What it began with; source 0: nothing, or what is not in the database any more, and then *found is 1. */
int kc__began_with_load(struct kc__loader *loader, int64_t process, struct kc_past_entry *began_with, int *found);
int kc__counted_work_load(struct kc__loader *loader, int64_t process, struct kc__counted_work *work);
/* *chosen: not all of its launches were stored, but all ran and taught. *incomplete: the journal had no room for all
 * that it did. 0 or -errno. */
int kc__shortfall_load(struct kc__loader *loader, int64_t process, int *chosen, int *incomplete, int *graphs_whole);
/* *found: launches of graphs were measured as one. 0 or -errno. */
int kc__graphs_measured(struct kc__loader *loader, int64_t process, int *found);
/* Replaces texts by the arguments of these operations and of the launches whose work was counted. 0 or -errno. */
int kc__arguments_load(struct kc__loader *loader, int64_t process, const struct kc__ops *ops,
		       const struct kc__counted_work *work, struct kc__argument_texts *texts);
/* NULL: there are none. */
const struct kc_counts *kc__counted_work_find(const struct kc__counted_work *work, int64_t shape, int64_t arguments);
void kc__events_free(struct kc__recorded_events *events);
void kc__counted_work_free(struct kc__counted_work *work);

struct kc__stream_row {
	int64_t device;
	int32_t priority;
	enum kc_stream_kind kind;
	uint32_t lane; /* plus 1; 0: not recorded */
};
/* row 0: the device's default stream. 0, -ENOENT or another -errno. */
int kc__stream_load(struct kc__loader *loader, int64_t row, struct kc__stream_row *out);

#endif

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

#include "store/common/identity.h"
#include "store/common/ids.h"
#include "store/database/internal.h"
#include "store/common/intern.h"
#include "predictor/concurrency/overlap.h"
#include "past.h"
#include "replay_run.h"
#include "store/query/report.h"

#include "predictor/code/cost.h"
#include "predictor/engine.h"

enum kc__op_kind { KC__OP_LAUNCH, KC__OP_TRANSFER, KC__OP_STREAM_CALL };

struct kc__op {
	int64_t issued_ns, start_ns, end_ns; /* end 0: not measured */
	int64_t predicted_at_ns;             /* of a launch */
	int64_t process;
	uint64_t sequence;
	int64_t ns;                                       /* of a call that orders streams: struct kc_stream_call */
	uint32_t call;                                    /* its enum kc_stream_call_kind */
	uint64_t bytes;                                   /* transfer */
	int64_t shape, stream, device;                    /* rows; device: of a transfer */
	int64_t arguments;                                /* of the process; 0: not known */
	uint8_t kind, transfer_kind, overlap, unmeasured; /* as recorded */
	/* As recorded (struct kc_order): how many events were known when it was predicted, and the numbers of its own;
	 * 0: not recorded. A decision comes after the measurement, which comes after what was known. */
	uint64_t known, measured_event, decided_event;
	struct {
		int64_t solo_ns, low_ns, high_ns, span_ns; /* solo 0: nothing */
	} said;                                            /* what the run itself predicted of a launch */
	/* From here on the replay's own. */
	int64_t known_ns; /* when its measurement becomes known */
	uint8_t met;      /* enum kc_overlap, as known by then */
	uint32_t ticket, plain_ticket;
	struct kc__replay_stream *at; /* NULL: not on any timeline */
	struct kc__replay_shape *of;
	struct kc_engine_launch kept;
};

struct kc__ops {
	struct kc__op *at; /* of one process, in the order of their calls */
	size_t count, capacity;
};

/* What launches of the process were given. */
struct kc__texts {
	struct kc_ids ids;
	char **at; /* by the number of the id; NULL: the database has none */
};

/* Operations whose measurement is still to come: a heap, the one that becomes known first at the top. */
struct kc__awaited_op {
	int64_t known_ns;
	uint32_t op; /* place in kc__ops */
};

struct kc__pending {
	struct kc__awaited_op *at;
	size_t count, capacity;
};

/* Whether there is enough to predict with: a trace may tell a device's name, or nothing. */
static inline int kc__device_is_known(const struct kc_device *device)
{
	return device->sm_count && device->clock_khz;
}

/* replay_delay.c: when the measurement of each operation becomes known. 0 or -ENOMEM. */
int kc__delays_set(struct kc__ops *ops, const struct kc_replay_delay *delay);

/* replay_pending.c: 0 or -ENOMEM; count > 0. */
int kc__pending_push(struct kc__pending *pending, int64_t known_ns, uint32_t op);
uint32_t kc__pending_pop(struct kc__pending *pending);

struct kc__replay_device {
	struct kc_device info; /* of the stand-in where it is assumed or no device at all */
	char name[64];         /* UUID; of an imported device what it is called */
	int assumed;
	char called[96]; /* of an assumed one: all that is known of it, or "" */
	int impossible;  /* the database has no such device, or none that there can be */
	struct kc_engine_device engine;
};

struct kc__replay_kernel { /* on a device */
	struct kc__replay_device *device;
	struct kc_code_identity identity; /* mangled: the subject's own */
	int excluded;
	int missing; /* the database has no such kernel */
	/* Of a run that is replayed as it was recorded: */
	int formula;                    /* its cost formula is ready */
	struct kc__replay_shape *early; /* launch shapes first launched before that, the newest first */
	struct kc_resources resources;
	struct kc_engine_kernel engine;
};

struct kc__heap { /* the largest first */
	int64_t *at;
	uint32_t count, capacity;
};

/* A quantile of all values so far: the largest of those up to it, beside the rest, negated. */
struct kc__quantile {
	struct kc__heap up_to, rest;
};

/* Yardsticks beside the models: the last duration known of the launch shape, and quantiles of all. */
struct kc__past {
	int64_t last_ns;
	uint32_t count;
	struct kc__quantile low, high;
};

struct kc__replay_shape {
	int64_t kernel, device; /* rows */
	uint32_t unpredictable; /* enum kc_unpredictable */
	struct kc_shape dims;
	uint64_t name; /* kc_launch_name() */
	struct kc__replay_device *on;
	struct kc__replay_kernel *code;
	struct kc__replay_shape *launched; /* this shape whatever its arguments; itself where they are not known */
	struct kc_engine_variant engine;
	/* Of a run that is replayed as it was recorded: */
	struct kc__replay_shape *successor; /* the same launch, told by its arguments */
	struct kc__replay_shape *next_early;
	const struct kc__op *first; /* the launch made before the formula was ready */
	int64_t early_ns;           /* how long it took, alone, until that has been learned */
	/* Of launched: */
	struct kc_engine_shape whatever_given;
	struct kc__past past;
};

struct kc__subject;

/* replay_subject.c. NULL: no memory, or the database cannot be read (kc__subject_error). */
struct kc__subject *kc__subject_new(struct kc_store *s, const struct kc_replay_options *options, char *why,
				    size_t why_size);
void kc__subject_free(struct kc__subject *subject);
/* arguments: text, NULL where none is known. counts: the work of such launches, NULL: not known. */
struct kc__replay_shape *kc__subject_shape(struct kc__subject *subject, int64_t row, const char *arguments,
					   const struct kc_counts *counts);
/* What is learned begins with what earlier processes taught, which must outlive the subject. */
void kc__subject_recall(struct kc__subject *subject, const struct kc_past *past);
struct kc__replay_device *kc__subject_device(struct kc__subject *subject, int64_t row);
int kc__subject_error(const struct kc__subject *subject);
void kc__subject_each(const struct kc__subject *subject, void (*fn)(struct kc__replay_shape *shape, void *arg),
		      void *arg);
/* The database is needed no more. */
void kc__subject_leave(struct kc__subject *subject);
/* Every process begins knowing nothing. */
void kc__subject_forget(struct kc__subject *subject);
struct kc_engine *kc__subject_engine(struct kc__subject *subject);

/* Reads rows of a table by id, most of which are asked for in their order: a step
 * to the next costs less than a search. Starts as zeros but for sql, which gives
 * the rows from ?1 on in order, their id last. */
struct kc__cursor {
	const char *sql;
	sqlite3_stmt *stmt;
	int64_t at; /* id of the row it stands on; 0: on none */
};

enum kc__load {
	KC__LOAD_LAUNCHES,
	KC__LOAD_TRANSFERS,
	KC__LOAD_ARGUMENTS,
	KC__LOAD_EVENTS,
	KC__LOAD_PAST,
	KC__LOAD_WORK,
	KC__LOAD_STREAM_CALLS,
	KC__LOAD_STREAMS,
	KC__LOADS
};
struct kc__loader {
	struct kc_store *store;
	sqlite3_stmt *statements[KC__LOADS];
	struct kc__cursor streams;
};

/* replay_load.c: 1: the statement stands on that row; 0: there is none; -errno. */
int kc__cursor_to(sqlite3 *db, struct kc__cursor *cursor, int64_t id);
/* Of a process, its operations with these sequence numbers. */
struct kc__part {
	int64_t process;
	uint64_t first_sequence, last_sequence; /* both included */
};
/* In order of their calls. 0 or -errno. */
int kc__ops_load(struct kc__loader *loader, const struct kc__part *part, struct kc__ops *ops);
/* Adds the calls that order streams to all that the process did. 0 or -errno. */
int kc__stream_calls_load(struct kc__loader *loader, int64_t process, struct kc__ops *ops);
void kc__texts_free(struct kc__texts *texts);
void kc__loader_close(struct kc__loader *loader);

/* An event that belongs to no launch: struct kc_event_entry. */
struct kc__recorded_event {
	uint64_t number;
	int64_t kernel;  /* row; 0: of none, or not known */
	int64_t time_ns; /* since the process began, as those of operations; 0: not known */
	uint32_t kind;   /* enum kc_order_event */
};

struct kc__recorded_events { /* of one process, by their numbers */
	struct kc__recorded_event *at;
	size_t count, capacity;
};

/* What the process had learned from before it began, in the order in which it did. process 0: that one is not in the
 * database, and neither are its launches. */
struct kc__past_parts {
	struct kc__part *at;
	size_t count, capacity;
};

/* What the cost formula of a kernel came to for a launch shape and arguments. */
struct kc__counted {
	int64_t shape;     /* row */
	int64_t arguments; /* of the process; 0: not known */
	struct kc_counts counts;
};

struct kc__work { /* of one process, by shape and arguments */
	struct kc__counted *at;
	size_t count, capacity;
	size_t refused; /* rows that hold no counts: damaged, or of a version that counted less */
};

/* The first KC__EVENTS_MAX, KC__PAST_PARTS_MAX and KC__COUNTED_MAX of a process; no process records as many. What was
 * in the struct is let go; a struct begins as zeros. 0 or -errno. */
#define KC__EVENTS_MAX 1048576u
#define KC__PAST_PARTS_MAX 8192u
#define KC__COUNTED_MAX 65536u
#define KC__STREAMS_MAX 65536u
int kc__events_load(struct kc__loader *loader, int64_t process, struct kc__recorded_events *events);
int kc__past_parts_load(struct kc__loader *loader, int64_t process, struct kc__past_parts *parts);
int kc__work_load(struct kc__loader *loader, int64_t process, struct kc__work *work);
/* What these operations, and the launches whose work was counted, were given. 0 or -errno. What was in texts is let go.
 */
int kc__arguments_load(struct kc__loader *loader, int64_t process, const struct kc__ops *ops,
		       const struct kc__work *work, struct kc__texts *texts);
/* NULL: there are none. */
const struct kc_counts *kc__work_find(const struct kc__work *work, int64_t shape, int64_t arguments);
void kc__events_free(struct kc__recorded_events *events);
void kc__past_parts_free(struct kc__past_parts *parts);
void kc__work_free(struct kc__work *work);

/*
 * replay_recorded.c: a process that recorded what was known when each launch was predicted. Its events come in the
 * order of their numbers, and an operation is predicted when as many of them have come as it says.
 */
enum kc__due_kind { KC__DUE_MEASURED, KC__DUE_DECIDED, KC__DUE_EVENT };
struct kc__due {
	uint64_t number;
	uint32_t index; /* of the operation, or of the event that belongs to none */
	enum kc__due_kind kind;
};

struct kc__recorded {
	int on; /* 0: the process recorded nothing of it, and the rest is not set */
	struct kc__recorded_events events;
	struct kc__past_parts parts;
	struct kc__work work;
	struct kc__due *due; /* by number */
	size_t due_count, next;
	uint32_t *order; /* operations in the order of their predictions */
};

/* 0 or -errno. Let go with kc__recorded_leave(). */
int kc__recorded_load(struct kc__recorded *recorded, struct kc__loader *loader, int64_t process, struct kc__ops *ops);
void kc__recorded_leave(struct kc__recorded *recorded);
/* The next event that a prediction which knew so many may use; NULL: no more. */
const struct kc__due *kc__recorded_next(struct kc__recorded *recorded, uint64_t known);
/* A launch without arguments is made: the first of its launch shape, or a later one. */
void kc__early_note(struct kc__replay_shape *shape, const struct kc__op *op);
/* A kernel's formula is ready: launches made before are known by their arguments from here on. text: of arguments of
 * the process, NULL: none. 0 or -errno. */
int kc__formula_ready(const struct kc__recorded *recorded, struct kc__subject *subject,
		      struct kc__replay_kernel *kernel, const char *(*text)(void *arg, int64_t arguments), void *arg);
/* The first launch of the shape was measured alone: with the formula it counts as a measured size. */
void kc__early_learn(const struct kc__recorded *recorded, struct kc__subject *subject, struct kc__replay_shape *shape);

/* past.c: what these parts taught; NULL: nothing, as there are none. 0 or -errno. */
int kc__past_of(struct kc_store *s, const struct kc__past_parts *parts, struct kc_past **past);

struct kc__stream_row {
	int64_t device;
	int32_t priority;
	enum kc_stream_kind kind;
	uint32_t lane; /* plus 1; 0: not recorded */
};
/* Gives fn every stream of the process, in the order in which they were made, until it returns not 0. That, or -errno.
 */
int kc__streams_each(struct kc__loader *loader, int64_t process, int (*fn)(int64_t row, void *arg), void *arg);
/* row 0: a device's own. 0, -ENOENT or another -errno. */
int kc__stream_load(struct kc__loader *loader, int64_t row, struct kc__stream_row *out);

/* replay_sites.c: where things run: devices, and the streams of the process on them. */
#define KC__SITES_MAX 64u

struct kc__replay_stream {
	struct kc__replay_site *site;
	uint32_t lane;
	struct kc_awaited awaited;
};

struct kc__replay_site {
	int64_t device; /* row */
	struct kc__replay_device *on;
	struct kc_timeline *timeline;
	struct kc_timeline *plain;  /* each kernel as long as alone, in its stream */
	struct kc_answers *answers; /* of a run that is replayed as it was recorded */
	struct kc_history history;
	struct kc_spans spans;
	struct kc__replay_stream **streams;
	uint32_t stream_count, stream_capacity;
};

struct kc__sites {
	struct kc__loader *loader;
	struct kc__subject *subject;
	struct kc__replay_site at[KC__SITES_MAX];
	uint32_t count;
	int joined;                         /* 1: other launches came before the first one here */
	int answering;                      /* 1: answers are remembered, as live */
	struct kc_ids stream_ids;           /* of rows */
	struct kc__replay_stream **streams; /* by the number of the row; [0]: the device's own */
	size_t stream_capacity;
};

/* A process begins, or a part of one (joined): its streams are not known yet. */
void kc__sites_begin(struct kc__sites *sites, int joined);
/* The process's streams exist from the start, in the order in which it made them: where they share the device's queues
 * depends on it. Of several that had one lane after the other, the first. 0 or -errno. */
int kc__sites_recorded(struct kc__sites *sites, int64_t process);
/* NULL: no memory, no such stream, or more devices than any machine has. */
struct kc__replay_stream *kc__sites_stream(struct kc__sites *sites, const struct kc__op *op, int64_t device);
/* It is over; timelines stay where they are and begin again with the next one. */
void kc__sites_leave(struct kc__sites *sites);
void kc__sites_free(struct kc__sites *sites);

/* replay.c: replays parts of processes, one after the other, for what they teach alone. 0 or -errno. */
int kc__replay_parts(struct kc_store *s, const struct kc_replay_options *options, const struct kc__part *parts,
		     size_t count, struct kc__subject **subject);

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

/* replay_score.c: models, yardsticks, intervals, the learning curve. */
int kc__past_add(struct kc__past *past, int64_t ns);
void kc__past_free(struct kc__past *past); /* and nothing is known */
void kc__past_look(const struct kc__past *past, struct kc_replay_launch *launch);

/* Quantiles to 1 %, as store/common/sketch.h has them, but without a logarithm a value: a
 * bucket is an exponent and the upper bits of a float's fraction. */
#define KC__ERROR_BUCKETS 2560u
struct kc__errors {
	uint64_t n;
	double sum;
	uint32_t buckets[KC__ERROR_BUCKETS];
};

struct kc__coverage {
	uint64_t n, covered;
	struct kc__errors width;
};

struct kc__stage {
	uint64_t n;
	double sum;
};

struct kc__score {
	struct kc__errors models[KC_REPLAY_MODELS];
	double beside_last;
	struct kc__coverage intervals[KC_REPLAY_NOVELTIES];
	uint64_t scored;
	double score, past_score;
	uint64_t launches;
	struct kc__stage stages[KC_REPLAY_STAGES];
};
void kc__score_add(struct kc__score *score, const struct kc_replay_launch *launch);
void kc__score_finish(const struct kc__score *score, struct kc_replay *out);

#endif

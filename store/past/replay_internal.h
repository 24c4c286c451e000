/*
 * Inside the replay.
 *
 *   kc__op                one recorded operation, launch or transfer; what was
 *                         predicted for it stays with it until it is measured
 *   kc__replay_knowledge  what is known of devices, kernels and launch shapes: grows
 *                         while operations are replayed, and outlives processes
 *   kc__used_devices      the devices and streams that one process uses
 *   kc__replay_state      all of it together
 */
#ifndef KC_REPLAY_INTERNAL_H
#define KC_REPLAY_INTERNAL_H

#include "store/common/identity.h"
#include "store/common/ids.h"
#include "store/database/internal.h"
#include "store/common/intern.h"
#include "predictor/concurrency/overlap.h"
#include "past.h"
#include "replay_delay.h"

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
	struct kc_code_identity identity; /* mangled: the knowledge's own */
	int excluded;
	int missing; /* the database has no such kernel */
	/* Of a run that is replayed as it was recorded: */
	int formula;                    /* its cost formula is ready */
	struct kc__replay_shape *early; /* launch shapes first launched before that, the newest first */
	struct kc_resources resources;
	struct kc_engine_kernel engine;
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
	void *observed; /* the observer's own */
};

struct kc__replay_knowledge;

/* What was predicted for a launch. */
struct kc__replay_said {
	uint32_t unpredictable, novelty; /* enum kc_unpredictable, enum kc_novelty */
	struct kc_prediction prediction; /* of a predictable launch, as all below */
	struct kc_engine_launch
	    kept;                  /* for its measurement; what the launch keeps may be what the run itself predicted */
	struct kc_placement plain; /* in its stream, as long as alone */
};

/* Who looks on while operations are replayed. Functions that return an int return 0 or -errno unless stated. */
struct kc__replay_observer {
	/* 1: launches of the kernel do not count. */
	int (*excludes)(void *arg, const char *kernel);
	/* op->of: its launch shape, NULL where the database has none. */
	int (*predicted)(void *arg, const struct kc__op *op, const struct kc__replay_said *said);
	int (*measured)(void *arg, struct kc__replay_shape *launched, int64_t ns);
	/* What was learned of the launch shape is forgotten: the observer lets go what it keeps with it. */
	void (*forgotten)(struct kc__replay_shape *launched);
	void *arg;
};

/* replay_knowledge.c. device: what launches ran on where the database does not tell; NULL: V100. Both, and the
 * observer, must outlive it. NULL: no memory. */
struct kc__replay_knowledge *kc__knowledge_new(struct kc_store *s, const struct kc_device *device,
					       const struct kc__replay_observer *observer);
void kc__knowledge_free(struct kc__replay_knowledge *knowledge);
/* arguments: text, NULL where none is known. counts: the work of such launches, NULL: not known. */
struct kc__replay_shape *kc__knowledge_shape(struct kc__replay_knowledge *knowledge, int64_t row, const char *arguments,
					     const struct kc_counts *counts);
/* What is learned begins with what earlier processes taught, which must outlive the knowledge. */
void kc__knowledge_recall(struct kc__replay_knowledge *knowledge, const struct kc_past *past);
struct kc__replay_device *kc__knowledge_device(struct kc__replay_knowledge *knowledge, int64_t row);
int kc__knowledge_error(const struct kc__replay_knowledge *knowledge);
void kc__knowledge_each(const struct kc__replay_knowledge *knowledge,
			void (*fn)(struct kc__replay_shape *shape, void *arg), void *arg);
/* The database is needed no more. */
void kc__knowledge_leave(struct kc__replay_knowledge *knowledge);
/* Every process begins knowing nothing. */
void kc__knowledge_forget(struct kc__replay_knowledge *knowledge);
struct kc_engine *kc__knowledge_engine(struct kc__replay_knowledge *knowledge);

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

/* replay_streams.c: where things run: devices, and the streams of the process on them. */
#define KC__USED_DEVICES_MAX 64u

struct kc__replay_stream {
	struct kc__used_device *device;
	uint32_t lane;
	struct kc_awaited awaited;
};

struct kc__used_device {
	int64_t row;
	struct kc__replay_device *on;
	struct kc_timeline *timeline;
	struct kc_timeline *plain;  /* each kernel as long as alone, in its stream */
	struct kc_answers *answers; /* of a run that is replayed as it was recorded */
	struct kc_history history;
	struct kc_spans spans;
	struct kc__replay_stream **streams;
	uint32_t stream_count, stream_capacity;
};

struct kc__used_devices {
	struct kc__loader *loader;
	struct kc__replay_knowledge *knowledge;
	struct kc__used_device at[KC__USED_DEVICES_MAX];
	uint32_t count;
	int joined;                         /* 1: other launches came before the first one here */
	int answering;                      /* 1: answers are remembered, as live */
	struct kc_ids stream_ids;           /* of rows */
	struct kc__replay_stream **streams; /* by the number of the row; [0]: the device's own */
	size_t stream_capacity;
};

/* A process begins, or a part of one (joined): its streams are not known yet. */
void kc__used_devices_begin(struct kc__used_devices *used, int joined);
/* The process's streams exist from the start, in the order in which it made them: where they share the device's queues
 * depends on it. Of several that had one lane after the other, the first. 0 or -errno. */
int kc__used_devices_recorded(struct kc__used_devices *used, int64_t process);
/* NULL: no memory, no such stream, or more devices than any machine has. */
struct kc__replay_stream *kc__used_devices_stream(struct kc__used_devices *used, const struct kc__op *op,
						  int64_t device);
/* It is over; timelines stay where they are and begin again with the next one. */
void kc__used_devices_leave(struct kc__used_devices *used);
void kc__used_devices_free(struct kc__used_devices *used);

/* The replay of one process after the other, or of parts of them. */
struct kc__replay_state {
	struct kc__loader loader;
	const struct kc__replay_observer *observer; /* NULL: nobody looks on */
	struct kc__replay_knowledge *knowledge;
	struct kc__ops ops;         /* of the process */
	struct kc__texts arguments; /* likewise */
	struct kc__used_devices used;
	struct kc__pending pending;
	int64_t now_ns;
	int as_recorded; /* 1: what was known by then is what the process recorded, and so is the work of its launches
			  */
	struct kc__work work;
};

/* replay_operations.c */
struct kc__replay_state *kc__replay_new(struct kc_store *s, const struct kc__replay_observer *observer);
void kc__replay_free(struct kc__replay_state *state);
/* What is known from here on; its owner stays the caller. */
void kc__replay_use(struct kc__replay_state *state, struct kc__replay_knowledge *knowledge);
/* After the operations, and the work where it is needed. 0 or -errno. */
int kc__replay_load_arguments(struct kc__replay_state *state, int64_t process);
/* Predicts a launch, and gives any operation its place in time. 0 or -errno. */
int kc__replay_op(struct kc__replay_state *state, struct kc__op *op);
/* The operation's measurement becomes known; op->at is set. 0 or -errno. */
int kc__replay_measured(struct kc__replay_state *state, struct kc__op *op);
/* It is decided whether the launch of this span ran alone. arg: the state */
void kc__replay_decided(const struct kc_span *span, void *arg);
/* The process is over. rc, or where it is 0 what went wrong with the knowledge. */
int kc__replay_end(struct kc__replay_state *state, int rc);
/* 1: it was clear at the call that no measurement would come. */
int kc__never_awaited(const struct kc__op *op);
/* Text of the arguments; NULL: none is known. */
const char *kc__replay_given(const struct kc__replay_state *state, int64_t arguments);
/* Replays parts of processes, one after the other, for what they teach alone. 0 or -errno. */
int kc__replay_parts(struct kc_store *s, const struct kc__part *parts, size_t count,
		     struct kc__replay_knowledge **knowledge);

/* replay_delay.c: all operations loaded, each measurement known a stated time after its end. 0 or -errno. */
int kc__replay_by_delay(struct kc__replay_state *state, const struct kc_replay_delay *delay);

#endif

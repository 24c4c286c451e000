/*
 * The replay of recorded operations (replay_load.h), for what they teach and for figures.
 *
 *   kc__replay_knowledge  what is known of devices, kernels and launch shapes: grows
 *                         while operations are replayed, and outlives processes
 *   kc__replay_observer   is told what was predicted and measured, and keeps what it wants
 *   kc__used_devices      the devices and streams that one process uses
 *   kc__replay_state      all of it together
 */
#ifndef KC_REPLAY_INTERNAL_H
#define KC_REPLAY_INTERNAL_H

#include "store/past/past.h"
#include "predictor/concurrency/overlap.h"
#include "replay_delay.h"
#include "replay_load.h"
#include "store/common/identity.h"
#include "store/common/ids/intern.h"

/* Operations whose measurement is still to come: a heap, the one that becomes known first at the top. */
struct kc__awaited_op {
	int64_t known_ns;
	uint32_t op; /* place in kc__ops */
};

struct kc__pending {
	struct kc__awaited_op *at;
	size_t count, capacity;
};

/* Whether enough is known to predict with: a trace may contain no more of a device than its name, or not even that. */
static inline int kc__device_is_known(const struct kc_device *device)
{
	return device->sm_count && device->clock_khz;
}

struct kc__replay_device {
	struct kc_device info;            /* where assumed is set: what is known of it, and the rest of the stand-in */
	int64_t row;                      /* the first of its kind */
	char name[64];                    /* UUID; of an imported device its name */
	int assumed;                      /* 1: the stand-in's values are used */
	const struct kc_device *stand_in; /* of an assumed one */
	int by_capability; /* 1: the stand-in was chosen for its compute capability, which is the device's */
	char called[96];   /* of an assumed one: its name, or "" where not even that is known */
	int imported;      /* it stands for all of its model */
	int identified;    /* its driver told which one it is, and that a launch does not fit it */
	int foreign;       /* no GPU of NVIDIA, and no stand-in was named: what runs on it is not predicted */
	int impossible;    /* the database has no such device, or its values are those of no possible device */
	struct kc_engine_device engine;
};

struct kc__replay_kernel { /* on a device */
	struct kc__replay_device *device;
	struct kc_code_identity identity; /* mangled: the knowledge's own */
	int missing;                      /* the database has no such kernel */
	/* Of a run that is replayed as it was recorded: */
	int formula;                    /* its cost formula is ready */
	struct kc__replay_shape *kept;  /* launch shapes met before that, by a launch or in a graph */
	struct kc__replay_shape *early; /* those of them that were launched before that, the newest first */
	struct kc_resources resources;
	struct kc_engine_kernel engine;
};

struct kc__replay_shape {
	int64_t kernel, device; /* rows */
	uint32_t unpredictable; /* enum kc_unpredictable */
	uint32_t beyond;        /* what it asked for that the device is not known to have: kc_work_clamp() */
	struct kc_shape dims;
	uint64_t name; /* kc_launch_name() */
	struct kc__replay_device *on;
	struct kc__replay_kernel *code;
	struct kc__replay_shape
	    *launched; /* the same launch shape with any arguments; itself where they are not known */
	struct kc_engine_variant engine;
	/* Of a run that is replayed as it was recorded: */
	struct kc__replay_shape *successor; /* the same launch with its arguments */
	int first_alone;  /* of what it was given something matters, so only the first launch is known to be the same */
	int64_t kept_row; /* of what its first launch was given: 0, or kc__op.shape */
	struct kc__replay_shape *next_kept, *next_early;
	const struct kc__op *first; /* the launch made before the formula was ready */
	struct kc_engine_early early;
	/* Of launched: */
	_Atomic uint32_t *shape_measured; /* of all GPUs of the model */
	void *observed;                   /* the observer's own */
};

struct kc__replay_knowledge;

/* What was predicted for a launch. */
struct kc__replay_prediction {
	uint32_t unpredictable, novelty; /* enum kc_unpredictable, enum kc_novelty */
	struct kc_prediction by_engine;  /* of a predictable launch, as all below */
	/* kc__op.kept as predicted here, not by the recorded run. */
	struct kc_engine_launch kept;
	struct kc_placement plain; /* without contention, if that is asked for */
};

/* Is told what happens while operations are replayed. predicted and measured return 0 or -errno. */
struct kc__replay_observer {
	/* op->of: its launch shape, NULL where the database has none. */
	int (*predicted)(void *arg, const struct kc__op *op, const struct kc__replay_prediction *prediction);
	int (*measured)(void *arg, struct kc__replay_shape *launched, int64_t ns);
	/* What was learned of the launch shape is forgotten: the observer frees launched->observed. */
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
/* Learning begins with this, which must outlive the knowledge. Before anything else. */
void kc__knowledge_recall(struct kc__replay_knowledge *knowledge, const struct kc_beginning *from);
struct kc__replay_device *kc__knowledge_device(struct kc__replay_knowledge *knowledge, int64_t row);
int kc__knowledge_error(const struct kc__replay_knowledge *knowledge);
void kc__knowledge_each(const struct kc__replay_knowledge *knowledge,
			void (*fn)(struct kc__replay_shape *shape, void *arg), void *arg);
/* From here on the database is not read. */
void kc__knowledge_leave(struct kc__replay_knowledge *knowledge);
struct kc_engine *kc__knowledge_engine(struct kc__replay_knowledge *knowledge);

/* replay_streams.c: the devices that a process uses, and its streams on them. */
#define KC__USED_DEVICES_MAX 64u

struct kc__replay_stream {
	struct kc__used_device *device;
	uint32_t lane;
	int64_t end_ns; /* measured, the latest of its kernels */
	struct kc_awaited awaited;
};

struct kc__used_device {
	int64_t row;
	struct kc__replay_device *on;
	struct kc_timeline *timeline;
	struct kc_timeline *plain; /* without contention: each kernel takes its solo time; NULL: not asked for */
	struct kc_estimate_cache *answers; /* of a run that is replayed as it was recorded */
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
	int joined;                         /* 1: the process made launches before the first one here */
	int answering;                      /* 1: answers are kept, as in the recorded program */
	int with_plain;                     /* 1: plain timelines are asked for */
	struct kc_ids stream_ids;           /* of rows */
	struct kc__replay_stream **streams; /* by the number of the row; [0]: the default stream */
	size_t stream_capacity;
};

/* A process begins, or with joined a later part of one. Its streams are not known yet. */
void kc__used_devices_begin(struct kc__used_devices *used, int joined);
/* NULL: no memory, no such stream, or more devices than any machine has. */
struct kc__replay_stream *kc__used_devices_stream(struct kc__used_devices *used, const struct kc__op *op,
						  int64_t device);
/* The process is over. Timelines keep their memory for the next one. */
void kc__used_devices_leave(struct kc__used_devices *used);
void kc__used_devices_free(struct kc__used_devices *used);

/* The replay of one process after the other, or of parts of them. */
struct kc__replay_state {
	struct kc__loader loader;
	const struct kc__replay_observer *observer; /* NULL: none */
	struct kc__replay_knowledge *knowledge;
	struct kc__ops ops;                  /* of the process */
	struct kc__argument_texts arguments; /* of its launches */
	struct kc__used_devices used;
	struct kc__pending pending;
	int64_t now_ns;
	/* 1: when measurements became known, and the work of launches, are as the process recorded them. */
	int as_recorded;
	int chosen;       /* 1: of the process not all launches were stored, but all ran and taught */
	int graphs_whole; /* 1: launches of graphs were measured as one: what ran beside them is not known */
	int incomplete;   /* 1: not all that the process did is in the database: the journal had no room for it */
	struct kc__counted_work work;
	struct kc_ids read; /* kernels whose formula was ready before their first launch here: kc__read_key() */
};

/* Of rows. device 0: any. Only ids that no database gives out have the same key as others. */
static inline int64_t kc__read_key(int64_t kernel, int64_t device)
{
	return (int64_t)((uint64_t)kernel << 16 ^ (uint64_t)device);
}

/* replay_operations.c */
struct kc__replay_state *kc__replay_new(struct kc_store *s, const struct kc__replay_observer *observer);
void kc__replay_free(struct kc__replay_state *state);
/* Uses this knowledge from here on; the caller keeps ownership. */
void kc__replay_use(struct kc__replay_state *state, struct kc__replay_knowledge *knowledge);
/* The arguments of the launches, and whether these are chosen ones. Call it when the operations, and with as_recorded
 * the work, are loaded. 0 or -errno. */
int kc__replay_load_rest(struct kc__replay_state *state, int64_t process);
/* Predicts the operation and puts it on the timelines. 0 or -errno. */
int kc__replay_op(struct kc__replay_state *state, struct kc__op *op);
/* The operation's measurement becomes known; op->at is set. 0 or -errno. */
int kc__replay_measured(struct kc__replay_state *state, struct kc__op *op);
/* It is decided whether the launch of this span ran alone. arg: the state */
void kc__replay_decided(const struct kc_span *span, void *arg);
/* The process is over. Returns rc if that is not 0, else the knowledge's error or 0. */
int kc__replay_end(struct kc__replay_state *state, int rc);
/* For the launches of graphs, which replay_graphs.c predicts: the launch shape with its arguments; of a run that is
 * replayed as it was recorded, with the work that was counted. */
struct kc__replay_shape *kc__replay_shape_of(struct kc__replay_state *state, const struct kc__op *op);
/* A kernel of a graph that is predicted, or a launch that is made: where the run predicted it without arguments, before
 * the kernel's code had been read, what the first one of the launch shape was given was kept. */
void kc__replay_note_kept(const struct kc__replay_state *state, struct kc__replay_shape *shape,
			  const struct kc__op *op);
/* A launch is made: if what it was given was kept, the first of its launch shape, or a later one. */
void kc__replay_note_early(const struct kc__replay_state *state, struct kc__replay_shape *shape,
			   const struct kc__op *op);
/* What the recorded run learned from a launch depended on its own prediction, which may differ from ours. */
void kc__replay_keep_said(const struct kc__recorded_op *recorded, struct kc_engine_launch *kept);
/* On the plain timeline of its device, if that is asked for. Where it is not, out stays as it is. */
void kc__replay_plainly(struct kc__op *op, int64_t now_ns, int64_t ns, struct kc_placement *out);
/* It is in its stream; a measurement may follow. */
void kc__replay_await(struct kc__op *op);
/* 1: it was known at the call that it would not be measured. */
int kc__never_awaited(const struct kc__op *op);
/* Text of the arguments; NULL: none is known. */
const char *kc__replay_given(const struct kc__replay_state *state, int64_t arguments);
/* Replays parts of processes in this order, only to learn from them. 0 or -errno. */
int kc__replay_parts(struct kc_store *s, const struct kc__part *parts, size_t count,
		     struct kc__replay_knowledge **knowledge);

/* replay_delay.c: when the measurement of an operation becomes known, once kc__delays_set() has worked that out for all
 * of them. 0 or -ENOMEM. */
int64_t kc__known_ns(const struct kc__ops *ops, size_t place, const struct kc_replay_delay *delay);
int kc__delays_set(struct kc__ops *ops, const struct kc_replay_delay *delay);
/* Replays the operations that are loaded; each measurement becomes known this long after its end.
 * 0 or -errno. */
int kc__replay_by_delay(struct kc__replay_state *state, const struct kc_replay_delay *delay);

#endif

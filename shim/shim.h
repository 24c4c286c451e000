/*
 * The preloaded library's own header: one process-wide struct, the entries of its
 * tables, and the stages that the process goes through. What the rooms do for one
 * another is in their own headers.
 *
 *   driver handle -> kc__function -> kc__kernel    (what code it is)
 *                    kc__kernel + launch shape, arguments -> kc__variant
 *   stream handle -> kc__stream   -> kc__device    (timeline, lock)
 *
 * Entries are made at first sight under `tables_lock`; launching threads find them
 * without a lock. Entries that something is learned of are never freed; those of
 * streams and handles that have ended are used again (tables/tables.h). What is
 * learned lives in the engine's part of each (predictor/engine.h): launching threads
 * predict, and the worker is the engine's learner. `tables_lock` is the engine's
 * lock, as a new entry starts from what its parents have learned.
 */
#ifndef KC_SHIM_H
#define KC_SHIM_H

#ifndef KC_WITH_CUPTI /* cupti.h has declarations of its own for the older ABIs */
#define __CUDA_API_VERSION_INTERNAL
#endif
#include <cuda.h>

#include "hooks.h"
#include "later_driver.h"
#include "predictor/concurrency/overlap.h"
#include "predictor/engine.h"
#include "shim/tables/lock.h"
#include "shim/worker/cupti/buffers.h"
#include "shim/worker/window.h"
#include "store/common/message.h"
#include "store/common/options.h"
#include "store/database/store.h"
#include "store/journal/journal.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define KC_EXPORT __attribute__((visibility("default")))
#define KC__DEVICES_MAX 64
#define KC__LANES_MAX 128        /* fit into a byte */
#define KC__STREAM_PLACES 32768u /* for streams by their ids: twice as many as there are streams at most */
#define KC__EVENTS_MAX 32768
#define KC__PAGE_BYTES 4096 /* in which memory is counted */
/* A multiple of every page size that Linux has on the machine. */
#if defined(__aarch64__)
#define KC__WHOLE_PAGES_BYTES 65536
#else
#define KC__WHOLE_PAGES_BYTES 4096
#endif
#define KC__LINE_BYTES 64 /* of a cache */
#define KC__NOT_THERE CUDA_ERROR_NOT_SUPPORTED

enum kc__stage {
	KC__OFF = 0,      /* CUDA not initialised yet */
	KC__ON = 1,       /* recording */
	KC__DISABLED = 2, /* pass everything through */
	KC__EXITING = 3,  /* the exit waits for the last measurements: few launches are recorded */
	KC__PAUSED = 4,   /* what is launched is not asked for: counted and passed through */
	KC__COUNTED = 5,  /* recording, for so many launches more */
};

struct kc__device {
	CUdevice handle;
	char uuid[2 * KC_UUID_BYTES + 1]; /* hexadecimal */
	int known;
	struct kc_device info;
	/* Taken for every launch, for a few hundred ns and never across a driver call. Guards the timeline, seen_ns,
	 * answers and history. */
	struct kc__lock lock __attribute__((aligned(KC__LINE_BYTES)));
	uint32_t ordinal;
	struct kc_timeline *timeline;
	int64_t seen_ns; /* the host time of what the timeline was last told */
	struct kc_estimate_cache *answers;
	struct kc_engine_device engine; /* begins with what every launch reads */
	struct kc_history history;
	uint64_t lanes[KC__LANES_MAX / 64]; /* of the timeline, in use; tables_lock */
};

struct kc__code;    /* loaded_code.h */
struct kc__handle;  /* handles.c */
struct kc__formula; /* kernel_formula.h */
struct kc__early;   /* early.c */

/* As the launch call was given them; both may be NULL. */
struct kc__given {
	void *const *params;                  /* a pointer for each parameter */
	void *const *extra;                   /* CU_LAUNCH_PARAM_BUFFER_POINTER, … */
	const struct kc_cost_buffer *buffers; /* that the pointers among them lead to, as far as was asked */
	uint32_t buffer_count;
};

struct kc__packed;      /* kernel_formula.h */
struct kc__range_stack; /* ranges.h */

/* Where one parameter of a kernel lies in the block that the driver makes of all of them. */
struct kc__parameter {
	uint16_t offset_bytes, bytes;
};

#define KC__PARAMETERS_MAX 256u /* those past it are not known */

struct kc__parameters {
	bool known; /* the driver tells (12.4 and later) */
	uint32_t count;
	const struct kc__parameter *at;
};

struct kc__kernel {
	uint64_t key[4]; /* name hash, resources hash, device, code */
	/* What every launch reads is in the first cache line. */
	uint32_t id;                         /* dictionary */
	uint32_t every;                      /* 0: every launch is asked for; else one in so many, or KC__NEVER */
	struct kc__formula *_Atomic formula; /* NULL: not read (yet), or it cannot be */
	struct kc__variant *_Atomic latest;  /* of its launches: most are like the one before */
	_Atomic uint32_t variants;           /* launch shapes told apart by arguments */
	_Atomic uint32_t made;               /* launches, where every is not 0 */
	const char *name;
	struct kc__device *device;
	struct kc_resources resources;
	struct kc__code *code; /* NULL: its load was not seen */
	struct kc__parameters parameters;
	struct kc__kernel *next_met;    /* of the code's; tables_lock */
	struct kc__kernel *next_wanted; /* these two: tables_lock, or the reader of what it took from the list */
	bool is_wanted;
	_Atomic bool is_met; /* its code is wanted, or was */
	_Atomic uint32_t reading_done;
	_Atomic uint32_t awaited;      /* launches that wait for that */
	_Atomic int64_t wait_until_ns; /* 0: none has waited */
	struct kc_engine_kernel engine;
	struct kc__early *early;      /* launches looked up before, the newest first; tables_lock */
	struct kc__early *early_made; /* those predicted, the newest first; the device's lock */
	/* Of all its launch shapes that are known well; worker/windows.c */
	struct kc__drift drift;
	uint64_t measured_ns;
};

/* A driver handle on a device */
struct kc__function {
	uint64_t key[2];                   /* handle, device ordinal */
	struct kc__kernel *_Atomic kernel; /* NULL: launches cannot be predicted, for this reason: */
	_Atomic uint32_t unpredictable;    /* enum kc_unpredictable */
	_Atomic uint32_t generation;       /* of module loads, when it was last looked at */
	struct kc__function *next;         /* free; tables_lock */
};

/* All launches of a kernel with the same block shape and dynamic shared memory. */
struct kc__key {
	uint64_t key[3];
	struct kc_shape block; /* no grid */
	struct kc_engine_key engine;
};

/* All launches of a key with the same grid. */
struct kc__shape {
	uint64_t key[4];
	_Atomic uint32_t measured; /* kc_engine_variant.shape_measured */
};

/* All launches of a shape with the same values of the arguments that matter. */
struct kc__variant {
	uint64_t key[5];
	/* What every launch reads is in the first cache line, and in the engine's part. */
	struct kc__early *early; /* first launch, made before the code was read; code/early.h */
	uint32_t id;             /* place in variants[] */
	uint32_t arguments;      /* dictionary; 0: not known, or none matters */
	uint16_t blocks_per_sm;
	uint8_t unpredictable; /* enum kc_unpredictable */
	struct kc__kernel *kernel;
	struct kc_shape dims;
	uint64_t launch_name; /* kc_launch_name(), with its arguments */
	struct kc_engine_variant engine;
	struct kc__variant *successor; /* the same launch, told by its arguments; tables_lock */
	bool awaits_first; /* none of its launches was measured, in earlier runs neither. Worker, once made */
	/* worker/windows.h */
	_Atomic bool known_well;
	struct kc__familiar familiar; /* worker */
};

/* The launches of a stream that await their measured times: worker/join/join.h */
struct kc__stream_wait {
	struct kc_awaited awaited;
	uint32_t device; /* ordinal */
	/* Slot indices: the latest that was measured; the latest at marked_ns; and the latest so long before that the
	 * records of all earlier slots should have come. */
	uint64_t last_measured, marked, settled;
	int64_t last_measured_ns, marked_ns;
};

struct kc__stream {
	uint64_t key[2];                   /* handle, 0; or kind of default stream and context, thread */
	struct kc__device *_Atomic device; /* this and the next two change under the device's lock */
	_Atomic uint32_t id;               /* dictionary; a destroyed stream's handle may return under a new one */
	_Atomic uint32_t lane;             /* its number in the device's timeline; used again after destruction */
	_Atomic uint32_t gone;
	_Atomic uint32_t thread;     /* whose default stream it is; 0: nobody's */
	struct kc__stream_wait wait; /* worker */
	struct kc__stream *next;     /* of those that are gone, or free; tables_lock */
	uint64_t gone_at;            /* likewise: what was launched in it is in slots before this one */
};

struct kc__event {
	_Atomic uint64_t handle;
	_Atomic int64_t ready_ns; /* predicted; 0: nobody waits for it */
};

struct kc__graph_exec; /* graph.c */
/* A CUgraphExec */
struct kc__graph {
	uint64_t key[1];
	struct kc__graph_exec *exec; /* NULL: not known */
	struct kc__graph *next;      /* free; tables_lock */
};

/* A limit of ours */
struct kc__limit {
	_Atomic bool reached; /* there was no room for something */
	bool said;            /* worker */
};

/* Open addressing; entries begin with their key */
struct kc__table {
	void *_Atomic *slots;
	uint32_t mask, count, limit;
	struct kc__limit full;
};

/* Memory for the tables' entries and whatever else is never freed. tables_lock guards it. */
struct kc__arena {
	char *at;
	size_t left_bytes, total_bytes;
	struct kc__limit full, scarce;
};

/* The account of the time that reading kernels' code has taken. */
struct kc__reading_cost {
	int64_t spent_ns, rests_until_ns;
	int64_t evaluated_ns; /* of that, for launches made before (early.c) */
};

/* The runtime's calls that put work on a device. */
enum kc__calls { KC__LAUNCH_CALLS, KC__GRAPH_CALLS, KC__TRANSFER_CALLS, KC__CALLS };

/* Of the window that is open (worker/windows.h): of what is known well only a share is measured. */
struct kc__window_counts {
	_Atomic bool shares;
	_Atomic uint64_t skip, size; /* struct kc__window_share */
	_Atomic uint64_t made;       /* launches of what is known well */
	_Atomic uint64_t measured;   /* of these */
	_Atomic uint64_t in_graphs;  /* besides, kernels of graphs that are measured */
	/* When the first was made that is measured, and the first after those that is not; 0: none yet. */
	_Atomic int64_t begun_ns, ended_ns;
};

struct kc__state {
	/* Of this process alone: the kernel zeroes this page in every child that does not share our memory, even where
	 * no handler of fork() runs (lifecycle.c). */
	union {
		struct {
			_Atomic int stage;
			_Atomic int ours; /* 0: what follows the page belongs to a parent */
			int tried;        /* one attempt per process; start_lock */
			pthread_mutex_t start_lock;
			_Atomic uint32_t said[KC_MESSAGE_COUNT];
			_Atomic uint32_t unwritten[KC_MESSAGE_COUNT]; /* the journal had no room */
			_Atomic uint32_t lines;                       /* on stderr */
		};
		char page[KC__WHOLE_PAGES_BYTES];
	} __attribute__((aligned(KC__WHOLE_PAGES_BYTES)));
	/* What every launch reads is close together: the caches that it meets are empty. */
	struct kc_journal *journal __attribute__((aligned(KC__LINE_BYTES)));
	struct kc_journal_header *_Atomic header;
	_Atomic int captures;               /* streams being captured; counted before recording begins, too */
	_Atomic uint32_t module_generation; /* grows with every unload: handles may be reused */
	_Atomic uint32_t unmeasured;        /* enum kc_unmeasured of launches from now on; 0: CUPTI measures */
	_Atomic uint32_t resting;           /* KC_KNOWN_WELL: CUPTI could measure, and is not to (worker/windows.h) */
	_Atomic uint32_t enclosing_of[KC__CALLS]; /* bool: runtime calls report their ids; correlation.c */
	bool adaptive;                            /* --measure=adaptive */
	struct kc__table functions __attribute__((aligned(KC__LINE_BYTES))), streams;
	struct kc_engine engine;
	struct kc_options options;
	struct kc__device devices[KC__DEVICES_MAX];
	int device_count;
	int driver_version;
	struct kc_store_bound start_reads; /* what the start may take to read from the database */
	_Atomic int64_t exit_ns;           /* when the process began to exit; 0: it has not */
	_Atomic uint64_t routed_by_name;   /* counted before there was a journal */
	_Atomic uint64_t left_unhooked;    /* counted before there was a journal */
	_Atomic bool green_contexts;       /* a stream is of one: it has a part of the SMs */
	_Atomic int second_driver;         /* a driver that is not watched has been bound to */
	_Atomic uint32_t context_generation;
	_Atomic(CUcontext) last_context; /* that a thread has come with for the first time */
	_Atomic uint32_t transfers_unmeasured;
	bool whole_graphs; /* --graphs=whole, and something is measured */
	/* Launches of what is not, since it began to measure or to rest, and their predicted time */
	_Atomic uint32_t not_known_well;
	_Atomic uint64_t not_known_well_ns;
	struct kc__window_counts window;
	bool choosing; /* --kernel or --every: of what the timeline sees, not all is stored */
	pthread_mutex_t tables_lock;
	/* While an event is taken in; before tables_lock and a device's lock, never while the driver is called */
	pthread_mutex_t learning;
	struct kc__table kernels, keys, shapes, variants, handles, graphs, codes;
	struct kc__event *events; /* events.c */
	struct kc__limit events_full;
	struct kc__arena arena;
	struct kc__variant *_Atomic *variant_by_id;
	struct kc__stream *_Atomic *stream_by_id; /* KC__STREAM_PLACES, by their low bits */
	uint64_t *stream_lanes; /* likewise: id << 8 | lane, of streams that were given back, too; the device's lock */
	struct kc__stream *gone_streams, *free_streams; /* tables_lock, as the next three */
	struct kc__graph *free_graphs;
	struct kc__function *free_functions;
	uint32_t functions_gone; /* so far, with their modules */
	struct kc__handle *free_handles;
	_Atomic uint32_t stream_count; /* tables_lock; read by the worker */
	uint32_t variant_count, kernel_count, argument_count;
	struct kc__kernel *wanted; /* kernels whose code is to be read; tables_lock */
	struct kc__reading_cost reading;
	int64_t careful_ns;           /* that counting launches with more effort has taken (variants.c); tables_lock */
	int64_t streams_looked_at_ns; /* worker: whether threads with a default stream have ended (streams.c) */
	_Atomic uint32_t graph_launches; /* recorded so far */
	_Atomic uint32_t formulas;       /* of kernels, ready so far */
};
extern struct kc__state kc__shim;

struct kc__thread {
	/* What every launch needs is in the first cache line. */
	int depth __attribute__((aligned(KC__LINE_BYTES))); /* > 0: inside a call that is being recorded */
	uint32_t correlation;                               /* set by CUPTI's callback during the call */
	uint32_t before;                                    /* the same of the last call that had one */
	uint32_t enclosing;             /* likewise, of the runtime call around that call; 0: none */
	uint32_t runtime_call;          /* of the runtime call that this thread is in now */
	uint32_t id;                    /* Linux thread id */
	uint32_t call_site;             /* of the runtime call this thread is in; 0: none, or not known */
	bool reached_driver;            /* that call has met a driver hook */
	int *error;                     /* where its errno is; NULL: not asked yet */
	uint64_t recorded;              /* launches and transfers made so far, the kernels of graphs one by one */
	CUcontext context;              /* cache: context -> device */
	struct kc__range_stack *ranges; /* open on the thread; NULL: it has had none */
	uint32_t context_generation;
	struct kc__device *device;
	uint32_t ordinal;          /* of the device of its last launch */
	struct kc__clones *clones; /* not NULL: a graph is being instantiated */
	struct kc__launch_rate rate;
	size_t graph_kernels; /* of the graph whose launch this thread is in */
	bool in_runtime;
	bool in_init;  /* inside the application's cuInit, which came by our hook */
	bool in_dlsym; /* these two: dlsym.c */
	bool probes_dlsym;
	bool own_files; /* its descriptor table and file-system state are ours (files.c) */
};
extern __thread struct kc__thread kc__thread __attribute__((tls_model("initial-exec")));

/* The calling thread's errno, without a call of the C library at each launch. */
static inline int *kc__errno(struct kc__thread *t)
{
	if (__builtin_expect(!t->error, 0))
		t->error = &errno;
	return t->error;
}

/* identify.c */
/* All but the folder. Opens files. */
void kc__identify(struct kc_journal_header *header, const struct kc_options *options);

/* lifecycle.c */
int64_t kc__now_ns(void);
static inline int64_t kc__processor_ns(void) /* that this thread has taken */
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
/* Begins to record, once: after cuInit has succeeded, or at a launch. wait: for a start that is under way. */
void kc__start(bool wait);
bool kc__records_us(void); /* false in a child, even where the kernel has no MADV_WIPEONFORK */
uint32_t kc__thread_id(struct kc__thread *t);
static inline int kc__recording(void)
{
	return atomic_load_explicit(&kc__shim.stage, memory_order_acquire) & KC__ON;
}
/* Why a launch or transfer that is made now will not be measured; KC_MEASURED: it will. why: of launches or of
 * transfers.
 */
static inline uint8_t kc__unmeasured(const _Atomic uint32_t *why)
{
	uint32_t reason = atomic_load_explicit(why, memory_order_relaxed);

	return (uint8_t)(reason ? reason : atomic_load_explicit(&kc__shim.resting, memory_order_relaxed));
}
/* Recording has begun and may be paused: what is known of the application is kept up to date. */
static inline bool kc__begun(void)
{
	return atomic_load_explicit(&kc__shim.stage, memory_order_acquire) & (KC__ON | KC__PAUSED);
}
static inline bool kc__usual(void)
{
	return atomic_load_explicit(&kc__shim.stage, memory_order_acquire) == KC__ON;
}
static inline bool kc__counting(void)
{
	return atomic_load_explicit(&kc__shim.stage, memory_order_relaxed) == KC__COUNTED;
}
static inline bool kc__paused(void)
{
	return atomic_load_explicit(&kc__shim.stage, memory_order_acquire) == KC__PAUSED;
}
/* A launch or transfer was refused by a pause, which may have ended since, and not by the process's end. */
static inline bool kc__was_paused(void)
{
	return kc__paused() || (kc__begun() && !atomic_load(&kc__shim.exit_ns));
}
/* This process was recorded, and recording has ended: further launches are counted (KC_COUNT_AFTER_END). */
static inline bool kc__ended(void)
{
	return (atomic_load_explicit(&kc__shim.stage, memory_order_acquire) & KC__DISABLED) && kc__shim.header;
}
/* The exit was seen to wait, and may have stopped since: whether one more launch or transfer is recorded. */
bool kc__exit_allows(void);
static inline bool kc__admitted(void)
{
	int stage = atomic_load_explicit(&kc__shim.stage, memory_order_acquire);

	return __builtin_expect(stage == KC__ON, 1) || stage == KC__COUNTED ||
	       (stage == KC__EXITING && kc__exit_allows());
}

/* Launches after the end, in any thread: the count outlives the process. */
void kc__count_after_end(uint64_t kernels);
/* Worker: closes the journal, and deletes its file if everything is stored (done), such counts included. */
void kc__close_journal(bool done, uint64_t stored_count);

/* say.c: a message to the user: stderr (capped) and the `message` table */
void kc__say(enum kc_message_code code, const char *detail);
void kc__say_remember(void); /* which file standard error is; at the load, once */
/* Also when the same was said before with another detail. */
void kc__say_again(enum kc_message_code code, const char *detail);
void kc__say_journal_memory(void); /* if it is, and why */
void kc__say_journal_full(void);
/* Worker: a message that the journal had no room for, as a slot outside any journal. false: there is none. */
bool kc__say_unwritten(uint32_t code, struct kc_slot *slot);
/* Writes the lines of threads that do not have the application's standard error. */
void kc__say_waiting(void);
void kc__say_forget(void); /* fork child */

#endif

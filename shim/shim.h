/*
 * The preloaded library's own header: one process-wide struct, and below it the
 * functions files call in one another, by file.
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
#include "shim/worker/cupti/buffers.h"
#include "store/common/message.h"
#include "store/common/options.h"
#include "store/database/store.h"
#include "store/journal/journal.h"

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
#define KC__PAGE_BYTES 4096
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
	uint32_t ordinal;
	char uuid[2 * KC_UUID_BYTES + 1]; /* hexadecimal */
	int known;
	struct kc_device info;
	pthread_mutex_t lock; /* guards timeline; held for a few hundred ns, never across a driver call */
	struct kc_timeline *timeline;
	uint64_t lanes[KC__LANES_MAX / 64]; /* of the timeline, in use; tables_lock */
	struct kc_engine_device engine;
	struct kc_history history;         /* with timeline */
	int64_t seen_ns;                   /* likewise: the host time of what it was last told */
	struct kc_estimate_cache *answers; /* likewise */
};

struct kc__code;    /* loaded_code.h */
struct kc__handle;  /* handles.c */
struct kc__formula; /* kernel_formula.h */
struct kc__early;   /* early.c */

/* As the launch call was given them; both may be NULL. */
struct kc__given {
	void *const *params; /* a pointer for each parameter */
	void *const *extra;  /* CU_LAUNCH_PARAM_BUFFER_POINTER, … */
};

struct kc__packed; /* kernel_formula.h */

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
	const char *name;
	uint32_t id; /* dictionary */
	struct kc__device *device;
	struct kc_resources resources;
	struct kc__code *code; /* NULL: its load was not seen */
	struct kc__parameters parameters;
	const struct kc_features *features; /* of the device's code, for the worker; NULL: not looked for */
	struct kc__kernel *next_wanted;     /* these two: tables_lock, or the reader of what it took from the list */
	bool is_wanted;
	struct kc__formula *_Atomic formula; /* NULL: not read (yet), or it cannot be */
	_Atomic uint32_t reading_done;
	_Atomic uint32_t awaited;      /* launches that wait for that */
	_Atomic int64_t wait_until_ns; /* 0: none has waited */
	uint32_t every;                /* 0: every launch is asked for; else one in so many, or KC__NEVER */
	_Atomic uint32_t made;         /* launches, where every is not 0 */
	struct kc_engine_kernel engine;
	struct kc__early *early;            /* launches looked up before, the newest first; tables_lock */
	struct kc__early *early_made;       /* those predicted, the newest first; the device's lock */
	_Atomic uint32_t variants;          /* launch shapes told apart by arguments */
	struct kc__variant *_Atomic latest; /* of its launches: most are like the one before */
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
	struct kc_engine_shape engine;
};

/* All launches of a shape with the same values of the arguments that matter. */
struct kc__variant {
	uint64_t key[5];
	struct kc__kernel *kernel;
	uint32_t id;            /* place in variants[] */
	uint32_t unpredictable; /* enum kc_unpredictable */
	uint32_t arguments;     /* dictionary; 0: not known, or none matters */
	struct kc_shape dims;
	struct kc_engine_variant engine;
	struct kc__early *early;       /* first launch, made before the code was read */
	struct kc__variant *successor; /* the same launch, told by its arguments; tables_lock */
	_Atomic bool known_well;       /* worker/windows.h */
	uint8_t inside;                /* worker: of the last eight measurements, a bit each */
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
		char page[KC__PAGE_BYTES];
	} __attribute__((aligned(KC__PAGE_BYTES)));
	struct kc_options options;
	struct kc_journal *journal;
	struct kc_journal_header *header;
	struct kc__device devices[KC__DEVICES_MAX];
	int device_count;
	int driver_version;
	struct kc_store_bound start_reads;  /* what the start may take to read from the database */
	_Atomic int64_t exit_ns;            /* when the process began to exit; 0: it has not */
	_Atomic uint64_t routed_by_name;    /* counted before there was a journal */
	_Atomic uint64_t left_unhooked;     /* counted before there was a journal */
	_Atomic int second_driver;          /* a driver that is not watched has been bound to */
	_Atomic int captures;               /* streams being captured; counted before recording begins, too */
	_Atomic uint32_t module_generation; /* grows with every unload: handles may be reused */
	_Atomic uint32_t context_generation;
	_Atomic(CUcontext) last_context; /* that a thread has come with for the first time */
	_Atomic uint32_t unmeasured;     /* enum kc_unmeasured of launches from now on; 0: CUPTI measures */
	_Atomic uint32_t transfers_unmeasured;
	_Atomic uint32_t resting;        /* KC_KNOWN_WELL: CUPTI could measure, and is not to (worker/windows.h) */
	bool adaptive;                   /* --measure=adaptive */
	_Atomic uint32_t not_known_well; /* launches of what is not, since it began to measure or to rest */
	bool choosing;                   /* --kernel or --every: of what the timeline sees, not all is stored */
	pthread_mutex_t tables_lock;
	pthread_mutex_t learning; /* while an event is taken in; before tables_lock and a device's lock */
	struct kc_engine engine;
	struct kc__table functions, kernels, keys, shapes, variants, streams, handles, graphs, codes;
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
	struct kc__code *unplaced; /* code of such kernels whose place is to be noted; tables_lock */
	struct kc__reading_cost reading;
	int64_t careful_ns;           /* that counting launches with more effort has taken (variants.c); tables_lock */
	int64_t streams_looked_at_ns; /* worker: whether threads with a default stream have ended (streams.c) */
	_Atomic uint32_t graph_launches;          /* recorded so far */
	_Atomic uint32_t formulas;                /* of kernels, ready so far */
	_Atomic uint32_t enclosing_of[KC__CALLS]; /* bool: runtime calls report their ids; correlation.c */
};
extern struct kc__state kc__shim;

struct kc__thread {
	int depth;             /* > 0: inside a call that is being recorded */
	uint32_t correlation;  /* set by CUPTI's callback during the call */
	uint32_t enclosing;    /* likewise, of the runtime call around that call; 0: none */
	uint32_t runtime_call; /* of the runtime call that this thread is in now */
	uint32_t id;           /* Linux thread id */
	CUcontext context;     /* cache: context -> device */
	uint32_t context_generation;
	struct kc__device *device;
	struct kc__clones *clones; /* not NULL: a graph is being instantiated */
	uint64_t recorded;         /* launches and transfers made so far, the kernels of graphs one by one */
	struct kc__launch_rate rate;
	size_t graph_kernels; /* of the graph whose launch this thread is in */
	uint32_t call_site;   /* of the runtime call this thread is in; 0: none, or not known */
	bool in_runtime;
	bool reached_driver; /* that call has met a driver hook */
	bool in_init;        /* inside the application's cuInit, which came by our hook */
	bool in_dlsym;       /* these two: dlsym.c */
	bool probes_dlsym;
	bool own_files; /* its descriptor table and file-system state are ours (files.c) */
};
extern __thread struct kc__thread kc__thread __attribute__((tls_model("initial-exec")));

/* A launch or transfer being recorded, on the caller's stack. */
struct kc__call {
	struct kc_slot *slot;      /* NULL: dropped */
	struct kc__stream *stream; /* NULL: not known */
	uint32_t ticket;           /* of a transfer */
	int saved_errno;
};

struct link_map; /* link.h */

/* real.c: the functions behind the hooks */
extern void *_Atomic kc__real[KC_HOOK_COUNT];
#define KC_REAL(symbol) ((__typeof__(&symbol))kc__real_of(KC_HOOK_##symbol))
void *kc__real_slow(enum kc_hook hook);
static inline void *kc__real_of(enum kc_hook hook)
{
	void *f = atomic_load_explicit(&kc__real[hook], memory_order_relaxed);
	return __builtin_expect(f != NULL, 1) ? f : kc__real_slow(hook);
}
const char *kc__hook_symbol(enum kc_hook hook);
/* The driver's own function, hooked or not; NULL where the driver lacks it. */
void *kc__driver_symbol(const char *symbol);
#define KC_ASK(symbol) ((__typeof__(&symbol))kc__driver_symbol(#symbol))
/* The hook for an exported symbol's name, -1 for none. */
int kc__hook_by_symbol(const char *symbol);
/* What to answer with in place of an address that the driver has found: our hook, or the address itself. */
void *kc__route_symbol(const char *symbol, void *handle, void *address);
void *kc__route_proc(const char *name, int version, bool per_thread, void *address);
int kc__is_ours(const void *address);
/* Or ours, in its place. handle: by which the application asked for it */
bool kc__is_drivers(const void *address, void *handle);
/* The same for a binding, which the loader asks about in the middle of its work.
 * base_driver: the driver in the base namespace, NULL where there is none. */
void *kc__route_binding(const char *symbol, void *address, struct link_map *base_driver);
bool kc__driver_reached(void); /* by a call or look-up that we have seen */
bool kc__driver_apart(void);   /* the driver is in a namespace of its own (dlmopen) */
bool kc__apart(void);          /* we are in one: the driver there has loaded us (inject.c) */

/* object.c: a function that one loaded object exports, NULL: it does not */
void *kc__object_symbol(const struct link_map *object, const char *name);
bool kc__same_name(const char *a, const char *b); /* as strcmp(), which is not always there for a look-up */
/* A function that the object with this address, or one that it is linked to, exports; NULL: none. It leaves dlerror()
 * as dlsym() does. */
void *kc__callers_symbol(const void *caller, const char *name);
bool kc__in_our_object(const void *address);
struct link_map *kc__object_of(const void *address); /* NULL: none */
/* The object calls the function by its name: the call is bound to the first library that has it. */
bool kc__object_calls(const struct link_map *object, const char *name);
/* Of the functions that the object calls by name, one is bound to an address for which this is true. */
bool kc__object_is_bound(const struct link_map *object, bool (*is)(const char *name, const void *address));

/* dlsym.c: the C library's, for look-ups of our own */
extern void *(*kc__real_dlsym)(void *, const char *);
void *(*kc__dlsym_find_real(void))(void *, const char *);
/* The first of all objects, which is a handle as of dlopen(NULL). */
struct link_map *kc__program(void);
/* Where it would answer with a function of the driver, another preloaded library's dlsym answers the application. */
bool kc__dlsym_interposed(void *handle, const char *name);
void *kc__dlsym_behind_us(const char *name); /* in the loader's order; dlerror() as dlsym() leaves it */
/* What the loader would have bound the caller to without us: the global scope comes first, then what the caller's
 * object is linked to. NULL: nothing, and dlerror() is as dlsym() leaves it. */
void *kc__found_without_us(const char *name, const void *caller);

/* bypass.c: at the end of a process of which nothing was seen: says it where the driver is loaded all the same */
void kc__say_bypassed(void);

/* memory.c */
/* Whether the process may still map what recording can need (256 MiB). Where it may not (RLIMIT_AS), recording would
 * take the last of it: an allocation that cannot fail, such as a library's thread-local data, then ends the process. */
bool kc__memory_is_left(void);
void *kc__map(size_t bytes); /* zeroed pages; NULL: no memory */
/* Zeroed, for what points to memory of the heap; NULL: no memory. */
void *kc__map_root(size_t bytes);
void kc__unmap_root(void *p, size_t bytes);

/* Memory that grows with what the application does, divided into shares. Any thread may take some, in whole pages. */
#define KC__SHARED_BYTES ((size_t)18 << 20)
enum kc__share {
	KC__SHARE_ENTRIES, /* of the tables, and what they point to */
	KC__SHARE_BUFFERS, /* CUPTI's */
	KC__SHARE_CODE,    /* copies of it, formulas, and what reading takes */
	KC__SHARES,
};
static inline size_t kc__whole_pages(size_t bytes)
{
	return (bytes + KC__PAGE_BYTES - 1) & ~(size_t)(KC__PAGE_BYTES - 1);
}
bool kc__share_take(enum kc__share share, size_t bytes); /* false: the share has less left than that */
void kc__share_give(enum kc__share share, size_t bytes);
size_t kc__share_left(enum kc__share share);
bool kc__share_has_own(enum kc__share share); /* of what it has for itself, some is not taken */
void kc__shares_begin(void);                  /* nothing is taken */

/* tables.c */
int kc__tables_init(void);
/* The caller holds tables_lock. Returns zeroed memory that is never freed, or NULL: no memory, or KC__SHARE_ENTRIES has
 * none left. */
void *kc__arena(size_t bytes);
bool kc__entries_are_scarce(void);     /* for a kernel that is launched for the first time; tables_lock held */
bool kc__tables_have_kept_loads(void); /* of code, all that were seen */
struct kc__device *kc__current_device(struct kc__thread *t, CUcontext *context);
void kc__context_ends(void);    /* a new one may get its address */
void kc__tables_say_full(void); /* worker */

/* room.c: beyond the stack of the application's thread */
#define KC__ROOM_BYTES (20u << 10)
/* Memory for a moment, not cleared; NULL: there is none. At the first time, and where several threads have some at
 * once, it is mapped. */
void *kc__room_take(void);
void kc__room_give(void *room); /* may be NULL */
/* A path as a thread with another working folder finds it: itself, or made in out; NULL: it is too long, or the folder
 * is gone. */
const char *kc__absolute_path(const char *path, char *out, size_t size);
int kc__deep_begin(void); /* 0 or -errno */
/* tables_lock held. Calculates on a stack of ours, with the application's signals blocked. Neither the driver nor the
 * loader may be called from there. */
void kc__deep(void (*work)(void *arg), void *arg);

/* functions.c */
/* Asks the driver for a function's parameters, of which it takes KC__PARAMETERS_MAX at most. as_kernel: the handle is a
 * CUkernel where nothing else tells. Returns false if the driver cannot tell, or if the function has no parameter. */
bool kc__ask_parameters(CUfunction f, bool as_kernel, struct kc__parameter *at, uint32_t *count);
struct kc__function *kc__function_of(CUfunction f, struct kc__device *device);
void kc__function_gone(CUfunction f); /* on any device. tables_lock held */
struct kc__variant *kc__variant_of(struct kc__kernel *kernel, CUfunction f, const struct kc_shape *dims,
				   const struct kc__given *given);
/* The code has been read since the variant was looked up: kc__variant_of() finds the one with the arguments. */
bool kc__variant_is_outdated(const struct kc__variant *variant);
/* Worker, tables_lock held: the same launch, told by its arguments, before a launching thread has to work that out.
 * before: made without them. The formula need not have been published. */
void kc__variant_prepare(struct kc__variant *before, struct kc__formula *formula);

/* early.c: launches made before their kernel's code had been read. What they
 * were given is kept, so that their measured time counts as a known size. */
/* tables_lock held. The first launch of a variant. */
void kc__early_keep(struct kc__variant *variant, const struct kc__given *given);
void kc__early_made(struct kc__variant *variant, int64_t predicted_at_ns); /* the device's lock is held */
/* Gets what the first launch of the variant was given. Returns false if that was not kept. */
bool kc__early_given(const struct kc__variant *variant, struct kc__packed *packed, struct kc__given *given);
/* Worker, formulas are held: the launch predicted then took so long, alone. true: its code is read, and
 * kc__early_teach() can follow. */
bool kc__early_measured(struct kc__variant *variant, int64_t predicted_at_ns, int64_t measured_ns);
/* Worker, tables_lock held: the time of the first launch teaches as if the code had told its work before. */
void kc__early_teach(struct kc__variant *variant);
/* The same for every variant of the kernel that has such a time, beginning with the one predicted last, as a replay
 * knows no other order. The device's lock is held, too. */
void kc__early_teach_all(struct kc__kernel *kernel);
/* The kernel's code has been read; launches do not know it yet. Returns the newest that has been prepared. */
const struct kc__early *kc__early_prepare(struct kc__kernel *kernel, struct kc__formula *formula);
/* tables_lock held: prepares the launches made since then. */
void kc__early_prepare_rest(struct kc__kernel *kernel, struct kc__formula *formula, const struct kc__early *prepared);
/* tables_lock and the device's lock held: what the launches taught that were predicted so far holds for their
 * successors. */
void kc__early_succeed(struct kc__kernel *kernel);
/* Reader: the kernel's code has been read, or never will be. */
void kc__early_settle(struct kc__kernel *kernel);

/* recall.c: gives new entries what earlier runs taught of them. tables_lock is held, except for kc__recall_begin(). */
void kc__recall_begin(void); /* devices are known, recording has not begun */
void kc__recall_kernel(struct kc__kernel *kernel);
struct kc_past_text;
const struct kc_past_text *kc__recalled_text(const struct kc__kernel *kernel); /* NULL: none */
struct kc_name kc__name_of(const struct kc__kernel *kernel, const struct kc_shape *dims, const char *arguments);
void kc__recall_key(struct kc__key *key, const struct kc__kernel *kernel, const struct kc_shape *dims);
void kc__recall_shape(struct kc__shape *shape, const struct kc__kernel *kernel, const struct kc_shape *dims);
void kc__recall_variant(struct kc__variant *variant, const char *arguments);

/* The device's lock is held. The host time of what the timeline is told next, which was now_ns before the lock: no two
 * are the same, and their order is the timeline's. (No clock is read under the lock: the application may have put its
 * own in place of the C library's.) */
static inline int64_t kc__in_order(struct kc__device *device, int64_t now_ns)
{
	device->seen_ns = now_ns > device->seen_ns ? now_ns : device->seen_ns + 1;
	return device->seen_ns;
}

/* streams.c */
/* NULL: not known, as its device is not, or as the table is full. */
struct kc__stream *kc__stream_of(CUstream stream, bool per_thread);
/* The same; *device: where it is, NULL: not known. */
struct kc__stream *kc__stream_on(CUstream stream, bool per_thread, struct kc__device **device);
void kc__stream_created(CUstream stream);
void kc__stream_destroyed(CUstream stream);
/* NULL: it is gone, and nothing in it is awaited any more. */
struct kc__stream *kc__stream_by_id(uint32_t id);
/* The lane that a stream has or had; -1: KC__STREAM_PLACES streams were made since. The device's lock is held. */
int kc__stream_lane(uint32_t id);
/* Worker: frees the entries of streams that are gone, and of the default streams of threads that have ended, for other
 * streams. looked_at: the join has looked at all slots before this index. */
void kc__streams_give_back(uint64_t looked_at, int64_t now_ns);
/* Notes what the timeline has been told of a stream, or of the device (stream NULL). The device's lock is
 * held: such notes stand in the journal in the order in which the timeline saw them. */
void kc__put_stream_call(const struct kc__device *device, const struct kc__stream *stream,
			 enum kc_stream_call_kind kind, int64_t time_ns, int64_t ns);
struct kc__graph *kc__graph_of(CUgraphExec exec, bool make);
void kc__graph_let_go(struct kc__graph *graph); /* it is destroyed */

/* events.c */
int kc__events_init(void);
struct kc__event *kc__event_of(CUevent event, bool make); /* NULL: not known, or there is no room */
void kc__event_destroyed(CUevent event);                  /* before the call: its handle may be another's next */
void kc__events_happened(void);                           /* nobody waits for any of them any more */

/* graph.c: an instantiated copy of a node, and its id in CUPTI's records */
void kc__graph_node_cloned(CUgraphNode original, uint64_t id);

/* driver_devices.c */
/* 0: there is one. -EAGAIN: the driver is not initialised (yet); -ENODEV: none. */
int kc__devices_look(void);
int kc__devices_init(void); /* after kc__devices_look() */

/* transfer.c */
/* The call failed: it never occupied the stream. slot: of its record, NULL: it was dropped. */
void kc__cancel(struct kc__stream *stream, const struct kc_slot *slot, uint32_t ticket);
bool kc__transfer_begin(struct kc__call *call, enum kc_transfer_kind kind, uint64_t bytes, CUstream stream,
			bool per_thread);
void kc__transfer_end(struct kc__call *call, CUresult result, bool synchronous);
/* runtime.c */
void kc__runtime_forget(void); /* fork child */

/* launch.c */
bool kc__capturing(CUstream stream, bool per_thread); /* may ask the driver; errno is kept */

/* order.c: around calls that begin captures, and after those that end them. Returns what _failed() takes back. */
int kc__capture_begins(void);
void kc__capture_failed(int counted);
void kc__capture_ended(CUresult result);

/* cig.c: whether the stream is being captured into a command list of a graphics API */
bool kc__cig_capturing(CUstream stream, bool per_thread);

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

/* A launch after the end has been counted: the count must outlive the process. */
void kc__keep_count(void);
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

/* A call of the driver that puts work on a device begins: which correlation ids it has is told by callbacks. */
static inline void kc__expect_ids(enum kc__calls calls)
{
	bool asked = atomic_load_explicit(&kc__shim.enclosing_of[calls], memory_order_relaxed);

	kc__thread.correlation = 0;
	kc__thread.enclosing = asked ? kc__thread.runtime_call : 0;
}

/* correlation.c: which correlation id this CUPTI's records carry, that of the driver's call or that of the runtime call
 * around it, and what is asked of CUPTI accordingly */
void kc__correlation_begin(bool transfers);                  /* CUPTI's subscriber is ours */
void kc__correlation_runtime_call(uint32_t id, bool begins); /* callback */
/* Worker: a record matched a launch or transfer that has both ids. */
void kc__correlation_matched(enum kc__calls calls, bool by_enclosing);
void kc__correlation_unmatched(enum kc__calls calls); /* Worker: a record matched nothing. */

/* cupti.c */
/* Has callbacks of the runtime's domain sent, or no more. */
void kc__cupti_runtime_callbacks(const uint32_t *ids, size_t count, bool enable);
enum kc_unmeasured kc__cupti_attach(const struct kc_options *options);
/* Worker: the same, after the application's profiler has ended. What is launched from then on is measured. */
void kc__cupti_attach_again(const struct kc_options *options);
/* The fields of a CUPTI activity record that we use. Its times have been converted to our clock, kc__now_ns(). */
struct kc__record {
	uint32_t correlation;
	uint32_t is_kernel;
	uint64_t graph_node; /* 0: not of a graph */
	uint32_t grid[3], block[3];
	int64_t start_ns, end_ns;
};
/* cupti_record.c: offset_ns: its clock is ahead of ours by. false: of a kind that is not asked for */
bool kc__cupti_read(const void *activity, int64_t offset_ns, struct kc__record *record);
/* Worker: asks CUPTI for finished records; forced: also of unfinished buffers. */
void kc__cupti_flush(bool forced);
/* Worker: hands delivered records to fn, in whole buffers, until so many bytes have been read. */
void kc__cupti_read_at_most(size_t bytes);
bool kc__cupti_has_records(void); /* more are delivered */
void kc__cupti_drain(void (*fn)(const struct kc__record *record, void *arg), void *arg);
uint64_t kc__cupti_dropped(void);
/* What starts earlier than its launch by more than this, or has ended later than its record came, has times of another
 * clock: github.com/pytorch/pytorch/issues/192021. */
int64_t kc__cupti_clock_error_ns(void);
void kc__cupti_detach(void); /* disables our activity kinds */
void kc__cupti_rest(void);   /* the same, and the callbacks of launches and transfers */
bool kc__cupti_resume(void); /* enables all of them again. false: CUPTI refuses, and is not asked any more */
void kc__cupti_forget(void); /* fork child */
/* Has callbacks sent to kc__injected_call(), too. false: CUPTI refuses. */
bool kc__cupti_watch(const struct kc_options *options);
/* The application wants CUPTI: gives it up, until kc__cupti_attach_again(). claims: it has chosen what CUPTI is to
 * record, so we do not take it either. true: we had it; *watched: for kc__injected_call(), too. */
bool kc__cupti_hand_over(bool claims, bool *watched);
/* Where the copy is loaded that records for us and nobody else; NULL: there is none. */
const void *kc__cupti_base(void);
void kc__cupti_unclaimed(void);             /* what it has chosen holds no more */
void *kc__cupti_symbol(const char *symbol); /* of the copy that is loaded; NULL: none is */

/* profiler.c: the number of a CUPTI function whose use by the application takes precedence; -1: it is none of them */
int kc__profiler_function(const char *symbol);
/* Worker: the application's profiler has ended since this was asked last, and CUPTI may be called. */
bool kc__profiler_has_ended(void);
/* Functions that the application has registered with CUPTI, and may count on when it profiles again. NULL: none */
struct kc__profiler_told {
	void *requested, *completed, *clock;
};
void kc__profiler_told(struct kc__profiler_told *told);
void kc__profiler_forget(void); /* fork child */
/* What dlsym() is to answer its caller, where the real one has found address. */
void *kc__profiler_route(int function, void *address, const void *caller);

/* compiler.c: the number of a function of NVRTC or nvJitLink that is hooked; -1: it is none of them */
int kc__compiler_function(const char *symbol);
/* What dlsym() is to answer its caller, where the real one has found address. */
void *kc__compiler_route(int function, const char *symbol, void *address, const void *caller);

/* inject.c: the entry points beside LD_PRELOAD */
void kc__tell_audit(void); /* the address of kerncast_route() */
/* Driver calls that must be seen where no function can be interposed. */
extern const uint32_t kc__injected_ids[];
extern const size_t kc__injected_count;
/* A CUpti_CallbackData of the driver's domain; true: nobody else is to look at it. */
bool kc__injected_call(uint32_t id, const void *data);
bool kc__injected(void);
bool kc__injected_alone(void); /* and not preloaded: transfers are not seen */

/* learn.c: worker */
void kc__learn_begin(void); /* before devices are made */
void kc__learn_measured(struct kc_launch *launch);
/* What it puts on the device, for the launches that overlap it. */
struct kc_load kc__learn_load(const struct kc_launch *launch);
/* met: what the launches it overlapped put on the device meanwhile. */
void kc__learn_decided(struct kc_launch *launch, const struct kc_load *met);
void kc__learn_transfer(struct kc_transfer *transfer);
void kc__learn_past(void); /* what earlier processes taught has been taken in */
/* From here on launches of the kernel are predicted from its code, with what earlier launches of their shape taught.
 * prepared: of kc__early_prepare(). */
void kc__learn_formula(struct kc__kernel *kernel, struct kc__formula *formula, const struct kc__early *prepared);
void kc__learn_sizes(struct kc__kernel *kernel); /* kc__early_teach_all() */

/* flush.c: worker. measured_ns: for how long we have measured */
void kc__flush_begin(void); /* nothing was asked for yet */
bool kc__flush_is_due(int64_t now_ns, int64_t measured_ns);
bool kc__flush_is_wanted(int64_t now_ns); /* it is due, and the application has waited for its work */
void kc__flush(void);
void kc__flush_not_needed(void); /* nothing is awaited */
/* Any thread of the application: it has waited for its work to end, so there are measurements to be had. The worker
 * asks CUPTI for them soon, if anything was recorded since the last time. */
void kc__work_ended(void);

/* libc.c */
void kc__libc_find(void); /* kc__real_dlsym is known */

/* files.c */
/* A thread of ours with a descriptor table and a file-system state of its own. 0; -errno: the kernel grants none, or
 * there can be no thread. */
int kc__make_files_thread(pthread_t *thread, void *(*fn)(void *arg), void *arg);
/* Two threads that do what they are asked for, until the process ends or the second call. 0 or -errno. */
int kc__files_begin(void);
void kc__files_end(void);
int kc__application_begin(void);
void kc__application_end(void);
/* Does the work on the one whose descriptors are ours, and waits for it; where it has not begun, on one that ends with
 * the work. Nothing but short work while the application launches, as launching threads may
 * wait for it; no lock may be taken that a caller may hold. SQLite needs more stack than a thread of the application
 * may have, and makes files grow, which past RLIMIT_FSIZE raises a signal in the thread that does it. 0; -errno: there
 * can be no such thread, and nothing was done. */
int kc__files_do(void (*work)(void *arg), void *arg);
/* The same with the application's descriptors: on this thread, if it has them. */
void kc__application_do(void (*work)(void *arg), void *arg);
void kc__application_has_lines(void); /* kc__say_waiting() is to be called there */
void kc__files_forget(void);          /* fork child */

/* threads.c */
/* A thread of ours, with the descriptors of its maker. 0 or -errno. */
int kc__make_thread(pthread_t *thread, void *(*fn)(void *), void *arg);
/* Does the work on a thread of ours, unless this is one, and waits for it. 0; -errno: there is no thread, nothing was
 * done. */
int kc__on_own_thread(void (*work)(void *arg), void *arg);
/* The same, always on a new thread, for work that needs the loader. -EDEADLK: the loader's lock is not to be had, as
 * this thread may hold it; nothing was done. kc__shim.start_lock held. */
int kc__on_loading_thread(void (*work)(void *arg), void *arg);

/* worker.c */
/* Starts the thread, which holds the journal and waits for kc__worker_begin(). */
int kc__worker_start(void);
void kc__worker_begin(void); /* it is known by now whether CUPTI measures */
void kc__worker_wake(void);  /* any thread */
/* The two phases of the exit. COLLECT: takes CUPTI's last records; nothing is measured from then on. END: stores
 * everything and closes the journal. */
enum kc__request { KC__NOTHING, KC__COLLECT, KC__END };
/* Waits for *left_ns at most, and subtracts the time that it waited. Returns KC_MESSAGE_NONE if the phase is done,
 * else the message to say: then the worker goes on as long as the process lives. */
enum kc_message_code kc__worker_finish(enum kc__request request, int64_t *left_ns);
void kc__worker_forget(void); /* fork child */

#endif

/*
 * The journal: what a process has recorded and the database does not hold yet.
 * It is a memory-mapped file, so a SIGKILL loses nothing that has been written
 * into it.
 *
 *   file    = header page | segment | segment | ...
 *   segment = KC_SEGMENT_SLOTS slots of KC_SLOT_BYTES
 *   slot    = one launch or transfer, or one part of a dictionary entry
 *
 * Any number of threads append (kc_journal_claim, kc_journal_commit). One
 * worker thread prepares segments ahead of them, and retires segments whose
 * slots are all in the database so that they can be used again. A slot's index
 * is its place in the order of claims; it never repeats within a process and is
 * the launch's sequence number. After a crash slots are found by the index that
 * each one carries, whatever the order of segments in the file.
 *
 * A launch slot lives through
 *   EMPTY -> CALLED (before the real call) -> RETURNED -> FINAL -> STORED
 * The launching thread writes the slot up to RETURNED, the worker afterwards.
 * Slots that a killed process leaves at CALLED or later are recovered.
 */
#ifndef KC_JOURNAL_H
#define KC_JOURNAL_H

#include "predictor/concurrency/overlap.h"
#include "predictor/device/copy.h"
#include "predictor/device/device.h"
#include "predictor/experience/graph_prediction.h"
#include "predictor/solo/forecast.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define KC_JOURNAL_MAGIC "KCJRNL1"
#define KC_JOURNAL_VERSION 10u
#define KC_SLOT_BYTES 232u
#define KC_SEGMENT_SLOTS 4096u
#define KC_SEGMENT_BYTES (KC_SLOT_BYTES * KC_SEGMENT_SLOTS)
#define KC_HEADER_BYTES 65536u         /* a multiple of every page size */
#define KC_JOURNAL_SEGMENTS_MAX 16384u /* each is a mapping; Linux allows a process 65,530 */
#define KC_MEMORY_SEGMENTS_MAX 32u     /* outside the file where the disk is full: 28 MiB */

enum kc_slot_state {
	KC_SLOT_EMPTY = 0,
	KC_SLOT_CALLED = 1,
	KC_SLOT_RETURNED = 2,
	KC_SLOT_FINAL = 3,
	KC_SLOT_STORED = 4,
};

enum kc_slot_kind {
	KC_KIND_LAUNCH = 1,
	KC_KIND_TRANSFER = 2,
	/* Dictionary entries and notes: one payload over one or more slots,
	 * committed in order at RETURNED. */
	KC_KIND_DEVICE = 3,       /* struct kc_device_entry */
	KC_KIND_STREAM = 4,       /* struct kc_stream_entry */
	KC_KIND_KERNEL = 5,       /* struct kc_kernel_entry, then name and module, NUL-terminated */
	KC_KIND_LAMBDA = 6,       /* struct kc_lambda_entry */
	KC_KIND_MESSAGE = 7,      /* struct kc_message_entry, then text, NUL-terminated */
	KC_KIND_CALL_SITE = 8,    /* struct kc_call_site_entry, then module, symbol, host function's symbol */
	KC_KIND_ARGUMENTS = 9,    /* struct kc_arguments_entry, then text, NUL-terminated */
	KC_KIND_CODE = 10,        /* struct kc_code_entry, then the formula or the reason, NUL-terminated */
	KC_KIND_EVENT = 11,       /* struct kc_event_entry */
	KC_KIND_PAST = 12,        /* struct kc_past_entry */
	KC_KIND_WORK = 13,        /* struct kc_work_entry */
	KC_KIND_STREAM_CALL = 14, /* struct kc_stream_call */
	KC_KIND_CODE_PLACE = 15,  /* struct kc_code_place_entry, then the file's path, NUL-terminated */
	KC_KIND_KERNEL_TEXT = 16, /* struct kc_kernel_text_entry, then the packed text */
	KC_KIND_GRAPH = 17,       /* struct kc_graph_entry, then some of its kernels: struct kc_graph_kernel */
	/* struct kc_graph_launch. The slots behind it are those of the kernels, a launch each: they are empty until
	 * the worker, or recovery, has made them from the graph (kc_graph_expand()). */
	KC_KIND_GRAPH_LAUNCH = 18,
	KC_KIND_COUNT,
};

/* The call that launched the kernel. Names: kc_api_name() */
enum kc_api {
	KC_API_UNKNOWN = 0,
	KC_API_LAUNCH_KERNEL,
	KC_API_LAUNCH_KERNEL_EX,
	KC_API_LAUNCH_COOPERATIVE,
	KC_API_LAUNCH_LEGACY, /* cuLaunch, cuLaunchGrid, cuLaunchGridAsync, multi-device */
	KC_API_GRAPH,
	KC_API_RUNTIME, /* recorded at the runtime level */
	KC_API_COUNT,
};
const char *kc_api_name(uint32_t api);

/* Why a launch has no prediction. 0: it has one */
enum kc_unpredictable {
	KC_PREDICTED = 0,
	KC_NO_ATTRIBUTES, /* the driver did not answer for this function */
	KC_NO_DEVICE,     /* no current context, or its device is unknown */
	KC_DOES_NOT_FIT,  /* more threads, registers or shared memory than the device has */
	KC_TABLE_FULL,    /* one of our tables is full: KC_MESSAGE_TABLE_FULL says which */
	KC_COUNT_UNKNOWN, /* conditional graph nodes, device-side launches */
	KC_IMPORTED,      /* recorded by another tool, without a prediction */
	KC_UNPREDICTABLE_COUNT,
};
const char *kc_unpredictable_name(uint32_t reason);

/* Why a launch has no measured time. 0: it has one, or it is still awaited */
enum kc_unmeasured {
	KC_MEASURED = 0,
	KC_CALL_FAILED,
	KC_MEASURE_OFF,    /* KERNCAST_MEASURE=off */
	KC_NO_CUPTI,       /* not found, too new for the driver, … */
	KC_PROFILER_BUSY,  /* another profiler uses CUPTI (error 39), or has taken it over */
	KC_RECORD_DROPPED, /* CUPTI reported dropped records, or they waited too long to be read */
	KC_RECORD_INVALID, /* start = 0, end < start, start before the launch, or end after the record came */
	KC_NO_CORRELATION, /* no callback fired during the call */
	KC_NOT_DELIVERED,  /* no record came before the process ended */
	KC_PROCESS_KILLED, /* the process ended before the record came */
	KC_AFTER_EXIT,     /* launched after the program had begun to exit and measuring had ended */
	KC_KNOWN_WELL,     /* --measure=adaptive: launches like it are known well, and others are measured */
	KC_UNMEASURED_COUNT,
};
const char *kc_unmeasured_name(uint32_t reason);

/*
 * What was known when a launch or transfer was predicted, and when the rest of it became known. A process takes in what
 * it learns one event at a time and counts those events from 1: a measurement, a decision (what the launch ran beside
 * is known), and what struct kc_event_entry tells of. Giving a predictor the same events in the same order gives the
 * same predictions again.
 */
struct kc_order {
	uint64_t known;          /* events taken in before the prediction was made */
	uint32_t measured_after; /* its own measurement is event known + measured_after; 0: there is none */
	uint32_t decided_after;  /* its decision is event known + measured_after + decided_after; 0: there is none */
};
_Static_assert(sizeof(struct kc_order) == 16, "part of every launch");

/* Times are CLOCK_MONOTONIC nanoseconds; 0: not known. */
struct kc_launch {
	int64_t predicted_at_ns; /* host time at which the prediction was made */
	int64_t launched_ns;     /* host time just before the real call, to a fraction of a microsecond */
	int64_t solo_ns, solo_low_ns, solo_high_ns;
	int64_t start_ns, end_ns; /* predicted */
	int64_t measured_start_ns, measured_end_ns;
	uint32_t grid[3];
	uint16_t block[3];
	uint8_t device;
	uint8_t api;
	uint32_t dynamic_shared_bytes;
	uint32_t kernel; /* dictionary id; 0: unknown function */
	uint32_t stream; /* dictionary id */
	int32_t result;  /* CUresult; INT32_MIN: the process ended during the call */
	uint32_t correlation;
	uint32_t thread; /* Linux thread id */
	uint32_t model_state;
	float slowdown;
	float slowdown_waves;
	uint16_t blocks_per_sm;
	uint8_t model;                /* enum kc_model */
	uint8_t concurrency_case : 7; /* enum kc_case */
	uint8_t not_asked : 1;        /* left out by --kernel or --every: counted, measured, learned from, not stored */
	uint8_t unpredictable;        /* enum kc_unpredictable */
	uint8_t unmeasured;           /* enum kc_unmeasured */
	uint8_t overlap;              /* enum kc_overlap */
	uint8_t novelty : 4;          /* enum kc_novelty, known at prediction time */
	uint8_t beside : 3;           /* enum kc_order_in_stream; no one needs it when the launch is final, nor: */
	uint8_t in_child : 1;         /* its node is in a child graph: graph_record may not be the id in its record */
	uint32_t graph_launch;        /* 0: not by a graph */
	uint32_t graph_node;
	uint64_t graph_record; /* CUPTI's id of the graph node; 0: not known */
	uint32_t call_site;    /* dictionary id; 0: not known */
	uint32_t arguments;    /* dictionary id; 0: not known */
	/* What the process needs until the launch is final, and nobody after it: */
	uint32_t ticket;    /* of the timeline */
	uint32_t variant;   /* place in the shim's table */
	uint64_t meeting;   /* kc_expected_contention_pack() of what was expected to run beside it */
	uint64_t context;   /* kc_prediction.context */
	uint64_t link;      /* worker: index + 1 of the next slot awaited under the same correlation id; 0: none */
	float contended;    /* kc_engine_launch.contended */
	uint32_t enclosing; /* correlation id of the runtime call around the driver's; 0: none, or not asked for */
	struct kc_order order;
};

enum kc_transfer_kind { KC_COPY_HTOD = 1, KC_COPY_DTOH, KC_COPY_DTOD, KC_COPY_PEER, KC_COPY_OTHER, KC_MEMSET };
const char *kc_transfer_kind_name(uint32_t kind);
enum kc_copy_route kc_transfer_route(uint32_t kind);

struct kc_transfer {
	int64_t launched_ns;
	int64_t start_ns, end_ns; /* predicted */
	int64_t measured_start_ns, measured_end_ns;
	uint64_t bytes;
	uint32_t stream;
	int32_t result;
	uint32_t correlation;
	uint32_t thread;
	uint32_t ticket;
	uint8_t kind; /* enum kc_transfer_kind */
	uint8_t device;
	uint8_t unmeasured;
	uint8_t not_asked; /* as of a launch */
	struct kc_order order;
	/* What the process needs until the transfer is final, as of a launch: */
	uint64_t link;
	uint32_t enclosing;
};

/*
 * A graph as its launches find it: what is predicted of its kernels, from what was known then. A graph that is changed,
 * or predicted anew, is another one here. It stays in the journal as long as launches may refer to it, and is never
 * stored: the worker marks its slots as stored when it is of no more use, and puts it again when it has become old.
 */
struct kc_graph_entry {
	uint64_t graph;        /* index of the KC_CALL_GRAPH that says when it was predicted */
	uint64_t known;        /* events taken in then */
	int64_t span_ns;       /* predicted, of all kernels alone */
	uint32_t first, count; /* kernels that follow here, the first of them from 0 */
	uint32_t kernels;      /* of the graph */
	uint32_t last;         /* the last kernel that is predicted, from 1; 0: none is */
	uint8_t device, beside;
	uint8_t reserved[6];
};

struct kc_graph_kernel {
	struct kc_graph_prediction predicted;
	uint64_t record; /* CUPTI's id of the node; 0: not known */
	uint32_t kernel, variant, arguments;
	uint32_t grid[3];
	uint16_t block[3];
	uint16_t blocks_per_sm;
	uint32_t dynamic_shared_bytes;
	uint32_t node;
	uint8_t unpredictable;
	uint8_t not_asked;
	uint8_t in_child;
	uint8_t reserved[5];
};
#define KC_GRAPH_KERNELS_MAX 1024u /* in one entry */

struct kc_graph_launch {
	uint64_t graph;
	uint64_t known;           /* events taken in when it was placed */
	int64_t predicted_at_ns;  /* of the first kernel; each of the others counts as 1 ns later */
	int64_t start_ns, end_ns; /* predicted, of all kernels */
	uint32_t kernels;
	uint32_t number; /* among the launches of graphs, from 1 */
	uint32_t stream, thread, call_site;
	int32_t result;
	uint32_t correlation, enclosing;
	uint32_t ticket;
	uint8_t device;
	uint8_t unmeasured;
	uint8_t unordered; /* 1: not all launches of the process are stored, so no replay needs it */
};

/* The launch of kernel i, from 0, whose slot is i + 1 behind that of the graph's launch. */
void kc_graph_expand(const struct kc_graph_launch *launch, const struct kc_graph_entry *graph,
		     const struct kc_graph_kernel *kernel, uint32_t i, struct kc_launch *out);

/* One part of a dictionary entry */
struct kc_part {
	uint16_t index, count;
	uint32_t bytes; /* in this part */
	uint8_t payload[KC_SLOT_BYTES - 24];
};

struct kc_slot {
	_Atomic uint32_t state; /* enum kc_slot_state */
	uint32_t kind;          /* enum kc_slot_kind */
	uint64_t index;
	union {
		struct kc_launch launch;
		struct kc_transfer transfer;
		struct kc_graph_launch graph_launch;
		struct kc_part part;
		uint8_t bytes[KC_SLOT_BYTES - 16];
	};
};
_Static_assert(sizeof(struct kc_slot) == KC_SLOT_BYTES, "slot size");

/* Returns 1 if the slot is a launch or transfer that is not to be stored. */
static inline int kc_slot_not_asked(const struct kc_slot *slot)
{
	return (slot->kind == KC_KIND_LAUNCH && slot->launch.not_asked) ||
	       (slot->kind == KC_KIND_TRANSFER && slot->transfer.not_asked);
}

#define KC_UUID_BYTES 16u

/* Dictionary ids are given by the process, from 1 (devices: the ordinal). */
struct kc_device_entry {
	uint32_t ordinal;
	uint32_t driver_version; /* cuDriverGetVersion */
	uint8_t uuid[KC_UUID_BYTES];
	struct kc_device device;
};

/* Writes a UUID in hexadecimal, as it is in the database. */
void kc_uuid_text(const uint8_t uuid[KC_UUID_BYTES], char text[2 * KC_UUID_BYTES + 1]);

struct kc_stream_entry {
	uint32_t id;
	uint32_t device;
	uint64_t handle;  /* as the app sees it */
	uint64_t context; /* for default streams */
	int32_t priority;
	uint32_t flags;      /* CU_STREAM_NON_BLOCKING … */
	uint32_t kind;       /* enum kc_stream_kind */
	uint32_t per_thread; /* Linux thread id of a per-thread default stream */
	uint32_t lane; /* its number in the device's timeline, plus 1; used again once it is destroyed. 0: not known */
	uint32_t reserved;
};

struct kc_kernel_entry {
	uint32_t id;
	uint32_t device;
	uint64_t code_hash; /* 0: code not read */
	struct kc_resources resources;
	uint32_t binary_version; /* 90: SASS for 9.0 */
	uint32_t ptx_version;
};

/* Whether a kernel's code could be read */
enum kc_code_state {
	KC_CODE_NOT_SEEN = 0, /* we did not see it being loaded */
	KC_CODE_WAITS,        /* it will be read later */
	KC_CODE_READ,
	KC_CODE_NO_PTX,    /* only machine code; the text may say of what kind */
	KC_CODE_TOO_LARGE, /* or there was no memory to keep it */
	KC_CODE_REFUSED,   /* the reader does not understand it: the text says where and why */
	KC_CODE_STATE_COUNT,
};
const char *kc_code_state_name(uint32_t state);

/* What the text of KC_CODE_NO_PTX may say. */
#define KC_CODE_CUBIN_ALONE "a cubin by itself, as from a cache on disk"

struct kc_code_entry {
	uint32_t kernel; /* dictionary id */
	uint16_t state;  /* enum kc_code_state */
	uint16_t sm;     /* of KC_CODE_READ: 120 where PTX for compute_120 was read, for which the device's own code was
			    not compiled; else 0 */
};

/* Where code that has not been read (yet) lies in a file: one of its pieces. */
struct kc_code_place_entry {
	uint64_t code_hash; /* as of the kernels that it is the code of */
	uint64_t offset, length;
	uint64_t hash;          /* of the bytes there: kc_code_file_hash() */
	uint32_t piece, pieces; /* this one, from 0 in the order in which they are read; of how many */
};

/* A kernel's PTX that is not in what it was loaded from: packed_text.h. */
struct kc_kernel_text_entry {
	uint32_t kernel;       /* dictionary id */
	uint32_t architecture; /* of the device that it was chosen for: 90 */
	uint32_t bytes;        /* of the text */
	uint32_t packed_bytes;
};

/* Where a launch was called from, seen at the runtime level. With <<<>>> the caller
 * is the stub that nvcc generates for each kernel. */
struct kc_call_site_entry {
	uint32_t id;
	uint32_t reserved;
	uint64_t address;       /* return address */
	uint64_t offset;        /* of that address in its module */
	uint64_t host_function; /* given to the runtime; 0: the runtime was given a kernel handle */
};

/* What a launch was given, as a trace or the kernel's parameters tell it: the problem size. */
struct kc_arguments_entry {
	uint32_t id;
	uint32_t reserved;
};

/* Events that belong to no launch; more kinds may follow. */
enum kc_order_event {
	KC_EVENT_NONE = 0,
	KC_EVENT_FORMULA,     /* a kernel's cost formula is ready */
	KC_EVENT_PAST,        /* what earlier processes taught is loaded: struct kc_past_entry says which */
	KC_EVENT_CALIBRATION, /* measured values of a device are in use */
	KC_EVENT_SIZE,        /* launches made before a kernel's formula was ready now count as measured sizes */
	KC_ORDER_EVENT_COUNT,
};
const char *kc_order_event_name(uint32_t kind);

struct kc_event_entry {
	uint64_t number; /* from 1, counted together with measurements and decisions */
	uint32_t kind;   /* enum kc_order_event */
	uint32_t kernel; /* dictionary id; 0: of no kernel */
	int64_t time_ns;
	uint32_t device; /* ordinal of the kernel's device */
	uint32_t reserved;
};

/* Calls that change when the work of a stream can begin, and are no work of their own. */
enum kc_stream_call_kind { /* the numbers are in databases */
			   KC_CALL_NONE = 0,
			   KC_CALL_STREAM_IDLE, /* the host has waited for the stream */
			   KC_CALL_DEVICE_IDLE, /* the host has waited for the device */
			   KC_CALL_OCCUPY,  /* something other than kernels and copies occupies the stream for `ns` */
			   KC_CALL_WAIT,    /* the stream waits for an event that is predicted for the host time `ns` */
			   KC_CALL_DESTROY, /* the stream is destroyed */
			   KC_CALL_CREATE,  /* the stream is created, or met for the first time: its lane begins anew */
			   KC_CALL_CANCEL,  /* the launch or transfer failed whose sequence number is in `ns` */
			   KC_CALL_GRAPH,   /* a graph of `ns` kernels is predicted, for the launches of it */
			   KC_CALL_GRAPH_LAUNCH, /* one: `ns` is the sequence number of its KC_CALL_GRAPH; the launches
						    of its kernels have the numbers after this one's */
			   KC_STREAM_CALL_COUNT,
};
const char *kc_stream_call_name(uint32_t kind);

struct kc_stream_call {
	int64_t time_ns; /* when the call was made or, for those that wait, returned */
	int64_t ns;
	uint64_t known; /* as in struct kc_order */
	uint32_t kind;
	uint32_t stream; /* dictionary id; 0: of the device */
	uint32_t device; /* ordinal */
	uint32_t reserved;
};

/* One part of the past that the process began with: launches of an earlier process in the same database. */
struct kc_past_entry {
	uint32_t place; /* in the order in which parts were learned from, from 0 */
	uint32_t reserved;
	int64_t source;                         /* rowid in `process` */
	uint64_t first_sequence, last_sequence; /* both included */
};

/*
 * What a cost formula came to for one launch shape and arguments, so that a replay can use the same counts without the
 * code. kc_work_numbers() gives the counts as doubles, kc_work_counts() takes them back; a version that counts more
 * adds its numbers at the end.
 */
#define KC_WORK_NUMBERS 36u
#define KC_WORK_NUMBERS_MIN 34u  /* earlier versions counted less: the last ones are 0 there */
#define KC_WORK_NUMBERS_MAX 256u /* a damaged entry may claim any number; no version counts this much */
struct kc_work_entry {
	uint32_t kernel; /* dictionary id */
	uint32_t device; /* ordinal */
	uint32_t grid[3];
	uint16_t block[3];
	uint16_t blocks_per_sm; /* as in the launches it belongs to */
	uint32_t dynamic_shared_bytes;
	uint32_t arguments; /* dictionary id; 0: not known */
	uint32_t count;     /* of the numbers below */
	double numbers[KC_WORK_NUMBERS];
};
struct kc_counts;
void kc_work_numbers(const struct kc_counts *counts, double numbers[KC_WORK_NUMBERS]);
/* 0; -EINVAL: fewer than KC_WORK_NUMBERS_MIN numbers, or a number that no count can be. */
int kc_work_counts(const double *numbers, size_t count, struct kc_counts *counts);

/* What a λ has changed to. */
struct kc_lambda_entry {
	uint32_t state;  /* id that launches refer to (model_state) */
	uint32_t level;  /* enum kc_model: device, kernel, shape */
	uint32_t kernel; /* dictionary id; 0 at device level */
	uint32_t device;
	uint16_t block[3];
	uint16_t reserved;
	uint32_t grid[3]; /* shape level, else 0 */
	uint32_t dynamic_shared_bytes;
	uint32_t count;
	double log_value;
	double variance;
	int64_t time_ns;
};

struct kc_message_entry {
	int64_t time_ns;
	uint32_t severity; /* 0 info, 1 warning, 2 error */
	uint32_t code;     /* enum kc_message_code (store/common/message.h) */
	uint64_t count;    /* how often it has happened */
};

/* Counts that are kept in the header page, so that they survive the process. */
enum kc_counter {
	KC_COUNT_CALLS,         /* launch calls seen */
	KC_COUNT_CAPTURED,      /* recorded into a graph, not executed */
	KC_COUNT_DROPPED,       /* launches that the journal had no room for, or that are in no file at the end */
	KC_COUNT_CUPTI_RECORDS, /* kernel records CUPTI delivered */
	KC_COUNT_CUPTI_MATCHED,
	KC_COUNT_CUPTI_UNMATCHED, /* no launch of ours has that correlation id */
	KC_COUNT_CUPTI_INVALID,
	KC_COUNT_CUPTI_DROPPED, /* as CUPTI reports, and what waited too long to be read */
	KC_COUNT_TRANSFER_RECORDS,
	KC_COUNT_TRANSFER_UNMATCHED,
	KC_COUNT_ROUTED_BY_NAME, /* resolver answers of unknown address */
	KC_COUNT_GRAPH_LAUNCHES,
	KC_COUNT_GRAPHS_UNKNOWN,    /* graph launches with kernels that cannot be counted beforehand */
	KC_COUNT_LEFT_UNHOOKED,     /* resolver answers that may be of an ABI without a hook */
	KC_COUNT_TRANSFERS_DROPPED, /* transfers that the journal had no room for */
	KC_COUNT_AFTER_END,         /* launches while the process ended; they have no row */
	KC_COUNT_LOADS_UNSEEN,      /* launched functions whose code was in no load that we saw */
	KC_COUNT_CUPTI_LOST,        /* matched records of launches that are in no file at the end */
	KC_COUNT_STREAM_OVERLAPS,   /* kernels that ran beside another one of their own stream */
	/* Launches that were not asked for have no row. Here they are by the reason: */
	KC_COUNT_NOT_ASKED_KERNEL,    /* --kernel does not name their kernel */
	KC_COUNT_NOT_ASKED_EVERY,     /* --every chose other launches of their kernel */
	KC_COUNT_NOT_ASKED_BEFORE,    /* they came before --after was over */
	KC_COUNT_NOT_ASKED_AFTER,     /* they came after --for was over */
	KC_COUNT_NOT_ASKED_STOPPED,   /* they came while --while or --signal had recording off */
	KC_COUNT_TRANSFERS_NOT_ASKED, /* transfers without a row, for any of these reasons */
	KC_COUNT_CHOSEN, /* 1: --kernel or --every chose launches; the others were predicted and learned from, too */
	KC_COUNT_EVENTS_DROPPED, /* entries (struct kc_event_entry) that the journal had no room for */
#define KC_COUNT_DROPPED_CALLS(kind) (KC_COUNT_EVENTS_DROPPED + (kind)) /* likewise, by enum kc_stream_call_kind */
	KC_COUNTERS = KC_COUNT_DROPPED_CALLS(KC_STREAM_CALL_COUNT),
};
const char *kc_counter_name(uint32_t counter);

/* A segment that is not in the file, so that it is lost with the process. */
struct kc_memory_segment {
	_Atomic uint64_t number;              /* of the segment, + 1; 0: there is none */
	_Atomic uint32_t launches, transfers; /* claimed, without those that were not asked for */
};

struct kc_journal_header {
	char magic[8];
	uint32_t version;
	uint32_t header_bytes, slot_bytes, segment_slots;
	uint32_t pid, ppid;
	uint64_t pid_start;          /* field 22 of /proc/PID/stat: tells a reused pid apart; 0: not known */
	int64_t realtime_ns;         /* CLOCK_REALTIME at the moment when ... */
	int64_t monotonic_ns;        /* ... CLOCK_MONOTONIC was this */
	_Atomic int64_t process_row; /* rowid in `process`; 0: it has none yet */
	_Atomic uint32_t simulated;
	_Atomic uint32_t ended; /* 1: the process has ended by itself */
	_Atomic int64_t ended_ns;
	_Atomic uint64_t counters[KC_COUNTERS];
	char boot_id[40];
	char run_token[64]; /* names the run; all its processes have the same */
	char measure[16];
	char executable[1024];
	char directory[1024];
	char database[1024];
	char command_line[4096]; /* arguments separated by NUL, cut if longer */
	uint32_t command_line_bytes;
	char source[1024]; /* the trace file it was imported from; empty: recorded live */
	/* Filled by kc_journal_create(): */
	uint64_t pid_namespace, time_namespace; /* inodes; 0: not known */
	uint64_t inode;                         /* of the file: tells a copy */
	uint32_t boot_is_kernels;               /* kc_boot_id_is_kernels() */
	_Atomic uint32_t holder;                /* KC_HOLDER_ENDED, or who records: enum kc_life */
	struct kc_memory_segment memory[KC_MEMORY_SEGMENTS_MAX];
};
_Static_assert(sizeof(struct kc_journal_header) <= KC_HEADER_BYTES, "header size");

struct kc_journal;

/*
 * Creates path (mode 0600; it must not exist), maps the header and prepares the
 * first segments. template: initial values of the header. max_bytes: bound on the
 * file. Returns 0 or negative errno. Where the disk has no room, or its files
 * cannot be mapped, the journal is in memory (kc_journal_in_memory()).
 */
int kc_journal_create(const char *path, const struct kc_journal_header *template, uint64_t max_bytes,
		      struct kc_journal **out);
/* From now on the file's descriptor is used where files_do does its work, on a thread whose descriptors nobody else
 * closes. kc_journal_restore() and kc_journal_discard() are called there. */
void kc_journal_files_by(struct kc_journal *j, int (*files_do)(void (*work)(void *arg), void *arg));

struct kc_journal_header *kc_journal_header(struct kc_journal *j);

/* 1: at least one segment is not in the file, or the file is no longer where it was made; a crash would lose it. */
int kc_journal_in_memory(const struct kc_journal *j);
/* Why the file could not grow: negative errno; -ENOENT, -ENOTDIR, -ESTALE: it is no longer where it was made; 0: it
 * could. */
int kc_journal_in_memory_why(const struct kc_journal *j);
/* Worker. Looks whether the file is where it was made. */
void kc_journal_look(struct kc_journal *j);
/* 1: the file was deleted, not only moved, so what it holds is lost when the process ends. */
int kc_journal_deleted(const struct kc_journal *j);

/*
 * Launch path. The next slot: its index and kind are set, its state is EMPTY,
 * the rest is undefined. NULL past the bound: the caller counts the launch as
 * dropped. Allocates nothing and takes no lock; makes no system call while the
 * worker keeps ahead.
 */
struct kc_slot *kc_journal_claim(struct kc_journal *j, uint32_t kind);
/* Launch path. The next slot, and after it room for `count` others, which stay empty. NULL: there is no room for all of
 * them. Takes a lock for a moment; makes the segments that the worker has not made ahead. */
struct kc_slot *kc_journal_claim_with_room(struct kc_journal *j, uint32_t kind, uint64_t count);
/* Any thread: so many slots may be claimed at once, for which the worker keeps segments ready as far as it does. */
void kc_journal_expect(struct kc_journal *j, uint64_t slots);
static inline void kc_journal_commit(struct kc_slot *slot, uint32_t state)
{
	atomic_store_explicit(&slot->state, state, memory_order_release);
}

/* The launch or transfer is left out by a choice of the user's, so it is not missed where its slot is lost. */
void kc_journal_not_asked(struct kc_journal *j, const struct kc_slot *slot);

/* Not for the launch path: adds a dictionary entry. 0; -ENOSPC past the bound;
 * -EMSGSIZE past 204,800 bytes. */
int kc_journal_put(struct kc_journal *j, uint32_t kind, const void *payload, size_t bytes);
/* The same; *first: index of its first part. Returns how many parts it has, or as above. */
int kc_journal_put_at(struct kc_journal *j, uint32_t kind, const void *payload, size_t bytes, uint64_t *first);

/* On the launch path: an entry of one slot, as fast as a launch's. 0; -ENOSPC: no slot was free, or it is too long. */
int kc_journal_note(struct kc_journal *j, uint32_t kind, const void *payload, size_t bytes);

/* Worker. Prepares segments ahead of the claims; returns how many slots lie
 * between kc_journal_first() and kc_journal_claimed(); 0: all are stored. */
uint64_t kc_journal_prepare(struct kc_journal *j);

/* Worker. All slots before kc_journal_first() are stored. kc_journal_at() gives the
 * slot at an index between it and kc_journal_claimed(); NULL: its segment is stored
 * and retired as well. */
uint64_t kc_journal_first(const struct kc_journal *j);
uint64_t kc_journal_claimed(const struct kc_journal *j);
struct kc_slot *kc_journal_at(const struct kc_journal *j, uint64_t index);
/* Worker. It has read or written a slot whose address it has kept: that has brought the page back into memory. */
void kc_journal_touched(struct kc_journal *j, const struct kc_slot *slot);
/* 1: the slot at an index is in the file, where recovery finds it. 0: it is in memory only, or does not exist. */
int kc_journal_on_disk(const struct kc_journal *j, uint64_t index);

/* Worker. What is in memory alone is among the counters now. */
void kc_journal_memory_counted(struct kc_journal *j);

/* Worker. Frees the segments whose slots are all STORED: the leading ones at once,
 * those behind a slot that is not stored yet a few per call. */
void kc_journal_retire(struct kc_journal *j);

/* In the child, after a fork: unmaps the parent's journal without changing its
 * file, which is not open in the child. Nothing may use j afterwards. */
void kc_journal_forget(struct kc_journal *j);

/* Worker. Ends recording: from now on kc_journal_claim() returns NULL,
 * kc_journal_put() returns -ENOSPC and kc_journal_claimed() does not change.
 * Threads may still be writing to slots that they have claimed. */
void kc_journal_seal(struct kc_journal *j);

/* Worker. At the end of the process: seals the journal and closes the file. Its memory stays mapped for
 * those threads. remove: deletes the file, unless a slot is not STORED. */
void kc_journal_close(struct kc_journal *j, int remove);

/* For a header that changes after the file was deleted: makes a new file with the
 * header alone, which kc_journal_header() returns from now on. 0 or negative errno. */
int kc_journal_restore(struct kc_journal *j);

/* For recording that did not begin: deletes the file, whatever it holds. */
void kc_journal_discard(struct kc_journal *j);

/*
 * Whether the process that made a journal still records into it. The holder in the header is a robust futex: the id of
 * the process's permanent thread of ours while it lives; when it ends, by SIGKILL, exec() or else, the kernel puts
 * KC_HOLDER_ENDED there. 0: no such thread yet, or the kernel refuses robust futexes. It needs no descriptor and no
 * /proc, and children do not inherit it. Beside it there is the process as /proc shows it (kc_process_look()), and the
 * boot: the same if the ids are equal, another if both ids are the kernel's. Where they do not tell, the process must
 * be taken to live.
 *
 *   boot             holder  process  life
 *   another          any     any      ended; where other machines use the file system, too: not known
 *   same, not known  any     gone     ended; where others do, and the boot is not known: as if unseen
 *                    ended   there    ending: it has called exec(), or other threads of it are just ending
 *                    ended   unseen   ending
 *                    else    there    runs
 *   same             held    unseen   runs
 *   not known        held    unseen   not known: after a power cut, held for ever
 *   same, not known  0       unseen   not known
 *
 * In a copy of the file (another inode) nobody changes the holder: held counts as 0 there.
 */
enum kc_life {
	KC_LIFE_NOT_KNOWN = 0,
	KC_LIFE_RUNS,
	KC_LIFE_ENDING, /* nothing is recorded any more, except for a moment by threads that are being killed */
	KC_LIFE_ENDED,
};
#define KC_HOLDER_ENDED 0x40000000u /* FUTEX_OWNER_DIED */

/* For the thread that lives as long as the process records, once, before anything is recorded: it becomes the holder.
 * From then on its robust mutexes, if it had any, would not be released at its end. 0 or -errno: there is no holder. */
int kc_journal_hold(struct kc_journal *j);

/* A journal file of another process, read only. */
struct kc_journal_file;
/* 0; -EINVAL: not a journal, or one of another version; -EPERM: it belongs to another user; or another -errno. */
int kc_journal_open(const char *path, struct kc_journal_file **out);
const struct kc_journal_header *kc_journal_file_header(const struct kc_journal_file *f);
/* Whether the process lives, judged by the header as it was when the file was opened. */
enum kc_life kc_journal_file_life(const struct kc_journal_file *f);
/* Calls fn for every slot at CALLED or later, in the order of their indexes, until
 * it returns something other than 0. The parts of an entry come one by one. */
int kc_journal_file_each(struct kc_journal_file *f, int (*fn)(const struct kc_slot *slot, void *arg), void *arg);
/* Keeps other recoverers away until the file is closed. -EWOULDBLOCK: another one has locked it. */
int kc_journal_file_lock(struct kc_journal_file *f);
/* 1: the file at path is this file. */
int kc_journal_file_is(const struct kc_journal_file *f, const char *path);
void kc_journal_file_close(struct kc_journal_file *f);

/* Puts the parts of entries together. Begin with an assembler of zeros and give it
 * slots in the order of their indexes. Returns 1 when *payload holds a whole entry
 * (valid until the next call), 0 when more parts are needed (expected is not 0
 * then), -EBADMSG for a part without those before it, or -ENOMEM. */
struct kc_assembler {
	uint8_t *buffer;
	size_t used, capacity;
	uint16_t expected;
	uint64_t next_index;
};
int kc_assemble(struct kc_assembler *a, const struct kc_slot *slot, const void **payload, size_t *bytes);
void kc_assembler_free(struct kc_assembler *a);

/* The path of a process's journal: "<database>.<pid>-<pid_start>.kcj", or a local one (store/common/remote.h). */
int kc_journal_path(const char *database, uint32_t pid, uint64_t pid_start, char *out, size_t size);

#endif

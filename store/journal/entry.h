/*
 * Entries of the journal that are no launches and no transfers: what launches refer to by id (devices, streams,
 * kernels, arguments, places in the code, graphs), and what has happened. Each takes one or more slots (struct
 * kc_part).
 */
#ifndef KC_ENTRY_H
#define KC_ENTRY_H

#include "predictor/device/device.h"
#include "predictor/experience/graph_prediction.h"
#include "predictor/solo/work.h"
#include "slot.h"

#include <stddef.h>

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
			   KC_CALL_STREAM_IDLE, /* the host has waited for the stream, for `ns` */
			   KC_CALL_DEVICE_IDLE, /* the host has waited for the device, for `ns` */
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

/* Why a GPU runs below the clock that it could have: bits of NVML's nvmlClocksEventReasons. Those not named here, as
 * that it is idle or somebody has set its clock, are kept as they are. */
enum kc_gpu_slowed {
	KC_SLOWED_POWER_CAP = 0x4,
	KC_SLOWED_HARDWARE = 0x8,
	KC_SLOWED_THERMAL = 0x20,
	KC_SLOWED_THERMAL_HARDWARE = 0x40,
	KC_SLOWED_POWER_BRAKE = 0x80,
};

/* A call of a framework's operator that launched kernels, as a trace tells it: what it was given, and what that comes
 * to. Calls that are alike are one. */
struct kc_operator_entry {
	uint32_t id;
	uint32_t nominal; /* 1: flop is what is counted by definition, and less may have been needed */
	double flop;      /* floating-point operations; NAN: not known */
	double bytes;     /* of its inputs and outputs, each counted once; NAN: not known */
};

struct kc_launched_by_entry {
	uint64_t launch; /* index of its slot */
	uint32_t id;     /* of the operator */
	uint32_t parts;  /* in how many launches of the same work its operations were done; 0: not known */
};

/* A step, such as an iteration of a training: launches of any thread belong to it that were made between its times. */
struct kc_step_entry {
	int64_t start_ns, end_ns;
	int64_t number;
};

/* What was open on a thread when it launched: a range or an operator, in another one or in none. Calls that are alike
 * are one. */
enum kc_scope_kind { /* Names: kc_scope_kind_name() */
		     KC_SCOPE_RANGE,
		     KC_SCOPE_OPERATOR,
		     KC_SCOPE_KINDS,
};
const char *kc_scope_kind_name(uint32_t kind);

struct kc_scope_entry {
	uint32_t id;
	uint32_t parent; /* 0: it is in no other */
	uint32_t kind;
	uint32_t reserved;
};

struct kc_launched_in_entry {
	uint64_t launch; /* index of its slot */
	uint32_t id;     /* of the innermost */
	uint32_t reserved;
};

/* How a GPU was from this moment until the next entry of it: one is made where the clock, the reasons or the number of
 * processes change. */
struct kc_gpu_state_entry {
	int64_t time_ns;
	uint64_t slowed;                       /* enum kc_gpu_slowed */
	uint32_t device;                       /* ordinal */
	uint32_t sm_mhz, memory_mhz, power_mw; /* 0: not known */
	uint32_t others;                       /* processes with contexts on the GPU, but for this one */
	uint32_t reserved;
};

struct kc_stream_call {
	int64_t time_ns; /* when the call was made or, for those that wait, returned */
	int64_t ns;
	uint64_t known; /* as in struct kc_order */
	uint32_t kind;
	uint32_t stream; /* dictionary id; 0: of the device */
	uint32_t device; /* ordinal */
	uint32_t reserved;
};

/* What the process began with: what an earlier process in the same database had learned, and a file of `kerncast
 * learn`.
 */
struct kc_past_entry {
	int64_t source;    /* rowid in `process`; 0: there was none */
	uint64_t checksum; /* of its snapshot then */
	uint64_t prior;    /* checksum of the file; 0: none */
};

/*
 * What a cost formula came to for one launch shape and arguments, so that a replay can use the same counts without the
 * code. kc_work_numbers() gives the counts as doubles, kc_work_counts() takes them back; a version that counts more
 * adds its numbers at the end.
 */
#define KC_WORK_NUMBERS 55u
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
	uint8_t not_kept; /* as of a launch */
	uint8_t reserved[4];
};
#define KC_GRAPH_KERNELS_MAX 1024u /* in one entry */

/* The launch of kernel i, from 0, whose slot is i + 1 behind that of the graph's launch. */
void kc_graph_expand(const struct kc_graph_launch *launch, const struct kc_graph_entry *graph,
		     const struct kc_graph_kernel *kernel, uint32_t i, struct kc_launch *out);

#endif

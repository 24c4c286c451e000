/*
 * A slot of the journal: a launch, a transfer, a launch of a graph, or one part of a dictionary entry (entry.h).
 *
 * A launch slot lives through
 *   EMPTY -> CALLED (before the real call) -> RETURNED -> FINAL -> STORED
 * The launching thread writes the slot up to RETURNED, the worker afterwards.
 * Slots that a killed process leaves at CALLED or later are recovered.
 */
#ifndef KC_SLOT_H
#define KC_SLOT_H

#include "predictor/concurrency/overlap.h"
#include "predictor/device/copy.h"
#include "predictor/solo/forecast.h"

#include <stdatomic.h>
#include <stdint.h>

#define KC_SLOT_BYTES 232u

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
	KC_KIND_CODE = 10,        /* struct kc_code_entry, then why there is no formula, NUL-terminated */
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
	KC_KIND_GPU_STATE = 19,   /* struct kc_gpu_state_entry */
	KC_KIND_OPERATOR = 20,    /* struct kc_operator_entry, then name, inputs and type, NUL-terminated */
	KC_KIND_LAUNCHED_BY = 21, /* struct kc_launched_by_entry */
	KC_KIND_STEP = 22,        /* struct kc_step_entry */
	KC_KIND_SCOPE = 23,       /* struct kc_scope_entry, then its name, NUL-terminated */
	KC_KIND_LAUNCHED_IN = 24, /* struct kc_launched_in_entry */
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
	KC_NOT_DELIVERED,  /* no record came before the process ended by itself */
	KC_PROCESS_KILLED, /* the process was killed before the record came */
	KC_AFTER_EXIT,     /* launched after the program had begun to exit and measuring had ended */
	KC_KNOWN_WELL,     /* --measure=adaptive: launches like it are known well, and others are measured */
	KC_IN_GRAPH,       /* --graphs=whole: the launch of its graph is measured as one */
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
	uint8_t novelty : 3;          /* enum kc_novelty, known at prediction time */
	uint8_t not_kept : 1;  /* made before the kernel's code was read, and its arguments are not kept until then */
	uint8_t beside : 3;    /* enum kc_order_in_stream; no one needs it when the launch is final, nor: */
	uint8_t in_child : 1;  /* its node is in a child graph: graph_record may not be the id in its record */
	uint32_t graph_launch; /* 0: not by a graph */
	uint32_t graph_node;
	uint64_t graph_record; /* CUPTI's id of the graph node; 0: not known */
	uint32_t call_site;    /* dictionary id; 0: not known */
	uint32_t arguments;    /* dictionary id; 0: not known */
	/* What the process needs until the launch is final, and nobody after it: */
	uint32_t ticket;    /* of the timeline */
	uint16_t variant;   /* place in the shim's table */
	uint16_t scope;     /* that it was made in (struct kc_scope_entry); 0: none. It is stored, too */
	uint64_t meeting;   /* kc_expected_contention_pack() of what was expected to run beside it */
	uint64_t context;   /* kc_prediction.context */
	uint64_t link;      /* worker: index + 1 of the next slot awaited under the same correlation id; 0: none */
	float contended;    /* kc_engine_launch.contended */
	uint32_t enclosing; /* correlation id of the runtime call around the driver's; 0: none, or not asked for */
	struct kc_order order;
};

enum kc_transfer_kind { KC_COPY_HTOD = 1, KC_COPY_DTOH, KC_COPY_DTOD, KC_COPY_PEER, KC_COPY_OTHER, KC_MEMSET };
#define KC_TRANSFER_KINDS (KC_MEMSET + 1)
const char *kc_transfer_kind_name(uint32_t kind);
/* KC_COPY_OTHER for any other name, and NULL. */
enum kc_transfer_kind kc_transfer_kind_of(const char *name);
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
	uint8_t in_graph; /* a node of a graph: nothing is predicted, as the graph is on the timeline as a whole */
	uint8_t in_child;
	uint64_t graph_record;
};

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
	uint8_t whole;     /* 1: it is measured as one; its kernels are KC_IN_GRAPH */
	uint8_t made;      /* 1: its kernels have their slots */
	uint16_t scope;    /* as of a launch */
	/* Of one that is measured as one: */
	uint8_t overlap;                            /* enum kc_overlap */
	uint32_t measured_after;                    /* as of struct kc_order */
	int64_t measured_start_ns, measured_end_ns; /* start of the first node, end of the last */
	uint64_t link;                              /* worker, as of a launch */
	uint32_t
	    copies; /* its copies and memsets, whose slots are behind those of its kernels; 0 where it is `whole` */
};

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

#endif

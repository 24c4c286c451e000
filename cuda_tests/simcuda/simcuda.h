/*
 * Private interface between the stand-ins: what libcuda.so.1 offers to the
 * stand-ins of CUPTI and cudart beyond NVIDIA's API. They find it by name,
 * with dlsym() on a handle of libcuda.so.1; a null answer means the driver is
 * not the simulated one.
 *
 *   simcuda_call      one API call, from enter to leave, on the caller's stack.
 *                     Each has a correlation id; whether calls nested in it (a runtime
 *                     call's driver calls) share it, and which one the work has that they
 *                     launch, says SIMCUDA_CUPTI_IDS.
 *   simcuda_activity  one piece of device work: kernel, copy or memset.
 *   simcuda_resource  a context, stream, module or graph that was created or is destroyed.
 *   simcuda_sink      functions that the driver calls: the stand-in for CUPTI, or none.
 *   simcuda_faults    what SIMCUDA_FAULT asks for, parsed once.
 *   simcuda_log       the driver's own counts, in the file that SIMCUDA_LOG names.
 *
 * All times are CLOCK_MONOTONIC nanoseconds, the simulated device's included.
 */
#ifndef SIMCUDA_H
#define SIMCUDA_H

#include <stdint.h>

enum simcuda_domain { /* values of CUpti_CallbackDomain */
		      SIMCUDA_DRIVER = 1,
		      SIMCUDA_RUNTIME = 2,
};

struct simcuda_call {
	/* set by the function that is called */
	uint32_t domain;      /* enum simcuda_domain */
	uint32_t cbid;        /* CUPTI_DRIVER_TRACE_CBID_* or CUPTI_RUNTIME_TRACE_CBID_* */
	const char *function; /* "cuLaunchKernel" */
	const char *symbol;   /* kernel's mangled name for a launch, else null */
	const void *params;   /* CUPTI's <function>_params of generated_*_meta.h, or null */
	int result;           /* CUresult or cudaError_t, set by simcuda_api_leave() */
	/* set by simcuda_api_enter() */
	uint32_t correlation; /* never 0 */
	uint32_t enclosing;   /* of the call that this one is nested in; 0: none */
	uint32_t context_id;  /* 0: none current */
	void *context;        /* CUcontext, null: none current */
	uint64_t data;        /* for the sink, kept from enter to leave: CUpti_CallbackData.correlationData */
	/* set by the sink */
	uint8_t told;      /* at enter: a subscriber was told of the call ... */
	uint8_t left_open; /* ... and at leave it was not: the thread's later calls have this one's id */
	uint32_t sessions; /* at enter: how often records of kernels had been enabled */
};

enum simcuda_kind {
	SIMCUDA_KERNEL = 1,
	SIMCUDA_MEMCPY = 2,
	SIMCUDA_MEMSET = 4,
	/* A launch of a graph as a whole, from the start of its first node to the end of its last. While it is asked
	 * for, there are no activities of the nodes of graphs. */
	SIMCUDA_GRAPH = 8,
};

/* What the sink keeps with an activity from launched() to ended(). */
struct simcuda_place {
	uint32_t record_kind; /* CUpti_ActivityKind; 0: there will be no record */
	uint64_t thread;      /* that launched the work, as the sink numbers threads */
	void *buffer;         /* holds the record already; null: it takes its place at the end */
	uint64_t offset;      /* of the record in the buffer, bytes */
};

struct simcuda_activity {
	uint32_t kind; /* enum simcuda_kind, one bit */
	uint32_t device;
	uint32_t context_id;
	uint32_t stream_id;
	uint32_t correlation;
	int32_t priority;
	uint64_t queued_ns;    /* the host call */
	uint64_t submitted_ns; /* reached the device */
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t graph_node_id; /* 0: not from a graph; the instantiated node's */
	uint32_t graph_id;      /* 0: not from a graph; the executable graph's */
	/* kernels */
	uint32_t registers;
	const char *name; /* mangled; stays valid until the process ends */
	uint64_t grid_id;
	uint32_t grid[3], block[3], cluster[3]; /* cluster 0,0,0: none */
	uint32_t static_shared_bytes;
	uint32_t dynamic_shared_bytes;
	uint32_t local_bytes; /* per thread */
	/* copies and memsets */
	uint32_t copy_kind;                     /* CUpti_ActivityMemcpyKind */
	uint32_t source_kind, destination_kind; /* CUpti_ActivityMemoryKind; memset: destination */
	uint32_t destination_device;            /* differs from device for peer copies */
	uint32_t value;                         /* memset */
	uint32_t async;                         /* 1: an asynchronous call */
	uint64_t bytes;
	struct simcuda_place place;
};

struct simcuda_resource {
	uint32_t cbid; /* CUPTI_CBID_RESOURCE_* */
	void *context; /* CUcontext */
	void *stream;  /* CUstream, for stream callbacks */
	/* for module callbacks */
	uint32_t module_id;
	const void *image;
	uint64_t image_bytes;
	/* for graph callbacks: CUgraph, CUgraphNode, CUgraphExec */
	void *graph, *original_graph;
	void *node, *original_node, *dependency;
	void *graph_exec;
	int node_type; /* CUgraphNodeType */
};

/*
 * The driver holds none of its locks during these calls, except one that keeps two
 * threads from calling ended() at the same time. Each may call CUDA functions. A null
 * member is not called.
 *
 *   launched  on the thread that hands the work to a device, during the launch call;
 *             the activity has no times yet.
 *   ended     on the thread that advanced the simulation past the end of the work.
 */
struct simcuda_sink {
	void *user;
	void (*api)(void *user, struct simcuda_call *call, int leaving);
	void (*launched)(void *user, struct simcuda_activity *activity);
	void (*ended)(void *user, const struct simcuda_activity *activity);
	void (*resource)(void *user, const struct simcuda_resource *resource);
};

struct simcuda_faults { /* 0: off; N: every Nth (oom, cupti_crash_flush: only the Nth) */
	uint32_t cupti_busy;
	uint32_t cupti_drop;
	uint32_t cupti_zero_time;
	uint32_t cupti_other_clock;
	uint32_t cupti_device_buffers;
	uint32_t cupti_graph_ids;
	uint32_t cupti_hang_disable;
	uint32_t cupti_crash_flush;
	uint32_t cupti_null_buffer;
	uint32_t cupti_incomplete_kind;
	uint32_t cupti_finalize_graphs;
	uint32_t cupti_cost_ns; /* more for each launch and node, since records were first made */
	uint32_t cupti_stuck_kinds;
	uint32_t cupti_unsafe_flush;
	uint32_t cupti_slow_kernels_ns; /* more for each kernel that a record is made of */
	uint32_t cupti_graph_nodes;
	uint32_t cupti_graph_short;
	uint32_t cupti_whole_calls;
	uint32_t oom;
	uint32_t launch_fail;
	uint32_t hidden_addresses;
	uint32_t no_device;
	uint32_t query_errno;
	uint32_t slow_launch_ns; /* more for each launch and node, from the start */
	uint32_t loose_handles;
	uint32_t serial_dependents;
};

#define SIMCUDA_LOG_MAGIC "SIMCUDA1"

/* The whole of a SIMCUDA_LOG file, native byte order. Counters only grow, by
 * atomic additions from all processes and threads that share the file. */
struct simcuda_log {
	char magic[8];
	uint64_t launches;          /* launch calls that succeeded, without captured ones */
	uint64_t launches_failed;   /* launch calls that returned an error */
	uint64_t launches_captured; /* launch calls that became graph nodes */
	uint64_t graph_launches;
	uint64_t kernels;           /* kernels submitted to a device: launches + kernel nodes of graph launches */
	uint64_t copies;            /* copies submitted to a device, graph nodes included */
	uint64_t memsets;           /* likewise */
	uint64_t processes;         /* that called cuInit with this log */
	uint64_t host_functions_v2; /* calls of cuLaunchHostFunc_v2 and its twin */
	uint64_t calls;             /* of the driver API, made while it was usable */
	uint64_t cupti_buffers;     /* that CUPTI got from its client */
	uint64_t cupti_cleared;     /* of these, cleared by CUPTI itself, on the thread whose record needed it */
	uint64_t reserved[3];
};

/* Replaces the sink; null removes it. After return the former one is not
 * called again by this thread, but a call in progress elsewhere may still end. */
void simcuda_subscribe(const struct simcuda_sink *sink);
typedef void simcuda_subscribe_fn(const struct simcuda_sink *sink);

/* Chooses the activities to report, an OR of enum simcuda_kind, for work that is submitted
 * to a device from now on. */
void simcuda_collect(uint32_t kinds);
typedef void simcuda_collect_fn(uint32_t kinds);

/* Simulates up to now and tells the sink of all work that has ended, on this
 * thread, in order of the ends. Synchronising and querying CUDA calls do so too.
 * Where another thread is telling the sink, it waits for that thread, so the caller
 * must hold no lock that the sink's ended() takes. In null mode (SIMCUDA_MODE=null)
 * there are no activities. */
void simcuda_advance(void);
typedef void simcuda_advance_fn(void);

/* Returns the time of CLOCK_MONOTONIC, the clock of all activities. */
uint64_t simcuda_now_ns(void);
typedef uint64_t simcuda_now_ns_fn(void);

/*
 * An API call begins and ends. cudart calls them around its functions with
 * domain SIMCUDA_RUNTIME, so that driver calls inside share the correlation id;
 * the driver does it for its own. call must stay at the same address until leave.
 */
void simcuda_api_enter(struct simcuda_call *call);
typedef void simcuda_api_enter_fn(struct simcuda_call *call);
void simcuda_api_leave(struct simcuda_call *call, int result);
typedef void simcuda_api_leave_fn(struct simcuda_call *call, int result);

const struct simcuda_faults *simcuda_faults(void);
typedef const struct simcuda_faults *simcuda_faults_fn(void);

/* How many devices SIMCUDA_DEVICE names, as known before cuInit as after it. */
unsigned simcuda_device_count(void);
typedef unsigned simcuda_device_count_fn(void);

/*
 * The next kernel that this thread launches is one of a recording: it takes duration_ns, which is not 0, whatever runs
 * beside it, takes no room on the SMs, and starts wait_ns after its call, or when its stream is free if that is later.
 */
void simcuda_play(uint64_t wait_ns, uint64_t duration_ns);
typedef void simcuda_play_fn(uint64_t wait_ns, uint64_t duration_ns);

/* cuptiFinalize has been called. */
void simcuda_finalized(void);
typedef void simcuda_finalized_fn(void);

/* CUPTI has got a buffer; cleared: and has cleared it. */
void simcuda_count_buffer(int cleared);
typedef void simcuda_count_buffer_fn(int cleared);

/* The ids that activities carry; 0 for an invalid handle. stream may be
 * null or one of the CU_STREAM_ handles, which mean a stream of this context. */
uint32_t simcuda_context_id(void *context);
typedef uint32_t simcuda_context_id_fn(void *context);
uint32_t simcuda_stream_id(void *context, void *stream, int per_thread);
typedef uint32_t simcuda_stream_id_fn(void *context, void *stream, int per_thread);
uint64_t simcuda_node_id(void *node);
typedef uint64_t simcuda_node_id_fn(void *node);
uint32_t simcuda_graph_id(void *graph);
typedef uint32_t simcuda_graph_id_fn(void *graph);
uint32_t simcuda_graph_exec_id(void *graph_exec);
typedef uint32_t simcuda_graph_exec_id_fn(void *graph_exec);

#endif

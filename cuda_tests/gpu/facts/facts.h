/*
 * What kerncast takes for granted about the driver and CUPTI, and only a real driver can confirm. The program is no
 * test of kerncast: it looks for itself. It is a driver API program that finds the driver, CUPTI and, where one is
 * named, a CUDA runtime with dlopen, and brings its kernels as PTX text: it starts on any driver since 11.8.
 *
 * A process answers one PART of the questions, so that one that crashes or hangs takes no other with it.
 *
 *   call    what a callback said of one API call: its domain and correlation id
 *   record  a kernel record: times, correlation id, graph node, launch shape, when it was delivered
 *   clone   a graph node, and the one it was cloned from
 */
#ifndef FACTS_H
#define FACTS_H

#include <cuda.h>
#include <cupti.h>
#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

/* X(symbol, type): what libcuda exports. A driver may lack one: the pointer is then NULL. */
#define FACTS_DRIVER(X)                                                                                                \
	X(cuInit, cuInit)                                                                                              \
	X(cuDriverGetVersion, cuDriverGetVersion)                                                                      \
	X(cuGetErrorName, cuGetErrorName)                                                                              \
	X(cuDeviceGet, cuDeviceGet)                                                                                    \
	X(cuDeviceGetName, cuDeviceGetName)                                                                            \
	X(cuDeviceGetAttribute, cuDeviceGetAttribute)                                                                  \
	X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain)                                                          \
	X(cuCtxSetCurrent, cuCtxSetCurrent)                                                                            \
	X(cuCtxSynchronize, cuCtxSynchronize)                                                                          \
	X(cuStreamCreate, cuStreamCreate)                                                                              \
	X(cuStreamDestroy_v2, cuStreamDestroy_v2)                                                                      \
	X(cuStreamQuery, cuStreamQuery)                                                                                \
	X(cuStreamSynchronize, cuStreamSynchronize)                                                                    \
	X(cuMemGetInfo_v2, cuMemGetInfo_v2)                                                                            \
	X(cuMemAlloc_v2, cuMemAlloc_v2)                                                                                \
	X(cuMemsetD8_v2, cuMemsetD8_v2)                                                                                \
	X(cuDevicePrimaryCtxReset_v2, cuDevicePrimaryCtxReset_v2)                                                      \
	X(cuEventCreate, cuEventCreate)                                                                                \
	X(cuEventRecord, cuEventRecord)                                                                                \
	X(cuEventElapsedTime, cuEventElapsedTime)                                                                      \
	X(cuStreamBeginCapture_v2, cuStreamBeginCapture_v2)                                                            \
	X(cuStreamEndCapture, cuStreamEndCapture)                                                                      \
	X(cuModuleLoadData, cuModuleLoadData)                                                                          \
	X(cuModuleGetFunction, cuModuleGetFunction)                                                                    \
	X(cuLibraryLoadData, cuLibraryLoadData)                                                                        \
	X(cuLibraryGetKernel, cuLibraryGetKernel)                                                                      \
	X(cuKernelGetFunction, cuKernelGetFunction)                                                                    \
	X(cuKernelGetAttribute, cuKernelGetAttribute)                                                                  \
	X(cuFuncGetAttribute, cuFuncGetAttribute)                                                                      \
	X(cuLaunchKernel, cuLaunchKernel)                                                                              \
	X(cuLaunchKernelEx, cuLaunchKernelEx)                                                                          \
	X(cuGraphCreate, cuGraphCreate)                                                                                \
	X(cuGraphDestroy, cuGraphDestroy)                                                                              \
	X(cuGraphAddKernelNode_v2, cuGraphAddKernelNode_v2)                                                            \
	X(cuGraphAddChildGraphNode, cuGraphAddChildGraphNode)                                                          \
	X(cuGraphGetNodes, cuGraphGetNodes)                                                                            \
	X(cuGraphKernelNodeGetParams_v2, cuGraphKernelNodeGetParams_v2)                                                \
	X(cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags)                                                    \
	X(cuGraphLaunch, cuGraphLaunch)                                                                                \
	X(cuGraphExecDestroy, cuGraphExecDestroy)

#define FACTS_CUPTI(X)                                                                                                 \
	X(cuptiGetVersion)                                                                                             \
	X(cuptiSubscribe)                                                                                              \
	X(cuptiUnsubscribe)                                                                                            \
	X(cuptiEnableDomain)                                                                                           \
	X(cuptiEnableCallback)                                                                                         \
	X(cuptiActivityEnable)                                                                                         \
	X(cuptiActivityDisable)                                                                                        \
	X(cuptiActivitySetAttribute)                                                                                   \
	X(cuptiFinalize)                                                                                               \
	X(cuptiActivityRegisterCallbacks)                                                                              \
	X(cuptiActivityFlushAll)                                                                                       \
	X(cuptiActivityGetNextRecord)                                                                                  \
	X(cuptiActivityGetNumDroppedRecords)                                                                           \
	X(cuptiActivityRegisterTimestampCallback)                                                                      \
	X(cuptiGetGraphNodeId)                                                                                         \
	X(cuptiGetResultString)

enum {
	FACTS_CALLS_MAX = 4096,
	FACTS_RECORDS_MAX = 65536,
	FACTS_CLONES_MAX = 256,
};

struct facts_options {
	const char *cupti;  /* path, "none", or NULL: as the loader finds it */
	const char *cudart; /* path of a shared CUDA runtime, or NULL */
	bool both_domains;  /* callbacks of the runtime API, too, and of every function; else of launches of the driver
			       API, which is what kerncast asks for */
	size_t buffer_bytes;
	int kernels, nodes;          /* of a stream; of a graph */
	int launches;                /* that are timed; 0: as many as the part takes */
	bool in_callback;            /* cuptiFinalize is called at the exit of a driver call */
	bool early;                  /* CUPTI is attached before there is a context */
	bool instantiated, launched; /* with CUPTI attached: the graph of `survival` */
	const char *switched;        /* what `stuck` switches off and on: "driver", "runtime", "kinds" */
	uint64_t short_ns,
	    long_ns;           /* how long kernels of `delivery` keep the device busy; short_ns: of `decode`, too */
	size_t device_buffers; /* CUPTI's own, at most */
	const char *file;      /* what `windows` makes and removes, and `first` reads */
};

struct facts_call {
	bool runtime; /* else driver */
	uint32_t correlation;
	char function[64];
};

struct facts_record {
	uint64_t start_ns, end_ns, node;
	int64_t delivered_ns; /* when the buffer was completed */
	uint32_t correlation, device, registers;
	int32_t grid, block;
	size_t bytes; /* from the record before it in its buffer; 0: it is the first */
	char name[64];
};

struct facts_clone {
	uint64_t node, original;
};

/* The driver. */
struct facts_driver {
	void *handle;
#define FACTS_MEMBER(symbol, type) __typeof__(&type) symbol;
	FACTS_DRIVER(FACTS_MEMBER)
#undef FACTS_MEMBER
	CUdevice device;
	CUcontext context;
	int version, major, minor; /* of the driver; the device's compute capability */
};
extern struct facts_driver facts_driver;

/* CUPTI, and what it has said. Everything is read after facts_collect(), or under facts_lock(). */
struct facts_cupti {
	void *handle; /* NULL: without CUPTI */
#define FACTS_MEMBER(symbol) __typeof__(&symbol) symbol;
	FACTS_CUPTI(FACTS_MEMBER)
#undef FACTS_MEMBER
	CUpti_SubscriberHandle subscriber;
	struct facts_call calls[FACTS_CALLS_MAX];
	struct facts_record records[FACTS_RECORDS_MAX];
	struct facts_clone clones[FACTS_CLONES_MAX];
	int call_count, record_count, clone_count;
	size_t dropped, buffer_bytes;
	bool own_clock;
};
extern struct facts_cupti facts_cupti;

/* One line: NAME <tab> holds | fails | info <tab> what was seen. holds < 0: info. */
void facts_say(const char *name, int holds, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* One line: KEY <tab> value <tab> VALUE, for the program that draws conclusions. */
void facts_value(const char *key, const char *format, ...) __attribute__((format(printf, 2, 3)));
_Noreturn void facts_give_up(const char *what, const char *why);
int facts_failures(void);
int64_t facts_now_ns(void); /* CLOCK_MONOTONIC */

/* Finds the driver's functions. facts_driver_start: cuInit; facts_context: the first device's primary context. */
void facts_driver_open(void);
void facts_driver_start(void);
void facts_context(void);
void facts_check(CUresult result, const char *call);
/* Calls a function of the driver, which must be there and succeed. */
#define FACTS_CALL(function, ...)                                                                                      \
	(facts_driver.function ? facts_check(facts_driver.function(__VA_ARGS__), #function)                            \
			       : facts_give_up(#function, "the driver does not have it"))
const char *facts_error_name(CUresult result);
void facts_versions(const struct facts_options *options);

/* Finds CUPTI's functions, unless they are found. */
void facts_cupti_open(const struct facts_options *options);
/* Opens, subscribes and enables kernel records; nothing where the options say "none". */
void facts_attach(const struct facts_options *options);
void facts_check_cupti(CUptiResult result, const char *call);
#define FACTS_CUPTI_CALL(function, ...) facts_check_cupti(facts_cupti.function(__VA_ARGS__), #function)
void facts_lock(void);
void facts_unlock(void);
/* Waits for the device and for all records; returns how many there are. */
int facts_collect(void);
void facts_forget(void);
/* The call with this id, or NULL. */
const struct facts_call *facts_call_of(bool runtime, uint32_t correlation);

/* Kernels that keep one SM busy for a time on the device's clock. PTX 7.8, which drivers since 11.8 compile. */
extern const char facts_ptx[]; /* facts_first, facts_second (unsigned 64-bit ns), facts_work (steps), for 7.5 and up */
extern const char facts_ptx_dependent[]; /* facts_dependent (the same): lets the next kernel begin; for 9.0 and up */
CUfunction facts_function(const char *name);
void facts_launch(CUfunction function, CUstream stream, unsigned grid, unsigned block, uint64_t ns);
CUstream facts_stream(void);
/* A graph of a chain of kernels that take ns, captured and instantiated. */
CUgraphExec facts_captured(CUfunction function, CUstream stream, int nodes, uint64_t ns);

/* The parts; the options are documented where they are parsed. */
void facts_addresses(const struct facts_options *options);
void facts_records(const struct facts_options *options);
void facts_runtime(const struct facts_options *options);
void facts_graphs(const struct facts_options *options);
void facts_delivery(const struct facts_options *options);
void facts_kernel_as_function(const struct facts_options *options);
void facts_function_as_kernel(const struct facts_options *options);
void facts_capture(const struct facts_options *options);
void facts_graph_cost(const struct facts_options *options);
void facts_dependent(const struct facts_options *options);
void facts_idle(const struct facts_options *options);
void facts_idle_graphs(const struct facts_options *options);
void facts_survival(const struct facts_options *options);
void facts_stuck(const struct facts_options *options);
void facts_reattach(const struct facts_options *options);
void facts_many(const struct facts_options *options);
void facts_hw_trace(const struct facts_options *options);
void facts_graph_records(const struct facts_options *options);
void facts_windows(const struct facts_options *options);
void facts_reset(const struct facts_options *options);
void facts_clock(const struct facts_options *options);
void facts_events(const struct facts_options *options);
void facts_decode(const struct facts_options *options);
void facts_first(const struct facts_options *options);

#endif

/*
 * Inside the simulated driver.
 *
 *   sim_preset   a GPU's documented numbers
 *   sim_device   one simulated GPU: its SMs, hardware queues and copy engines
 *   CUctx_st, CUstream_st, CUevent_st   the objects behind the API's handles
 *   sim_kernel   a kernel of a loaded image: CUfunction and CUkernel both point to one
 *   sim_work     the work of a stream operation or a graph node: launch, copy, fill, …
 *   sim_op       a sim_work that has been submitted to a device, see engine.h
 *   struct sim   all state that outlives a call; there is one instance
 *
 * A call of the API builds a sim_work and hands it to sim_stream_do(), which makes
 * a graph node of it while the stream captures and a sim_op otherwise.
 *
 * Locks, in the order they are taken: deliver, engine, intake; heap and objects are
 * leaves. None is held while a function of the application or of the sink runs,
 * except deliver.
 */
#ifndef SIM_H
#define SIM_H

#define __CUDA_API_VERSION_INTERNAL
#pragma GCC visibility push(default)
#include <cuda.h>
/* of cudaProfiler.h, which the pinned packages of scripts/setup do not hold */
CUresult CUDAAPI cuProfilerInitialize(const char *configuration, const char *output, int mode);
CUresult CUDAAPI cuProfilerStart(void);
CUresult CUDAAPI cuProfilerStop(void);
/* of cudaGL.h, which includes OpenGL's headers; GLuint and GLenum are unsigned int there */
CUresult CUDAAPI cuGraphicsGLRegisterBuffer(CUgraphicsResource *out, unsigned int buffer, unsigned int flags);
CUresult CUDAAPI cuGraphicsGLRegisterImage(CUgraphicsResource *out, unsigned int image, unsigned int target,
					   unsigned int flags);
#include "simcuda.h"
#pragma GCC visibility pop
#include <cupti_driver_cbid.h>
#pragma GCC visibility push(default)
#include "shim/later_driver.h"
#pragma GCC visibility pop

#include "cuda_tests/simcuda/gpu/gpu_cost.h"
#include "cuda_tests/simcuda/gpu/scheduler.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_DEVICES_MAX 16
#define SIM_PARAMS_MAX 256
#define SIM_QUEUES_MAX 32 /* largest CUDA_DEVICE_MAX_CONNECTIONS */
#define SIM_ENGINES 3     /* host to device, device to host, device to device */

struct sim_preset {
	const char *key; /* in SIMCUDA_DEVICE */
	const char *name;
	uint32_t cc_major, cc_minor;
	uint32_t sm_count;
	uint32_t clock_khz, memory_clock_khz, memory_bus_bits;
	double memory_bytes_per_ns;
	uint64_t memory_bytes;
	uint32_t l2_bytes;
	uint32_t threads_per_sm, blocks_per_sm, registers_per_sm, shared_per_sm_bytes;
	uint32_t shared_optin_bytes;    /* 0: no opt-in */
	uint32_t shared_reserved_bytes; /* per block */
	uint32_t shared_unit_bytes;     /* allocation granularity */
	uint32_t async_engines;
	uint32_t resident_grids;
	int32_t greatest_priority; /* levels: 0 down to this */
	double link_bytes_per_ns;  /* host link, one direction */
	uint32_t launch_overhead_ns, launch_gap_ns;
};

struct sim_queue {
	struct sim_op *head, *tail;
};

struct sim_device {
	int ordinal;
	const struct sim_preset *preset;
	struct CUctx_st *primary;
	uint32_t primary_refs, primary_flags;
	atomic_ullong memory_used;
	uint64_t grid_ids;
	uint32_t queues; /* hardware queues per level */
	uint32_t next_queue[SM_LEVELS];
	struct sim_queue queue[SM_LEVELS][SIM_QUEUES_MAX];
	double engine_free_ns[SIM_ENGINES];
	int to_dispatch; /* a kernel was submitted or ended at this instant */
	struct sm_device sms;
};

enum sim_magic {
	SIM_KERNEL = 0x6b65726e,
	SIM_FUNCTION = 0x66756e63,
	SIM_STREAM = 0x73747265,
	SIM_EVENT = 0x6576656e,
	SIM_CONTEXT = 0x63747874,
	SIM_MODULE = 0x6d6f6475,
	SIM_GRAPH = 0x67726170,
	SIM_GRAPH_EXEC = 0x65786563,
	SIM_NODE = 0x6e6f6465,
	SIM_USER_OBJECT = 0x75736572,
	SIM_MEMORY = 0x6d656d6f,
	SIM_ARRAY = 0x61727279,
	SIM_TEXTURE = 0x74657874,
	SIM_SURFACE = 0x73757266,
};

struct CUctx_st {
	uint32_t magic;
	uint32_t id;
	struct sim_device *device;
	uint32_t flags;
	uint32_t api_version;
	size_t limit[CU_LIMIT_MAX];
	int is_primary, alive;
	uint32_t attached; /* calls of cuCtxAttach without cuCtxDetach */
	struct CUstream_st *legacy;
	struct CUstream_st *streams; /* all, the legacy one included */
};

struct CUstream_st {
	uint32_t magic;
	uint32_t id;
	struct CUctx_st *context;
	struct CUstream_st *next; /* of the context */
	uint32_t flags;
	int32_t priority;
	uint32_t level, queue;
	int is_legacy;
	int destroyed;
	struct sim_op *tail; /* the last one taken in */
	uint32_t unfinished; /* taken in and not done */
	atomic_uint pending; /* handed over and not done */
	struct sim_capture *_Atomic capture;
	struct CUgraphNode_st **capture_tail; /* nodes that the next one depends on */
	size_t capture_tails;
	int cig; /* it captures into a list of a graphics API */
};

struct CUevent_st {
	uint32_t magic;
	uint32_t flags;
	struct CUctx_st *context;
	struct sim_op *recorded;     /* the last one taken in */
	struct sim_capture *capture; /* the capture in which it was recorded, if it was */
	struct CUgraphNode_st **capture_tail;
	size_t capture_tails;
};

struct sim_param {
	uint32_t offset, size;
};

struct sim_legacy { /* set by cuFuncSet* and cuParamSet* for cuLaunch and cuLaunchGrid */
	unsigned block[3];
	unsigned shared_bytes, params_bytes;
	uint8_t params[1024];
};

/* A kernel has two handles: a CUkernel points to sim_kernel, a CUfunction to this part of it. */
struct sim_function {
	uint32_t magic;
	struct sim_kernel *kernel;
};

struct sim_kernel {
	uint32_t magic;
	struct sim_function function;
	char *name;
	struct CUmod_st *module;
	uint32_t registers, static_shared_bytes, local_bytes;
	uint32_t max_threads; /* per block */
	uint32_t binary_version, ptx_version;
	uint32_t params;
	struct sim_param *param;
	const struct cost *cost;
	uint64_t name_hash;
	atomic_ullong executions;
	struct sim_legacy legacy;
	/* attributes that can be set */
	atomic_int max_dynamic_shared_bytes, carveout, cluster[3], nonportable_cluster, cache_config;
};

struct sim_global {
	char *name;
	uint64_t bytes;
	CUdeviceptr address; /* 0: not yet allocated */
	int managed;
	void *initial; /* null: zeros */
};

/* Code as read from an image, before it is loaded for a device. */
struct sim_code {
	uint32_t kernels, globals;
	struct sim_kernel *kernel;
	struct sim_global *global;
};

struct CUmod_st { /* a module or a library, CUmodule and CUlibrary point to the same */
	uint32_t magic;
	uint32_t id;
	struct CUctx_st *context; /* null: library */
	struct sim_code code;
	void *image; /* our copy, for module callbacks */
	size_t image_bytes;
};

enum sim_kind {
	SIM_DO_NOTHING, /* ordering only */
	SIM_DO_KERNEL,
	SIM_DO_COPY,
	SIM_DO_FILL,
	SIM_DO_HOST,
	SIM_DO_RECORD,
	SIM_DO_WAIT,
	SIM_DO_FREE,
	SIM_DO_GRAPH,
};

struct sim_launch {
	struct sim_kernel *kernel;
	int by_kernel; /* given as a CUkernel */
	uint32_t grid[3], block[3], cluster[3];
	uint32_t dynamic_shared_bytes;
	uint32_t cooperative;
	int32_t priority;
	uint32_t has_priority;
	uint32_t programmatic; /* it may begin when all blocks of the kernel before it have */
	double cycles, bytes;  /* of one block, from the cost table */
	uint64_t played_ns;    /* not 0: it takes so long whatever runs beside it (simcuda_play) */
	uint64_t wait_ns;      /* played: from the call to the earliest start */
};

struct CUarray_st { /* its rows lie one after the other, as in memory of the host */
	uint32_t magic;
	CUDA_ARRAY3D_DESCRIPTOR descriptor;
	uint8_t *base;
	size_t element_bytes, row_bytes;
	size_t rows, layers; /* at least 1 */
};

struct sim_place { /* one side of a copy */
	uint8_t *base;
	CUarray array;       /* null: base is an address of the application's */
	size_t pitch, slice; /* bytes from row to row, layer to layer */
	uint32_t kind;       /* CUpti_ActivityMemoryKind */
	uint32_t device;
};

struct sim_copy {
	struct sim_place from, to;
	size_t width_bytes, height, depth;
	uint32_t async;
	void *staged; /* freed when done */
};

struct sim_fill {
	struct sim_place to;
	size_t width, height; /* elements, rows */
	uint32_t value, element_bytes;
	uint32_t async;
};

struct sim_host {
	void (*function)(void *);
	void *data;
	CUstreamCallback callback; /* cuStreamAddCallback */
	CUstream stream;
};

struct sim_work {
	enum sim_kind kind;
	int external; /* SIM_DO_RECORD, SIM_DO_WAIT: a node of its own in a captured graph */
	union {
		struct sim_launch launch;
		struct sim_copy copy;
		struct sim_fill fill;
		struct sim_host host;
		CUevent event;
		CUdeviceptr address;
		struct sim_run *run;
	};
};

struct sim {
	pthread_mutex_t objects; /* devices' primary contexts, modules, ids */
	int devices;
	struct sim_device device[SIM_DEVICES_MAX];
	atomic_int ready;  /* cuInit succeeded */
	atomic_int dead;   /* forked from a process that used CUDA */
	atomic_int failed; /* the CUresult of all work since an exception on the device; 0: there was none */
	int null_mode;     /* SIMCUDA_MODE=null: nothing takes time */
	int verbose;
	unsigned context_ms; /* that creating a context takes */
	atomic_int bare;     /* null mode and no sink: a launch need do nothing */
	uint64_t seed;
	double noise;
	uint32_t connections;
	struct cost_table *costs;
	struct simcuda_log *log; /* private memory where SIMCUDA_LOG is not set */
	int log_shared;
	atomic_uint next_id, next_context_id, next_module_id, next_graph_id;
	atomic_ullong next_node_id;
};
extern struct sim sim;

/* cu_api.c: around every exported function. */
#define SIM_CALL(api)                                                                                                  \
	{                                                                                                              \
		.domain = SIMCUDA_DRIVER, .cbid = CUPTI_DRIVER_TRACE_CBID_##api, .function = #api                      \
	}

CUresult sim_usable(void);
uint32_t sim_correlation(void);   /* of the outermost call in progress on this thread */
unsigned sim_finalizations(void); /* so often cuptiFinalize has been called */
void sim_notify(const struct simcuda_resource *resource);
void sim_update_bare(void);
void sim_evict_init(void);
void sim_evict(void); /* cu_evict.c: empties caches as a real driver does, where SIMCUDA_EVICT asks for it */
int sim_collects(uint32_t kind);
int sim_has_collected(void); /* whether any kind was ever collected */
struct simcuda_sink *sim_sink(void);

/* An exported function: enter, work if the driver is usable, leave. work may
 * use per_thread: 1 where a null stream means the thread's own. */
#define SIM_API_AS(name, arguments, per_thread_, work) SIM_API_TOLD(name, arguments, NULL, per_thread_, work)
/* params: the arguments as CUPTI reports them, a pointer or NULL. */
#define SIM_API_TOLD(name, arguments, params_, per_thread_, work)                                                      \
	CUresult CUDAAPI name arguments                                                                                \
	{                                                                                                              \
		enum { per_thread = per_thread_ };                                                                     \
		struct simcuda_call call_ = SIM_CALL(name);                                                            \
		CUresult result_ = sim_usable();                                                                       \
		if (result_)                                                                                           \
			return result_;                                                                                \
		call_.params = params_;                                                                                \
		simcuda_api_enter(&call_);                                                                             \
		result_ = (work);                                                                                      \
		simcuda_api_leave(&call_, result_);                                                                    \
		return result_;                                                                                        \
	}
#define SIM_API(name, arguments, work) SIM_API_AS(name, arguments, 0, work)

/* The same for a function whose arguments CUPTI reports: TOLD(arguments). */
#define SIM_API_WITH(name, arguments, told, work) SIM_API_TOLD(name, arguments, &((name##_params)told), 0, work)
#define SIM_API_PTSZ_WITH(name, arguments, told, work)                                                                 \
	SIM_API_TOLD(name, arguments, &((name##_params)told), 0, work)                                                 \
	SIM_API_TOLD(name##_ptsz, arguments, &((name##_ptsz_params)told), 1, work)
/* clang-format off */
#define TOLD(...) {__VA_ARGS__}
/* clang-format on */

/* The same work by a name that no tool knows, without callbacks: as where NVIDIA's runtime calls the driver through
 * private tables (SIMCUDA_LOADS=private). */
#define SIM_PRIVATE(name, arguments, work)                                                                             \
	__attribute__((visibility("default"))) CUresult simcuda_private_##name arguments;                              \
	CUresult simcuda_private_##name arguments                                                                      \
	{                                                                                                              \
		CUresult result_ = sim_usable();                                                                       \
		return result_ ? result_ : (work);                                                                     \
	}

/* A function and its per-thread twin, name_ptsz or name_ptds. */
#define SIM_API_PTSZ(name, arguments, work)                                                                            \
	SIM_API_AS(name, arguments, 0, work)                                                                           \
	SIM_API_AS(name##_ptsz, arguments, 1, work)
#define SIM_API_PTDS(name, arguments, work)                                                                            \
	SIM_API_AS(name, arguments, 0, work)                                                                           \
	SIM_API_AS(name##_ptds, arguments, 1, work)

/* cu_device.c */
int sim_driver_version(void); /* may be asked before cuInit */

/* fault.c */
void sim_faults_init(void);
int sim_fault_oom(void); /* 1: this allocation or launch is to fail */
int sim_fault_launch(void);
/* Takes the time that so many launches, or nodes of one, take more. */
void sim_fault_cost(uint64_t launches);
void sim_log_init(void);
static inline void sim_count(uint64_t *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

/* preset.c */
const struct sim_preset *sim_preset_find(const char *key, size_t length);

static inline CUresult sim_failed(void)
{
	return (CUresult)atomic_load_explicit(&sim.failed, memory_order_relaxed);
}

/* cu_device.c */
struct sim_device *sim_device_get(CUdevice ordinal);

/* cu_context.c */
CUcontext sim_context(void); /* current one, null if none */
CUresult sim_context_wait(CUcontext context);

/* cu_stream.c. Resolves null and the special handles; per_thread: 1 if null means the thread's own stream.
 * Null where there is no current context or the handle is no stream. */
CUstream sim_stream(CUstream handle, int per_thread);
CUstream sim_stream_new(CUcontext context, uint32_t flags, int priority, int is_legacy);
void sim_stream_release(CUstream stream); /* engine lock held: frees a destroyed stream that is idle */
CUresult sim_stream_do(CUstream stream, const struct sim_work *work); /* stream may be null: an error */
CUresult sim_stream_do_and_wait(CUstream stream, const struct sim_work *work);
CUresult sim_stream_wait(CUstream stream);
CUresult sim_launch_host(CUstream stream, CUhostFn function, void *data);
CUresult sim_copy_line_async(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream);
int sim_is_device_copy(uint32_t copy_kind); /* between memories of devices */
CUresult sim_copy_box(const CUDA_MEMCPY3D *box, CUstream stream);
CUresult sim_copy_box_async(const CUDA_MEMCPY3D *box, CUstream stream);

/* heap.c */
enum sim_range_owner {
	SIM_RANGE_OF_DRIVER,      /* allocated by the driver, which frees it */
	SIM_RANGE_OF_APPLICATION, /* the application's own memory, registered */
	SIM_RANGE_MAPPED,         /* by cuMemMap */
};

struct sim_range {
	uint8_t *base;
	size_t bytes;
	uint32_t kind; /* CUpti_ActivityMemoryKind */
	uint32_t flags;
	struct CUctx_st *context; /* null: of no context, SIM_RANGE_MAPPED */
	uint32_t device;
	uint64_t id;
	int mapped; /* by the heap, with mmap */
	enum sim_range_owner owner;
};
int sim_range_add(const struct sim_range *range); /* 1: added; its id is set here */
/* 1: removed, the one that begins at base and has this owner. */
int sim_range_remove(const void *base, struct sim_range *range, enum sim_range_owner owner);
int sim_heap_reserve(struct sim_device *device, size_t bytes);  /* 1: counted as used, 0: too many */
int sim_range_of(const void *pointer, struct sim_range *range); /* 1: found */
uint32_t sim_memory_kind(const void *pointer, uint32_t *device);
CUresult sim_allocate(CUdeviceptr *address, size_t bytes, uint32_t kind, uint32_t flags);
CUresult sim_deallocate(const void *pointer);

/* cu_transfer.c */
void sim_copy_now(const struct sim_copy *copy);
void sim_fill_now(const struct sim_fill *fill);
uint32_t sim_copy_kind(uint32_t from, uint32_t to);
CUresult sim_copy_work(struct sim_work *work, const CUDA_MEMCPY3D *box);
CUresult sim_fill_work(struct sim_work *work, const CUDA_MEMSET_NODE_PARAMS *params);

/* cu_array.c: the place in an array where a copy begins, x in bytes, y in rows, z in layers; CUDA_ERROR_INVALID_VALUE
 * where the box does not lie in it. */
CUresult sim_array_place(struct sim_place *place, CUarray array, size_t x, size_t y, size_t z,
			 const CUDA_MEMCPY3D *box);

/* cu_function.c */
/* The kernel behind a handle; null: it is not of that kind. */
struct sim_kernel *sim_kernel_of_function(CUfunction function);
struct sim_kernel *sim_kernel_of_kernel(CUkernel kernel);
struct sim_kernel *sim_kernel_of(const void *handle); /* of either */
/* Returns blocks per SM; 0: the kernel cannot run. need may be null. */
uint32_t sim_occupancy(const struct sim_preset *preset, const struct sim_kernel *kernel, uint32_t threads,
		       uint32_t dynamic_shared_bytes, struct sm_resources *need);
void sim_kernel_of_code(struct sim_kernel *kernel, CUmodule module);

/* cu_launch.c: checks the launch and sets its cost; kernel, dimensions and attributes are set. */
/* Returns the packed arguments of `extra`, or null if there are none. */
const void *sim_launch_packed(void **extra, size_t *bytes);
CUresult sim_launch_prepare(struct sim_launch *launch, const struct sim_preset *preset, void **params, void **extra);

/* cu_capture.c */
CUresult sim_capture_work(CUstream stream, const struct sim_work *work);
CUresult sim_capture_kernel(CUstream stream, const struct sim_work *work, void **params, void **extra);
CUresult sim_capture_again(CUstream stream, CUstreamCaptureMode mode, CUgraph graph); /* replaces its nodes' contents */
void sim_capture_forget_event(CUevent event);
void sim_capture_disturb(void); /* by a flush of CUPTI, with the fault cupti-unsafe-flush */

#endif

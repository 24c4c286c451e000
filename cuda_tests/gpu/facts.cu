/*
 * What kerncast takes for granted about the driver and CUPTI, and only a real one
 * can confirm. It is no test of kerncast: it looks for itself, without the shim.
 *
 * usage: facts [LIBCUPTI]
 *
 * One line a fact as soon as it is known: NAME <tab> holds | fails | info <tab> what was
 * seen. Exit status 0 where none fails.
 *
 *   call    what a callback said of one API call: its domain and correlation id
 *   record  a kernel record: times, correlation id, graph node, launch shape
 *   clone   a graph node, and the one it was cloned from
 */
#include <cuda.h>
#include <cuda_runtime.h>
#include <cupti.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../shim/hooks.h"

#define BUFFER_BYTES (1u << 20)
#define CALLS_MAX 4096
#define RECORDS_MAX 4096
#define CLONES_MAX 256
#define PAIRS 40              /* of kernels that may run together */
#define SPIN_CYCLES 400000ull /* some 0.2 ms */
#define NODES 3
#define GRAPH_LAUNCHES 2

struct call {
	bool runtime; /* else driver */
	uint32_t correlation;
	char function[64];
};

struct record {
	uint64_t start_ns, end_ns, node;
	uint32_t correlation, device;
	int32_t grid, block;
	uint32_t registers;
	size_t bytes; /* to the next record; 0: not known */
	char name[64];
};

struct clone {
	uint64_t node, original;
};

#define CUPTI_FUNCTIONS(X)                                                                                             \
	X(cuptiGetVersion)                                                                                             \
	X(cuptiSubscribe)                                                                                              \
	X(cuptiUnsubscribe)                                                                                            \
	X(cuptiEnableDomain)                                                                                           \
	X(cuptiEnableCallback)                                                                                         \
	X(cuptiActivityEnable)                                                                                         \
	X(cuptiActivityRegisterCallbacks)                                                                              \
	X(cuptiActivityFlushAll)                                                                                       \
	X(cuptiActivityGetNextRecord)                                                                                  \
	X(cuptiActivityGetNumDroppedRecords)                                                                           \
	X(cuptiActivityRegisterTimestampCallback)                                                                      \
	X(cuptiGetGraphNodeId)                                                                                         \
	X(cuptiGetResultString)

static struct {
#define MEMBER(symbol) decltype(&::symbol) symbol;
	CUPTI_FUNCTIONS(MEMBER)
#undef MEMBER
	void *handle;
	CUpti_SubscriberHandle subscriber;
	struct call calls[CALLS_MAX];
	struct record records[RECORDS_MAX];
	struct clone clones[CLONES_MAX];
	int call_count, record_count, clone_count;
	size_t dropped;
	bool own_clock;
	int failures;
} self;

static void fact(const char *name, int holds, const char *format, ...)
{
	va_list args;

	printf("%s\t%s\t", name, holds < 0 ? "info" : holds ? "holds" : "fails");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
	self.failures += !holds;
}

static void give_up(const char *what, const char *why)
{
	fact(what, 0, "%s", why);
	exit(1);
}

static void check(cudaError_t error, const char *call)
{
	if (error != cudaSuccess)
		give_up(call, cudaGetErrorString(error));
}
#define CHECK(call) check((call), #call)

static void check_cupti(CUptiResult result, const char *call)
{
	const char *text = "unknown error";

	if (result == CUPTI_SUCCESS)
		return;
	self.cuptiGetResultString(result, &text);
	give_up(call, text);
}
#define CHECK_CUPTI(call) check_cupti(self.call, #call)

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static uint64_t CUPTIAPI timestamp(void)
{
	return (uint64_t)now_ns();
}

/* Kernels: they keep an SM busy, and hold a device's worth of nothing else. */

__global__ void first(unsigned long long cycles, unsigned *out)
{
	unsigned long long begin = clock64();

	while (clock64() - begin < cycles)
		;
	if (out)
		*out = 1;
}

__global__ void second(unsigned long long cycles, unsigned *out)
{
	unsigned long long begin = clock64();

	while (clock64() - begin < cycles)
		;
	if (out)
		*out = 2;
}

/* CUPTI */

static void CUPTIAPI on_request(uint8_t **bytes, size_t *size, size_t *max_records)
{
	*bytes = (uint8_t *)aligned_alloc(64, BUFFER_BYTES);
	*size = BUFFER_BYTES;
	*max_records = 0;
}

static void keep_record(const CUpti_ActivityKernel10 *k, const struct record *previous, const void *previous_at)
{
	struct record *r = &self.records[self.record_count];

	if (self.record_count == RECORDS_MAX)
		return;
	self.record_count++;
	memset(r, 0, sizeof(*r));
	r->start_ns = k->start;
	r->end_ns = k->end;
	r->node = k->graphNodeId;
	r->correlation = k->correlationId;
	r->device = k->deviceId;
	r->grid = k->gridX;
	r->block = k->blockX;
	r->registers = k->registersPerThread;
	snprintf(r->name, sizeof(r->name), "%s", k->name ? k->name : "");
	if (previous)
		r->bytes = (size_t)((const char *)k - (const char *)previous_at);
}

static void CUPTIAPI on_complete(CUcontext context, uint32_t stream, uint8_t *bytes, size_t size, size_t valid)
{
	const struct record *previous = NULL;
	CUpti_Activity *activity = NULL;
	const void *previous_at = NULL;
	size_t dropped = 0;

	(void)size;
	while (valid && self.cuptiActivityGetNextRecord(bytes, valid, &activity) == CUPTI_SUCCESS) {
		if (activity->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
			continue;
		keep_record((const CUpti_ActivityKernel10 *)activity, previous, previous_at);
		previous = &self.records[self.record_count - 1];
		previous_at = activity;
	}
	if (self.cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS)
		self.dropped += dropped;
	free(bytes);
}

static void on_resource(CUpti_CallbackId id, const CUpti_ResourceData *data)
{
	const CUpti_GraphData *graph = (const CUpti_GraphData *)data->resourceDescriptor;
	struct clone *c = &self.clones[self.clone_count];

	if (id != CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED || self.clone_count == CLONES_MAX)
		return;
	if (self.cuptiGetGraphNodeId(graph->node, &c->node) == CUPTI_SUCCESS &&
	    self.cuptiGetGraphNodeId(graph->originalNode, &c->original) == CUPTI_SUCCESS)
		self.clone_count++;
}

static void CUPTIAPI on_callback(void *unused, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
	const CUpti_CallbackData *api = (const CUpti_CallbackData *)data;
	struct call *c = &self.calls[self.call_count];

	(void)unused;
	if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
		on_resource(id, (const CUpti_ResourceData *)data);
		return;
	}
	if (api->callbackSite != CUPTI_API_ENTER || self.call_count == CALLS_MAX ||
	    !strstr(api->functionName, "Launch"))
		return;
	c->runtime = domain == CUPTI_CB_DOMAIN_RUNTIME_API;
	c->correlation = api->correlationId;
	snprintf(c->function, sizeof(c->function), "%s", api->functionName);
	self.call_count++;
}

static void open_cupti(const char *path)
{
	static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};

	if (path)
		self.handle = dlopen(path, RTLD_NOW);
	for (size_t i = 0; !path && !self.handle && i < sizeof(names) / sizeof(*names); i++)
		self.handle = dlopen(names[i], RTLD_NOW);
	if (!self.handle)
		give_up("cupti", dlerror());
#define FIND(symbol)                                                                                                   \
	self.symbol = (decltype(self.symbol))dlsym(self.handle, #symbol);                                              \
	if (!self.symbol)                                                                                              \
		give_up("cupti", "it has no " #symbol);
	CUPTI_FUNCTIONS(FIND)
#undef FIND
}

static void attach(void)
{
	int64_t begin = now_ns(), subscribed, enabled;
	CUptiResult clock;

	CHECK_CUPTI(cuptiSubscribe(&self.subscriber, on_callback, NULL));
	CHECK_CUPTI(cuptiEnableDomain(1, self.subscriber, CUPTI_CB_DOMAIN_DRIVER_API));
	CHECK_CUPTI(cuptiEnableDomain(1, self.subscriber, CUPTI_CB_DOMAIN_RUNTIME_API));
	CHECK_CUPTI(
	    cuptiEnableCallback(1, self.subscriber, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED));
	subscribed = now_ns();
	clock = self.cuptiActivityRegisterTimestampCallback(timestamp);
	CHECK_CUPTI(cuptiActivityRegisterCallbacks(on_request, on_complete));
	CHECK_CUPTI(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
	enabled = now_ns();
	self.own_clock = clock == CUPTI_SUCCESS;
	fact("own clock accepted", -1, "cuptiActivityRegisterTimestampCallback answers %d", clock);
	fact("time to attach", -1, "subscribe %.1f ms, enable %.1f ms", (subscribed - begin) / 1e6,
	     (enabled - subscribed) / 1e6);
}

/* Waits for the device and for all records; returns how many there are. */
static int collect(void)
{
	CHECK(cudaDeviceSynchronize());
	CHECK_CUPTI(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
	return self.record_count;
}

static void forget(void)
{
	self.call_count = self.record_count = 0;
}

/* The facts */

static void versions(void)
{
	int driver = 0, runtime = 0;
	uint32_t cupti = 0;
	struct cudaDeviceProp device;

	cudaDriverGetVersion(&driver);
	cudaRuntimeGetVersion(&runtime);
	self.cuptiGetVersion(&cupti);
	CHECK(cudaGetDeviceProperties(&device, 0));
	fact("device", -1, "%s, compute capability %d.%d, %d SMs", device.name, device.major, device.minor,
	     device.multiProcessorCount);
	/* From 13.0 on 130001 is CUDA 13.0; before, a count of releases. */
	fact("CUPTI not newer than the driver",
	     cupti < 100000 || (int)(cupti / 10000 * 1000 + cupti / 100 % 100 * 10) <= driver,
	     "CUPTI %u, driver %d, runtime %d", cupti, driver, runtime);
}

typedef CUresult (*get_proc)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);

static int append(char *list, size_t size, const char *name)
{
	size_t used = strlen(list);

	snprintf(list + used, size - used, " %s", name);
	return 1;
}

static void addresses(void)
{
	static const struct {
		const char *symbol, *name;
		int version, twin;
	} hooks[] = {
#define ROW(symbol, name, version, twin) {#symbol, #name, version, twin},
	    KC_HOOKS(ROW)
#undef ROW
	};
	int same = 0, lacking = 0, other = 0;
	char others[1024] = "", lacked[1024] = "";
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	get_proc ask = driver ? (get_proc)dlsym(driver, "cuGetProcAddress_v2") : NULL;

	if (!ask)
		give_up("cuGetProcAddress answers with exported addresses",
			driver ? "no cuGetProcAddress_v2" : dlerror());
	for (size_t i = 0; i < sizeof(hooks) / sizeof(*hooks); i++) {
		void *exported = dlsym(driver, hooks[i].symbol), *answer = NULL;
		cuuint64_t flags =
		    hooks[i].twin ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM : CU_GET_PROC_ADDRESS_LEGACY_STREAM;
		CUresult result = ask(hooks[i].name, &answer, hooks[i].version, flags, NULL);

		same += exported && answer == exported;
		if (!exported || result || !answer)
			lacking += append(lacked, sizeof(lacked), hooks[i].symbol);
		else if (answer != exported)
			other += append(others, sizeof(others), hooks[i].symbol);
	}
	fact("cuGetProcAddress answers with exported addresses", -1, "%d the same; %d other:%s; %d not there:%s", same,
	     other, others, lacking, lacked);
}

static const struct call *call_of(bool runtime, uint32_t correlation)
{
	for (int i = 0; i < self.call_count; i++)
		if (self.calls[i].runtime == runtime && self.calls[i].correlation == correlation)
			return &self.calls[i];
	return NULL;
}

static void correlation(void)
{
	const struct call *runtime, *driver;
	int64_t begin = now_ns(), launched;
	const struct record *r = self.records;

	first<<<5, 64>>>(1000, NULL);
	launched = now_ns();
	CHECK(cudaGetLastError());
	if (collect() != 1)
		give_up("one record for one launch", self.record_count ? "several" : "none");
	fact("first launch", -1, "%.1f ms in the call, code loading included", (launched - begin) / 1e6);
	runtime = call_of(true, r->correlation);
	driver = call_of(false, r->correlation);
	fact("the driver callback's correlation id is the record's", driver != NULL, "record %u, %s", r->correlation,
	     driver ? driver->function : "no driver callback had it");
	fact("the runtime callback has it as well", -1, "%s",
	     runtime ? runtime->function : "no: its correlation id is another");
	fact("record fields",
	     r->grid == 5 && r->block == 64 && strstr(r->name, "first") && r->device == 0 && r->registers,
	     "grid %d, block %d, %u registers, device %u, %s", r->grid, r->block, r->registers, r->device, r->name);
	fact("record times on our clock",
	     !self.own_clock ? -1
			     : (int64_t)r->start_ns > begin && r->end_ns > r->start_ns && (int64_t)r->end_ns < now_ns(),
	     "start %+lld ns after the call began, duration %lld ns", (long long)(r->start_ns - begin),
	     (long long)(r->end_ns - r->start_ns));
}

static void concurrency(void)
{
	int together = 0, invalid = 0;
	uint64_t step = UINT64_MAX;
	size_t bytes = 0;
	cudaStream_t streams[2];

	forget();
	for (cudaStream_t &stream : streams)
		CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (int i = 0; i < PAIRS; i++) {
		first<<<1, 32, 0, streams[0]>>>(SPIN_CYCLES, NULL);
		second<<<1, 32, 0, streams[1]>>>(SPIN_CYCLES, NULL);
		CHECK(cudaDeviceSynchronize());
	}
	collect();
	for (int i = 0; i < self.record_count; i++) {
		const struct record *a = &self.records[i];

		invalid += !a->start_ns || a->end_ns < a->start_ns;
		bytes = a->bytes && (!bytes || a->bytes < bytes) ? a->bytes : bytes;
		for (int j = 0; j < i; j++) {
			const struct record *b = &self.records[j];
			uint64_t apart =
			    a->start_ns > b->start_ns ? a->start_ns - b->start_ns : b->start_ns - a->start_ns;

			together += a->start_ns < b->end_ns && b->start_ns < a->end_ns;
			step = apart && apart < step ? apart : step;
		}
	}
	fact("measured kernels still run together", together > 0, "%d of %d pairs on two streams", together, PAIRS);
	fact("every launch has a record with valid times", self.record_count == 2 * PAIRS && !invalid && !self.dropped,
	     "%d launches, %d records, %d without times, %zu dropped", 2 * PAIRS, self.record_count, invalid,
	     self.dropped);
	fact("size of a kernel record", -1, "%zu bytes; CUpti_ActivityKernel10 has %zu", bytes,
	     sizeof(CUpti_ActivityKernel10));
	fact("timestamps", -1, "the closest two starts are %lld ns apart", (long long)step);
	for (cudaStream_t stream : streams)
		CHECK(cudaStreamDestroy(stream));
}

/* The node that was captured or added, by way of every clone in between. */
static uint64_t root_of(uint64_t node)
{
	for (int depth = 0; depth < CLONES_MAX; depth++) {
		int i = 0;

		while (i < self.clone_count && self.clones[i].node != node)
			i++;
		if (i == self.clone_count)
			break;
		node = self.clones[i].original;
	}
	return node;
}

static cudaGraph_t capture(void)
{
	cudaStream_t stream;
	cudaGraph_t graph;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	first<<<11, 32, 0, stream>>>(1000, NULL);
	second<<<12, 64, 0, stream>>>(1000, NULL);
	first<<<13, 32, 0, stream>>>(1000, NULL);
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaStreamDestroy(stream));
	return graph;
}

static void run_graph(cudaGraph_t graph)
{
	cudaGraphExec_t executable;

	forget();
	self.clone_count = 0;
	CHECK(cudaGraphInstantiate(&executable, graph, 0));
	for (int i = 0; i < GRAPH_LAUNCHES; i++) {
		CHECK(cudaGraphLaunch(executable, 0));
		CHECK(cudaDeviceSynchronize());
	}
	collect();
	CHECK(cudaGraphExecDestroy(executable));
}

/* Records whose node leads back to the node of graph with the record's grid. */
static int mapped(const uint64_t *nodes, const int *grids)
{
	int count = 0;

	for (int i = 0; i < self.record_count; i++)
		for (int n = 0; n < NODES; n++)
			count += root_of(self.records[i].node) == nodes[n] && self.records[i].grid == grids[n];
	return count;
}

static void captured_nodes(cudaGraph_t graph, uint64_t *nodes, int *grids)
{
	cudaGraphNode_t handles[NODES];
	cudaKernelNodeParams params;
	size_t count = NODES;

	CHECK(cudaGraphGetNodes(graph, handles, &count));
	for (size_t i = 0; i < count; i++) {
		CHECK(cudaGraphKernelNodeGetParams(handles[i], &params));
		grids[i] = (int)params.gridDim.x;
		CHECK_CUPTI(cuptiGetGraphNodeId((CUgraphNode)handles[i], &nodes[i]));
	}
}

static void graphs(void)
{
	enum { EXPECTED = NODES * GRAPH_LAUNCHES };
	uint64_t nodes[NODES] = {0};
	int grids[NODES] = {0}, originals = 0, shared = 0, called = 0;
	cudaGraph_t graph = capture(), outer;
	cudaGraphNode_t child;

	captured_nodes(graph, nodes, grids);
	run_graph(graph);
	for (int i = 0; i < self.record_count; i++) {
		called += call_of(false, self.records[i].correlation) != NULL;
		for (int n = 0; n < NODES; n++)
			originals += self.records[i].node == nodes[n];
		for (int j = 0; j < self.record_count; j++)
			shared += j != i && self.records[j].correlation == self.records[i].correlation;
	}
	fact("one record for each kernel node of a graph launch", self.record_count == EXPECTED, "%d of %d",
	     self.record_count, EXPECTED);
	fact("the kernels of a graph launch share its correlation id",
	     shared == EXPECTED * (NODES - 1) && called == EXPECTED,
	     "%d of %d pairs, %d of %d with the driver callback's", shared / 2, EXPECTED * (NODES - 1) / 2, called,
	     EXPECTED);
	fact("records name instantiated nodes", -1, "%d of %d name the captured one", originals, self.record_count);
	fact("instantiated nodes lead back to captured ones", mapped(nodes, grids) == EXPECTED,
	     "%d of %d, %d clones told", mapped(nodes, grids), EXPECTED, self.clone_count);

	CHECK(cudaGraphCreate(&outer, 0));
	self.clone_count = 0;
	CHECK(cudaGraphAddChildGraphNode(&child, outer, NULL, 0, graph));
	struct clone inner[CLONES_MAX];
	int inner_count = self.clone_count;
	memcpy(inner, self.clones, sizeof(inner));
	run_graph(outer);
	for (int i = 0; i < inner_count && self.clone_count < CLONES_MAX; i++)
		self.clones[self.clone_count++] = inner[i];
	fact("so do those of a child graph", mapped(nodes, grids) == EXPECTED, "%d of %d, %d clones told",
	     mapped(nodes, grids), EXPECTED, self.clone_count);
	CHECK(cudaGraphDestroy(outer));
	CHECK(cudaGraphDestroy(graph));
}

static void subscribers(void)
{
	auto subscribe_v2 = (decltype(&cuptiSubscribe_v2))dlsym(self.handle, "cuptiSubscribe_v2");
	CUpti_SubscriberHandle other = NULL;
	CUptiResult result = self.cuptiSubscribe(&other, on_callback, NULL);
	char name[256] = "";
	CUpti_SubscriberParams params;

	fact("a second subscriber", -1, "error %d (%d: refused)", result,
	     CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	if (result == CUPTI_SUCCESS)
		self.cuptiUnsubscribe(other);
	if (!subscribe_v2)
		return;
	memset(&params, 0, sizeof(params));
	params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
	params.subscriberName = "facts";
	params.oldSubscriberName = name;
	params.oldSubscriberSize = sizeof(name);
	result = subscribe_v2(&other, on_callback, NULL, &params);
	fact("cuptiSubscribe_v2 names the first", -1, "error %d, \"%s\"", result, name);
	if (result == CUPTI_SUCCESS)
		self.cuptiUnsubscribe(other);
}

int main(int argc, char **argv)
{
	if (argc > 2) {
		fprintf(stderr, "usage: %s [LIBCUPTI]\n", argv[0]);
		return 2;
	}
	addresses();
	open_cupti(argc == 2 ? argv[1] : NULL);
	attach();
	versions();
	correlation();
	concurrency();
	graphs();
	subscribers();
	return self.failures ? 1 : 0;
}

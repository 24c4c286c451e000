/* The driver's functions, the device, and the kernels. */
#include "facts.h"

#include <dlfcn.h>
#include <stdio.h>

struct facts_driver facts_driver;

void facts_driver_open(void)
{
	facts_driver.handle = dlopen("libcuda.so.1", RTLD_NOW);
	if (!facts_driver.handle)
		facts_give_up("the driver", dlerror());
#define FIND(symbol, type) *(void **)&facts_driver.symbol = dlsym(facts_driver.handle, #symbol);
	FACTS_DRIVER(FIND)
#undef FIND
}

const char *facts_error_name(CUresult result)
{
	static char number[32];
	const char *name = NULL;

	if (facts_driver.cuGetErrorName && !facts_driver.cuGetErrorName(result, &name) && name)
		return name;
	snprintf(number, sizeof(number), "error %d", result);
	return number;
}

void facts_check(CUresult result, const char *call)
{
	if (result != CUDA_SUCCESS)
		facts_give_up(call, facts_error_name(result));
}

void facts_driver_start(void)
{
	FACTS_CALL(cuInit, 0);
	FACTS_CALL(cuDriverGetVersion, &facts_driver.version);
	FACTS_CALL(cuDeviceGet, &facts_driver.device, 0);
	FACTS_CALL(cuDeviceGetAttribute, &facts_driver.major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
		   facts_driver.device);
	FACTS_CALL(cuDeviceGetAttribute, &facts_driver.minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
		   facts_driver.device);
}

void facts_context(void)
{
	FACTS_CALL(cuDevicePrimaryCtxRetain, &facts_driver.context, facts_driver.device);
	FACTS_CALL(cuCtxSetCurrent, facts_driver.context);
}

/* The CUDA version of a CUPTI, as the driver counts (13000: 13.0), or 0. From 13.0 on 130001 is CUDA 13.0; before,
 * CUPTI counted its releases. */
static int cuda_of_cupti(uint32_t cupti)
{
	return cupti < 100000 ? 0 : (int)(cupti / 10000 * 1000 + cupti / 100 % 100 * 10);
}

static int runtime_version(const char *path)
{
	void *handle = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	int (*ask)(int *) = NULL, version = 0;

	if (handle)
		*(void **)&ask = dlsym(handle, "cudaRuntimeGetVersion");
	return ask && !ask(&version) ? version : 0;
}

/* Within a major version NVIDIA promises that a newer toolkit runs on an older driver. Whether that includes CUPTI is
 * not documented, so there it is only told. */
void facts_versions(const struct facts_options *options)
{
	int sms = 0, cuda = 0, runtime = runtime_version(options->cudart), driver = facts_driver.version;
	uint32_t cupti = 0;
	char name[256] = "";

	FACTS_CALL(cuDeviceGetName, name, sizeof(name), facts_driver.device);
	FACTS_CALL(cuDeviceGetAttribute, &sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, facts_driver.device);
	facts_say("device", -1, "%s, compute capability %d.%d, %d SMs", name, facts_driver.major, facts_driver.minor,
		  sms);
	facts_value("device", "%s", name);
	facts_value("driver", "%d", driver);
	FACTS_CUPTI_CALL(cuptiGetVersion, &cupti);
	cuda = cuda_of_cupti(cupti);
	facts_say("CUPTI not newer than the driver",
		  cuda / 1000 > driver / 1000 ? 0
		  : (!cuda || cuda > driver)  ? -1
					      : 1,
		  "CUPTI %u (%s), driver %d, shared runtime %d (0: none)", cupti,
		  !cuda           ? "a release count"
		  : cuda > driver ? "newer, of the same major version or of another"
				  : "not newer",
		  driver, runtime);
}

#define SPIN(name)                                                                                                     \
	".visible .entry " name "(.param .u64 " name "_ns)\n"                                                          \
	"{\n"                                                                                                          \
	"	.reg .pred %p<2>;\n"                                                                                         \
	"	.reg .b64 %rd<6>;\n"                                                                                         \
	"	ld.param.u64 %rd1, [" name "_ns];\n"                                                                   \
	"	mov.u64 %rd2, %globaltimer;\n"
#define UNTIL                                                                                                          \
	"AGAIN:\n"                                                                                                     \
	"	mov.u64 %rd3, %globaltimer;\n"                                                                               \
	"	sub.s64 %rd4, %rd3, %rd2;\n"                                                                                 \
	"	setp.lt.u64 %p1, %rd4, %rd1;\n"                                                                              \
	"	@%p1 bra AGAIN;\n"

/* A chain of multiplications and additions: unlike the others, it takes longer where the device is slower. The store
 * never happens. */
#define WORK(name)                                                                                                     \
	".visible .entry " name "(.param .u64 " name "_steps)\n"                                                       \
	"{\n"                                                                                                          \
	"	.reg .pred %p<3>;\n"                                                                                         \
	"	.reg .b64 %rd<4>;\n"                                                                                         \
	"	ld.param.u64 %rd1, [" name "_steps];\n"                                                                \
	"	mov.u64 %rd2, %rd1;\n"                                                                                       \
	"	mov.u64 %rd3, %rd1;\n"                                                                                       \
	"AGAIN:\n"                                                                                                     \
	"	mad.lo.s64 %rd3, %rd3, %rd3, 1;\n"                                                                           \
	"	sub.s64 %rd2, %rd2, 1;\n"                                                                                    \
	"	setp.gt.s64 %p1, %rd2, 0;\n"                                                                                 \
	"	@%p1 bra AGAIN;\n"                                                                                           \
	"	setp.ne.s64 %p2, %rd2, 0;\n"                                                                                 \
	"	@%p2 st.global.u64 [%rd1], %rd3;\n"                                                                          \
	"	ret;\n}\n"

const char facts_ptx[] = ".version 7.8\n.target sm_75\n.address_size 64\n" SPIN("facts_first") UNTIL
    "	ret;\n}\n" SPIN("facts_second") UNTIL "	ret;\n}\n" WORK("facts_work");

/* PTX ISA, "griddepcontrol": the next kernel may begin when all blocks have said launch_dependents; wait returns when
 * the kernels before have ended. */
const char facts_ptx_dependent[] = ".version 7.8\n.target sm_90\n.address_size 64\n" SPIN(
    "facts_dependent") "	griddepcontrol.launch_dependents;\n" UNTIL "	griddepcontrol.wait;\n	ret;\n}\n";

CUfunction facts_function(const char *name)
{
	static CUmodule module;
	CUfunction function;

	if (!module)
		FACTS_CALL(cuModuleLoadData, &module, facts_ptx);
	FACTS_CALL(cuModuleGetFunction, &function, module, name);
	return function;
}

void facts_launch(CUfunction function, CUstream stream, unsigned grid, unsigned block, uint64_t ns)
{
	void *arguments[] = {&ns};

	FACTS_CALL(cuLaunchKernel, function, grid, 1, 1, block, 1, 1, 0, stream, arguments, NULL);
}

CUstream facts_stream(void)
{
	CUstream stream;

	FACTS_CALL(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
	return stream;
}

CUgraphExec facts_captured(CUfunction function, CUstream stream, int nodes, uint64_t ns)
{
	CUgraphExec executable;
	CUgraph graph;

	FACTS_CALL(cuStreamBeginCapture_v2, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
	for (int i = 0; i < nodes; i++)
		facts_launch(function, stream, 1, 32, ns);
	FACTS_CALL(cuStreamEndCapture, stream, &graph);
	FACTS_CALL(cuGraphInstantiateWithFlags, &executable, graph, 0);
	return executable;
}

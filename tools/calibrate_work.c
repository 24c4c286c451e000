#include "calibrate.h"
#include "command.h"

#include <cuda.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define COPY_BYTES (256ull << 20) /* larger than any L2 */
#define BLOCK_THREADS 256u
#define STEP_THREADS 128u
#define FMA_BLOCKS_PER_SM 32u
#define IDLE_US 200 /* between launches on an idle device */

/* Text that any driver compiles for the device it has: the copy moves four
 * vectors of 16 bytes a thread, the arithmetic keeps eight chains of fused
 * multiply-adds going, eight steps a loop, and stores what never occurs. */
#define COPY_STEP                                                                                                      \
	"ld.global.v4.u32 {%r8, %r9, %r10, %r11}, [%a2];\n"                                                            \
	"st.global.v4.u32 [%a1], {%r8, %r9, %r10, %r11};\n"                                                            \
	"add.u64 %a1, %a1, %a4;\n"                                                                                     \
	"add.u64 %a2, %a2, %a4;\n"
#define FMA_STEP                                                                                                       \
	"fma.rn.f32 %f1, %f1, %f9, %f10;\n"                                                                            \
	"fma.rn.f32 %f2, %f2, %f9, %f10;\n"                                                                            \
	"fma.rn.f32 %f3, %f3, %f9, %f10;\n"                                                                            \
	"fma.rn.f32 %f4, %f4, %f9, %f10;\n"                                                                            \
	"fma.rn.f32 %f5, %f5, %f9, %f10;\n"                                                                            \
	"fma.rn.f32 %f6, %f6, %f9, %f10;\n"                                                                            \
	"fma.rn.f32 %f7, %f7, %f9, %f10;\n"                                                                            \
	"fma.rn.f32 %f8, %f8, %f9, %f10;\n"
static const char code[] =
    ".version 6.0\n"
    ".target sm_50\n"
    ".address_size 64\n"
    ".visible .entry " KC_CALIBRATE_EMPTY "()\n"
    "{\n"
    "ret;\n"
    "}\n"
    ".visible .entry " KC_CALIBRATE_COPY "(.param .u64 to, .param .u64 from)\n"
    "{\n"
    ".reg .u32 %r<12>;\n"
    ".reg .u64 %a<5>;\n"
    "mov.u32 %r1, %ctaid.x;\n"
    "mov.u32 %r2, %ntid.x;\n"
    "mov.u32 %r3, %tid.x;\n"
    "mov.u32 %r4, %nctaid.x;\n"
    "mad.lo.u32 %r5, %r1, %r2, %r3;\n"
    "mul.lo.u32 %r6, %r4, %r2;\n"
    "ld.param.u64 %a1, [to];\n"
    "ld.param.u64 %a2, [from];\n"
    "cvta.to.global.u64 %a1, %a1;\n"
    "cvta.to.global.u64 %a2, %a2;\n"
    "mul.wide.u32 %a3, %r5, 16;\n"
    "mul.wide.u32 %a4, %r6, 16;\n"
    "add.u64 %a1, %a1, %a3;\n"
    "add.u64 %a2, %a2, %a3;\n" COPY_STEP COPY_STEP COPY_STEP COPY_STEP "ret;\n"
    "}\n"
    ".visible .entry " KC_CALIBRATE_FMA "(.param .u64 out, .param .u32 loops)\n"
    "{\n"
    ".reg .f32 %f<11>;\n"
    ".reg .u32 %r<4>;\n"
    ".reg .u64 %a<2>;\n"
    ".reg .pred %p<3>;\n"
    "mov.u32 %r1, %tid.x;\n"
    "ld.param.u32 %r2, [loops];\n"
    "cvt.rn.f32.u32 %f1, %r1;\n"
    "add.f32 %f2, %f1, 0f3F800000;\n"
    "add.f32 %f3, %f2, 0f3F800000;\n"
    "add.f32 %f4, %f3, 0f3F800000;\n"
    "add.f32 %f5, %f4, 0f3F800000;\n"
    "add.f32 %f6, %f5, 0f3F800000;\n"
    "add.f32 %f7, %f6, 0f3F800000;\n"
    "add.f32 %f8, %f7, 0f3F800000;\n"
    "mov.f32 %f9, 0f3F000000;\n"
    "mov.f32 %f10, 0f3F800000;\n"
    "LOOP:\n" FMA_STEP FMA_STEP FMA_STEP FMA_STEP FMA_STEP FMA_STEP FMA_STEP FMA_STEP "sub.u32 %r2, %r2, 1;\n"
    "setp.ne.u32 %p1, %r2, 0;\n"
    "@%p1 bra LOOP;\n"
    "add.f32 %f1, %f1, %f2;\n"
    "add.f32 %f3, %f3, %f4;\n"
    "add.f32 %f5, %f5, %f6;\n"
    "add.f32 %f7, %f7, %f8;\n"
    "add.f32 %f1, %f1, %f3;\n"
    "add.f32 %f5, %f5, %f7;\n"
    "add.f32 %f1, %f1, %f5;\n"
    "setp.lt.f32 %p2, %f1, 0f00000000;\n"
    "ld.param.u64 %a1, [out];\n"
    "cvta.to.global.u64 %a1, %a1;\n"
    "@%p2 st.global.f32 [%a1], %f1;\n"
    "ret;\n"
    "}\n";

/* X(member, symbol): what of the driver is called */
#define DRIVER(X)                                                                                                      \
	X(init, cuInit)                                                                                                \
	X(get, cuDeviceGet)                                                                                            \
	X(attribute, cuDeviceGetAttribute)                                                                             \
	X(retain, cuDevicePrimaryCtxRetain)                                                                            \
	X(set_current, cuCtxSetCurrent)                                                                                \
	X(load, cuModuleLoadData)                                                                                      \
	X(function, cuModuleGetFunction)                                                                               \
	X(allocate, cuMemAlloc_v2)                                                                                     \
	X(free_bytes, cuMemGetInfo_v2)                                                                                 \
	X(stream, cuStreamCreate)                                                                                      \
	X(synchronize, cuStreamSynchronize)                                                                            \
	X(launch, cuLaunchKernel)                                                                                      \
	X(error_name, cuGetErrorName)

struct driver {
#define MEMBER(member, symbol) __typeof__(&symbol) member;
	DRIVER(MEMBER)
#undef MEMBER
};

struct work {
	struct driver driver;
	CUfunction empty, copy, fma;
	CUstream stream;
	CUdeviceptr to, from;
	unsigned copy_blocks, fma_blocks;
};

/* As a CUDA runtime finds it: by the driver's own resolver, in drivers that have it. */
static void resolve_launch(struct driver *d, void *library)
{
	enum { FIRST_VERSION = 4000 }; /* of cuLaunchKernel: PFN_cuLaunchKernel_v4000 */
	CUresult(CUDAAPI * resolve)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *) =
	    (__typeof__(resolve))dlsym(library, "cuGetProcAddress_v2");
	CUdriverProcAddressQueryResult found;
	void *launch = NULL;

	if (resolve && resolve("cuLaunchKernel", &launch, FIRST_VERSION, 0, &found) == CUDA_SUCCESS && launch)
		d->launch = (__typeof__(d->launch))launch;
}

static int load_driver(struct driver *d)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	if (!library) {
		kc_error("no CUDA driver: %s", dlerror());
		return -1;
	}
#define FIND(member, symbol)                                                                                           \
	d->member = (__typeof__(d->member))dlsym(library, #symbol);                                                    \
	if (!d->member) {                                                                                              \
		kc_error("the CUDA driver has no " #symbol);                                                           \
		return -1;                                                                                             \
	}
	DRIVER(FIND)
#undef FIND
	resolve_launch(d, library);
	return 0;
}

static int check(const struct work *w, CUresult result, const char *what)
{
	const char *name = NULL;

	if (result == CUDA_SUCCESS)
		return 0;
	w->driver.error_name(result, &name);
	kc_error("%s: %s", what, name ? name : "unknown error");
	return -1;
}

#define TRY(call, what)                                                                                                \
	if (check(w, call, what))                                                                                      \
	return -1

static int prepare(struct work *w, int ordinal)
{
	struct driver *d = &w->driver;
	size_t free_bytes = 0, all_bytes = 0, bytes = COPY_BYTES;
	CUcontext context;
	CUmodule module;
	CUdevice device;
	int sm_count = 1;

	TRY(d->init(0), "the CUDA driver does not start");
	TRY(d->get(&device, ordinal), "there is no such device");
	TRY(d->attribute(&sm_count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device), "asking the device");
	TRY(d->retain(&context, device), "using the device");
	TRY(d->set_current(context), "using the device");
	TRY(d->load(&module, code), "compiling for the device");
	TRY(d->function(&w->empty, module, KC_CALIBRATE_EMPTY), "finding a kernel");
	TRY(d->function(&w->copy, module, KC_CALIBRATE_COPY), "finding a kernel");
	TRY(d->function(&w->fma, module, KC_CALIBRATE_FMA), "finding a kernel");
	TRY(d->stream(&w->stream, CU_STREAM_NON_BLOCKING), "making a stream");
	TRY(d->free_bytes(&free_bytes, &all_bytes), "asking for memory");
	while (bytes > free_bytes / 4)
		bytes /= 2;
	TRY(d->allocate(&w->to, bytes), "allocating memory");
	TRY(d->allocate(&w->from, bytes), "allocating memory");
	w->copy_blocks = (unsigned)(bytes / (BLOCK_THREADS * KC_CALIBRATE_COPY_BYTES));
	w->fma_blocks = FMA_BLOCKS_PER_SM * (unsigned)sm_count;
	return 0;
}

static int launch(struct work *w, CUfunction kernel, unsigned blocks, unsigned threads, void **arguments)
{
	TRY(w->driver.launch(kernel, blocks, 1, 1, threads, 1, 1, 0, w->stream, arguments, NULL), "launching");
	return 0;
}

static int finish(struct work *w)
{
	TRY(w->driver.synchronize(w->stream), "running a kernel");
	return 0;
}

/* One at a time on an idle device; then all at once, which run back to back. */
static int do_work(struct work *w)
{
	uint32_t loops = KC_CALIBRATE_FMA_LOOPS;
	void *copy_arguments[] = {&w->to, &w->from}, *fma_arguments[] = {&w->to, &loops};
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < KC_CALIBRATE_REPEATS; i++) {
		rc = launch(w, w->empty, 1, 1, NULL) || finish(w);
		usleep(IDLE_US);
	}
	for (unsigned i = 0; rc == 0 && i < KC_CALIBRATE_REPEATS; i++)
		rc = launch(w, w->fma, 1, STEP_THREADS, fma_arguments);
	for (unsigned i = 0; rc == 0 && i < KC_CALIBRATE_REPEATS; i++)
		rc = launch(w, w->copy, w->copy_blocks, BLOCK_THREADS, copy_arguments);
	for (unsigned i = 0; rc == 0 && i < KC_CALIBRATE_REPEATS; i++)
		rc = launch(w, w->fma, w->fma_blocks, BLOCK_THREADS, fma_arguments);
	return rc ? rc : finish(w);
}

int kc_calibrate_work(int ordinal)
{
	struct work work = {.copy_blocks = 0};

	if (load_driver(&work.driver) || prepare(&work, ordinal) || do_work(&work))
		return KC_EXIT_FAILED;
	return KC_EXIT_OK;
}

/*
 * A program that compiles a kernel while it runs, and loads machine code. Arguments: NVRTC's library, the device's
 * architecture (80), then words:
 *   before        it compiles before cuInit
 *   threads       four threads compile a kernel each, and all are loaded afterwards
 *   linked FILE   NVRTC's PTX is linked by this copy of nvJitLink; "file": as a file; "lto": NVRTC's LTO-IR
 *   driver        NVRTC's PTX is linked by the driver; "file": as a file
 *   twice         the same machine code is loaded again, and launched
 *   many N        N other programs are compiled before the machine code is loaded
 *   cubin FILE    nothing is compiled, and NVRTC not opened: the machine code of compiled0 is this file's
 *   path FILE     likewise, and the driver reads the file
 *   save FILE     the machine code of compiled0 is left there, as compilers' caches do
 * What is compiled is freed and its program destroyed before it is loaded. Compiled with -DLINKED it is linked to both
 * libraries.
 */
#include "cuda_tests/awkward/awkward.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { THREADS = 4, LAUNCHES = 300, N = 40000 };

/* As nvrtc.h and nvJitLink.h have them; not every toolkit that can build this has those. */
typedef struct program *program;
typedef struct linker *linker;
enum { INPUT_PTX = 2, INPUT_LTO_IR = 3 };

int nvrtcCreateProgram(program *made, const char *source, const char *name, int n, const char *const *headers,
		       const char *const *names);
int nvrtcCompileProgram(program made, int n, const char *const *options);
int nvrtcDestroyProgram(program *made);
int nvrtcGetCUBINSize(program made, size_t *bytes);
int nvrtcGetCUBIN(program made, char *cubin);
int nvrtcGetLTOIRSize(program made, size_t *bytes);
int nvrtcGetLTOIR(program made, char *ir);
int nvrtcGetPTXSize(program made, size_t *bytes);
int nvrtcGetPTX(program made, char *ptx);
int nvJitLinkCreate(linker *made, uint32_t n, const char *const *options);
int nvJitLinkAddData(linker made, int kind, const void *data, size_t bytes, const char *name);
int nvJitLinkAddFile(linker made, int kind, const char *path);
int nvJitLinkComplete(linker made);
int nvJitLinkGetLinkedCubinSize(linker made, size_t *bytes);
int nvJitLinkGetLinkedCubin(linker made, void *cubin);
int nvJitLinkDestroy(linker *made);

static void *nvrtc, *jitlink;
#ifdef LINKED /* to nvJitLink as its header does it */
#define VERSIONED(name, version) __##name##_##version
#define VERSIONED_(name, version) VERSIONED(name, version)
#define LINKED_NAME(name) VERSIONED_(name, LINKED)
__typeof__(nvJitLinkCreate) LINKED_NAME(nvJitLinkCreate);
__typeof__(nvJitLinkAddData) LINKED_NAME(nvJitLinkAddData);
__typeof__(nvJitLinkAddFile) LINKED_NAME(nvJitLinkAddFile);
__typeof__(nvJitLinkComplete) LINKED_NAME(nvJitLinkComplete);
__typeof__(nvJitLinkGetLinkedCubin) LINKED_NAME(nvJitLinkGetLinkedCubin);
__typeof__(nvJitLinkDestroy) LINKED_NAME(nvJitLinkDestroy);
#define NVRTC(name) name
#define JITLINK(name) name
#define JITLINK_VERSIONED(name) LINKED_NAME(name)
#else
#define NVRTC(name) ((__typeof__(name) *)dlsym(nvrtc, #name))
#define JITLINK(name) ((__typeof__(name) *)dlsym(jitlink, #name))
#define JITLINK_VERSIONED(name) JITLINK(name)
#endif

#define DONE(call)                                                                                                     \
	do {                                                                                                           \
		int result_ = (call);                                                                                  \
		if (result_) {                                                                                         \
			printf("%s: %d\n", #call, result_);                                                            \
			exit(3);                                                                                       \
		}                                                                                                      \
	} while (0)

static struct awkward a;

static const char source[] = "extern \"C\" __global__ void compiled%u(const float *x, float *y, int n)\n"
			     "{\n"
			     "	int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
			     "	if (i < n)\n"
			     "		y[i] = x[i] * 2.0f + 1.0f;\n"
			     "}\n";

struct code {
	unsigned number;
	char name[32];
	void *bytes;
	size_t length;
};

static struct {
	bool before, threads, file, twice, lto, driver;
	unsigned many;
	const char *jitlink, *cubin, *path, *save;
	char architecture[32], linkers_architecture[32];
} how;

enum form { MACHINE_CODE, PTX, LTO_IR };

static struct code compile(unsigned number, enum form form)
{
	const char *options[] = {how.architecture, "-dlto"};
	struct code code = {.number = number};
	char text[sizeof(source) + 16];
	program made;

	snprintf(code.name, sizeof(code.name), "compiled%u", number);
	snprintf(text, sizeof(text), source, number);
	DONE(NVRTC(nvrtcCreateProgram)(&made, text, "compiled.cu", 0, NULL, NULL));
	DONE(NVRTC(nvrtcCompileProgram)(made, form == LTO_IR ? 2 : 1, options));
	DONE((form == LTO_IR ? NVRTC(nvrtcGetLTOIRSize)
	      : form == PTX  ? NVRTC(nvrtcGetPTXSize)
			     : NVRTC(nvrtcGetCUBINSize))(made, &code.length));
	code.bytes = malloc(code.length);
	DONE((form == LTO_IR ? NVRTC(nvrtcGetLTOIR)
	      : form == PTX  ? NVRTC(nvrtcGetPTX)
			     : NVRTC(nvrtcGetCUBIN))(made, code.bytes));
	DONE(NVRTC(nvrtcDestroyProgram)(&made));
	return code;
}

static const char *file_with(const struct code *ptx)
{
	FILE *file = fopen("compiled.ptx", "w");

	if (!file || fwrite(ptx->bytes, 1, ptx->length - 1, file) != ptx->length - 1 || fclose(file))
		exit(4);
	return "compiled.ptx";
}

static void discard(struct code *code)
{
	memset(code->bytes, 'x', code->length);
	free(code->bytes);
	remove("compiled.ptx");
}

static struct code linked(unsigned number)
{
	const char *options[] = {how.linkers_architecture, "-lto"};
	struct code input = compile(number, how.lto ? LTO_IR : PTX), code = input;
	linker made;

	DONE(JITLINK_VERSIONED(nvJitLinkCreate)(&made, how.lto ? 2 : 1, options));
	if (how.file)
		DONE(JITLINK_VERSIONED(nvJitLinkAddFile)(made, INPUT_PTX, file_with(&input)));
	else
		DONE(JITLINK_VERSIONED(nvJitLinkAddData)(made, how.lto ? INPUT_LTO_IR : INPUT_PTX, input.bytes,
							 input.length, "compiled"));
	discard(&input);
	DONE(JITLINK_VERSIONED(nvJitLinkComplete)(made));
	DONE(JITLINK(nvJitLinkGetLinkedCubinSize)(made, &code.length));
	code.bytes = malloc(code.length);
	DONE(JITLINK_VERSIONED(nvJitLinkGetLinkedCubin)(made, code.bytes));
	DONE(JITLINK_VERSIONED(nvJitLinkDestroy)(&made));
	return code;
}

static struct code linked_by_driver(unsigned number)
{
	struct code input = compile(number, PTX), code = input;
	CUlinkState state;
	void *cubin;

	CHECK(cuCtxSetCurrent(a.context));
	CHECK(cuLinkCreate(0, NULL, NULL, &state));
	if (how.file)
		CHECK(cuLinkAddFile(state, CU_JIT_INPUT_PTX, file_with(&input), 0, NULL, NULL));
	else
		CHECK(cuLinkAddData(state, CU_JIT_INPUT_PTX, input.bytes, input.length, "compiled", 0, NULL, NULL));
	discard(&input);
	CHECK(cuLinkComplete(state, &cubin, &code.length));
	code.bytes = malloc(code.length);
	memcpy(code.bytes, cubin, code.length);
	CHECK(cuLinkDestroy(state));
	return code;
}

static struct code from_file(void)
{
	struct code code = {.name = "compiled0", .bytes = malloc(1 << 20)};
	FILE *file = fopen(how.cubin, "r");

	if (!file)
		exit(4);
	code.length = fread(code.bytes, 1, 1 << 20, file);
	fclose(file);
	return code;
}

static void *make(void *arg)
{
	struct code *code = arg;

	*code = how.cubin     ? from_file()
		: how.driver  ? linked_by_driver(code->number)
		: how.jitlink ? linked(code->number)
			      : compile(code->number, MACHINE_CODE);
	return NULL;
}

/* Returns how many kernels there are. */
static unsigned make_all(struct code *code)
{
	unsigned count = how.threads ? THREADS : 1;
	pthread_t threads[THREADS];

	for (unsigned i = 0; i < count; i++) {
		code[i].number = i;
		if (pthread_create(&threads[i], NULL, make, &code[i]))
			exit(4);
	}
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < how.many; i++)
		free(compile(1000 + i, MACHINE_CODE).bytes);
	return count;
}

static void launch(const struct code *code)
{
	void *image = malloc(code->length);
	CUfunction kernel;
	CUmodule module;

	memcpy(image, code->bytes, code->length);
	if (how.path)
		CHECK(cuModuleLoad(&module, how.path));
	else
		CHECK(cuModuleLoadData(&module, image));
	memset(image, 'x', code->length);
	free(image);
	CHECK(cuModuleGetFunction(&kernel, module, code->name));
	for (int i = 0; i < LAUNCHES; i++) {
		int n = N - i % 2;
		void *parameters[] = {&a.memory, &a.memory, &n};

		CHECK(cuLaunchKernel(kernel, N / 100, 1, 1, 100, 1, 1, 0, NULL, parameters, NULL));
		CHECK(cuCtxSynchronize());
	}
	CHECK(cuModuleUnload(module));
}

static void open_libraries(const char *path)
{
#ifdef LINKED
	(void)path;
#else
	if (how.cubin)
		return;
	nvrtc = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	jitlink = how.jitlink ? dlopen(how.jitlink, RTLD_NOW | RTLD_LOCAL) : NULL;
	if (!nvrtc || (how.jitlink && !jitlink)) {
		printf("%s\n", dlerror());
		exit(4);
	}
#endif
}

static void read_words(char **words)
{
	for (; *words; words++) {
		how.before |= !strcmp(*words, "before");
		how.threads |= !strcmp(*words, "threads");
		how.twice |= !strcmp(*words, "twice");
		how.driver |= !strcmp(*words, "driver");
		how.lto |= !strcmp(*words, "lto");
		how.file |= !strcmp(*words, "file");
		if (!strcmp(*words, "linked"))
			how.jitlink = *++words;
		else if (!strcmp(*words, "cubin"))
			how.cubin = *++words;
		else if (!strcmp(*words, "path"))
			how.cubin = how.path = *++words;
		else if (!strcmp(*words, "save"))
			how.save = *++words;
		else if (!strcmp(*words, "many"))
			how.many = (unsigned)atoi(*++words);
	}
}

static void save(const struct code *code)
{
	FILE *file = fopen(how.save, "w");

	if (!file || fwrite(code->bytes, 1, code->length, file) != code->length || fclose(file))
		exit(5);
}

int main(int argc, char **argv)
{
	struct code code[THREADS] = {{0}};
	unsigned count = 0;

	if (argc < 3)
		return 2;
	read_words(argv + 3);
	open_libraries(argv[1]);
	snprintf(how.architecture, sizeof(how.architecture), "--gpu-architecture=sm_%.8s", argv[2]);
	snprintf(how.linkers_architecture, sizeof(how.linkers_architecture), "-arch=sm_%.8s", argv[2]);
	if (how.before)
		count = make_all(code);
	awkward_start(&a);
	if (!how.before)
		count = make_all(code);
	for (int round = how.twice ? 2 : 1; round; round--)
		for (unsigned i = 0; i < count; i++)
			launch(&code[i]);
	if (how.save)
		save(&code[0]);
	for (unsigned i = 0; i < count; i++) {
		printf("%s %zu\n", code[i].name, code[i].length);
		free(code[i].bytes);
	}
	return 7;
}

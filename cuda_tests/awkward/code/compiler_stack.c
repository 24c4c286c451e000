/*
 * How much stack calls of NVRTC and nvJitLink take, as ../small_stack.c does it for CUDA. Arguments: both libraries,
 * and "-lto" for linking LTO-IR in place of PTX. Each call is made twice.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define STACK_BYTES (1024u << 10)
#define PAINT 0xA5

static struct {
	int (*create_program)(void **program, const char *source, const char *name, int n, const char **headers,
			      const char **names);
	int (*compile)(void *program, int n, const char **options);
	int (*get_text)(void *program, char *text);
	int (*get_size)(void *program, size_t *bytes);
	int (*get_cubin)(void *program, char *cubin);
	int (*create)(void **linker, uint32_t n, const char **options);
	int (*add)(void *linker, int kind, const void *data, size_t bytes, const char *name);
	int (*complete)(void *linker);
	int (*get_linked)(void *linker, void *cubin);
	int (*destroy)(void **linker);
} api;

static struct {
	bool lto;
	void *machine_code, *input; /* programs */
	void *linker;
	char cubin[1 << 20], text[1 << 20];
	size_t text_bytes;
} app;

static char stack[STACK_BYTES];
static ucontext_t here, there;
static int (*call)(void);

static int get_cubin(void)
{
	return api.get_cubin(app.machine_code, app.cubin);
}

static int create(void)
{
	const char *options[] = {"-arch=sm_80", "-lto"};

	return api.create(&app.linker, app.lto ? 2 : 1, options);
}

static int add(void)
{
	return api.add(app.linker, app.lto ? 3 : 2, app.text, app.text_bytes, "input");
}

static int complete(void)
{
	return api.complete(app.linker);
}

static int get_linked(void)
{
	return api.get_linked(app.linker, app.cubin);
}

static int destroy(void)
{
	return api.destroy(&app.linker);
}

static void enter(void)
{
	if (call())
		exit(3);
}

static size_t used(void)
{
	size_t unused = 0;

	while (unused < sizeof(stack) && (unsigned char)stack[unused] == PAINT)
		unused++;
	return sizeof(stack) - unused;
}

static void measure(const char *name, int (*what)(void))
{
	memset(stack, PAINT, sizeof(stack));
	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof(stack);
	there.uc_link = &here;
	call = what;
	makecontext(&there, enter, 0);
	swapcontext(&here, &there);
	printf("%s %zu\n", name, used());
}

static void *find(void *library, const char *name)
{
	void *address = library ? dlsym(library, name) : NULL;

	if (!address)
		exit(4);
	return address;
}

static void find_all(const char *nvrtc_path, const char *jitlink_path)
{
	void *nvrtc = dlopen(nvrtc_path, RTLD_NOW), *jitlink = dlopen(jitlink_path, RTLD_NOW);

	api.create_program = (__typeof__(api.create_program))find(nvrtc, "nvrtcCreateProgram");
	api.compile = (__typeof__(api.compile))find(nvrtc, "nvrtcCompileProgram");
	api.get_text = (__typeof__(api.get_text))find(nvrtc, app.lto ? "nvrtcGetLTOIR" : "nvrtcGetPTX");
	api.get_size = (__typeof__(api.get_size))find(nvrtc, app.lto ? "nvrtcGetLTOIRSize" : "nvrtcGetPTXSize");
	api.get_cubin = (__typeof__(api.get_cubin))find(nvrtc, "nvrtcGetCUBIN");
	api.create = (__typeof__(api.create))find(jitlink, "nvJitLinkCreate");
	api.add = (__typeof__(api.add))find(jitlink, "nvJitLinkAddData");
	api.complete = (__typeof__(api.complete))find(jitlink, "nvJitLinkComplete");
	api.get_linked = (__typeof__(api.get_linked))find(jitlink, "nvJitLinkGetLinkedCubin");
	api.destroy = (__typeof__(api.destroy))find(jitlink, "nvJitLinkDestroy");
}

static void *program(bool lto)
{
	const char *options[] = {"--gpu-architecture=sm_80", "-dlto"};
	void *made;

	if (api.create_program(&made, "extern \"C\" __global__ void set(float *x) { *x = 1; }", "set.cu", 0, NULL,
			       NULL) ||
	    api.compile(made, lto ? 2 : 1, options))
		exit(5);
	return made;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	app.lto = argc > 3 && !strcmp(argv[3], "-lto");
	find_all(argv[1], argv[2]);
	app.machine_code = program(false);
	app.input = program(app.lto);
	if (api.get_size(app.input, &app.text_bytes) || app.text_bytes > sizeof(app.text) ||
	    api.get_text(app.input, app.text))
		return 5;
	for (int i = 0; i < 2; i++) {
		measure("nvrtcGetCUBIN", get_cubin);
		measure("nvJitLinkCreate", create);
		measure("nvJitLinkAddData", add);
		measure("nvJitLinkComplete", complete);
		measure("nvJitLinkGetLinkedCubin", get_linked);
		measure("nvJitLinkDestroy", destroy);
	}
	return 0;
}

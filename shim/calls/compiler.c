/*
 * NVRTC, nvJitLink and the driver's linker, which compile and link while the
 * application runs. What they hand out are cubins; the PTX behind a cubin is asked of
 * NVRTC, on the same thread and after the application's own call, or noted as it is
 * given to a linker.
 *
 * Programs look the functions of the first two up in a library that they open, or are
 * linked to it: a process may have several copies. Results, errors and order of the application's
 * calls are those without us.
 */
#include "shim/shim.h"
#include "shim/code/made_code.h"
#include "shim/entry/real.h"
#include "shim/entry/lookup.h"
#include "shim/tables/memory.h"
#include "compiler.h"
#include "shim/worker/threads.h"

#include "store/common/loaded.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of nvrtcResult and nvJitLinkResult: NVRTC_ERROR_INTERNAL_ERROR, NVJITLINK_ERROR_INTERNAL. */
#define NVRTC_FAILED 11
#define NVJITLINK_FAILED 6

/* Of nvJitLinkInputType. Values of another version of the library are not known to differ. */
enum { INPUT_PTX = 2, INPUT_LTO_IR = 3, INPUT_ANY = 10 };

#define OPTIONS_MAX 32u /* of a linker; with more its LTO-IR is not read */

/* X(function, parameters, arguments, what it returns where the real one is not found). Types are those of nvrtc.h and
 * nvJitLink.h, with handles as pointers and enumerations as int. */
#define NVRTC_FUNCTIONS(X) X(nvrtcGetCUBIN, (void *program, char *cubin), (program, cubin), NVRTC_FAILED)
#define NVJITLINK_FUNCTIONS(X)                                                                                         \
	X(nvJitLinkCreate, (void **linker, uint32_t count, const char **options), (linker, count, options),            \
	  NVJITLINK_FAILED)                                                                                            \
	X(nvJitLinkAddData, (void *linker, int kind, const void *data, size_t bytes, const char *name),                \
	  (linker, kind, data, bytes, name), NVJITLINK_FAILED)                                                         \
	X(nvJitLinkAddFile, (void *linker, int kind, const char *path), (linker, kind, path), NVJITLINK_FAILED)        \
	X(nvJitLinkComplete, (void *linker), (linker), NVJITLINK_FAILED)                                               \
	X(nvJitLinkGetLinkedCubin, (void *linker, void *cubin), (linker, cubin), NVJITLINK_FAILED)                     \
	X(nvJitLinkDestroy, (void **linker), (linker), NVJITLINK_FAILED)
#define COMPILER_FUNCTIONS(X) NVRTC_FUNCTIONS(X) NVJITLINK_FUNCTIONS(X)

enum {
#define ID(function, ...) ID_##function,
	COMPILER_FUNCTIONS(ID) FUNCTIONS
};

/* --- what is noted of a call */

/* Another function of the library that this one is of; NULL: there is none. */
static void *sibling(void *function, const char *name)
{
	struct link_map *library = NULL;
	Dl_info info;

	return dladdr1(function, &info, (void **)&library, RTLD_DL_LINKMAP) && library
		   ? kc__object_symbol(library, name)
		   : NULL;
}

typedef int (*size_getter)(void *handle, size_t *bytes);
typedef int (*text_getter)(void *handle, char *text);

static size_t size_of(void *function, const char *name, void *handle)
{
	size_getter get = (size_getter)sibling(function, name);
	size_t bytes = 0;

	return get && !get(handle, &bytes) ? bytes : 0;
}

/* NVRTC has the PTX of a program, too, when it has been asked for its machine code. */
static void note_program(void *real, void *program, const char *cubin)
{
	text_getter get_ptx = (text_getter)sibling(real, "nvrtcGetPTX");
	size_t cubin_bytes = size_of(real, "nvrtcGetCUBINSize", program);
	size_t ptx_bytes = size_of(real, "nvrtcGetPTXSize", program);
	struct kc__made *made = cubin_bytes && get_ptx && ptx_bytes > 1 ? kc__made_room(ptx_bytes) : NULL;

	if (!made)
		return;
	if (get_ptx(program, made->text))
		kc__made_give(made);
	else
		kc__made_cubin(made, cubin, cubin_bytes);
}

/* The linker tells by itself what an input of any kind is; PTX is text. */
static bool is_text(const char *data, size_t bytes)
{
	size_t looked = bytes < KC__PAGE_BYTES ? bytes : KC__PAGE_BYTES;

	return bytes && !memchr(data, '\0', looked - (looked == bytes)) && memmem(data, looked, ".version", 8);
}

static void note_input(const void *linker, enum kc__made_kind kind, const char *data, size_t bytes)
{
	struct kc__made *made = data ? kc__made_room(bytes) : NULL;

	if (!made || kind != KC__MADE_LTO_IR)
		kc__made_incomplete(linker);
	if (!made)
		return;
	memcpy(made->text, data, bytes);
	kc__made_input(made, kind, linker);
}

/* 0 or -1 */
static int read_text(int fd, char *text, size_t bytes)
{
	for (size_t at = 0; at < bytes;) {
		ssize_t n = read(fd, text + at, bytes - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		at += (size_t)n;
	}
	return 0;
}

struct input_file {
	const char *path;
	struct kc__made *made;
};

static void read_input_file(void *arg)
{
	struct input_file *input = arg;
	int fd = open(input->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat file;

	if (fd < 0)
		return;
	if (!fstat(fd, &file) && S_ISREG(file.st_mode))
		input->made = kc__made_room((size_t)file.st_size);
	if (input->made && read_text(fd, input->made->text, (size_t)file.st_size)) {
		kc__made_give(input->made);
		input->made = NULL;
	}
	close(fd);
}

static void note_input_file(const void *linker, const char *path)
{
	struct input_file input = {path, NULL};
	char *absolute = NULL;

	kc__made_incomplete(linker);
	if (path && path[0] != '/' && (absolute = kc__room_take()))
		input.path = kc__absolute_path(path, absolute, KC__ROOM_BYTES);
	if (input.path)
		kc__files_do(read_input_file, &input);
	kc__room_give(absolute);
	if (input.made)
		kc__made_input(input.made, KC__MADE_PTX, linker);
}

static void note_nvjitlinks(const void *linker, int kind, const char *data, size_t bytes)
{
	if (kind == INPUT_LTO_IR)
		note_input(linker, KC__MADE_LTO_IR, data, bytes);
	else if (kind == INPUT_PTX || (kind == INPUT_ANY && data && is_text(data, bytes)))
		note_input(linker, KC__MADE_PTX, data, bytes);
	else
		kc__made_incomplete(linker);
}

static void note_nvjitlinks_file(const void *linker, int kind, const char *path)
{
	if (kind == INPUT_PTX)
		note_input_file(linker, path);
	else
		kc__made_incomplete(linker);
}

/* The options of a linker that optimizes its inputs as one program: nvJitLink gives PTX of that only instead of a
 * cubin. */
static void note_options(const void *linker, uint32_t count, const char **options)
{
	struct kc__made *made;
	size_t bytes = 0;
	bool lto = false;
	char *at;

	for (uint32_t i = 0; i < count && count <= OPTIONS_MAX; i++) {
		lto |= !strcmp(options[i], "-lto");
		bytes += strlen(options[i]) + 1;
	}
	if (!lto || !(made = kc__made_room(bytes)))
		return;
	at = made->text;
	for (uint32_t i = 0; i < count; i++)
		at = stpcpy(at, options[i]) + 1;
	kc__made_input(made, KC__MADE_OPTIONS, linker);
}

/* The functions of the linker's library. */
struct library {
	int (*create)(void **linker, uint32_t count, const char **options);
	int (*add)(void *linker, int kind, const void *data, size_t bytes, const char *name);
	int (*complete)(void *linker);
	int (*destroy)(void **linker);
};

static bool find_library(void *real, struct library *l)
{
	l->create = (__typeof__(l->create))sibling(real, "nvJitLinkCreate");
	l->add = (__typeof__(l->add))sibling(real, "nvJitLinkAddData");
	l->complete = (__typeof__(l->complete))sibling(real, "nvJitLinkComplete");
	l->destroy = (__typeof__(l->destroy))sibling(real, "nvJitLinkDestroy");
	return l->create && l->add && l->complete && l->destroy;
}

/* Another linker with the same options, that makes PTX instead. NULL: it cannot be had. */
static void *ptx_linker(const struct library *l, const struct kc__made *inputs)
{
	const char *options[OPTIONS_MAX + 1];
	const struct kc__made *made = inputs;
	void *linker = NULL;
	uint32_t count = 0;

	while (made->kind != KC__MADE_OPTIONS)
		made = made->next;
	for (const char *at = made->text; at < made->text + made->bytes; at += strlen(at) + 1)
		options[count++] = at;
	options[count++] = "-ptx";
	if (!l->create(&linker, count, options))
		return linker;
	if (linker)
		l->destroy(&linker);
	return NULL;
}

static bool link_inputs(const struct library *l, void *linker, const struct kc__made *inputs)
{
	for (const struct kc__made *made = inputs; made; made = made->next)
		if (made->kind == KC__MADE_LTO_IR &&
		    l->add(linker, INPUT_LTO_IR, made->text, made->bytes, "kerncast") != 0)
			return false;
	return !l->complete(linker);
}

/* Of LTO-IR there is no PTX until it is linked: it is linked once more, on the same thread. */
static struct kc__made *link_to_ptx(void *real, const struct kc__made *inputs)
{
	text_getter get_ptx = (text_getter)sibling(real, "nvJitLinkGetLinkedPtx");
	struct kc__made *made = NULL;
	struct library library;
	size_t bytes;
	void *linker;

	if (!get_ptx || !find_library(real, &library) || !(linker = ptx_linker(&library, inputs)))
		return NULL;
	if (link_inputs(&library, linker, inputs) && (bytes = size_of(real, "nvJitLinkGetLinkedPtxSize", linker)) > 1)
		made = kc__made_room(bytes);
	if (made && get_ptx(linker, made->text)) {
		kc__made_give(made);
		made = NULL;
	}
	library.destroy(&linker);
	return made;
}

/* Here and not when the cubin is handed out: this thread's stack is large enough for linking. */
static void note_complete(void *real, void *linker)
{
	struct kc__made *inputs = kc__made_take_inputs(linker), *made = inputs ? link_to_ptx(real, inputs) : NULL;

	if (made)
		kc__made_input(made, KC__MADE_PTX, linker);
	while ((made = inputs)) {
		inputs = made->next;
		kc__made_give(made);
	}
}

static void note_linked(void *real, void *linker, const void *cubin)
{
	size_t bytes = size_of(real, "nvJitLinkGetLinkedCubinSize", linker);

	if (bytes)
		kc__made_linked(linker, cubin, bytes);
}

/* --- the calls: real is the function that the application would have reached, and no other is called for it */

static int reach_nvrtcGetCUBIN(void *real, void *program, char *cubin)
{
	int result = ((int (*)(void *, char *))real)(program, cubin), saved_errno = errno;

	if (!result && cubin && kc__made_is_kept())
		note_program(real, program, cubin);
	errno = saved_errno;
	return result;
}

static int reach_nvJitLinkCreate(void *real, void **linker, uint32_t count, const char **options)
{
	int result = ((int (*)(void **, uint32_t, const char **))real)(linker, count, options), saved_errno = errno;

	if (!result && options && kc__made_is_kept())
		note_options(*linker, count, options);
	errno = saved_errno;
	return result;
}

static int reach_nvJitLinkAddData(void *real, void *linker, int kind, const void *data, size_t bytes, const char *name)
{
	int result = ((int (*)(void *, int, const void *, size_t, const char *))real)(linker, kind, data, bytes, name);
	int saved_errno = errno;

	if (!result && kc__made_is_kept())
		note_nvjitlinks(linker, kind, data, bytes);
	errno = saved_errno;
	return result;
}

static int reach_nvJitLinkAddFile(void *real, void *linker, int kind, const char *path)
{
	int result = ((int (*)(void *, int, const char *))real)(linker, kind, path), saved_errno = errno;

	if (!result && kc__made_is_kept())
		note_nvjitlinks_file(linker, kind, path);
	errno = saved_errno;
	return result;
}

static int reach_nvJitLinkComplete(void *real, void *linker)
{
	int result = ((int (*)(void *))real)(linker), saved_errno = errno;

	if (!result && kc__made_is_kept())
		note_complete(real, linker);
	errno = saved_errno;
	return result;
}

static int reach_nvJitLinkGetLinkedCubin(void *real, void *linker, void *cubin)
{
	int result = ((int (*)(void *, void *))real)(linker, cubin), saved_errno = errno;

	if (!result && cubin && kc__made_is_kept())
		note_linked(real, linker, cubin);
	errno = saved_errno;
	return result;
}

static int reach_nvJitLinkDestroy(void *real, void **linker)
{
	if (linker)
		kc__made_linker_gone(*linker);
	return ((int (*)(void **))real)(linker);
}

/* --- the driver's linker. Its cubin is the linker's, and is loaded before that is destroyed. */

KC_EXPORT CUresult CUDAAPI cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size,
					    const char *name, unsigned count, CUjit_option *options, void **values)
{
	CUresult result = KC_REAL(cuLinkAddData_v2)(state, type, data, size, name, count, options, values);
	int saved_errno = errno;

	if (result == CUDA_SUCCESS && type == CU_JIT_INPUT_PTX && kc__made_is_kept())
		note_input(state, KC__MADE_PTX, data, size);
	errno = saved_errno;
	return result;
}

KC_EXPORT CUresult CUDAAPI cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path, unsigned count,
					    CUjit_option *options, void **values)
{
	CUresult result = KC_REAL(cuLinkAddFile_v2)(state, type, path, count, options, values);
	int saved_errno = errno;

	if (result == CUDA_SUCCESS && type == CU_JIT_INPUT_PTX && kc__made_is_kept())
		note_input_file(state, path);
	errno = saved_errno;
	return result;
}

KC_EXPORT CUresult CUDAAPI cuLinkComplete(CUlinkState state, void **cubin, size_t *size)
{
	CUresult result = KC_REAL(cuLinkComplete)(state, cubin, size);
	int saved_errno = errno;

	if (result == CUDA_SUCCESS && cubin && *cubin && size && kc__made_is_kept())
		kc__made_linked(state, *cubin, *size);
	errno = saved_errno;
	return result;
}

KC_EXPORT CUresult CUDAAPI cuLinkDestroy(CUlinkState state)
{
	kc__made_linker_gone(state);
	return KC_REAL(cuLinkDestroy)(state);
}

/* --- how calls of NVRTC and nvJitLink come here */

#define LIST(...) __VA_ARGS__

/* An address that dlsym() has found must be reached whoever calls it, so each one gets a function of its own. Of more
 * addresses than these, the further ones are left unhooked. */
#define COPIES(X, ...) X(0, __VA_ARGS__) X(1, __VA_ARGS__) X(2, __VA_ARGS__) X(3, __VA_ARGS__)
enum { COPIES_MAX = 4 };
static void *_Atomic found[FUNCTIONS][COPIES_MAX];

#define FOUND_FUNCTION(n, function, parameters, arguments)                                                             \
	static int function##_##n parameters                                                                           \
	{                                                                                                              \
		return reach_##function(found[ID_##function][n], LIST arguments);                                      \
	}
#define FOUND_FUNCTIONS(function, parameters, arguments, failed) COPIES(FOUND_FUNCTION, function, parameters, arguments)
COMPILER_FUNCTIONS(FOUND_FUNCTIONS)

static void *const fronts[FUNCTIONS][COPIES_MAX] = {
#define FRONT(n, function) (void *)function##_##n,
#define FRONTS(function, ...) [ID_##function] = {COPIES(FRONT, function)},
    COMPILER_FUNCTIONS(FRONTS)};

/* Of the copies that may be loaded, where the caller does not tell: a function that ends with this call may have jumped
 * here, or it was called by its address. */
static void *of_loaded_copy(const char *symbol)
{
	static const char *const libraries[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
						"libnvJitLink.so.13", "libnvJitLink.so.12"};
	void *address = NULL, *library;

	for (size_t i = 0; !address && i < sizeof(libraries) / sizeof(*libraries); i++) {
		library = kc_loaded(libraries[i]);
		if (!library)
			continue;
		address = kc__real_dlsym(library, symbol);
		dlclose(library);
	}
	dlerror();
	return address;
}

static void *real_of(const char *symbol, const void *caller)
{
	int saved_errno = errno;
	void *address = kc__found_without_us(symbol, caller);

	if (!address)
		address = of_loaded_copy(symbol);
	errno = saved_errno;
	return address;
}

#define EXPORTED(symbol, function, parameters, arguments, failed)                                                      \
	KC_EXPORT int symbol parameters;                                                                               \
	KC_EXPORT int symbol parameters                                                                                \
	{                                                                                                              \
		void *real = real_of(#symbol, __builtin_return_address(0));                                            \
                                                                                                                       \
		return real ? reach_##function(real, LIST arguments) : (failed);                                       \
	}
#define PLAIN(function, ...) EXPORTED(function, function, __VA_ARGS__)
COMPILER_FUNCTIONS(PLAIN)

/* nvJitLink.h calls functions that have the header's version in their names; all have the same parameters. */
#define VERSION(version, function, ...) EXPORTED(__##function##_##version, function, __VA_ARGS__)
#define VERSIONS(...)                                                                                                  \
	VERSION(12_0, __VA_ARGS__)                                                                                     \
	VERSION(12_1, __VA_ARGS__)                                                                                     \
	VERSION(12_2, __VA_ARGS__)                                                                                     \
	VERSION(12_3, __VA_ARGS__)                                                                                     \
	VERSION(12_4, __VA_ARGS__)                                                                                     \
	VERSION(12_5, __VA_ARGS__)                                                                                     \
	VERSION(12_6, __VA_ARGS__)                                                                                     \
	VERSION(12_8, __VA_ARGS__)                                                                                     \
	VERSION(12_9, __VA_ARGS__)                                                                                     \
	VERSION(13_0, __VA_ARGS__)                                                                                     \
	VERSION(13_1, __VA_ARGS__)                                                                                     \
	VERSION(13_2, __VA_ARGS__)                                                                                     \
	VERSION(13_3, __VA_ARGS__)                                                                                     \
	VERSION(13_4, __VA_ARGS__)                                                                                     \
	VERSION(13_5, __VA_ARGS__)
NVJITLINK_FUNCTIONS(VERSIONS)

int kc__compiler_function(const char *symbol)
{
	static const char *const names[FUNCTIONS] = {
#define NAMED(function, ...) [ID_##function] = #function,
	    COMPILER_FUNCTIONS(NAMED)};
	bool versioned = !strncmp(symbol, "__", 2);

	symbol += versioned ? 2 : 0;
	for (int i = 0; i < FUNCTIONS; i++) {
		size_t length = strlen(names[i]);

		if (!strncmp(symbol, names[i], length) && symbol[length] == (versioned ? '_' : '\0'))
			return i;
	}
	return -1;
}

static void *front_of(int function, void *address)
{
	for (int i = 0; i < COPIES_MAX; i++) {
		void *there = NULL;

		if (atomic_compare_exchange_strong(&found[function][i], &there, address) || there == address)
			return fronts[function][i];
	}
	return address;
}

/* A global look-up finds our own export even where no such library is loaded. */
void *kc__compiler_route(int function, const char *symbol, void *address, const void *caller)
{
	if (kc__in_our_object(address) && !(address = kc__found_without_us(symbol, caller)))
		return kc__dlsym_behind_us(symbol); /* for dlerror() */
	if (!address || atomic_load_explicit(&kc__shim.stage, memory_order_relaxed) == KC__DISABLED)
		return address;
	return front_of(function, address);
}

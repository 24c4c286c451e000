/* Kernels by their handles. The driver is the test's: it has two kernels, and refuses a handle of the other form. */
#include "shim/worker/selection.h"
#include "handles.h"
#include "shim/code/loaded_code.h"
#include "tables_testing.h"
#include "shim/entry/real.h"
#include "functions.h"
#include "recall.h"
#include "tables.h"

/* ---- The driver ---- */

static struct driver_kernel {
	const char *name;
	int registers;
	uint32_t parameters;
	char function, kernel; /* their addresses are its handles */
} scale = {.name = "scale", .registers = 24, .parameters = 2}, clear = {.name = "clear", .registers = 8};

static char library, module; /* their addresses are handles; the CUkernels are the library's */
static bool before_12_3, parameters_fail;
static uint32_t refused;

#define FUNCTION(k) ((CUfunction) & (k).function)
#define KERNEL(k) ((CUkernel) & (k).kernel)
#define AS_FUNCTION(k) ((CUfunction)KERNEL(k)) /* as launches take it */

static const struct driver_kernel *of(const void *handle, bool as_kernel)
{
	struct driver_kernel *const all[] = {&scale, &clear};

	for (size_t i = 0; i < 2; i++)
		if (handle == (as_kernel ? &all[i]->kernel : &all[i]->function))
			return all[i];
	refused++;
	return NULL;
}

static CUresult attribute(int *value, CUfunction_attribute which, const struct driver_kernel *k)
{
	*value = !k ? 0 : which == CU_FUNC_ATTRIBUTE_NUM_REGS ? k->registers : 1024;
	return k ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult CUDAAPI function_attribute(int *value, CUfunction_attribute which, CUfunction f)
{
	return attribute(value, which, of(f, false));
}

static CUresult CUDAAPI kernel_attribute(int *value, CUfunction_attribute which, CUkernel k, CUdevice device)
{
	(void)device;
	return attribute(value, which, of(k, true));
}

/* cuda.h names no other error than this for any failure of cuFuncGetParamInfo and cuKernelGetParamInfo. */
static CUresult parameter(const struct driver_kernel *k, size_t i, size_t *offset, size_t *bytes)
{
	if (parameters_fail)
		return CUDA_ERROR_UNKNOWN;
	if (!k || i >= k->parameters)
		return CUDA_ERROR_INVALID_VALUE;
	*offset = 8 * i;
	*bytes = 8;
	return CUDA_SUCCESS;
}

static CUresult CUDAAPI function_parameter(CUfunction f, size_t i, size_t *offset, size_t *bytes)
{
	return parameter(of(f, false), i, offset, bytes);
}

static CUresult CUDAAPI kernel_parameter(CUkernel k, size_t i, size_t *offset, size_t *bytes)
{
	return parameter(of(k, true), i, offset, bytes);
}

static CUresult CUDAAPI function_name(const char **name, CUfunction f)
{
	const struct driver_kernel *k = of(f, false);

	*name = k ? k->name : NULL;
	return k ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult CUDAAPI kernel_name(const char **name, CUkernel handle)
{
	const struct driver_kernel *k = of(handle, true);

	*name = k ? k->name : NULL;
	return k ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult CUDAAPI get_module(CUmodule *out, CUfunction f)
{
	*out = (CUmodule)&module;
	return of(f, false) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult CUDAAPI get_library(CUlibrary *out, CUkernel k)
{
	*out = (CUlibrary)&library;
	return of(k, true) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

void *kc__driver_symbol(const char *symbol)
{
	static const struct {
		const char *name;
		void *address;
	} functions[] = {{"cuFuncGetAttribute", function_attribute},
			 {"cuKernelGetAttribute", kernel_attribute},
			 {"cuFuncGetParamInfo", function_parameter},
			 {"cuKernelGetParamInfo", kernel_parameter},
			 {"cuFuncGetModule", get_module},
			 {"cuKernelGetLibrary", get_library},
			 {"cuFuncGetName", function_name},
			 {"cuKernelGetName", kernel_name}};
	size_t known = sizeof(functions) / sizeof(*functions) - (before_12_3 ? 2 : 0);

	for (size_t i = 0; i < known; i++)
		if (!strcmp(functions[i].name, symbol))
			return functions[i].address;
	return NULL;
}

/* ---- The rest of the library ---- */

const struct kc_beginning *kc__recalled(void)
{
	static const struct kc_beginning nothing = {NULL, NULL};

	return &nothing;
}

struct kc_code_identity kc__identity_of(const struct kc__kernel *kernel)
{
	return (struct kc_code_identity){.mangled = kernel->name};
}

uint32_t kc__selection_every(const char *name)
{
	(void)name;
	return 0;
}

/* ---- */

static int begin_functions(void **state)
{
	if (begin(state))
		return -1;
	kc__shim.header = kc_journal_header(kc__shim.journal);
	before_12_3 = parameters_fail = false;
	refused = 0;
	return 0;
}

static struct kc__kernel *launched(CUfunction f)
{
	struct kc__function *fn = kc__function_of(f, &kc__shim.devices[0]);

	assert_non_null(fn);
	return atomic_load(&fn->kernel);
}

static uint64_t unseen(void)
{
	return atomic_load(&kc__shim.header->counters[KC_COUNT_LOADS_UNSEEN]);
}

static void assert_is(const struct kc__kernel *kernel, const struct driver_kernel *k)
{
	assert_non_null(kernel);
	assert_string_equal(kernel->name, k->name);
	assert_int_equal(kernel->resources.registers, k->registers);
	assert_true(kernel->parameters.known);
	assert_int_equal(kernel->parameters.count, k->parameters);
	for (uint32_t i = 0; i < k->parameters; i++)
		assert_int_equal(kernel->parameters.at[i].offset_bytes, 8 * i);
}

static void forms_that_no_call_has_told_are_asked_of_the_driver(void **state)
{
	(void)state;
	assert_is(launched(AS_FUNCTION(scale)), &scale);
	assert_int_equal(refused, 1); /* cuFuncGetAttribute, once */
	assert_is(launched(FUNCTION(clear)), &clear);
	assert_int_equal(refused, 1);
	assert_int_equal(kc__handle_form(KERNEL(scale)), KC__FORM_KERNEL);
	assert_int_equal(kc__handle_form(FUNCTION(clear)), KC__FORM_FUNCTION);
}

static void a_form_is_remembered(void **state)
{
	(void)state;
	launched(AS_FUNCTION(scale));
	refused = 0;
	atomic_fetch_add(&kc__shim.module_generation, 1); /* after an unload every handle is asked for again */
	assert_is(launched(AS_FUNCTION(scale)), &scale);
	assert_int_equal(refused, 0);
}

/* Another library was unloaded, and the address has become a CUfunction by a call that was not seen. */
static void a_handle_that_has_changed_its_form_is_found_out(void **state)
{
	(void)state;
	kc__handle_named(FUNCTION(scale), KC__FORM_KERNEL, NULL, &library);
	assert_is(launched(FUNCTION(scale)), &scale);
	assert_int_equal(kc__handle_form(FUNCTION(scale)), KC__FORM_FUNCTION);
}

static void what_is_no_handle_cannot_be_predicted(void **state)
{
	struct kc__function *fn = kc__function_of((CUfunction)&module, &kc__shim.devices[0]);

	(void)state;
	assert_null(fn->kernel);
	assert_int_equal(fn->unpredictable, KC_NO_ATTRIBUTES);
	assert_int_equal(unseen(), 0);
}

/* The handle of a cudart kernel is one on all devices. A thread may launch on them in turn. */
static void a_handle_is_told_apart_by_its_device(void **state)
{
	struct kc__device *devices = kc__shim.devices;
	uint32_t own = devices[1].ordinal;
	struct kc__function *first, *second;

	(void)state;
	devices[1].ordinal = devices[0].ordinal + 1;
	first = kc__function_of(AS_FUNCTION(scale), &devices[0]);
	second = kc__function_of(AS_FUNCTION(scale), &devices[1]);
	assert_ptr_not_equal(first, second);
	assert_int_equal(first->key[1], devices[0].ordinal);
	assert_int_equal(second->key[1], devices[1].ordinal);
	assert_ptr_equal(kc__function_of(AS_FUNCTION(scale), &devices[0]), first);
	assert_ptr_equal(kc__function_of(AS_FUNCTION(scale), &devices[1]), second);
	devices[1].ordinal = own;
}

static void load(const void *container)
{
	static struct kc__code code = {.key = {77}};

	pthread_mutex_lock(&kc__shim.tables_lock);
	kc__handle_code_set(container, &code);
	pthread_mutex_unlock(&kc__shim.tables_lock);
}

/* There is room for 32,768 functions and 65,536 handles. */
static void what_an_unloaded_module_had_is_given_back(void **state)
{
	struct kc__function *kept = kc__function_of((CUfunction)&module, &kc__shim.devices[0]), *fn;
	size_t bytes = 0;

	(void)state;
	for (uintptr_t i = 1; i <= 70000; i++) {
		const char *container = (const char *)(i << 12), *kernel = container + 16, *function = container + 32;

		load(container);
		kc__handle_named(kernel, KC__FORM_KERNEL, "f", container);
		kc__handle_function(function, kernel);
		fn = kc__function_of((CUfunction)function, &kc__shim.devices[0]);
		assert_non_null(fn);
		assert_ptr_not_equal(fn, kept);
		assert_ptr_equal(kc__handle_code(function), kc__handle_code(container));
		kc__handle_gone(container);
		assert_null(kc__handle_code(function));
		assert_null(kc__find(&kc__shim.functions, fn->key, 2));
		if (i == 1)
			bytes = kc__shim.arena.total_bytes;
	}
	assert_int_equal(kc__shim.arena.total_bytes, bytes);
	assert_int_equal(kc__shim.handles.count, 0);
	assert_int_equal(kc__shim.functions.count, 1);
	assert_ptr_equal(kc__function_of((CUfunction)&module, &kc__shim.devices[0]), kept);
}

/* A CUfunction that was asked for by another way first; its library's kernel is unloaded, another library's is not. */
static void a_handle_goes_with_the_container_that_was_told_last(void **state)
{
	char other, function;

	(void)state;
	load(&library);
	load(&other);
	kc__handle_named(&function, KC__FORM_FUNCTION, "f", &library);
	kc__handle_named(&function, KC__FORM_FUNCTION, "f", &other);
	kc__handle_gone(&library);
	assert_non_null(kc__handle_code(&function));
	kc__handle_gone(&other);
	assert_null(kc__handle_code(&function));
	assert_int_equal(kc__shim.handles.count, 0);
}

/* CUDA 12.0 to 12.2 have no cuFuncGetName: the name is the one that the library was asked for. */
static void both_handles_are_of_one_kernel_whichever_comes_first(void **state)
{
	(void)state;
	for (int old = 0; old < 2; old++) {
		struct kc__kernel *a, *b;

		before_12_3 = old;
		load(&library);
		kc__handle_named(KERNEL(scale), KC__FORM_KERNEL, "scale", &library);
		kc__handle_named(KERNEL(clear), KC__FORM_KERNEL, "clear", &library);
		kc__handle_function(FUNCTION(scale), KERNEL(scale));
		a = launched(AS_FUNCTION(scale));
		assert_ptr_equal(launched(FUNCTION(scale)), a);
		assert_is(a, &scale);
		kc__handle_function(FUNCTION(clear), KERNEL(clear));
		b = launched(FUNCTION(clear));
		assert_ptr_equal(launched(AS_FUNCTION(clear)), b);
		assert_is(b, &clear);
		assert_ptr_not_equal(a, b);
		assert_int_equal(a->code->key[0], 77);
		assert_int_equal(unseen(), 0);
		atomic_fetch_add(&kc__shim.module_generation, 1);
	}
}

/* The library's load was seen, cuLibraryGetKernel was not; the CUfunction's module is of no load that was seen. */
static void a_function_has_its_code_from_the_library_of_its_kernel(void **state)
{
	struct kc__kernel *kernel;

	(void)state;
	load(&library);
	kc__handle_function(FUNCTION(scale), KERNEL(scale));
	kernel = launched(FUNCTION(scale));
	assert_int_equal(kernel->code->key[0], 77);
	assert_ptr_equal(launched(AS_FUNCTION(scale)), kernel);
}

static void functions_of_loads_not_seen_are_counted_once(void **state)
{
	(void)state;
	launched(FUNCTION(scale));
	launched(FUNCTION(scale));
	assert_int_equal(unseen(), 1);
	launched(AS_FUNCTION(clear));
	assert_int_equal(unseen(), 2);
	atomic_fetch_add(&kc__shim.module_generation, 1);
	launched(FUNCTION(scale));
	assert_int_equal(unseen(), 2);
}

static void another_error_does_not_mean_that_there_are_no_parameters(void **state)
{
	(void)state;
	parameters_fail = true;
	assert_false(launched(FUNCTION(clear))->parameters.known);
}

/* Graphs ask for the parameters of a node's func before any launch of it. It may be a CUfunction or a CUkernel. */
static void parameters_are_found_for_either_kind_of_handle(void **state)
{
	struct kc__parameter at[KC__PARAMETERS_MAX];
	uint32_t count = 0;

	(void)state;
	assert_true(kc__ask_parameters(AS_FUNCTION(scale), false, at, &count));
	assert_int_equal(count, 2);
	assert_int_equal(at[1].offset_bytes, 8);
	assert_int_equal(kc__handle_form(KERNEL(scale)), KC__FORM_KERNEL);
	assert_true(kc__ask_parameters(FUNCTION(scale), true, at, &count));
	assert_int_equal(count, 2);
	assert_false(kc__ask_parameters((CUfunction)&module, false, at, &count));
	assert_int_equal(count, 0);
}

struct stored_names {
	struct kc_assembler assembler;
	char at[2][8192];
	int count;
};

static int note_name(const struct kc_slot *slot, void *arg)
{
	struct stored_names *names = arg;
	const void *entry;
	size_t bytes;

	if (slot->kind == KC_KIND_KERNEL && kc_assemble(&names->assembler, slot, &entry, &bytes) > 0) {
		assert_in_range(names->count, 0, 1);
		snprintf(names->at[names->count++], sizeof(names->at[0]), "%s",
			 (const char *)entry + sizeof(struct kc_kernel_entry));
	}
	return 0;
}

/* Templates nested deeply have names of any length. These differ in their last character alone. */
static void names_too_long_for_the_journal_stay_apart(void **state)
{
	static struct stored_names names;
	static char a[6001], b[6001];
	struct driver_kernel short_ones[] = {scale, clear};
	struct kc_journal_file *file;

	(void)state;
	memset(a, 'k', sizeof(a) - 1);
	memcpy(b, a, sizeof(b));
	b[sizeof(b) - 2] = 'l';
	scale.name = a;
	clear.name = b;
	clear.registers = scale.registers;
	assert_ptr_not_equal(launched(FUNCTION(scale)), launched(FUNCTION(clear)));
	scale = short_ones[0];
	clear = short_ones[1];
	assert_int_equal(kc_journal_open(path, &file), 0);
	kc_journal_file_each(file, note_name, &names);
	kc_journal_file_close(file);
	assert_int_equal(names.count, 2);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(strlen(names.at[i]), 4093);
		assert_int_equal(strspn(names.at[i], "k"), 4093 - 17);
	}
	assert_string_not_equal(names.at[0], names.at[1]);
}

#undef TEST
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_functions, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(forms_that_no_call_has_told_are_asked_of_the_driver),
	    TEST(a_form_is_remembered),
	    TEST(a_handle_that_has_changed_its_form_is_found_out),
	    TEST(what_is_no_handle_cannot_be_predicted),
	    TEST(a_handle_is_told_apart_by_its_device),
	    TEST(both_handles_are_of_one_kernel_whichever_comes_first),
	    TEST(a_function_has_its_code_from_the_library_of_its_kernel),
	    TEST(functions_of_loads_not_seen_are_counted_once),
	    TEST(what_an_unloaded_module_had_is_given_back),
	    TEST(a_handle_goes_with_the_container_that_was_told_last),
	    TEST(another_error_does_not_mean_that_there_are_no_parameters),
	    TEST(parameters_are_found_for_either_kind_of_handle),
	    TEST(names_too_long_for_the_journal_stay_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "readable.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

struct example {
	const char *mangled, *readable;
};

static void check(const struct example *examples, size_t count)
{
	char out[512];

	for (size_t i = 0; i < count; i++) {
		assert_int_equal(kc_readable_name(examples[i].mangled, out, sizeof(out)), 1);
		assert_string_equal(out, examples[i].readable);
	}
}

/* Examples given in the text of the Itanium C++ ABI, section 5.1. */
static void names_of_the_abi_document(void **state)
{
	static const struct example examples[] = {
	    {"_Z1fv", "f()"},
	    {"_Z1fi", "f(int)"},
	    {"_Z3foo3bar", "foo(bar)"},
	    {"_ZN1N1TIiiE2mfES0_IddE", "N::T<int, int>::mf(N::T<double, double>)"},
	    {"_ZN5StackIiiE5levelE", "Stack<int, int>::level"},
	    {"_ZN3FooIA4_iE3barE", "Foo<int [4]>::bar"},
	    {"_Z5firstI3DuoEvS0_", "void first<Duo>(Duo)"},
	    {"_Z5firstI3DuoEvT_", "void first<Duo>(Duo)"},
	    {"_Z3fooILi2EEvRAplT_Li1E_i", "void foo<2>(int (&) [(2)+(1)])"},
	};

	(void)state;
	check(examples, sizeof(examples) / sizeof(examples[0]));
}

/* What the grammar of section 5.1 makes of declarations that kernels have. */
static void kernels(void **state)
{
	static const struct example examples[] = {
	    {"_Z9vectorAddPKfS0_Pfi", "vectorAdd(float const*, float const*, float*, int)"},
	    {"_Z13matrixMulCUDAILi32EEvPfS0_S0_ii", "void matrixMulCUDA<32>(float*, float*, float*, int, int)"},
	    {"_Z6reduceIfLj512ELb1EEvPT_S1_j", "void reduce<float, 512u, true>(float*, float*, unsigned int)"},
	    {"_ZNK1N1fEv", "N::f() const"},
	    {"_ZL6kernelPf", "kernel(float*)"},
	    {"_ZN12_GLOBAL__N_13runEPd", "(anonymous namespace)::run(double*)"},
	    {"_Z5applyPFffEPf", "apply(float (*)(float), float*)"},
	    {"_Z4copyRA16_Kf", "copy(float const (&) [16])"},
	    {"_Z4waitPVi", "wait(int volatile*)"},
	    {"_ZNO1N1fEv", "N::f() &&"},
	    {"_Z4sortIJifEEvDpT_", "void sort<int, float>(int, float)"},
	    {"_Z4sortIJifEEvDpPT_", "void sort<int, float>(int*, float*)"},
	    {"_Z4moveIRiEvOT_", "void move<int&>(int&)"},
	    {"_Z3runIZ4mainEUlfE_EvT_", "void run<main::{lambda(float)#1}>(main::{lambda(float)#1})"},
	    {"_Z3setILN2at4ModeE2EEvi", "void set<(at::Mode)2>(int)"},
	    {"_ZN7cutlass6KernelINS_4gemm4GemmIfEEEEvT_",
	     "void cutlass::Kernel<cutlass::gemm::Gemm<float> >(cutlass::gemm::Gemm<float>)"},
	};

	(void)state;
	check(examples, sizeof(examples) / sizeof(examples[0]));
}

static void what_is_no_mangled_name_is_left_as_it_is(void **state)
{
	static const char *const names[] = {
	    "saxpy", /* extern "C" */
	    "f",     /* not the type float */
	    "_GLOBAL__I_main",
	    "",
	    "_Z",      /* cut off */
	    "_Z3fo",   /* shorter than its length says */
	    "_Z1fS5_", /* a substitution that never was */
	    "_Z1fT_",  /* a template parameter of no template */
	};
	char out[64];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_int_equal(kc_readable_name(names[i], out, sizeof(out)), 0);
		assert_string_equal(out, names[i]);
	}
}

static void long_readable_names_are_cut(void **state)
{
	char out[8];

	(void)state;
	assert_int_equal(kc_readable_name("_Z9vectorAddPf", out, sizeof(out)), 1);
	assert_string_equal(out, "vectorA");
	assert_int_equal(kc_readable_name("no_mangled_name", out, sizeof(out)), 0);
	assert_string_equal(out, "no_mang");
}

/* head, then part as often as it fits into length bytes with tail behind it. */
static void repeat(char *name, size_t length, const char *head, const char *part, const char *tail)
{
	char *end = stpcpy(name, head);

	while ((size_t)(end - name) + strlen(part) + strlen(tail) <= length)
		end = stpcpy(end, part);
	strcpy(end, tail);
}

/* Kernels of CUTLASS have names of kilobytes; libiberty by itself refuses more than 1 KiB. */
static void names_of_kilobytes_are_read(void **state)
{
	static char name[KC_MANGLED_BYTES + 1], out[KC_READABLE_BYTES];

	(void)state;
	repeat(name, strlen("_Z1fIEvv") + 150 * 22, "_Z1fI", "20policy_of_the_kernel", "Evv");
	assert_int_equal(kc_readable_name(name, out, sizeof(out)), 1);
	assert_memory_equal(out, "void f<policy_of_the_kernel, policy_of_the_kernel, ", 51);
	assert_int_equal(strlen(out), strlen("void f<") + 150 * 20 + 149 * strlen(", ") + strlen(">()"));
}

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Each as long as is read, and longer. A name takes less than a millisecond; 100 are allowed. */
static void hostile_names_end(void **state)
{
	static const char *const names[][3] = {
	    {"_Z1f", "P", ""},
	    {"_Z1f", "P", "i"},
	    {"_Z1f", "F", ""},
	    {"_Z1f", "PF", "iE"},
	    {"_Z", "N", ""},
	    {"_Z1f", "A_", "i"},
	    {"_Z1f", "M1a", "i"},
	    {"_Z1f", "U1a", "i"},
	    {"_Z1f", "1aI", ""},
	    {"_Z1fIX", "ad", "E"},
	    {"_Z1fIX", "pl", ""},
	    {"_Z1f", "1aIF", ""},
	    {"_Z", "cv", "i"},
	    {"_Z", "Z1fvE", "1gv"},
	    {"_Z1fIJiEEvDp", "Dp", "T_"},
	    {"_Z1f", "PK", "i"},
	    {"_Z1fIJEEv", "DpT_", ""},
	    {"_ZGVZ", "GVZ", ""},
	    {"_Z1fIJJEJEEEv", "DpDpT_", ""},
	    {"_Z", "9", ""},
	    {"_Z1f1aIiE", "S_IS0_S0_E", ""},
	    {"_Z1f", "B1a", "v"},
	    {"_Z1fIT_EvT_", "T_", ""},
	    {"_Z1f", "PVK", "i"},
	};
	static const size_t lengths[] = {1000, KC_MANGLED_BYTES, 200000};
	static char name[200001], out[KC_READABLE_BYTES];

	(void)state;
	for (size_t i = 0; i < 3 * sizeof(names) / sizeof(names[0]); i++) {
		const char *const *parts = names[i / 3];
		double began = cpu_seconds();

		repeat(name, lengths[i % 3], parts[0], parts[1], parts[2]);
		kc_readable_name(name, out, sizeof(out));
		assert_true(strlen(out) < sizeof(out));
		assert_true(cpu_seconds() - began < 0.1);
	}
}

/* libiberty reads each of 100 twice as often as the one before. */
static void conversions_that_double_are_left_as_they_are(void **state)
{
	static const char *const names[][2] = {{"_ZN1acv1aI", "T_I"}, {"_ZN1acv1aI", "T0_I"}, {"_ZN1acvPT_I", "T_I"}};
	static char name[1001], out[KC_READABLE_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		double began = cpu_seconds();

		repeat(name, 1000, names[i][0], names[i][1], "");
		assert_int_equal(kc_readable_name(name, out, sizeof(out)), 0);
		assert_string_equal(out, name);
		assert_true(cpu_seconds() - began < 0.1);
	}
}

/* Each substitution is a pair of the one before: 30 of them are 2^30 times as long as the first. */
static void names_that_double_are_cut(void **state)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	static char name[1024], out[KC_READABLE_BYTES];
	char *end = stpcpy(name, "_Z1f1pIiiE");
	double began = cpu_seconds();

	(void)state;
	for (int i = 0; i < 30; i++)
		end += sprintf(end, "S_IS%c_S%c_E", digits[i], digits[i]);
	assert_int_equal(kc_readable_name(name, out, sizeof(out)), 1);
	assert_int_equal(strlen(out), sizeof(out) - 1);
	assert_memory_equal(out, "f(p<int, int>, p<p<int, int>, p<int, int> >, p<p<p<int, int>", 60);
	assert_true(cpu_seconds() - began < 0.1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_of_the_abi_document),
	    cmocka_unit_test(kernels),
	    cmocka_unit_test(what_is_no_mangled_name_is_left_as_it_is),
	    cmocka_unit_test(long_readable_names_are_cut),
	    cmocka_unit_test(names_of_kilobytes_are_read),
	    cmocka_unit_test(hostile_names_end),
	    cmocka_unit_test(conversions_that_double_are_left_as_they_are),
	    cmocka_unit_test(names_that_double_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

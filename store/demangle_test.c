#include "demangle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct example {
	const char *mangled, *readable;
};

static void check(const struct example *examples, size_t count)
{
	char out[512];

	for (size_t i = 0; i < count; i++) {
		assert_int_equal(kc_demangle(examples[i].mangled, out, sizeof(out)), 1);
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

static void what_it_does_not_know_is_left_as_it_is(void **state)
{
	static const char *const names[] = {
	    "saxpy", /* extern "C" */
	    "",
	    "_Z",      /* cut off */
	    "_Z3fo",   /* shorter than its length says */
	    "_Z1fS5_", /* a substitution that never was */
	    "_Z1fT_",  /* a template parameter of no template */
	    "_Z1fv.extra",
	    "_Z1fIXadL_Z1gvEEEvv", /* an expression */
	};
	char out[64];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_int_equal(kc_demangle(names[i], out, sizeof(out)), 0);
		assert_string_equal(out, names[i]);
	}
}

static void long_names_are_cut(void **state)
{
	char out[8];

	(void)state;
	assert_int_equal(kc_demangle("_Z9vectorAddPf", out, sizeof(out)), 1);
	assert_string_equal(out, "vectorA");
}

static void hostile_names_end(void **state)
{
	static char name[200000];
	char out[64];

	(void)state;
	memset(name, 'P', sizeof(name) - 1);
	memcpy(name, "_Z1f", 4);
	assert_int_equal(kc_demangle(name, out, sizeof(out)), 0);
	memset(name + 4, 'N', sizeof(name) - 5);
	assert_int_equal(kc_demangle(name, out, sizeof(out)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_of_the_abi_document),
	    cmocka_unit_test(kernels),
	    cmocka_unit_test(what_it_does_not_know_is_left_as_it_is),
	    cmocka_unit_test(long_names_are_cut),
	    cmocka_unit_test(hostile_names_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

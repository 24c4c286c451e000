#include "kernel_form.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* Left: as __cxa_demangle() and c++filt write a symbol. Right: as NVIDIA's profilers do, nsys and before it nvprof. */
static const struct {
	const char *plain, *nvidia;
	int generic; /* the right one has parameters of the template */
} names[] = {
    {"addv(float*, int)", "addv(float *, int)", 0},
    {"add(float const*, unsigned int)", "add(const float *, unsigned int)", 0},
    {"add(float const*, int)", "add(float const *, int)", 0},
    {"void scale<float>(float*, int)", "void scale<float>(T1 *, int)", 1},
    {"void k<4, true, 8ul>(int)", "void k<(int)4, (bool)1, (unsigned long)8>(int)", 0},
    {"void k<float, -1, 64u>(int)", "void k<float, int=-1, unsigned int=64>(int)", 0},
    {"void a::b<a::F<float>, a::Array<char*, 2> >(int, a::F<float>, a::Array<char*, 2>)",
     "void a::b<a::F<float>, a::Array<char *, (int)2>>(int, T1, T2)", 1},
    {"(anonymous namespace)::k(int)", "<unnamed>::k(int)", 0},
    {"gemm", "gemm", 0},
};

static void demanglers_agree(void **state)
{
	struct kc_kernel_form plain, nvidia;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		kc_kernel_form(names[i].plain, &plain);
		kc_kernel_form(names[i].nvidia, &nvidia);
		assert_int_equal(plain.is_generic, 0);
		assert_int_equal(nvidia.is_generic, names[i].generic);
		assert_int_equal(plain.named, nvidia.named);
		assert_memory_equal(plain.text, nvidia.text, plain.named);
		if (!names[i].generic)
			assert_string_equal(plain.text, nvidia.text);
	}
}

static void others_differ(void **state)
{
	static const char *const others[][2] = {
	    {"k(int)", "k(float)"},
	    {"void k<4>(int)", "void k<5>(int)"},
	    {"void k<float>()", "void k<double>()"},
	    {"k(unsigned int)", "k(int)"},
	    {"void k<a1>()", "void k<1>()"},
	    {"k", "k()"},
	};
	struct kc_kernel_form one, other;

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		kc_kernel_form(others[i][0], &one);
		kc_kernel_form(others[i][1], &other);
		assert_string_not_equal(one.text, other.text);
	}
}

static void any_bytes_fit(void **state)
{
	static char name[2 * KC_FORM_BYTES];
	struct kc_kernel_form form;

	(void)state;
	kc_kernel_form("", &form);
	assert_string_equal(form.text, "");
	for (int fill = 1; fill < 256; fill++) {
		memset(name, fill, sizeof(name) - 1);
		kc_kernel_form(name, &form);
		assert_true(strlen(form.text) < KC_FORM_BYTES && form.named <= strlen(form.text));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(demanglers_agree),
	    cmocka_unit_test(others_differ),
	    cmocka_unit_test(any_bytes_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

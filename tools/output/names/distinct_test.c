#include "distinct.h"
#include "tools/output/format.h"
#include "plain_name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MOST 64u

static void expect(const char *const *texts, size_t count, size_t width, const char *const *wanted)
{
	char *out[MOST];

	assert_int_equal(kc_shorten_distinct(texts, count, width, out), 0);
	for (size_t i = 0; i < count; i++) {
		assert_string_equal(out[i], wanted[i]);
		free(out[i]);
	}
}

static void expect_all_different(const char *const *texts, size_t count, size_t width)
{
	char *out[MOST];

	assert_int_equal(kc_shorten_distinct(texts, count, width, out), 0);
	for (size_t i = 0; i < count; i++) {
		assert_true(kc_text_width(out[i]) <= width);
		for (size_t k = 0; k < i; k++) {
			if (strcmp(texts[i], texts[k]) != 0 && strcmp(out[i], out[k]) == 0)
				fail_msg("\"%s\" stands for \"%s\" and \"%s\"", out[i], texts[i], texts[k]);
		}
	}
	for (size_t i = 0; i < count; i++)
		free(out[i]);
}

static void expect_plain(const char *name, const char *wanted)
{
	char *plain = kc_plain_name(name);

	assert_string_equal(plain, wanted);
	free(plain);
}

static void test_plain_names_are_without_what_many_have(void **state)
{
	(void)state;
	expect_plain("void at::native::f<c10::Half>(int)", "f<Half>");
	expect_plain("void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16, "
		     "at::native::(anonymous namespace)::Epilogue>(c10::BFloat16*, int)",
		     "cunn_SoftMaxForward<8, BFloat16, Epilogue>");
	expect_plain("std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type "
		     "vllm::norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, long)",
		     "vllm::norm_kernel<BFloat16, 8>");
	expect_plain("void f<at::native::g()::{lambda(int)#1}>(float (*)(int))", "f<g()::{lambda(int)#1}>");
	expect_plain("void mine::std::f<nostd::x, boat::native::y>(int)", "mine::std::f<nostd::x, boat::native::y>");
	expect_plain("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
		     "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)",
		     "vectorized_elementwise_kernel<4, CUDAFunctor_add<float> >");
	expect_plain("void f<4, std::array<char*, long> >(int)", "f<4, array<char*, long> >");
	expect_plain("ampere_sgemm_128x64_nn", "ampere_sgemm_128x64_nn");
	expect_plain("rank 1 (pid 2001)", "rank 1 (pid 2001)");
	expect_plain("", "");
	expect_plain("()", "()");
	expect_plain("f(((", "f(((");
}

/* Where there is room for all, they are whole; overloads differ in their parameters alone. */
static void test_names_that_are_too_long_are_plain(void **state)
{
	static const char *const texts[] = {"void at::native::f(int)", "void at::native::longer(int)", "void g(int)",
					    "void ns::overloaded(int, float)", "void ns::overloaded(int, long)"};
	static const char *const wanted[] = {"void at::native::f(int)", "longer", "g", "void ns::…t, float)",
					     "void ns::…nt, long)"};

	(void)state;
	expect(texts, 1, 23, wanted);
	expect(texts + 1, 2, 20, wanted + 1);
	expect(texts + 3, 2, 19, wanted + 3);
}

static void test_ends_that_differ_suffice(void **state)
{
	static const char *const texts[] = {"short", "abcdefghij", "abcdefghix", "short"};
	static const char *const wanted[] = {"short", "abc…hij", "abc…hix", "short"};

	(void)state;
	expect(texts, 4, 7, wanted);
}

/* 12 columns: two ellipses, three characters from the beginning, three before the place and four from it on. */
static void test_the_place_that_differs_is_kept(void **state)
{
	static const char *const texts[] = {"kernel_begin<aaa>_float_of_int_", "kernel_begin<bbb>_float_of_int_"};
	static const char *const wanted[] = {"ker…in<aaa>…", "ker…in<bbb>…"};

	(void)state;
	expect(texts, 2, 12, wanted);
}

static void test_names_of_pytorch(void **state)
{
	static const char *const texts[] = {
	    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>, at::detail::Array<char*, "
	    "1> >(int, at::native::FillFunctor<int>, at::detail::Array<char*, 1>)",
	    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
	    "at::detail::Array<char*, "
	    "1> >(int, at::native::FillFunctor<float>, at::detail::Array<char*, 1>)",
	    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
	    "at::detail::Array<char*, 1> >(int, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 1>)",
	    "void at::native::vectorized_elementwise_kernel<2, at::native::CUDAFunctor_add<float>, "
	    "at::detail::Array<char*, 1> >(int, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 1>)",
	    "void at::native::unrolled_elementwise_kernel<at::native::FillFunctor<int>, at::detail::Array<char*, 1> "
	    ">(int, at::native::FillFunctor<int>, at::detail::Array<char*, 1>)",
	};

	(void)state;
	for (size_t width = 24; width < 200; width++)
		expect_all_different(texts, 5, width);
}

/* Each of the sixteen differs from the others in up to four places far apart. */
static void test_several_places(void **state)
{
	char texts[16][128];
	const char *list[16];

	(void)state;
	for (unsigned i = 0; i < 16; i++) {
		snprintf(texts[i], sizeof(texts[i]),
			 "gemm<tile_of_rows_%c, tile_of_columns_%c, stages_of_pipeline_%c, warps_of_block_%c>(float*)",
			 i & 8 ? '1' : '0', i & 4 ? '1' : '0', i & 2 ? '1' : '0', i & 1 ? '1' : '0');
		list[i] = texts[i];
	}
	for (size_t width = 24; width < 100; width++)
		expect_all_different(list, 16, width);
}

static void test_one_begins_like_the_other(void **state)
{
	static const char *const texts[] = {"scale_scale_scale_scale", "scale_scale_scale_scale_scale",
					    "scale_scale_scale_scale_scale_scale"};

	(void)state;
	expect_all_different(texts, 3, 12);
}

static void test_control_characters_are_spelled_out(void **state)
{
	static const char *const texts[] = {"kernel_begin\x1b<aaa>(float*, int)", "kernel_begin\n<bbb>(float*, int)"};
	char *out[2];

	(void)state;
	assert_int_equal(kc_shorten_distinct(texts, 2, 14, out), 0);
	for (int i = 0; i < 2; i++) {
		assert_null(strpbrk(out[i], "\x1b\n"));
		assert_true(kc_text_width(out[i]) <= 14);
	}
	assert_string_not_equal(out[0], out[1]);
	free(out[0]);
	free(out[1]);
}

static void test_nothing_and_no_width(void **state)
{
	static const char *const texts[] = {"", "a", "ab", "b"};
	static const char *const wanted[] = {"", "a", "…", "b"};

	(void)state;
	expect(texts, 0, 10, wanted);
	expect(texts, 4, 1, wanted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_plain_names_are_without_what_many_have),
	    cmocka_unit_test(test_names_that_are_too_long_are_plain),
	    cmocka_unit_test(test_ends_that_differ_suffice),
	    cmocka_unit_test(test_the_place_that_differs_is_kept),
	    cmocka_unit_test(test_names_of_pytorch),
	    cmocka_unit_test(test_several_places),
	    cmocka_unit_test(test_one_begins_like_the_other),
	    cmocka_unit_test(test_control_characters_are_spelled_out),
	    cmocka_unit_test(test_nothing_and_no_width),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

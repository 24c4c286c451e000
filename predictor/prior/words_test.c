#include "kernel_name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Mangled names and what c++filt makes of them. */
static const char *const pairs[][2] = {
    {"_Z4axpyPfS_fi", "axpy(float*, float*, float, int)"},
    {"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfLi4EEEEEvT1_",
     "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, 4> >(at::native::ReduceOp<float, 4>)"},
    {"_ZN3cub16DeviceScanKernelILNS_9AlgorithmE3EPKmEEvT0_",
     "void cub::DeviceScanKernel<(cub::Algorithm)3, unsigned long const*>(unsigned long const*)"},
    {"_ZN12_GLOBAL__N_14fillIiEEvPT_i", "void (anonymous namespace)::fill<int>(int*, int)"},
    {"_ZL6staticPf", "static(float*)"},
    {"_ZN7cutlass6KernelI32cutlass_80_tensorop_s1688gemm_64EEvv",
     "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64>()"},
};

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void sorted_words(const char *name, struct kc_words *words)
{
	kc_words_of(name, words);
	qsort(words->hash, words->count, sizeof(words->hash[0]), by_value);
}

static void mangled_names_have_the_words_of_written_out_ones(void **state)
{
	struct kc_words mangled, written;

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		sorted_words(pairs[i][0], &mangled);
		sorted_words(pairs[i][1], &written);
		assert_int_equal(mangled.count, written.count);
		assert_true(mangled.count > 0);
		assert_memory_equal(mangled.hash, written.hash, mangled.count * sizeof(mangled.hash[0]));
	}
}

static void identifiers_are_cut_and_lowered_and_types_left_out(void **state)
{
	static const char *const expected[] = {"volta", "Sgemm", "128x64", "nn"};
	const char *name = "void volta_Sgemm_128x64_nn(float const*, int)";
	struct kc_words words;

	(void)state;
	kc_words_of(name, &words);
	assert_int_equal(words.count, 4);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(words.place[i].size, strlen(expected[i]));
		assert_memory_equal(name + words.place[i].at, expected[i], words.place[i].size);
	}
	assert_int_equal(words.hash[1], kc_word_hash("sgemm", 5));
}

/* Lengths that lie, and more words than are kept. */
static void hostile_names_end(void **state)
{
	char name[3 * KC_WORDS_BYTES];
	struct kc_words words;

	(void)state;
	kc_words_of("_Z99999999999999999999x", &words);
	kc_words_of("_ZN", &words);
	kc_words_of("_ZIIIIILLLLDEEEEEEEEE", &words);
	kc_words_of("", &words);
	assert_int_equal(words.count, 0);
	for (size_t i = 0; i + 1 < sizeof(name); i++)
		name[i] = i % 3 == 2 ? '_' : (char)('a' + (i / 3 + i % 3 * (i / 78)) % 26);
	name[sizeof(name) - 1] = 0;
	kc_words_of(name, &words);
	assert_int_equal(words.count, KC_WORDS_MAX);
}

static enum kc_family family_of(const char *name)
{
	struct kc_name_traits traits;

	kc_name_read(&traits, name);
	return traits.family;
}

static void libraries_are_known_by_their_names(void **state)
{
	(void)state;
	assert_int_equal(family_of("_ZN2at6native13reduce_kernelIiEEvv"), KC_FAMILY_FRAMEWORK);
	assert_int_equal(family_of("triton_poi_fused_add_0"), KC_FAMILY_FRAMEWORK);
	assert_int_equal(family_of("ampere_sgemm_128x64_nn"), KC_FAMILY_PRODUCT);
	assert_int_equal(family_of("nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_TNT"), KC_FAMILY_PRODUCT);
	assert_int_equal(family_of("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)"), KC_FAMILY_WAITING);
	assert_int_equal(family_of("vectorAdd(float const*, float*, int)"), KC_FAMILY_NONE);
	assert_int_equal(family_of("scat_at_end"), KC_FAMILY_FRAMEWORK); /* a word of a name may mislead */
}

static void tiles_are_read(void **state)
{
	struct kc_name_traits traits;

	(void)state;
	kc_name_read(&traits, "ampere_s1688gemm_128x64_ldg8_stages_32x3_tn");
	assert_float_equal(traits.log_tile, 9.0109, 1e-4);  /* log 8,192 */
	assert_float_equal(traits.log_depth, 3.4657, 1e-4); /* log 32 */
	kc_name_read(&traits, "tile_0x12_7x");
	assert_float_equal(traits.log_tile, 0, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(mangled_names_have_the_words_of_written_out_ones),
	    cmocka_unit_test(identifiers_are_cut_and_lowered_and_types_left_out),
	    cmocka_unit_test(hostile_names_end),
	    cmocka_unit_test(libraries_are_known_by_their_names),
	    cmocka_unit_test(tiles_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

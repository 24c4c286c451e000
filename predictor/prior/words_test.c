#include "kernel_name.h"
#include "prior_table.h"

#include <math.h>
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
    {"_Z4intsIJLi1ELi22ELi3EEEvv", "void ints<1, 22, 3>()"},
    {"_Z3sumILi3EEv5ArrayIXplT_Li5EEE", "void sum<3>(Array<(3)+(5)>)"},
    {"_Z4FuzZ5zigZAf", "FuzZ(zigZA, float)"},
    /* Of g++: arrays, packs, members, literals, lambdas within lambdas, static functions as arguments. */
    {"_Z3lami", "lam(int)"},
    {"_Z3twoI6Tensor4ModeEvRA10_T_PA4_A2_T0_", "void two<Tensor, Mode>(Tensor (&) [10], Mode (*) [4][2])"},
    {"_Z4anonv", "anon()"},
    {"_Z4packIJZ4anonvE5LocalEEvDpT_", "void pack<anon()::Local>(anon()::Local)"},
    {"_Z4packIJi6Tensor5ArrayIfLi4EEyenDsDnEEvDpT_",
     "void pack<int, Tensor, Array<float, 4>, unsigned long long, long double, __int128, char16_t, "
     "decltype(nullptr)>(int, Tensor, Array<float, 4>, unsigned long long, long double, __int128, char16_t, "
     "decltype(nullptr))"},
    {"_Z4refsI6TensorEvOT_RKS1_PVS1_PS1_", "void refs<Tensor>(Tensor&&, Tensor const&, Tensor volatile*, Tensor*)"},
    {"_Z5applyIZ3lamiEUliE0_EvT_i", "void apply<lam(int)::{lambda(int)#2}>(lam(int)::{lambda(int)#2}, int)"},
    {"_Z5applyIZ3lamiEUliE_EvT_i", "void apply<lam(int)::{lambda(int)#1}>(lam(int)::{lambda(int)#1}, int)"},
    {"_Z5applyIZ4anonvEUliE_EvT_i", "void apply<anon()::{lambda(int)#1}>(anon()::{lambda(int)#1}, int)"},
    {"_Z5applyIZZ3lamiENKUliE0_clEiEUliE_EvT_i",
     "void apply<lam(int)::{lambda(int)#2}::operator()(int) "
     "const::{lambda(int)#1}>(lam(int)::{lambda(int)#2}::operator()(int) const::{lambda(int)#1}, int)"},
    {"_Z5takesI5ArrayEvT_IfLi7EE", "void takes<Array>(Array<float, 7>)"},
    {"_Z6memberI4MembEvMT_iMS1_KFS1_iE", "void member<Memb>(int Memb::*, Memb (Memb::*)(int) const)"},
    {"_Z6nestedI4ModeEvSt6vectorISt4pairIT_6TensorESaIS5_EENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
     "void nested<Mode>(std::vector<std::pair<Mode, Tensor>, std::allocator<std::pair<Mode, Tensor> > >, "
     "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >)"},
    {"_Z6valuesILb1ELm12345678901ELc120ELln3EEvv", "void values<true, 12345678901ul, (char)120, -3l>()"},
    {"_Z8constantI4ModeLS0_1EEvT_", "void constant<Mode, (Mode)1>(Mode)"},
    {"_Z8constantIiLin5EEvT_", "void constant<int, -5>(int)"},
    {"_ZN12_GLOBAL__N_13hidINS_6HiddenEEEvT_",
     "void (anonymous namespace)::hid<(anonymous namespace)::Hidden>((anonymous namespace)::Hidden)"},
    {"_ZN5MakerC2I6TensorEET_i", "Maker::Maker<Tensor>(Tensor, int)"},
    {"_ZN5MakerD2Ev", "Maker::~Maker()"},
    {"_ZNK5MakerclI6TensorEET_S2_", "Tensor Maker::operator()<Tensor>(Tensor) const"},
    {"_ZZ3lamiENKUliE0_clEi", "lam(int)::{lambda(int)#2}::operator()(int) const"},
    {"_ZZ3lamiENKUliE_clEi", "lam(int)::{lambda(int)#1}::operator()(int) const"},
    {"_ZZ4anonvENKUliE_clEi", "anon()::{lambda(int)#1}::operator()(int) const"},
    {"_ZZZ3lamiENKUliE0_clEiENKUliE_clEi",
     "lam(int)::{lambda(int)#2}::operator()(int) const::{lambda(int)#1}::operator()(int) const"},
};

/* Mangled names in which c++filt writes out more than was named, and their words. */
static const char *const mangled_alone[][5] = {
    {"_Z7vectorsIDv4_f6TensorEvT_T0_", "vectors", "tensor"},
    {"_Z7deducedI6TensorEDTplfp_fp_ET_7Another", "deduced", "tensor", "another"},
    {"_Z4halfDF16_6TensorDF16b7Another", "half", "tensor", "another"},
    {"_Z5callsIXadL_Z8callbackfEEEvi", "calls", "callback"},
    {"_ZN5Makercv5ArrayIT_Li3EEI4ModeEEv", "maker", "array", "mode"},
    {"_ZN10_GLOBAL__N4fillE6Tensor", "fill", "tensor"},
    {"_Z4enumIUt12_EvT_6Tensor", "tensor"},
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

static void mangled_names_have_the_words_that_were_named(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(mangled_alone) / sizeof(mangled_alone[0]); i++) {
		const char *const *words = mangled_alone[i] + 1;
		struct kc_words found;
		uint32_t n = 0;

		kc_words_of(mangled_alone[i][0], &found);
		for (; n < 4 && words[n]; n++)
			assert_int_equal(found.hash[n], kc_word_hash(words[n], strlen(words[n])));
		assert_int_equal(found.count, n);
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

/* Of a word and of a name no more than so many bytes count; a last word that is cut there is none. */
static void what_is_too_long_is_cut(void **state)
{
	char name[2 * KC_WORDS_BYTES], word[2 * KC_WORD_BYTES];
	struct kc_words words;

	(void)state;
	memset(word, 'Z', sizeof(word));
	assert_int_equal(kc_word_hash(word, sizeof(word)), kc_word_hash(word, KC_WORD_BYTES));
	assert_int_not_equal(kc_word_hash(word, KC_WORD_BYTES), kc_word_hash(word, KC_WORD_BYTES - 1));
	assert_int_equal(kc_word_hash("AZ", 2), kc_word_hash("az", 2));
	memset(name, ' ', sizeof(name));
	memcpy(name + KC_WORDS_BYTES - 7, "abc_def", 8);
	kc_words_of(name, &words);
	assert_int_equal(words.count, 2);
	memset(name, ' ', sizeof(name));
	memcpy(name + KC_WORDS_BYTES - 6, "abc_def", 8);
	kc_words_of(name, &words);
	assert_int_equal(words.count, 1);
	assert_int_equal(words.hash[0], kc_word_hash("abc", 3));
	memset(name, ' ', sizeof(name));
	memcpy(name + KC_WORDS_BYTES - 3, "abcdef", 7);
	kc_words_of(name, &words);
	assert_int_equal(words.count, 0);
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
	assert_int_equal(family_of("voltage_drop"), KC_FAMILY_NONE);     /* not "volta" */
	assert_int_equal(family_of("THCTensor_copy"), KC_FAMILY_FRAMEWORK);
	assert_int_equal(family_of("th_copy"), KC_FAMILY_NONE);
	assert_int_equal(family_of("cutlass_at_once"), KC_FAMILY_PRODUCT); /* whatever comes first */
	assert_int_equal(family_of("at_cutlass_once"), KC_FAMILY_PRODUCT);
}

static void collectives_wait_whosever_they_are(void **state)
{
	static const char *const some[] = {
	    "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*, unsigned long)",
	    "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(vllm::RankData*, vllm::RankSignals, int)",
	    "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<__half, 8>(int)",
	    "void tensorrt_llm::kernels::twoShotAllReduceKernel<__half, 8>(tensorrt_llm::kernels::AllReduceParams)",
	    "void deep_ep::internode::dispatch<false, 8, false>(int4*, float*, long*)",
	    "_ZN4vllm27cross_device_reduce_2stageI6__halfLi8EEEvi",
	    "void ns_all::two_shot_all_reduce_kernel<float>(int)",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++)
		assert_int_equal(family_of(some[i]), KC_FAMILY_WAITING);
	assert_int_equal(family_of("void small_reduce(float*)"), KC_FAMILY_NONE);
	assert_int_equal(family_of("void gather_all(float*)"), KC_FAMILY_NONE);
	assert_int_equal(family_of("void block_all_reduce_sum_f32_f32_kernel<256>(float*)"), KC_FAMILY_NONE);
	assert_int_equal(family_of("void softmax_warp_all_reduce(float*)"), KC_FAMILY_NONE);
	assert_int_equal(family_of("triton_poi_fused_all_gather_into_tensor_0"), KC_FAMILY_FRAMEWORK);
}

static void marks_are_those_of_all_words(void **state)
{
	struct kc_name_traits traits;

	(void)state;
	kc_name_read(&traits, "fooA_barB(int)");
	assert_int_equal(traits.count, 2);
	assert_true(traits.marks ==
		    (UINT64_C(1) << kc_word_hash("fooa", 4) % 64 | UINT64_C(1) << kc_word_hash("barb", 4) % 64));
}

/* The place among the words that the prior knows; -1: it is none of them. */
static int place_of(const char *word)
{
	for (int i = 0; i < (int)KC_PRIOR_WORDS; i++)
		if (kc_prior_words[i] == kc_word_hash(word, strlen(word)))
			return i;
	return -1;
}

static void words_that_the_prior_knows_have_their_bits(void **state)
{
	static const char *const some[] = {"gemm",   "sgemm",  "elementwise", "kernel",  "vectorized", "reduce",
					   "native", "at",     "cutlass",     "softmax", "unrolled",   "index",
					   "cudnn",  "ampere", "triton",      "fused",   "zebra",      "volta"};
	struct kc_name_traits traits;
	uint32_t known = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		int place = place_of(some[i]);

		kc_name_read(&traits, some[i]);
		assert_true(traits.words == (place < 0 ? 0 : UINT64_C(1) << place));
		assert_true(traits.marks == UINT64_C(1) << kc_word_hash(some[i], strlen(some[i])) % 64);
		known += place >= 0;
	}
	assert_in_range(known, 5, sizeof(some) / sizeof(some[0]) - 1);
}

static void tiles_are_read(void **state)
{
	static const struct {
		const char *name;
		double elements, depth;
	} tiles[] = {
	    {"tile_0x12_7x_12x0", 1, 1}, /* none */
	    {"tile_9999x9999", 99980001.0, 1},
	    {"tile_12345x8", 1, 1},
	    {"tile_8x12345", 8 * 1234.0, 1},
	    {"tile_90x109", 9810, 1},
	    {"tile_64x32x16", 2048, 1},
	    {"tile_16x8_5x9_7x7", 128, 5},
	    {"tile_16x8_2x9_7x7", 128, 2},
	    {"tile_1x2_5x9_7x7", 2, 5},
	    {"tile_1x1_8x4", 32, 1},
	    {"tile_1x2", 2, 1},
	    {"tile_2x1", 2, 1},
	    {"tile_4y4", 1, 1},
	    {"tile_4", 1, 1},
	};
	struct kc_name_traits traits;

	(void)state;
	kc_name_read(&traits, "ampere_s1688gemm_128x64_ldg8_stages_32x3_tn");
	assert_float_equal(traits.log_tile, 9.0109, 1e-4);  /* log 8,192 */
	assert_float_equal(traits.log_depth, 3.4657, 1e-4); /* log 32 */
	for (size_t i = 0; i < sizeof(tiles) / sizeof(tiles[0]); i++) {
		kc_name_read(&traits, tiles[i].name);
		assert_float_equal(traits.log_tile, log(tiles[i].elements), 1e-4);
		assert_float_equal(traits.log_depth, log(tiles[i].depth), 1e-4);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(mangled_names_have_the_words_of_written_out_ones),
	    cmocka_unit_test(mangled_names_have_the_words_that_were_named),
	    cmocka_unit_test(identifiers_are_cut_and_lowered_and_types_left_out),
	    cmocka_unit_test(what_is_too_long_is_cut),
	    cmocka_unit_test(hostile_names_end),
	    cmocka_unit_test(libraries_are_known_by_their_names),
	    cmocka_unit_test(collectives_wait_whosever_they_are),
	    cmocka_unit_test(marks_are_those_of_all_words),
	    cmocka_unit_test(words_that_the_prior_knows_have_their_bits),
	    cmocka_unit_test(tiles_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

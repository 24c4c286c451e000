/* Peaks of data sheets: A100 312 TFLOP/s of 16 bits, 156 of TF32 and 19.5 of FP32, 1,555 GB/s; V100 (SXM2) 125
 * and 15.7; H100 (SXM5) 989 of 16 bits at 1,830 MHz, which is 1,070 at the 1,980 MHz that it can reach. */
#include "operator_limit.h"
#include "predictor/solo/resources/resources.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct {
	const char *type, *kernel;
	enum kc_operator_units units;
} names[] = {
    {"c10::BFloat16", "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", KC_UNITS_TENSOR},
    {"c10::BFloat16", "nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_TNT", KC_UNITS_TENSOR},
    {"c10::Half", "ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x4_tn", KC_UNITS_TENSOR},
    {"c10::Half", "volta_fp16_s884gemm_fp16_128x64_ldg8_f2f_tn", KC_UNITS_TENSOR},
    {"c10::Half", "volta_fp16_s884cudnn_fp16_256x64_ldg8_relu_f2f_exp_small_nhwc_tn_v1", KC_UNITS_TENSOR},
    {"c10::Half", "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4> >", KC_UNITS_TENSOR},
    {"c10::Half", "void gemv2T_kernel_val<int, int, __half, __half, __half, float, 128, 16, 4, 4, false>",
     KC_UNITS_UNKNOWN},
    {"float", "ampere_sgemm_128x64_tn", KC_UNITS_FP32},
    {"float", "volta_scudnn_128x64_relu_interior_nn_v1", KC_UNITS_FP32},
    {"float", "sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x64x16", KC_UNITS_TF32},
    {"float", "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x128_32x3_nn_align4>(Params)", KC_UNITS_TF32},
    {"float", "volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1", KC_UNITS_UNKNOWN},
    {"float", "void my_product(float*)", KC_UNITS_UNKNOWN},
    {"double", "volta_dgemm_128x64_nn", KC_UNITS_UNKNOWN},
    {"", "ampere_sgemm_128x64_tn", KC_UNITS_UNKNOWN},
};

static void names_and_types_tell_the_units(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		print_message("%s\n", names[i].kernel);
		assert_int_equal(kc_operator_units(names[i].type, names[i].kernel), names[i].units);
	}
}

static const struct kc_device *device(const char *name)
{
	const struct kc_device *found = kc_device_builtin(name);

	assert_non_null(found);
	return found;
}

/* 1e15 operations, of which a peak in TFLOP/s makes 1e6 / peak ms. */
static void peak_is(const char *name, enum kc_operator_units units, double tflops)
{
	uint32_t resource;
	double ns = kc_operator_limit_ns(device(name), units, 1e15, NAN, &resource);

	print_message("%s: %.1f\n", name, 1e15 / ns / 1e3);
	assert_true(fabs(1e15 / ns / 1e3 - tflops) < 0.005 * tflops);
	assert_int_equal(resource, units == KC_UNITS_FP32 ? KC_RESOURCE_FP32 : KC_RESOURCE_TENSOR);
}

static void peaks_are_those_of_the_data_sheets(void **state)
{
	(void)state;
	peak_is("a100", KC_UNITS_TENSOR, 312);
	peak_is("a100", KC_UNITS_TF32, 156);
	peak_is("a100", KC_UNITS_FP32, 19.5);
	peak_is("v100", KC_UNITS_TENSOR, 125);
	peak_is("v100", KC_UNITS_FP32, 15.7);
	peak_is("h100", KC_UNITS_TENSOR, 989 * 1980.0 / 1830);
}

static void where_it_is_not_certain_nothing_is_known(void **state)
{
	const struct kc_device bare = {.cc_major = 8, .sm_count = 108}, other = {.sm_count = 304, .clock_khz = 2100000};
	uint32_t resource;

	(void)state;
	assert_true(isnan(kc_operator_limit_ns(device("a100"), KC_UNITS_UNKNOWN, 1e9, 1e12, &resource)));
	assert_true(isnan(kc_operator_limit_ns(device("v100"), KC_UNITS_TF32, 1e9, NAN, &resource)));
	assert_true(isnan(kc_operator_limit_ns(device("rtx3090"), KC_UNITS_TENSOR, 1e9, NAN, &resource)));
	assert_true(isnan(kc_operator_limit_ns(&bare, KC_UNITS_FP32, 1e9, NAN, &resource)));  /* no clock */
	assert_true(isnan(kc_operator_limit_ns(&other, KC_UNITS_FP32, 1e9, NAN, &resource))); /* another maker's */
}

/* 1,555.2 GB/s; 40 MiB of L2 may hold what is read, and what is written. */
static void memory_can_be_the_limit(void **state)
{
	const struct kc_device *a100 = device("a100");
	double l2 = 40 * 1048576.0;
	uint32_t resource;

	(void)state;
	assert_true(fabs(kc_operator_limit_ns(a100, KC_UNITS_TENSOR, 1e9, 2 * l2 + 1555200000, &resource) - 1e6) < 1);
	assert_int_equal(resource, KC_RESOURCE_DRAM);
	assert_true(fabs(kc_operator_limit_ns(a100, KC_UNITS_TENSOR, 311.87e12, 2 * l2 + 1555200000, &resource) - 1e9) <
		    1e5);
	assert_int_equal(resource, KC_RESOURCE_TENSOR);
	assert_true(kc_operator_limit_ns(a100, KC_UNITS_TENSOR, 1e9, l2, &resource) < 3300);
	assert_int_equal(resource, KC_RESOURCE_TENSOR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_and_types_tell_the_units),
	    cmocka_unit_test(peaks_are_those_of_the_data_sheets),
	    cmocka_unit_test(where_it_is_not_certain_nothing_is_known),
	    cmocka_unit_test(memory_can_be_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Names of kernels as CUDA's libraries, PyTorch, CUB and FBGEMM have them (recorded traces of ../shared/data and of
 * public profiles), beside the class of the operator that launched them: expected values are what the operator does.
 */
#include "kernel_class.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct named {
	enum kc_kernel_class is;
	const char *name;
};

static void check(const struct named *at, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		enum kc_kernel_class is = kc_kernel_class_of(at[i].name);

		if (is != at[i].is)
			print_error("%s: %s, not %s\n", at[i].name, kc_kernel_class_name(is),
				    kc_kernel_class_name(at[i].is));
		assert_int_equal(is, at[i].is);
	}
}
#define CHECK(table) check(table, sizeof(table) / sizeof(*(table)))

#define AT "void at::native::"
#define EACH AT "vectorized_elementwise_kernel<4, at::native::"

static void kernels_of_libraries(void **state)
{
	static const struct named table[] = {
	    {KC_CLASS_PRODUCT, "ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_tn"},
	    {KC_CLASS_PRODUCT, "nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNT"},
	    {KC_CLASS_PRODUCT, "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_16x6_nn_align4>(cutlass_80_"
			       "tensorop_s1688gemm_64x64_16x6_nn_align4::Params)"},
	    {KC_CLASS_PRODUCT, "void splitKreduce_kernel<32, 16, int, float, float, float, float, true, true, false>("
			       "cublasSplitKParams<float>, float const*)"},
	    {KC_CLASS_PRODUCT,
	     "void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 4, 4, false, false, "
	     "cublasGemvParamsEx<int>>(float)"},
	    {KC_CLASS_PRODUCT,
	     "void epilogue::impl::globalKernel<float, float, float, true, true>(int, int, long, float*, "
	     "cublasLtEpilogue_t)"},
	    {KC_CLASS_CONVOLUTION,
	     "sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nchw_kernel_cudnn"},
	    {KC_CLASS_CONVOLUTION, "volta_scudnn_128x64_relu_interior_nn_v1"},
	    {KC_CLASS_CONVOLUTION,
	     "void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>(cudnn::Params)"},
	    {KC_CLASS_CONVOLUTION,
	     "void implicit_convolve_sgemm<float, float, 1024, 6, 7, 3, 3, 5, 1, false, true, true>("
	     "int, int, float const*, kernel_conv_params)"},
	    {KC_CLASS_CONVOLUTION, "void nhwcToNchwKernel<float, float, float, true, false>(int, int, float const*)"},
	    {KC_CLASS_REDUCTION, "void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 512, true, 1>(float, float)"},
	    {KC_CLASS_ATTENTION,
	     "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<96, 128, 64, "
	     "4, false, false, cutlass::bfloat16_t> >(pytorch_flash::Flash_fwd_params)"},
	    {KC_CLASS_ATTENTION, "fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<"
				 "cutlass::bfloat16_t, cutlass::arch::Sm80>::Params)"},
	    {KC_CLASS_ATTENTION, "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128"},
	    {KC_CLASS_COMMUNICATION, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"},
	    {KC_CLASS_COMMUNICATION, "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long)"},
	    {KC_CLASS_SORT,
	     "void cub::DeviceRadixSortHistogramKernel<cub::DeviceRadixSortPolicy<long, int, int>::Policy800, "
	     "false, long, int>(int*)"},
	    {KC_CLASS_SORT,
	     "void at_cuda_detail::cub::DeviceScanKernel<at_cuda_detail::cub::AgentScanPolicy<128, 15> >()"},
	    {KC_CLASS_REDUCTION, "void cub::DeviceReduceSingleTileKernel<cub::DeviceReducePolicy<bool> >(bool*)"},
	};

	(void)state;
	CHECK(table);
}

static void kernels_of_frameworks(void **state)
{
	static const struct named table[] = {
	    {KC_CLASS_ELEMENTWISE,
	     EACH "AddFunctor<float>, at::detail::Array<char*, 3> >(int, at::native::AddFunctor<float>)"},
	    {KC_CLASS_ELEMENTWISE, EACH "FillFunctor<float>, at::detail::Array<char*, 1> >(int)"},
	    {KC_CLASS_ELEMENTWISE, "triton_poi_fused__to_copy_clamp_div_gelu_round_4_0d1d2d3de"},
	    {KC_CLASS_ELEMENTWISE,
	     EACH "fbgemm_gpu::_hfp8_to_float_gpu(at::Tensor const&, long, long)::{lambda(unsigned "
		  "char)#1}, at::detail::Array<char*, 2> >(int)"},
	    {KC_CLASS_ELEMENTWISE,
	     "void (anonymous namespace)::elementwise_kernel_with_index<int, at::native::arange_cuda_"
	     "out(c10::Scalar const&)::{lambda()#1}>(int)"},
	    {KC_CLASS_COPY,
	     "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<at::native::"
	     "direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}> >(int)"},
	    {KC_CLASS_COPY, AT "(anonymous namespace)::CatArrayBatchedCopy_contig<at::native::(anonymous namespace)::"
			       "OpaqueType<2u>, unsigned int, 3, 128, 1>(at::native::OpaqueType<2u>*)"},
	    {KC_CLASS_COPY, "void fbgemm_gpu::permute_2D_data_kernel<false, int, int>(int, int, int)"},
	    {KC_CLASS_REDUCTION,
	     AT "reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float>, "
		"unsigned int, float, 4> >(at::native::ReduceOp<float>)"},
	    {KC_CLASS_REDUCTION,
	     "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, false, false>("
	     "float*)"},
	    {KC_CLASS_REDUCTION, AT "(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int)"},
	    {KC_CLASS_REDUCTION, "triton_red_fused__to_copy_add_clamp_div_native_layer_norm_round_8_0d1d2d3d"},
	    {KC_CLASS_REDUCTION,
	     AT "(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d<float, float, long>()"},
	    {KC_CLASS_GATHER,
	     AT "(anonymous namespace)::indexSelectLargeIndex<float, long, unsigned int, 2, 2, -2, true>("
		"at::cuda::detail::TensorInfo<float, unsigned int>)"},
	    {KC_CLASS_GATHER,
	     AT "_scatter_gather_elementwise_kernel<128, 4, at::native::_cuda_scatter_gather_internal_kernel<"
		"true, float> >(int)"},
	    {KC_CLASS_GATHER,
	     "void split_embedding_backward_codegen_rowwise_adagrad_unweighted_kernel_cta_per_row_1<c10::"
	     "Half, float>(int)"},
	    {KC_CLASS_SORT, AT "sbtopk::gatherTopK<float, unsigned int, 2, false>(unsigned int)"},
	    {KC_CLASS_OPTIMIZER, "void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float> >(int)"},
	    {KC_CLASS_PRODUCT, "triton_tem_fused_addmm_5"},
	    {KC_CLASS_CONVOLUTION, "triton_tem_fused_convolution_0_0d1d2d"},
	};

	(void)state;
	CHECK(table);
}

/* As the sources of vLLM and llama.cpp call them, and profiles have cuBLAS's of vectors. */
static void kernels_of_language_models_and_vectors(void **state)
{
	static const struct named table[] = {
	    {KC_CLASS_ELEMENTWISE, "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*)"},
	    {KC_CLASS_ELEMENTWISE, "void vllm::act_and_mul_kernel<c10::Half, &vllm::silu_kernel, true>(c10::Half*)"},
	    {KC_CLASS_ELEMENTWISE, "void vllm::scaled_fp8_quant_kernel<c10::BFloat16>(c10::Float8_e4m3fn*)"},
	    {KC_CLASS_GATHER, "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16, 0>(short*)"},
	    {KC_CLASS_ATTENTION, "void vllm::paged_attention_v2_kernel<unsigned short, 128, 16, 128>(float*)"},
	    {KC_CLASS_PRODUCT, "void mul_mat_vec_q<(ggml_type)12, 1, false>(void const*)"},
	    {KC_CLASS_PRODUCT, "void mul_mat_q<(ggml_type)12, 64, false>(char const*)"},
	    {KC_CLASS_REDUCTION, "void soft_max_f32<true, 256, 256>(float const*)"},
	    {KC_CLASS_GATHER, "void k_get_rows_float<float, float>(float const*)"},
	    {KC_CLASS_COPY, "void cpy_f32_f16<&cpy_1_f32_f16>(char const*)"},
	    {KC_CLASS_ELEMENTWISE, "void rope_norm<true, false, float>(float const*)"},
	    {KC_CLASS_REDUCTION, "void dot_kernel<double, 128, 0, cublasDotParams<cublasGemvTensor<double const>, "
				 "cublasGemvTensorStridedBatched"
				 "<double> > >(cublasDotParams<cublasGemvTensor<double const> >)"},
	    {KC_CLASS_REDUCTION, "void reduce_1Block_kernel<double, 128, 7, cublasGemvTensorStridedBatched<double>, "
				 "cublasGemvTensorStridedBatched<double> >(double const*)"},
	    {KC_CLASS_ELEMENTWISE,
	     "void axpy_kernel_val<double, double>(cublasAxpyParamsVal<cublasGemvTensor<double>>)"},
	    {KC_CLASS_PRODUCT, "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT32x32x256_MI16x16x1_SN_LDSB1_AFC1"},
	    {KC_CLASS_GATHER, "void (anonymous namespace)::store_kvcache<2048l, 4, false, long>((anonymous "
			      "namespace)::StoreKVCacheParams)"},
	    /* of vLLM on a B200, https://github.com/AMD-AGI/TraceLens; before them, of AMD's GPUs */
	    {KC_CLASS_PRODUCT, "bmm_MxE4m3_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3_et128x16_m128x16x32_cga1x1x1_16dp256b_"
			       "rM_TN_transOut_schedP2x1x2x3_biasM_bN_tma_tmaOpt_clmp_swiGlu_dynBatch_sm100f"},
	    {KC_CLASS_COMMUNICATION, "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>("
				     "c10::BFloat16*, unsigned long, unsigned int**, unsigned long, unsigned long)"},
	    {KC_CLASS_GATHER, "void moe::dev::finalize::finalizeKernelVecLoad<moe::dev::finalize::KernelParams<"
			      "cutlass::bfloat16_t, cutlass::bfloat16_t, 4, true> >(moe::dev::finalize::KernelParams<"
			      "cutlass::bfloat16_t, cutlass::bfloat16_t, 4, true>)"},
	};

	(void)state;
	CHECK(table);
}

/* A word counts where it is one, and what belongs to the parameters alone does not. */
static void own_kernels(void **state)
{
	static const struct named table[] = {
	    {KC_CLASS_PRODUCT, "matmul(int, float const*, float const*, float*)"},
	    {KC_CLASS_ELEMENTWISE, "vectorAdd(float const*, float const*, float*, int)"},
	    {KC_CLASS_ELEMENTWISE, "saxpy"},
	    {KC_CLASS_COPY, "transpose(int, float const*, float*)"},
	    {KC_CLASS_CONVOLUTION, "conv2d_tiled(float const*)"},
	    {KC_CLASS_COPY, "convert_to_half(float const*)"},
	    {KC_CLASS_SORT, "bitonicSort(int*)"},
	    {KC_CLASS_OTHER, "stencil(int, float const*, float*)"},
	    {KC_CLASS_OTHER, "address_check(int)"},                /* not "add" */
	    {KC_CLASS_OTHER, "hotspot(GemmParams, copy_of, sum)"}, /* of its parameters */
	    {KC_CLASS_OTHER, "summary"},
	    {KC_CLASS_OTHER, "triton__0d1d2d3d"},
	    {KC_CLASS_OTHER, "unknown"},
	    {KC_CLASS_OTHER, ""},
	    {KC_CLASS_OTHER, ")"},
	    {KC_CLASS_OTHER, "(()"},
	    {KC_CLASS_OTHER, "\xff\xfe\n"},
	};

	(void)state;
	CHECK(table);
}

static void names_of_any_length(void **state)
{
	static char name[100000];

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	assert_int_equal(kc_kernel_class_of(name), KC_CLASS_OTHER);
	memcpy(name, "void my_gemm<", 13);
	assert_int_equal(kc_kernel_class_of(name), KC_CLASS_PRODUCT);
	assert_string_equal(kc_kernel_class_name(KC_CLASS_GATHER), "gather and scatter");
	assert_string_equal(kc_kernel_class_name(4711), "other");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(kernels_of_libraries),
	    cmocka_unit_test(kernels_of_frameworks),
	    cmocka_unit_test(kernels_of_language_models_and_vectors),
	    cmocka_unit_test(own_kernels),
	    cmocka_unit_test(names_of_any_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

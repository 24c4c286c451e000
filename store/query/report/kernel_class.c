#include "kernel_class.h"

#include "predictor/prior/kernel_name.h"
#include "store/query/readable.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define LONGEST 4096u /* what comes later in a name tells nothing new */

/* A word of names, in any case. '^' and '$': it begins, it ends where a word does ("addKernel", "add_kernel", "add2").
 */
struct rule {
	enum kc_kernel_class is;
	const char *words; /* between blanks */
};

/* In this order: what a kernel is for comes before how it goes about it, as an elementwise kernel that copies, and a
 * reduction that is part of a sort. */
static const struct rule rules[] = {
    /* torch.compile names a kernel after its kind, then after all operators that it fuses */
    {KC_CLASS_ELEMENTWISE, "triton_poi_"},
    {KC_CLASS_REDUCTION, "triton_red_ triton_per_"},
    {KC_CLASS_ELEMENTWISE, "rotary ^rope"},                       /* "rotary_embedding", "rope_norm" */
    {KC_CLASS_GATHER, "reshape_and_cache store_kvcache"},         /* of vLLM and SGLang: to the slots of a cache */
    {KC_CLASS_GATHER, "::finalize::finalize finalizemoerouting"}, /* what experts made, back to its tokens */
    {KC_CLASS_ATTENTION, "flash fmha attention attn sdpa ^mha"},
    {KC_CLASS_GATHER, "embedding"},
    {KC_CLASS_OPTIMIZER, "multi_tensor_apply multitensorapply ^adam adagrad adadelta rmsprop ^sgd$ fusedsgd ^lamb$ "
			 "optimizer"},
    {KC_CLASS_SORT, "sort topk ^scan scan$ cumsum cumprod deviceselect nonzero ^unique bitonic histogram"},
    {KC_CLASS_REDUCTION,
     "softmax soft_max layernorm layer_norm rmsnorm rms_norm batchnorm batch_norm groupnorm group_norm "
     "instancenorm instance_norm ^bn_fw ^bn_bw welford gammabeta rowwisemoments computeinternalgradients "
     "computefusedparams"},
    {KC_CLASS_ELEMENTWISE, "quantize_cuda rowwise_to_float hfp8_to_float float_to_hfp8 elementwise_kernel_with_index "
			   "upsample"},
    {KC_CLASS_COPY, "convert permute_1d permute_2d permute_pooled"}, /* these of FBGEMM, which has "gemm" in it */
    {KC_CLASS_CONVOLUTION, "convol ^conv dgrad wgrad fprop winograd scudnn hcudnn im2col col2im nchwtonhwc nhwctonchw "
			   "fft2d fft1d pointwise_mult_and_sum_complex flip_filter gcgemm implicit_gemm cudnn "
			   "computeoffsets computeboffsets"},
    {KC_CLASS_REDUCTION, "^dot_kernel reduce_1block ^nrm2 ^asum"}, /* these of cuBLAS, with "cublas" in their types */
    {KC_CLASS_PRODUCT,
     "gemm gemv mul_mat matmul ^mm$ addmm ^bmm$ splitk cublas cutlass xmma nvjet tensorop wmma ^trsm ^syrk "
     "epilogue:: marlin fused_moe triton_tem_ ^cijk_"},
    {KC_CLASS_GATHER, "gather scatter ^index indexing indices get_rows ^take$ ^put$ lookup"},
    {KC_CLASS_REDUCTION,
     "reduce reduction ^norm$ normalize$ loss criterion cross_entropy pool ^dot$ ^sum$ ^mean$ argmax "
     "argmin"},
    {KC_CLASS_COPY, "copy ^cpy ^cat$ ^cat_ transpose permute memset memcpy ^pad$ ^flip$ ^roll$"},
    {KC_CLASS_ELEMENTWISE, "elementwise element_wise pointwise vectorized functor gelu silu relu sigmoid tanh dropout "
			   "distribution random ^fill axpy ^add$ ^mul$ ^scale$ ^bias triu_tril arange where "
			   "quantize ^quant$"},
};

static int is_lower(char letter)
{
	return islower((unsigned char)letter) || isdigit((unsigned char)letter);
}

/* Between two letters of a name lies the border of two words. */
static int is_border(char before, char after)
{
	if (!isalpha((unsigned char)before) || !isalpha((unsigned char)after))
		return 1;
	return is_lower(before) && isupper((unsigned char)after);
}

static int has_word(const char *name, const char *word, size_t size)
{
	int begins = *word == '^', ends = word[size - 1] == '$';
	char letters[32];

	word += begins;
	size -= (size_t)(begins + ends);
	snprintf(letters, sizeof(letters), "%.*s", (int)size, word);
	for (const char *at = strcasestr(name, letters); at; at = strcasestr(at + 1, letters)) {
		int at_begin = at == name || is_border(at[-1], *at);

		if ((!begins || at_begin) && (!ends || is_border(at[size - 1], at[size])))
			return 1;
	}
	return 0;
}

static int has_any(const char *name, const char *words)
{
	for (size_t size; *words; words += size + (words[size] == ' ')) {
		size = strcspn(words, " ");
		if (has_word(name, words, size))
			return 1;
	}
	return 0;
}

enum kc_kernel_class kc_kernel_class_of(const char *name)
{
	struct kc_name_traits traits;
	char letters[LONGEST];

	kc_name_read(&traits, name);
	if (traits.family == KC_FAMILY_WAITING)
		return KC_CLASS_COMMUNICATION;
	/* The types of its parameters belong to other things as well. */
	snprintf(letters, sizeof(letters), "%.*s", (int)kc_readable_parameters(name), name);
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		if (has_any(letters, rules[i].words))
			return rules[i].is;
	}
	return KC_CLASS_OTHER;
}

const char *kc_kernel_class_name(unsigned kernel_class)
{
	static const char *const names[] = {
#define X(constant, name) name,
	    KC_KERNEL_CLASSES(X)
#undef X
	};

	return names[kernel_class < KC_CLASS_COUNT ? kernel_class : KC_CLASS_OTHER];
}

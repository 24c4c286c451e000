#include "kernel_name.h"

#include "prior_table.h"
#include "predictor/math/letters.h"

#include <math.h>
#include <string.h>
#include <strings.h>

/* A word that only names of such kernels have, by the libraries' own namespaces and naming schemes. */
struct mark {
	const char *letters;
	enum { WHOLE, BEGINS } how;
	enum kc_family family;
};

static const struct mark marks[] = {
    /* NCCL: ncclKernel_AllReduce_…, ncclDevKernel_…, c10d's use of them */
    {"nccl", BEGINS, KC_FAMILY_WAITING},
    /* cuBLAS, cuBLASLt, cuDNN, CUTLASS and the tensor-core generators below them */
    {"cublas", BEGINS, KC_FAMILY_PRODUCT},
    {"cudnn", BEGINS, KC_FAMILY_PRODUCT},
    {"cutlass", BEGINS, KC_FAMILY_PRODUCT},
    {"cask", BEGINS, KC_FAMILY_PRODUCT},
    {"xmma", WHOLE, KC_FAMILY_PRODUCT},
    {"nvjet", BEGINS, KC_FAMILY_PRODUCT},
    {"scudnn", WHOLE, KC_FAMILY_PRODUCT},
    {"hcudnn", WHOLE, KC_FAMILY_PRODUCT},
    {"splitkreduce", BEGINS, KC_FAMILY_PRODUCT},
    {"gemmsn", WHOLE, KC_FAMILY_PRODUCT},
    {"gemmk1", WHOLE, KC_FAMILY_PRODUCT},
    {"gemv2t", BEGINS, KC_FAMILY_PRODUCT},
    {"gemv2n", BEGINS, KC_FAMILY_PRODUCT},
    {"gemvnsp", BEGINS, KC_FAMILY_PRODUCT},
    {"gemvx", BEGINS, KC_FAMILY_PRODUCT},
    {"dgrad", WHOLE, KC_FAMILY_PRODUCT},
    {"wgrad", WHOLE, KC_FAMILY_PRODUCT},
    {"fprop", WHOLE, KC_FAMILY_PRODUCT},
    {"volta", WHOLE, KC_FAMILY_PRODUCT},
    {"turing", WHOLE, KC_FAMILY_PRODUCT},
    {"ampere", WHOLE, KC_FAMILY_PRODUCT},
    {"maxwell", WHOLE, KC_FAMILY_PRODUCT},
    {"precomputed", WHOLE, KC_FAMILY_PRODUCT},
    {"nchwtonhwckernel", WHOLE, KC_FAMILY_PRODUCT},
    {"nhwctonchwkernel", WHOLE, KC_FAMILY_PRODUCT},
    {"generatewinogradtileskernel", WHOLE, KC_FAMILY_PRODUCT},
    {"convolve", WHOLE, KC_FAMILY_PRODUCT},
    /* PyTorch: ATen, c10, THC before them, Triton kernels of its compiler, attention and norms made for it */
    {"at", WHOLE, KC_FAMILY_FRAMEWORK},
    {"c10", WHOLE, KC_FAMILY_FRAMEWORK},
    {"caffe2", WHOLE, KC_FAMILY_FRAMEWORK},
    {"thc", BEGINS, KC_FAMILY_FRAMEWORK},
    {"triton", BEGINS, KC_FAMILY_FRAMEWORK},
    {"flash", WHOLE, KC_FAMILY_FRAMEWORK},
    {"fmha", BEGINS, KC_FAMILY_FRAMEWORK},
    {"cunn", WHOLE, KC_FAMILY_FRAMEWORK},
    {"apex", WHOLE, KC_FAMILY_FRAMEWORK},
    {"fbgemm", WHOLE, KC_FAMILY_FRAMEWORK},
};

static int has_mark(const char *word, size_t size, const struct mark *mark)
{
	size_t letters = strlen(mark->letters);

	if (letters > size || (mark->how == WHOLE && letters != size))
		return 0;
	return !strncasecmp(word, mark->letters, letters);
}

static enum kc_family family_of(const char *word, size_t size)
{
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		if (has_mark(word, size, &marks[i]))
			return marks[i].family;
	}
	return KC_FAMILY_NONE;
}

/* "128x64": two numbers of at most four digits, perhaps with more behind them. */
static int read_tile(const char *word, size_t size, float sides[2])
{
	size_t at = 0;

	for (int side = 0; side < 2; side++) {
		size_t begin = at;

		for (sides[side] = 0; at < size && at < begin + 4 && word[at] >= '0' && word[at] <= '9'; at++)
			sides[side] = sides[side] * 10 + (float)(word[at] - '0');
		if (at == begin || !(sides[side] > 0))
			return 0;
		if (!side && (at == size || word[at++] != 'x'))
			return 0;
	}
	return 1;
}

static void read_word(struct kc_name_traits *traits, const char *word, size_t size)
{
	enum kc_family family = family_of(word, size);
	float sides[2];

	if (family > traits->family)
		traits->family = family;
	if ((traits->log_tile > 0 && traits->log_depth > 0) || !read_tile(word, size, sides))
		return;
	if (traits->log_tile > 0)
		traits->log_depth = logf(sides[0]);
	else
		traits->log_tile = logf(sides[0] * sides[1]);
}

/* "block_all_reduce" is no collective: the threads of a block reduce. */
static int is_within_gpu(const char *name, const char *at)
{
	static const char *const parts[] = {"warp_", "block_", "cta_", "cluster_", "thread_"};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		size_t size = strlen(parts[i]);

		if ((size_t)(at - name) >= size && !strncasecmp(at - size, parts[i], size))
			return 1;
	}
	return 0;
}

static int stands_in(const char *name, const char *phrase)
{
	size_t size = strlen(phrase);

	for (const char *at = name; *at; at++) {
		if (kc_lower(*at) == *phrase && (at == name || !kc_is_letter(at[-1])) &&
		    !strncasecmp(at, phrase, size) && !is_within_gpu(name, at))
			return 1;
	}
	return 0;
}

/* Collectives of PyTorch's symmetric memory, vLLM, SGLang, TensorRT-LLM, FlashInfer, NVSHMEM and DeepEP. torch.compile
 * names a kernel after the operators around it, and a collective is none of what it compiles. */
static int is_collective(const char *name)
{
	static const char *const phrases[] = {
	    "all_reduce", "allreduce", "oneshotallreduce", "twoshotallreduce", "cross_device_reduce",
	    "all_gather", "allgather", "reduce_scatter",   "reducescatter",    "all_to_all",
	    "alltoall",   "nvshmem",   "deep_ep"};

	for (size_t i = 0; i < sizeof(phrases) / sizeof(*phrases); i++) {
		if (stands_in(name, phrases[i]))
			return strncmp(name, "triton_", strlen("triton_")) != 0;
	}
	return 0;
}

static uint64_t bit_of(uint32_t hash)
{
	uint32_t low = 0, high = KC_PRIOR_WORDS;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (kc_prior_words[middle] < hash)
			low = middle + 1;
		else
			high = middle;
	}
	return low < KC_PRIOR_WORDS && kc_prior_words[low] == hash ? UINT64_C(1) << low : 0;
}

void kc_name_read(struct kc_name_traits *traits, const char *name)
{
	struct kc_words words;

	*traits = (struct kc_name_traits){.family = KC_FAMILY_NONE};
	kc_words_of(name, &words);
	traits->count = words.count;
	for (uint32_t i = 0; i < words.count; i++) {
		traits->words |= bit_of(words.hash[i]);
		traits->marks |= UINT64_C(1) << words.hash[i] % 64;
		read_word(traits, name + words.place[i].at, words.place[i].size);
	}
	if (is_collective(name))
		traits->family = KC_FAMILY_WAITING;
}

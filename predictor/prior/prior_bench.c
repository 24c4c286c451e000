/*
 * prior_bench: how long the prior takes for a launch shape, and reading a kernel's name, for four names of libraries.
 * The median of the rounds, in the processor time of the thread.
 */
#include "prior.h"

#include "cuda_tests/bench/timing.h"

#include <stdio.h>

enum { GRIDS = 200, ROUNDS = 41, BUDGET_NS = 5000 };

static const char *const names[] = {
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEENS_6detail5ArrayIPcLi1EEEEEviT0_T1_",
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float, float, "
    "float>, "
    "unsigned int, float, 4> >(at::native::ReduceOp<float, at::native::MeanOps<float, float, float, float>, unsigned "
    "int, float, 4>)",
    "volta_sgemm_128x64_nn",
    "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_64x4_tn",
};
enum { NAMES = sizeof(names) / sizeof(names[0]) };

static double median_of(int64_t ns[ROUNDS], int count)
{
	return (double)median_ns(ns, ROUNDS) / count;
}

int main(void)
{
	static const struct kc_resources resources = {.registers = 32};
	struct kc_device device = *kc_device_builtin("a100");
	struct kc_name_traits traits[NAMES];
	int64_t reading_ns[ROUNDS], asking_ns[ROUNDS];
	double asking, sum = 0;

	kc_device_complete(&device);
	for (int round = 0; round < ROUNDS; round++) {
		int64_t began_ns = spent_ns(), read_ns;

		for (int i = 0; i < NAMES; i++)
			kc_name_read(&traits[i], names[i]);
		read_ns = spent_ns();
		for (uint32_t i = 0; i < GRIDS; i++) {
			struct kc_shape shape = {.grid = {8 * (i + 1), 1, 1}, .block = {128, 1, 1}};
			struct kc_work work;

			if (kc_work_init(&work, &device, &resources, &shape, 0))
				return 1;
			sum += (double)kc_prior_log_ns(&device, &work, &shape, &traits[i % NAMES]);
		}
		reading_ns[round] = read_ns - began_ns;
		asking_ns[round] = spent_ns() - read_ns;
	}
	asking = median_of(asking_ns, GRIDS);
	printf("prior, a launch shape: %6.2f us (budget %d: %s), a kernel's name: %.2f us; mean log ns %.2f\n",
	       asking / 1e3, BUDGET_NS / 1000, asking <= BUDGET_NS ? "ok" : "MISSED",
	       median_of(reading_ns, NAMES) / 1e3, sum / (ROUNDS * GRIDS));
	return 0;
}

/*
 * Programmatic dependent launch: the next kernel of a stream may begin before the one before has ended. CUDA
 * programming guide, "Programmatic Dependent Launch and Synchronization"; from compute capability 9.0 on.
 */
#include "facts.h"

#include <stdio.h>

enum { CHAIN = 40 };
#define RUN_NS 200000ull

static int overlaps(void)
{
	int count = 0;

	for (int i = 0; i < facts_cupti.record_count; i++)
		for (int j = 0; j < i; j++) {
			const struct facts_record *a = &facts_cupti.records[i], *b = &facts_cupti.records[j];

			count += a->start_ns < b->end_ns && b->start_ns < a->end_ns;
		}
	return count;
}

static CUresult chain(CUfunction function, CUstream stream, unsigned attributes)
{
	CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
				       .value.programmaticStreamSerializationAllowed = 1};
	CUlaunchConfig config = {.gridDimX = 1,
				 .gridDimY = 1,
				 .gridDimZ = 1,
				 .blockDimX = 32,
				 .blockDimY = 1,
				 .blockDimZ = 1,
				 .hStream = stream,
				 .attrs = &attribute,
				 .numAttrs = attributes};
	uint64_t ns = RUN_NS;
	void *arguments[] = {&ns};
	CUresult result = CUDA_SUCCESS;

	facts_forget();
	for (int i = 0; i < CHAIN && result == CUDA_SUCCESS; i++)
		result = facts_driver.cuLaunchKernelEx(&config, function, arguments, NULL);
	facts_collect();
	return result;
}

void facts_dependent(const struct facts_options *options)
{
	CUfunction function;
	CUmodule module;
	CUstream stream;
	CUresult result;
	int plain;

	facts_driver_start();
	if (facts_driver.major < 9 || !facts_driver.cuLaunchKernelEx) {
		facts_value("dependent_overlaps", "not asked: compute capability %d.%d, it needs 9.0",
			    facts_driver.major, facts_driver.minor);
		return;
	}
	facts_attach(options);
	facts_context();
	FACTS_CALL(cuModuleLoadData, &module, facts_ptx_dependent);
	FACTS_CALL(cuModuleGetFunction, &function, module, "facts_dependent");
	stream = facts_stream();
	facts_check(chain(function, stream, 0), "cuLaunchKernelEx");
	plain = overlaps();
	facts_say("kernels of one stream do not overlap", plain == 0, "%d overlaps of %d kernels", plain, CHAIN);
	result = chain(function, stream, 1);
	if (result != CUDA_SUCCESS) {
		facts_value("dependent_overlaps", "not asked: cuLaunchKernelEx answers %s", facts_error_name(result));
		return;
	}
	facts_say("records of dependent launches", facts_cupti.record_count == CHAIN, "%d of %d",
		  facts_cupti.record_count, CHAIN);
	facts_value("dependent_overlaps", "%d", overlaps());
	facts_value("dependent_kernels", "%d", CHAIN);
}

/*
 * The two kinds of handles for a kernel, each where the other is documented. cuda.h documents a CUkernel for launches
 * and occupancy, and not for cuFuncGet*. One question a process: a driver need not check what it is given.
 */
#include "facts.h"

#include <string.h>

static void say(const char *question, CUresult result, int got, int right)
{
	facts_say(question, result != CUDA_SUCCESS || got == right ? -1 : 0, "%s, %d; %d by the documented call",
		  facts_error_name(result), got, right);
	facts_value("answer", "%s",
		    result != CUDA_SUCCESS ? "refused"
		    : got == right         ? "the right value"
					   : "a wrong value");
	facts_value("result", "%s", facts_error_name(result));
}

static CUkernel load(CUfunction *function)
{
	CUlibrary library;
	CUkernel kernel;

	facts_driver_start();
	facts_context();
	FACTS_CALL(cuLibraryLoadData, &library, facts_ptx, NULL, NULL, 0, NULL, NULL, 0);
	FACTS_CALL(cuLibraryGetKernel, &kernel, library, "facts_first");
	FACTS_CALL(cuKernelGetFunction, function, kernel);
	return kernel;
}

void facts_kernel_as_function(const struct facts_options *options)
{
	CUfunction function;
	CUkernel kernel = load(&function);
	int got = -1, right = -1;
	CUresult result;

	(void)options;
	facts_value("same_handle", "%s", (void *)kernel == (void *)function ? "yes" : "no");
	FACTS_CALL(cuKernelGetAttribute, &right, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel, facts_driver.device);
	facts_launch((CUfunction)kernel, NULL, 1, 32, 1000);
	FACTS_CALL(cuCtxSynchronize);
	result = facts_driver.cuFuncGetAttribute(&got, CU_FUNC_ATTRIBUTE_NUM_REGS, (CUfunction)kernel);
	say("cuFuncGetAttribute of a CUkernel", result, got, right);
}

void facts_function_as_kernel(const struct facts_options *options)
{
	int got = -1, right = -1;
	CUfunction function;
	CUresult result;

	(void)options;
	facts_driver_start();
	facts_context();
	function = facts_function("facts_first"); /* of a module: there is no CUkernel of it */
	FACTS_CALL(cuFuncGetAttribute, &right, CU_FUNC_ATTRIBUTE_NUM_REGS, function);
	result = facts_driver.cuKernelGetAttribute(&got, CU_FUNC_ATTRIBUTE_NUM_REGS, (CUkernel)function,
						   facts_driver.device);
	say("cuKernelGetAttribute of a CUfunction", result, got, right);
}

/* cuProfiler*: these calls only mark a range for a profiler, which sees them through callbacks. */
#include "cuda_tests/simcuda/sim.h"

SIM_API(cuProfilerStart, (void), sim_context() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT)
SIM_API(cuProfilerStop, (void), sim_context() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT)
/* Of the command-line profiler, which is gone. */
SIM_API(cuProfilerInitialize, (const char *configuration, const char *output, int mode),
	((void)configuration, (void)output, (void)mode, CUDA_ERROR_NOT_SUPPORTED))

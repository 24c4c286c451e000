/* cuProfiler*: these calls only mark a range for a profiler, which sees them through callbacks. */
#include "cuda_tests/simcuda/sim.h"

SIM_API(cuProfilerStart, (void), sim_context() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT)
SIM_API(cuProfilerStop, (void), sim_context() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT)

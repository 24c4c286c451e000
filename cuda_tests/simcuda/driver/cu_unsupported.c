/* Functions that this driver has and does not support: unsupported.txt names them, their prototypes are cuda.h's. */
#include "cuda_tests/simcuda/sim.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"
#define UNSUPPORTED(function, parameters) SIM_API(function, parameters, CUDA_ERROR_NOT_SUPPORTED)
#include "unsupported_table.h"

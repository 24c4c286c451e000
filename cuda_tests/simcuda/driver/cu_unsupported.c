/* Functions that this driver has and does not support: unsupported.txt names them, their prototypes are cuda.h's. Those
 * of cudaGL.h are here. */
#include "cuda_tests/simcuda/sim.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"
#define UNSUPPORTED(function, parameters) SIM_API(function, parameters, CUDA_ERROR_NOT_SUPPORTED)
#include "unsupported_table.h"

UNSUPPORTED(cuGraphicsGLRegisterBuffer, (CUgraphicsResource * out, unsigned int buffer, unsigned int flags))
UNSUPPORTED(cuGraphicsGLRegisterImage,
	    (CUgraphicsResource * out, unsigned int image, unsigned int target, unsigned int flags))

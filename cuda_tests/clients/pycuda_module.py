"""PyCUDA: a module compiled by nvcc, launches as calls and prepared, on a stream and with event times."""
import sys

import numpy
import pycuda.autoinit
import pycuda.driver as driver
from pycuda.compiler import SourceModule

N = 1 << 18
SOURCE = """
__global__ void scale_add(const float *x, float *y, float a, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] += a * x[i];
}
"""


def main():
    kernel = SourceModule(SOURCE).get_function("scale_add")
    host = numpy.linspace(0, 1, N, dtype=numpy.float32)
    x, y = driver.mem_alloc(host.nbytes), driver.mem_alloc(host.nbytes)
    driver.memcpy_htod(x, host)
    driver.memset_d32(y, 0, N)
    stream, begin, end = driver.Stream(), driver.Event(), driver.Event()
    begin.record(stream)
    for i in range(10):
        n = N >> (i % 3)
        kernel(x, y, numpy.float32(0.5), numpy.int32(n), block=(256, 1, 1), grid=((n + 255) // 256, 1), stream=stream)
    kernel.prepare("PPfi")
    for _ in range(15):
        kernel.prepared_call((N // 256, 1), (256, 1, 1), x, y, 0.5, N)
    end.record(stream)
    end.synchronize()
    pycuda.autoinit.context.synchronize()
    back = numpy.empty_like(host)
    driver.memcpy_dtoh(back, x)
    print("some time has passed:", end.time_since(begin) > 0)
    print("scale_add", kernel.num_regs > 0, bool((back == host).all()), flush=True)
    return 7


sys.exit(main())

"""A raw kernel, an elementwise kernel, a matrix product and a sort with CuPy;
prints a hash of each result."""
import hashlib
import sys

import cupy
import numpy

SOURCE = r"""
extern "C" __global__ void scale_add(const float *x, float *y, float a, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] += a * x[i];
}
"""
N = 1 << 20


def say(name, array):
    print(name, hashlib.sha256(cupy.asnumpy(array).tobytes()).hexdigest()[:16], flush=True)


def main():
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError:
        count = 0
    if not count:
        print("CuPy sees no GPU")
        return 77
    x = cupy.asarray(numpy.linspace(0, 1, N, dtype=numpy.float32))
    y = cupy.zeros_like(x)
    raw = cupy.RawKernel(SOURCE, "scale_add")
    for i in range(50):
        n = N // (1 + i % 5)
        raw(((n + 255) // 256,), (256,), (x, y, numpy.float32(0.5), numpy.int32(n)))
    say("raw", y)
    square = cupy.ElementwiseKernel("float32 a, float32 b", "float32 c", "c = a * a + b", "square_add")
    say("elementwise", square(x, y))
    a = cupy.asarray(numpy.random.default_rng(1).random((512, 512), dtype=numpy.float32))
    for _ in range(20):
        a = a @ a / 256
    say("product", a)
    say("sort", cupy.sort(cupy.sin(x * 1000)))
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        z = cupy.cumsum(x[: N // 4])
    stream.synchronize()
    say("stream", z)
    return 0


sys.exit(main())

"""numba-cuda: kernels compiled from Python, with shared memory and an atomic, on two streams; event times are asked for."""
import hashlib
import math
import sys

import numpy
from numba import cuda, float32

BLOCK = 256
ROWS, COLUMNS = 512, 1000


@cuda.jit
def add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]


@cuda.jit
def row_sums(x, out):
    part = cuda.shared.array(BLOCK, float32)
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    total = float32(0)
    for i in range(t, x.shape[1], BLOCK):
        total += math.exp(x[row, i])
    part[t] = total
    cuda.syncthreads()
    half = BLOCK // 2
    while half > 0:
        if t < half:
            part[t] += part[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        cuda.atomic.add(out, row, part[0])


def main():
    host = numpy.linspace(0, 1, ROWS * COLUMNS, dtype=numpy.float32)
    a, b = cuda.to_device(host), cuda.to_device(host)
    c = cuda.device_array_like(a)
    streams = [cuda.stream(), cuda.stream()]
    begin, end = cuda.event(), cuda.event()
    begin.record()
    for i in range(12):
        n = host.size >> (i % 3)
        add[(n + BLOCK - 1) // BLOCK, BLOCK, streams[i % 2]](a[:n], b[:n], c[:n])
    cuda.synchronize()
    matrix, sums = a.reshape(ROWS, COLUMNS), cuda.to_device(numpy.zeros(ROWS, numpy.float32))
    for _ in range(8):
        row_sums[ROWS, BLOCK](matrix, sums)
    end.record()
    end.synchronize()
    print("some time has passed:", cuda.event_elapsed_time(begin, end) > 0)
    print("add", hashlib.sha256(a.copy_to_host().tobytes()).hexdigest()[:16], add.overloads and len(add.overloads))
    print("row_sums", hashlib.sha256(sums.copy_to_host().tobytes()).hexdigest()[:16], flush=True)
    return 7


sys.exit(main())

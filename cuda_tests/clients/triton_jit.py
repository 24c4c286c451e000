"""Triton without PyTorch: kernels compiled and launched by Triton on memory that cuda.bindings allocates."""
import hashlib
import sys

import numpy
import triton
import triton.language as tl
from cuda.bindings import driver

N = 1 << 18
ROWS, COLUMNS = 512, 1000


@triton.jit
def scale_add(x_ptr, y_ptr, a, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(y_ptr + offsets, a * x + y, mask=mask)


@triton.jit
def softmax(x_ptr, y_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * columns + offsets, mask=offsets < columns, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * columns + offsets, e / tl.sum(e, axis=0), mask=offsets < columns)


class Array:
    """Device memory as Triton takes it: a pointer and the type of what it points to."""

    def __init__(self, host):
        self.host, self.dtype = host, "float32"
        self.pointer = check(driver.cuMemAlloc(host.nbytes))
        check(driver.cuMemcpyHtoD(self.pointer, host, host.nbytes))

    def data_ptr(self):
        return int(self.pointer)

    def digest(self):
        check(driver.cuMemcpyDtoH(self.host, self.pointer, self.host.nbytes))
        return hashlib.sha256(self.host.tobytes()).hexdigest()[:16]


class Driver(triton.backends.nvidia.driver.CudaDriver):
    """Triton's own driver for CUDA, which asks PyTorch for device and stream; here there is one device, and its default stream."""

    def __init__(self):
        self.utils = triton.backends.nvidia.driver.CudaUtils()
        self.launcher_cls = triton.backends.nvidia.driver.CudaLauncher
        self.get_current_device = lambda: 0
        self.set_current_device = lambda device: None
        self.get_current_stream = lambda device: 0
        self.get_device_capability = lambda device=0: tuple(
            check(driver.cuDeviceGetAttribute(getattr(driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_{part}"),
                                              device)) for part in ("MAJOR", "MINOR"))


def check(answer):
    """What a call returned besides its status, which must be 0."""
    if answer[0].value:
        raise RuntimeError(f"{answer[0]!r}")
    return answer[1] if len(answer) == 2 else answer[1:]


def main():
    check(driver.cuInit(0))
    check(driver.cuCtxSetCurrent(check(driver.cuDevicePrimaryCtxRetain(0))))
    triton.runtime.driver.set_active(Driver())
    x, y = Array(numpy.linspace(0, 1, N, dtype=numpy.float32)), Array(numpy.zeros(N, numpy.float32))
    for i in range(12):
        n = N >> (i % 3)
        scale_add[(triton.cdiv(n, 1024),)](x, y, 0.5, n, BLOCK=1024)
    matrix = Array(numpy.ones((ROWS, COLUMNS), numpy.float32))
    for _ in range(8):
        compiled = softmax[(ROWS,)](matrix, y, COLUMNS, BLOCK=1024)
    check(driver.cuCtxSynchronize())
    print("scale_add", x.digest())
    print("softmax", matrix.digest(), compiled.metadata.num_warps, flush=True)
    return 7


sys.exit(main())

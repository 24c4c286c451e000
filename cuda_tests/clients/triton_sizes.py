"""Triton without PyTorch: the kernel of cuda_tests/sizes at 12 growing sizes, once each, with host work in between."""
import sys
import time

import triton
import triton.language as tl
from cuda.bindings import driver
from triton_alone import check, start

FIRST, SIZES, GROWTH, TERMS = 1048576, 12, 1.6, 20
BLOCKS, THREADS = 216, 256
HOST_WORK_S = 0.1


@triton.jit(do_not_specialize=["n"])
def series(n, terms, x_ptr, y_ptr, BLOCK: tl.constexpr):
    for first in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        offsets = first + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offsets, mask=offsets < n)
        power = tl.full((BLOCK,), 1.0, tl.float32)
        total = tl.zeros((BLOCK,), tl.float32)
        for k in range(terms):
            total += power / (k + 1)
            power *= x
        tl.store(y_ptr + offsets, total, mask=offsets < n)


class Array:
    """Device memory as Triton takes it: a pointer and the type of what it points to."""

    def __init__(self, count):
        self.dtype, self.pointer = "float32", check(driver.cuMemAlloc(4 * count))

    def data_ptr(self):
        return int(self.pointer)


def main():
    start()
    x, y = (Array(int(FIRST * GROWTH ** (SIZES - 1))) for _ in range(2))
    n = FIRST
    for _ in range(SIZES):
        series[(BLOCKS,)](n, TERMS, x, y, BLOCK=THREADS, num_warps=THREADS // 32)
        check(driver.cuCtxSynchronize())
        time.sleep(HOST_WORK_S)
        n = int(n * GROWTH)
    print(f"{SIZES} sizes", flush=True)
    return 7


sys.exit(main())

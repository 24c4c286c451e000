"""Warp: kernels of its own compiler, with vectors, atomics and a random number generator, on its default stream and one more.

The memory is cuda.bindings'. Warp's own, its copies and its graphs go through the CUDA runtime that is linked into it."""
import hashlib
import sys

import numpy
import warp as wp
from cuda.bindings import driver

N = 1 << 18
wp.config.log_level = wp.LOG_ERROR
wp.config.cuda_output = "ptx"  # not a cubin


@wp.kernel
def scale_add(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@wp.kernel
def move(position: wp.array(dtype=wp.vec3), velocity: wp.array(dtype=wp.vec3), seconds: float, passes: int):
    i = wp.tid()
    at = position[i]
    for _ in range(passes):
        at += velocity[i] * seconds + wp.vec3(0.0, 0.0, wp.randf(wp.rand_init(7, i)))
        if at[2] < 0.0:
            at = wp.vec3(at[0], at[1], -at[2])
    position[i] = at


@wp.kernel
def squares(position: wp.array(dtype=wp.vec3), sums: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(sums, i % 16, wp.dot(position[i], position[i]))


def check(answer):
    """What a call returned besides its status, which must be 0."""
    if answer[0].value:
        raise RuntimeError(f"{answer[0]!r}")
    return answer[1] if len(answer) == 2 else answer[1:]


def main():
    wp.init()
    device = wp.get_device("cuda:0")
    check(driver.cuInit(0))
    check(driver.cuCtxSetCurrent(check(driver.cuDevicePrimaryCtxRetain(check(driver.cuDeviceGet(0))))))
    first, second = (check(driver.cuMemAlloc(12 * N)) for _ in range(2))
    x, y = (wp.array(ptr=int(memory), dtype=float, shape=N, device=device) for memory in (first, second))
    position, velocity = (wp.array(ptr=int(memory), dtype=wp.vec3, shape=N, device=device)
                          for memory in (first, second))
    host = numpy.linspace(0, 1, 3 * N, dtype=numpy.float32)
    for memory in (first, second):
        check(driver.cuMemcpyHtoD(memory, host, host.nbytes))
    for i in range(9):
        wp.launch(scale_add, dim=N >> (i % 3), inputs=[x, y, 0.5], device=device)
    stream = wp.Stream(device)
    with wp.ScopedStream(stream):
        for passes in (1, 2, 4):
            wp.launch(move, dim=N, inputs=[position, velocity, 0.01, passes], device=device)
    wp.launch(squares, dim=N, inputs=[position, y], device=device)
    check(driver.cuCtxSynchronize())
    back = numpy.empty_like(host)
    check(driver.cuMemcpyDtoH(back, first, back.nbytes))
    print("position", hashlib.sha256(back.tobytes()).hexdigest()[:16], flush=True)
    return 7


sys.exit(main())

"""Dr.Jit: traced arithmetic, reductions, a scatter, a loop, and a texture, whose texels are copied into a CUDA array."""
import sys

import drjit as dr
from drjit.cuda import Float, Texture2f, TensorXf, UInt32

N = 1 << 16
SIDE = 64


@dr.syntax
def newton(x):
    i, y = UInt32(0), Float(x)
    while i < 8:
        y = (y + x / y) / 2
        i += 1
    return y


def main():
    x = dr.linspace(Float, 1, 2, N)
    for i in range(8):
        y = dr.fma(x, 2, dr.sin(x + i))
        dr.eval(y)
    sums = dr.zeros(Float, 16)
    dr.scatter_reduce(dr.ReduceOp.Add, sums, x, dr.arange(UInt32, N) & 15)
    dr.eval(sums, newton(x), dr.sum(y), dr.prefix_sum(x))
    image = Texture2f(TensorXf(dr.arange(Float, SIDE * SIDE), shape=(SIDE, SIDE, 1)))
    (value,) = image.eval(dr.linspace(Float, 0, 1, N), x - 1)
    dr.eval(value)
    dr.sync_thread()
    print("arrays", len(y), len(sums), len(value), image.shape, flush=True)
    return 7


sys.exit(main())

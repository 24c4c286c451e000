"""JAX: jitted functions, whose kernels XLA compiles, a gradient and a donated buffer."""
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # XLA's messages carry the time
import jax
import jax.numpy as jnp
import numpy
from jax._src import hardware_utils

# JAX asks no driver where there is none of NVIDIA's device files, and uses the CPU. The simulated driver has none.
hardware_utils.has_visible_nvidia_gpu = lambda: True


@jax.jit
def normalised(x):
    return jax.nn.softmax(x * 2 + 1, axis=-1)


@jax.jit
def slope(x):
    return jax.grad(lambda v: jnp.sum(jnp.tanh(v) ** 2))(x)


def main():
    x = jnp.asarray(numpy.linspace(0, 1, 64 * 1000, dtype=numpy.float32).reshape(64, 1000))
    for _ in range(4):
        y = normalised(x)
        z = slope(y)
    total = jnp.sum(z, axis=0)
    jax.block_until_ready(total)
    print(jax.devices()[0].device_kind, total.shape, float(numpy.asarray(x)[-1, -1]), flush=True)
    return 7


sys.exit(main())

"""cuda.core: programs compiled to machine code and to PTX, launches, streams, events, a graph."""
import hashlib
import sys

import numpy
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

SOURCE = """
template <typename T> __global__ void saxpy(const T *x, T *y, T a, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] += a * x[i];
}
"""
N = 1 << 18
NAME = "saxpy<float>"


def main():
    device = Device()
    device.set_current()
    options = ProgramOptions(std="c++17", arch=f"sm_{device.arch}")
    stream, other = device.create_stream(), device.create_stream()
    x, y = (device.allocate(4 * N, stream=stream) for _ in range(2))
    for kind in ("cubin", "ptx"):
        kernel = Program(SOURCE, "c++", options).compile(kind, name_expressions=(NAME,)).get_kernel(NAME)
        print(kind, kernel.attributes.max_threads_per_block, flush=True)
        for i in range(10):
            n = N >> (i % 3)
            launch(other if i % 2 else stream, LaunchConfig(grid=(n + 255) // 256, block=256), kernel, x, y,
                   numpy.float32(0.5), numpy.int32(n))
    event = other.record()
    stream.wait(event)
    builder = stream.create_graph_builder().begin_building()
    for _ in range(3):
        launch(builder, LaunchConfig(grid=N // 256, block=256), kernel, x, y, numpy.float32(0.5), numpy.int32(N))
    graph = builder.end_building().complete()
    for _ in range(4):
        graph.launch(stream)
    y.copy_from(x, stream=stream)
    stream.sync()
    print("devices", device.name, hashlib.sha256(device.uuid.encode()).hexdigest()[:16], flush=True)
    for buffer in (x, y):
        buffer.close(stream)
    stream.sync()
    return 7


sys.exit(main())

"""multiprocessing: children by fork, spawn and forkserver that each use the driver through cuda.bindings, as their parent does.

What a child loads it sends back over a pipe. Children that are forked begin before their parent has used the driver: afterwards it
would be of no use to them."""
import hashlib
import multiprocessing
import sys

import numpy

CHILDREN = 2
N = 1 << 16
PTX = b"""
.version 8.0
.target sm_75
.address_size 64
.visible .entry scale(.param .u64 to, .param .f32 by, .param .u32 n)
{
	.reg .b64 %to, %offset;
	.reg .f32 %by, %value;
	.reg .b32 %i, %block, %width, %n;
	.reg .pred %out;
	ld.param.u64 %to, [to];
	ld.param.f32 %by, [by];
	ld.param.u32 %n, [n];
	mov.u32 %i, %tid.x;
	mov.u32 %block, %ctaid.x;
	mov.u32 %width, %ntid.x;
	mad.lo.u32 %i, %block, %width, %i;
	setp.ge.u32 %out, %i, %n;
	@%out bra done;
	cvta.to.global.u64 %to, %to;
	mul.wide.u32 %offset, %i, 4;
	add.u64 %to, %to, %offset;
	ld.global.f32 %value, [%to];
	mul.f32 %value, %value, %by;
	st.global.f32 [%to], %value;
done:
	ret;
}
"""


def check(answer):
    """What a call returned besides its status, which must be 0."""
    if answer[0].value:
        raise RuntimeError(f"{answer[0]!r}")
    return answer[1] if len(answer) == 2 else answer[1:]


def load(number, launches):
    """The bytes that go to the device and come back, as a digest."""
    import ctypes

    from cuda.bindings import driver

    check(driver.cuInit(0))
    check(driver.cuCtxSetCurrent(check(driver.cuDevicePrimaryCtxRetain(check(driver.cuDeviceGet(0))))))
    kernel = check(driver.cuModuleGetFunction(check(driver.cuModuleLoadData(PTX)), b"scale"))
    host = numpy.arange(N, dtype=numpy.float32) + number
    memory = check(driver.cuMemAlloc(host.nbytes))
    stream = check(driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_NON_BLOCKING))
    check(driver.cuMemcpyHtoDAsync(memory, host, host.nbytes, stream))
    for i in range(launches):
        n = N >> (i % 3)
        check(driver.cuLaunchKernel(kernel, (n + 255) // 256, 1, 1, 256, 1, 1, 0, stream, (
            (int(memory), 0.5, n), (ctypes.c_void_p, ctypes.c_float, ctypes.c_uint)), 0))
    check(driver.cuStreamSynchronize(stream))
    check(driver.cuMemcpyDtoH(host, memory, host.nbytes))
    check(driver.cuStreamDestroy(stream))
    return hashlib.sha256(host.tobytes()).hexdigest()[:16]


def child(pipe, number, launches):
    pipe.send(load(number, launches))
    pipe.close()


def main():
    for number, method in enumerate(("fork", "spawn", "forkserver")):
        context = multiprocessing.get_context(method)
        started = []
        for i in range(CHILDREN):
            ours, theirs = context.Pipe()
            process = context.Process(target=child, args=(theirs, number * CHILDREN + i, 5 + i))
            process.start()
            started.append((process, ours))
        for process, pipe in started:
            print(method, pipe.recv(), end=" ")
            process.join()
            print(process.exitcode)
    print("parent", load(9, 12), flush=True)
    return 7


if __name__ == "__main__":
    sys.exit(main())

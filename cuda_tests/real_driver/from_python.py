"""A program of ctypes: the driver API from Python, in a forked child, too. Prints what each call returns."""

import ctypes
import os
import sys

cuda = ctypes.CDLL("libcuda.so.1")


def use(who):
    version, count, device = ctypes.c_int(-1), ctypes.c_int(-1), ctypes.c_int(-1)
    address, status = ctypes.c_void_p(), ctypes.c_int(-1)
    print(who, "cuDriverGetVersion", cuda.cuDriverGetVersion(ctypes.byref(version)), version.value)
    print(who, "cuInit", cuda.cuInit(0))
    print(who, "cuDeviceGetCount", cuda.cuDeviceGetCount(ctypes.byref(count)), count.value)
    print(who, "cuDeviceGet", cuda.cuDeviceGet(ctypes.byref(device), 0), device.value)
    result = cuda.cuGetProcAddress(b"cuLaunchKernel", ctypes.byref(address), version, ctypes.c_uint64(0))
    print(who, "cuGetProcAddress", result, bool(address.value))
    if hasattr(cuda, "cuGetProcAddress_v2"):
        result = cuda.cuGetProcAddress_v2(
            b"cuLaunchKernel", ctypes.byref(address), version, ctypes.c_uint64(2), ctypes.byref(status)
        )
        print(who, "cuGetProcAddress_v2", result, bool(address.value), status.value)
    launch = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 11)(address.value)
    print(who, "cuLaunchKernel", launch(*[None] * 11))
    print(who, "cuMemcpyHtoD_v2", cuda.cuMemcpyHtoD_v2(None, None, ctypes.c_size_t(4)))
    sys.stdout.flush()


use("parent")
child = os.fork()
if child == 0:
    use("child")
    os._exit(7)
print("child:", os.waitpid(child, 0)[1])

"""What the programs that use Triton without PyTorch share; it is no program itself."""
import triton
from cuda.bindings import driver


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


def start():
    check(driver.cuInit(0))
    check(driver.cuCtxSetCurrent(check(driver.cuDevicePrimaryCtxRetain(0))))
    triton.runtime.driver.set_active(Driver())

"""torch.profiler, which takes CUPTI: it gets its events, as it does alone."""
import os
import sys

os.environ["KINETO_LOG_LEVEL"] = "99"  # its messages carry the time
import torch
from torch.profiler import ProfilerActivity, profile


def main():
    x = torch.linspace(0, 1, 1 << 16, device="cuda")
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiled:
        for _ in range(4):
            x = torch.sigmoid(x) * 2
        torch.cuda.synchronize()
    kernels = [e for e in profiled.events() if e.device_type == torch.autograd.DeviceType.CUDA]
    print("events", len(kernels), sorted({event.name for event in kernels}), flush=True)
    return 7


sys.exit(main())

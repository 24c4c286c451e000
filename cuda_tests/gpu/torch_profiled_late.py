"""What torch.profiler sees when it is started twice in a program that has launched for a while and then rested; prints
the number of kernels each time and a hash of the result. Launches follow the last profile: whether they are measured
tells who has CUPTI then."""
import hashlib
import sys
import time

import torch
from torch.profiler import ProfilerActivity, profile

BEFORE_S, REST_S = 2, 2
STEPS = 20


def work(x, steps):
    for _ in range(steps):
        x = torch.softmax(x * 2 + 1, 1) + torch.relu(x).sum(1, keepdim=True) * 1e-6
    torch.cuda.synchronize()
    return x


def main():
    if not torch.cuda.is_available():
        print("PyTorch sees no GPU")
        return 77
    x = torch.linspace(0, 1, 1 << 20).reshape(1024, 1024).cuda()
    end = time.monotonic() + BEFORE_S
    while time.monotonic() < end:
        work(x, STEPS)
    for _ in range(2):
        time.sleep(REST_S)
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
            result = work(x, STEPS)
        events = profiler.profiler.kineto_results.events()
        print("kernels", sum(str(e.device_type()).endswith("CUDA") and not e.name().startswith(("Memcpy", "Memset"))
                             for e in events))
    time.sleep(REST_S)
    work(x, STEPS)
    print("result", hashlib.sha256(result.cpu().numpy().tobytes()).hexdigest()[:16], flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

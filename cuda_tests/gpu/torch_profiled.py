"""What torch.profiler sees of a few operations, if it starts before the first CUDA call; prints the number of
kernels, a hash of their names and counts, and one of the result."""
import collections
import hashlib
import sys

import torch
from torch.profiler import ProfilerActivity, profile

COPIES = ("Memcpy", "Memset")


def work():
    x = torch.linspace(0, 1, 1 << 20).reshape(1024, 1024).cuda()
    for _ in range(20):
        x = torch.softmax(x * 2 + 1, 1) + torch.relu(x).sum(1, keepdim=True) * 1e-6
    torch.cuda.synchronize()
    return x.cpu()


def main():
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        result = work() if torch.cuda.is_available() else None
    if result is None:
        print("PyTorch sees no GPU")
        return 77
    events = profiler.profiler.kineto_results.events()
    seen = collections.Counter(e.name() for e in events if str(e.device_type()).endswith("CUDA"))
    kernels = {name: count for name, count in seen.items() if not name.startswith(COPIES)}
    print("kernels", sum(kernels.values()))
    print("names", hashlib.sha256(repr(sorted(kernels.items())).encode()).hexdigest()[:16])
    print("result", hashlib.sha256(result.numpy().tobytes()).hexdigest()[:16], flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

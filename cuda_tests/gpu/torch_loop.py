"""How long a step of a small PyTorch training loop takes.

usage: torch_loop.py STEPS [--profile]     --profile: under torch.profiler

Prints the median in milliseconds, and with --profile how many events on the device the profile holds.
"""
import contextlib
import statistics
import sys
import time

import torch
from torch import nn

WARM_UP = 20


def main():
    steps, profiled = int(sys.argv[1]), "--profile" in sys.argv
    if not torch.cuda.is_available():
        print("PyTorch sees no GPU")
        return 77
    torch.manual_seed(1)
    layers = [layer for _ in range(8) for layer in (nn.Linear(256, 256), nn.ReLU())]
    model = nn.Sequential(*layers, nn.Linear(256, 10)).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, foreach=False)
    x, y = torch.randn(128, 256, device="cuda"), torch.randint(10, (128,), device="cuda")
    loss_of, times = nn.CrossEntropyLoss(), []

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss_of(model(x), y).backward()
        optimizer.step()
        torch.cuda.synchronize()

    for _ in range(WARM_UP):
        step()
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    profiler = torch.profiler.profile(activities=activities) if profiled else contextlib.nullcontext()
    with profiler as recorded:
        step()  # the first step under a profiler sets it up
        for _ in range(steps):
            begin = time.perf_counter()
            step()
            times.append(time.perf_counter() - begin)
    print(f"step_ms {1000 * statistics.median(times):.4f}")
    if profiled:
        events = recorded.profiler.kineto_results.events()
        print("profiler_events", sum(str(e.device_type()).endswith("CUDA") for e in events))
    return 0


sys.exit(main())

"""Matrix products for some seconds, without waiting for one of them: the program is always ahead of the GPU.

usage: torch_ahead.py SECONDS

Prints what it launched; where there is no matrix product (the simulated device has no cuBLAS), elementwise products.
"""
import sys
import time

import torch

N = 4096


def work():
    a = torch.rand(N, N, device="cuda").to(torch.bfloat16)
    b = torch.empty_like(a)
    try:
        torch.mm(a, a, out=b)
        torch.cuda.synchronize()
        return "matrix products", lambda: torch.mm(a, a, out=b)
    except RuntimeError:
        return "elementwise products", lambda: torch.mul(a, a, out=b)


def main():
    if not torch.cuda.is_available():
        print("PyTorch sees no GPU")
        return 77
    name, launch = work()
    end = time.monotonic() + float(sys.argv[1])
    count = 0
    while time.monotonic() < end:
        for _ in range(10):
            launch()
        count += 10
    print(f"launched {count} {name}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

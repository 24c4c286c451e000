"""A function compiled by torch.compile(mode="reduce-overhead"), which replays CUDA graphs of Triton's kernels;
prints a hash of the result."""
import hashlib
import os
import sys

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # no pool of processes for two kernels
import torch


def function(x):
    return torch.softmax(torch.relu(x) * 2 + 1, 1) + x.sum(1, keepdim=True) * 1e-6


def main():
    if not torch.cuda.is_available():
        print("PyTorch sees no GPU")
        return 77
    compiled = torch.compile(function, mode="reduce-overhead")
    x = torch.linspace(0, 1, 1 << 20).reshape(1024, 1024).cuda()
    for _ in range(20):
        torch.compiler.cudagraph_mark_step_begin()
        x = compiled(x).clone()
    print("compiled", hashlib.sha256(x.cpu().numpy().tobytes()).hexdigest()[:16], flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

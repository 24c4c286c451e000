"""Two kernels of one's own in Triton, on PyTorch tensors; prints a hash of each result."""
import hashlib
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def scale_add(x_ptr, y_ptr, a, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(y_ptr + offsets, a * x + y, mask=mask)


@triton.jit
def softmax(x_ptr, y_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * columns + offsets, mask=offsets < columns, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * columns + offsets, e / tl.sum(e, axis=0), mask=offsets < columns)


def say(name, tensor):
    print(name, hashlib.sha256(tensor.cpu().numpy().tobytes()).hexdigest()[:16], flush=True)


def main():
    if not torch.cuda.is_available():
        print("PyTorch sees no GPU")
        return 77
    n = 1 << 20
    x = torch.linspace(0, 1, n).cuda()
    y = torch.zeros_like(x)
    for i in range(50):
        part = n // (1 + i % 5)
        scale_add[(triton.cdiv(part, 1024),)](x, y, 0.5, part, BLOCK=1024)
    say("scale_add", y)
    out = torch.empty(1024, 1000, device="cuda")
    for _ in range(20):
        softmax[(1024,)](x[: 1024 * 1000], out, 1000, BLOCK=1024)
    say("softmax", out)
    return 0


sys.exit(main())

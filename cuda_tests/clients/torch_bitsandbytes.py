"""bitsandbytes: weights stored in 4 bits and read back, and its Adam with a state of 8 bits."""
import sys

import bitsandbytes
import torch
from bitsandbytes import functional

WIDTH, STEPS = 4096, 3


def main():
    torch.manual_seed(1)
    weights = torch.randn(64, WIDTH, device="cuda")
    packed, state = functional.quantize_4bit(weights, quant_type="nf4")
    restored = functional.dequantize_4bit(packed, state)
    parameter = torch.nn.Parameter(torch.randn(16, WIDTH, device="cuda"))
    optimizer = bitsandbytes.optim.Adam8bit([parameter], lr=1e-3)
    for _ in range(STEPS):
        optimizer.zero_grad(set_to_none=True)
        (parameter * 2 - restored[:16]).square().mean().backward()
        optimizer.step()
    torch.cuda.synchronize()
    print("steps", STEPS, tuple(packed.shape), packed.dtype, tuple(restored.shape), flush=True)
    return 7


sys.exit(main())

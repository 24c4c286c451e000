"""Liger-Kernel: the Triton kernels of its RMS norm, layer norm and SwiGLU, forward and backward."""
import sys

import torch
from liger_kernel.ops import LigerLayerNormFunction, LigerRMSNormFunction, LigerSiLUMulFunction

ROWS, WIDTH, STEPS = 64, 512, 3


def main():
    torch.manual_seed(1)
    x = torch.randn(ROWS, WIDTH, device="cuda", requires_grad=True)
    gate = torch.randn(ROWS, WIDTH, device="cuda", requires_grad=True)
    weight = torch.ones(WIDTH, device="cuda", requires_grad=True)
    bias = torch.zeros(WIDTH, device="cuda", requires_grad=True)
    optimizer = torch.optim.SGD((x, gate, weight, bias), lr=1e-2)
    for _ in range(STEPS):
        optimizer.zero_grad(set_to_none=True)
        normed = LigerRMSNormFunction.apply(x, weight, 1e-6)
        y = LigerLayerNormFunction.apply(LigerSiLUMulFunction.apply(gate, normed), weight, bias, 1e-6)
        y.square().mean().backward()
        optimizer.step()
    torch.cuda.synchronize()
    print("steps", STEPS, tuple(x.grad.shape), flush=True)
    return 7


sys.exit(main())

"""torch.compile of two linear layers: Inductor's own matrix products, as cuBLAS is not to be had, and a softmax."""
import sys
import time

import torch
from torch._inductor import config

ROWS, INPUTS, HIDDEN, OUTPUTS = 64, 64, 128, 32
# One tile is left to choose from, so that nothing is tried and timed: it divides all of the sizes.
config.max_autotune_gemm = True
config.max_autotune_gemm_backends = "TRITON"
config.test_configs.autotune_choice_desc_regex = r"BLOCK_K=16, BLOCK_M=32, BLOCK_N=32,.*num_stages=1,"


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = torch.nn.Linear(INPUTS, HIDDEN)
        self.out = torch.nn.Linear(HIDDEN, OUTPUTS)

    def forward(self, x):
        return torch.softmax(self.out(torch.relu(self.hidden(x))), dim=-1)


def main():
    with torch.device("cuda"):
        net = torch.compile(Net())
        x = torch.linspace(0, 1, ROWS * INPUTS).reshape(ROWS, INPUTS)
    with torch.no_grad():
        for _ in range(5):
            y = net(x)
            torch.cuda.synchronize()
            time.sleep(0.2)  # the code is read meanwhile
    print("compiled", tuple(y.shape), flush=True)
    return 7


sys.exit(main())

"""torchrun with four ranks that add up their gradients by Gloo, of which one is killed: the others end with an error."""
import os
import signal
import subprocess
import sys

RANKS, STEPS = 4, 6
KILLED_RANK, KILLED_STEP = 2, 4
POLL_S = 20  # torchrun looks this often at its ranks, and 30 s after it found one missing kills those that have not ended


def train():
    import torch

    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # torchrun's, when it finds a rank missing: each finds out by itself
    torch.distributed.init_process_group("gloo")
    rank = torch.distributed.get_rank()
    x = torch.full((1 << 14,), float(rank + 1), device="cuda")
    weight = torch.ones(1 << 14, device="cuda", requires_grad=True)
    for step in range(STEPS):
        (weight * x).square().sum().backward()
        gradient = weight.grad.cpu()
        if (rank, step) == (KILLED_RANK, KILLED_STEP):
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            torch.distributed.all_reduce(gradient)
        except RuntimeError:
            return 1
        weight.grad = gradient.cuda()
    return 0


def main():
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={RANKS}",
                f"--monitor-interval={POLL_S}"]
    ended = subprocess.run([*torchrun, __file__, "train"], capture_output=True, text=True)
    print("torchrun ended with", ended.returncode, "ranks", RANKS, flush=True)
    return 7


sys.exit(train() if "train" in sys.argv else main())

"""PyTorch: a CUDA graph, captured after a warm-up on a stream of its own, and replayed."""
import sys

import torch

REPLAYS = 5


def main():
    x = torch.linspace(0, 1, 1 << 14, device="cuda")

    def work():
        return torch.relu(x * 2 - 1).cumsum(0)

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        work()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = work()
    for _ in range(REPLAYS):
        x.mul_(0.5)
        graph.replay()
    torch.cuda.synchronize()
    print("replayed", REPLAYS, tuple(y.shape), flush=True)
    return 7


sys.exit(main())

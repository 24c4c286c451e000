"""Trains a small perceptron and a small convolutional net with PyTorch, then runs a
captured graph of the first; prints a hash of each result."""
import hashlib
import os
import sys

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # PyTorch asks for it where results must repeat
import torch
from torch import nn


def digest(tensors):
    h = hashlib.sha256()
    for tensor in tensors:
        h.update(tensor.detach().float().cpu().numpy().tobytes())
    return h.hexdigest()[:16]


def train(name, model, make_input, classes, steps):
    model.cuda().train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loss_of = nn.CrossEntropyLoss()
    generator = torch.Generator().manual_seed(7)
    for _ in range(steps):
        x = make_input(generator).cuda(non_blocking=True)
        y = torch.randint(classes, (x.shape[0],), generator=generator).cuda()
        optimizer.zero_grad(set_to_none=True)
        loss_of(model(x), y).backward()
        optimizer.step()
    torch.cuda.synchronize()
    print(name, digest(model.parameters()), flush=True)
    return model


def graphed(model, replays):
    """A CUDA graph of one forward pass, launched several times."""
    x = torch.linspace(0, 1, 64 * 256).reshape(64, 256).cuda()
    model.eval()
    with torch.no_grad():
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            model(x)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = model(x)
        for _ in range(replays):
            x.mul_(0.5)
            graph.replay()
    torch.cuda.synchronize()
    print("graph", digest([y]), flush=True)


def main():
    if not torch.cuda.is_available():
        print("PyTorch sees no GPU")
        return 77
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    torch.manual_seed(1)
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cudnn.benchmark = False
    perceptron = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    convolution = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
                                nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
                                nn.Flatten(), nn.Linear(32 * 256, 10))
    train("perceptron", perceptron, lambda g: torch.randn(64, 256, generator=g), 10, steps)
    train("convolution", convolution, lambda g: torch.randn(32, 3, 32, 32, generator=g), 10, steps)
    graphed(perceptron, 20)
    return 0


sys.exit(main())

"""PyTorch: training steps with autograd and Adam, on batches that two forked worker processes load."""
import sys

import torch
from torch import nn

ROWS, WIDTH, BATCH = 256, 64, 32


class Model(nn.Module):
    """Layers without a matrix product, for which PyTorch would call cuBLAS."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(WIDTH))
        self.shift = nn.Parameter(torch.zeros(WIDTH))
        self.norm = nn.LayerNorm(WIDTH)
        self.classes = nn.Embedding(10, WIDTH)

    def forward(self, x, y):
        return self.norm(torch.nn.functional.gelu(x * self.scale + self.shift)) * self.classes(y)


def main():
    torch.manual_seed(1)
    data = torch.utils.data.TensorDataset(torch.randn(ROWS, WIDTH), torch.arange(ROWS) % 10)
    loader = torch.utils.data.DataLoader(data, batch_size=BATCH, num_workers=2, multiprocessing_context="fork")
    model = Model().cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    steps = 0
    for _ in range(2):
        for x, y in loader:
            optimizer.zero_grad(set_to_none=True)
            loss = model(x.cuda(non_blocking=True), y.cuda(non_blocking=True)).square().mean()
            loss.backward()
            optimizer.step()
            steps += 1
    torch.cuda.synchronize()
    print("steps", steps, sum(p.numel() for p in model.parameters()), flush=True)
    return 7


sys.exit(main())

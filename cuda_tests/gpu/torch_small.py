"""A small training with a teacher: while a batch trains the student, the teacher looks at the next one on a second
stream. The last batch of an epoch is smaller. Prints a hash of the student.

usage: torch_small.py [EPOCHS]

Where there is no matrix product (the simulated device has no cuBLAS), its layers are elementwise.
"""
import hashlib
import os
import sys

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # PyTorch asks for it where results must repeat
import torch
from torch import nn

WIDTH, BATCH, EXAMPLES = 1024, 512, 512 * 7 + 200


class Elementwise(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.full((WIDTH,), 0.9)), nn.Parameter(torch.zeros(WIDTH))

    def forward(self, x):
        return x * self.weight + self.bias


def layer():
    linear = nn.Linear(WIDTH, WIDTH).cuda()
    try:
        linear(torch.zeros(1, WIDTH, device="cuda"))
        torch.cuda.synchronize()
        return nn.Linear(WIDTH, WIDTH)
    except RuntimeError:
        return Elementwise()


def model():
    return nn.Sequential(layer(), nn.ReLU(), layer(), nn.ReLU(), layer()).cuda()


def main():
    if not torch.cuda.is_available():
        print("PyTorch sees no GPU")
        return 77
    torch.manual_seed(1)
    torch.use_deterministic_algorithms(True, warn_only=True)
    student, teacher = model(), model()
    optimizer = torch.optim.SGD(student.parameters(), lr=0.01)
    examples = torch.linspace(-1, 1, EXAMPLES * WIDTH).reshape(EXAMPLES, WIDTH).cuda()
    batches = list(examples.split(BATCH))
    side = torch.cuda.Stream()

    def taught(batch):
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side), torch.no_grad():
            return teacher(batch)

    for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 60):
        wanted = taught(batches[0])
        for i, batch in enumerate(batches):
            torch.cuda.current_stream().wait_stream(side)
            now = wanted
            now.record_stream(torch.cuda.current_stream())
            wanted = taught(batches[(i + 1) % len(batches)])
            optimizer.zero_grad(set_to_none=True)
            ((student(batch) - now) ** 2).mean().backward()
            optimizer.step()
    torch.cuda.synchronize()
    h = hashlib.sha256()
    for parameter in student.parameters():
        h.update(parameter.detach().cpu().numpy().tobytes())
    print("student", h.hexdigest()[:16], flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""PyTorch: kernels of its own, one after the other, on the default stream and on four others."""
import sys

import torch

SIZE = 1 << 16


def main():
    torch.manual_seed(1)
    x = torch.linspace(0, 1, SIZE, device="cuda")
    rows = x.reshape(256, 256)
    y = x + 1
    for _ in range(4):
        y = torch.relu(y * x - 0.5)
        torch.softmax(rows, 1)
        torch.nn.functional.layer_norm(rows, (256,))
        y.sum()
    torch.randn(SIZE, device="cuda")
    streams = [torch.cuda.Stream() for _ in range(4)]
    for round_ in range(3):
        for i, stream in enumerate(streams):
            with torch.cuda.stream(stream):
                torch.sin(x[: SIZE >> i])
    event = torch.cuda.Event()
    event.record(streams[-1])
    torch.cuda.current_stream().wait_event(event)
    torch.cuda.synchronize()
    print(torch.cuda.get_device_name(), y.shape, float(x[-1].cpu()), flush=True)
    return 7


sys.exit(main())

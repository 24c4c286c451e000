#!/usr/bin/env python3
"""Floating-point operations of PyTorch's operators, from the inputs in a trace, in whole numbers.

    operator_flops.py make SEED          a trace of operators with inputs by chance
    operator_flops.py check TRACE DB     what is wrong with the operators that kerncast import has put into DB

The operations are those of torch.utils.flop_counter, but that the gradient of a filter counts each group's channels once.
"""
import gzip
import json
import random
import sqlite3
import sys
from collections import Counter, defaultdict
from math import prod

ATTENTION = {f"aten::_scaled_dot_product_{kind}_attention": where for kind, where in (("flash", 4), ("efficient", 6), ("cudnn", 6))}
NAMES = {"aten::mm": "sgemm", "aten::addmm": "sgemm", "aten::bmm": "sgemm", "aten::baddbmm": "sgemm", "aten::convolution": "scudnn",
         "aten::_convolution": "sgemm", "aten::convolution_backward": "gemm", **dict.fromkeys(ATTENTION, "flash_fwd"),
         **{f"{name}_backward": "flash_bwd" for name in ATTENTION}}
OLDER = ["aten::cudnn_convolution_backward", "aten::cudnn_convolution_transpose_backward"]  # without operations


def numbers(text):
    return [int(part) for part in text.strip("[]").split(",")]


def places(x, filters, stride, padding, dilation):
    """Of the output: how often a filter with gaps fits, step by step."""
    return prod(len(range(0, size + 2 * pad - gap * (width - 1), step))
                for size, width, step, pad, gap in zip(x[2:], filters[2:], stride, padding, dilation))


def attention(query, key, value, of_keys, of_values):
    batch, heads, queries, width = query
    return 2 * batch * heads * queries * key[2] * (of_keys * width + of_values * value[3])


def flop(name, dims, values):
    """None: the trace does not tell."""
    if name in ("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm"):
        a, b = dims[:2] if name in ("aten::mm", "aten::bmm") else dims[1:3]
        return 2 * prod(a) * b[-1]
    if name in ("aten::convolution", "aten::_convolution"):
        if not values or values[6] not in ("True", "False"):
            return None
        count = prod(dims[0][2:]) if values[6] == "True" else places(*dims[:2], *map(numbers, values[3:6]))
        return 2 * dims[0][0] * count * prod(dims[1])
    if name == "aten::convolution_backward":
        if not values or values[7] not in ("True", "False"):
            return None
        gradients = [word.strip() for word in values[10].strip("[]").split(",")][:2].count("True")
        return 2 * gradients * dims[0][0] * prod(dims[1 if values[7] == "True" else 0][2:]) * prod(dims[2])
    if name in ATTENTION:
        return attention(*dims[:3], 1, 1)
    return attention(*dims[1:4], 3, 2) if name.removesuffix("_backward") in ATTENTION else None


# --- traces by chance

def inputs(draw, name):
    """Dimensions and values."""
    size = lambda: draw.randint(1, 40)
    m, k, n, batch = size(), size(), size(), size()
    if name == "aten::mm":
        return [[m, k], [k, n]], ["", ""]
    if name == "aten::addmm":
        return [[n], [m, k], [k, n], [], []], ["", "", "", "1", "1"]
    if name == "aten::bmm":
        return [[batch, m, k], [batch, k, n]], ["", ""]
    if name == "aten::baddbmm":
        return [[batch, m, n], [batch, m, k], [batch, k, n], [], []], ["", "", "", "1", "1"]
    if "convolution" in name:
        return convolution(draw, name, batch)
    heads, values = size(), size()
    query, key, value = [batch, heads, m, k], [batch, heads, n, k], [batch, heads, n, values]
    where = 14 if "cudnn" in name else 11
    if name in ATTENTION:
        return [query, key, value], [""] * ATTENTION[name] + [draw.choice(["True", "False"])]
    return [[batch, heads, m, values], query, key, value], [""] * where + [draw.choice(["True", "False"])]


def convolution(draw, name, batch):
    space, groups = draw.randint(1, 3), draw.randint(1, 3)
    more = lambda least, most: [draw.randint(least, most) for _ in range(space)]
    transposed = draw.random() < 0.3
    x, width, stride, padding, dilation = more(9, 20), more(1, 3), more(1, 3), more(0, 2), more(1, 2)
    given, made = groups * draw.randint(1, 5), groups * draw.randint(1, 5)
    filters = [given, made // groups, *width] if transposed else [made, given // groups, *width]
    how = [str(stride), str(padding), str(dilation), str(transposed), str([0] * space), str(groups)]
    if "backward" not in name:
        return [[batch, given, *x], filters, [], [], [], [], [], [], []], ["", "", "", *how]
    y = [(a - 1) * s - 2 * p + d * (w - 1) + 1 if transposed else (a + 2 * p - d * (w - 1) - 1) // s + 1
         for a, w, s, p, d in zip(x, width, stride, padding, dilation)]
    mask = draw.choice(["[True, True, False]", "[False, True, True]", "[True, False, False]"])
    return [[batch, made, *y], [batch, given, *x], filters], ["", "", "", "", *how, mask]


class Trace:
    def __init__(self, seed):
        self.draw, self.events, self.calls, self.now = random.Random(seed), [], 0, Counter()

    def kernel(self, thread, name):
        self.now[thread] += 3
        self.calls += 1
        self.events.append({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": 10 ** 6 + self.calls, "dur": 1,
                            "args": {"device": 0, "stream": 7, "correlation": self.calls}})
        self.events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": thread,
                            "ts": self.now[thread], "dur": 2, "args": {"correlation": self.calls}})

    def operator(self, thread, name):
        dims, values = inputs(self.draw, name)
        begin = self.now[thread] = self.now[thread] + self.draw.randint(0, 5)
        both = name.endswith("convolution_backward") and values[10].startswith("[True, True")
        if self.draw.random() < 0.3:
            self.kernel(thread, "void at::native::elementwise_kernel<128>(int)")
        for part in (("dgrad", "wgrad") if both else ("",)):
            self.kernel(thread, f"{NAMES[name]}_{part}")
        self.now[thread] += self.draw.randint(1, 9)
        args = {"Input Dims": dims, "Input type": ["float"] * len(dims)}
        if "convolution" not in name or self.draw.random() < 0.9:
            args["Concrete Inputs"] = values
        for outer in range(self.draw.randint(0, 2)):
            self.events.append({"ph": "X", "cat": "cpu_op", "name": f"outer::{outer}", "pid": 9, "tid": thread, "ts": begin,
                                "dur": self.now[thread] - begin, "args": {"Input Dims": [[1, 2]]}})
        self.events.append({"ph": "X", "cat": "cpu_op", "name": name, "pid": 9, "tid": thread, "ts": begin,
                            "dur": self.now[thread] - begin, "args": args})


def make(seed):
    trace = Trace(seed)
    for _ in range(400):
        trace.operator(trace.draw.randint(1, 3), trace.draw.choice(list(NAMES)))
    trace.draw.shuffle(trace.events)
    json.dump({"traceEvents": trace.events}, sys.stdout)


# --- against a database

def innermost(spans, call):
    """The operator that began last of those that the call lies in."""
    around = [op for op in spans[call["tid"]] if op["ts"] <= call["ts"] < op["ts"] + op["dur"]]
    return max(around, key=lambda op: (op["ts"], -op["dur"]), default=None)


def expected(events):
    """The operator's operations, by correlation id of the kernels that it launched."""
    spans, calls = defaultdict(list), {}
    for event in events:
        args = event.get("args") or {}
        if event.get("cat") in ("cpu_op", "Operator") and (event["name"] in NAMES or event["name"] in OLDER):
            spans[event["tid"]].append(event)
        elif event.get("cat") in ("cuda_runtime", "cuda_driver", "Runtime") and args.get("correlation"):
            calls[args["correlation"]] = event
    found = {}
    for event in events:
        call = calls.get((event.get("args") or {}).get("correlation"))
        if event.get("cat") in ("kernel", "Kernel") and call:
            op = innermost(spans, call)
            if op:
                args = op["args"]
                found[event["args"]["correlation"]] = op["name"], flop(op["name"], args.get("Input Dims", args.get("Input dims")),
                                                                       args.get("Concrete Inputs"))
    return found


def check(trace, database):
    opened = gzip.open(trace, "rt") if trace.endswith(".gz") else open(trace, encoding="utf-8")
    with opened as file:
        wanted = expected(json.load(file)["traceEvents"])
    rows = sqlite3.connect(database).execute(
        "SELECT l.correlation, o.name, o.flop FROM launched_by b JOIN launch l ON l.process = b.id >> 40"
        " AND l.sequence = b.id & ((1 << 40) - 1) JOIN operator o ON o.process = l.process AND o.local = b.operator").fetchall()
    wrong = [f"{call}: {name} {got}, not {wanted.get(call)}" for call, name, got in rows
             if wanted.get(call) != (name, got if got is None else int(got))]
    print("\n".join([*wrong[:10], f"{len(rows)} kernels, {sum(row[2] is not None for row in rows)} of them known, {len(wrong)} wrong"]))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(make(int(sys.argv[2])) if sys.argv[1] == "make" else check(sys.argv[2], sys.argv[3]))

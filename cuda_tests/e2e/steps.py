#!/usr/bin/env python3
"""Works out from a trace of the PyTorch profiler what kerncast says of its steps, ranges and operators, and prints where
the two differ; or makes such a trace.

usage: steps.py check TRACE DATABASE STEPS.csv RANGES.csv OPERATORS.csv
                          the last by kerncast report --csv, --by step, --by range and --by operator
       steps.py make SEED   a trace of one process, of chance

A launch is in the step that began last before its call, on any thread, and had not ended; in the ranges and operators
of its call's thread whose time holds the call. Where kerncast sorts and sweeps, each launch looks through all of them here.
"""
import bisect
import collections
import csv
import decimal
import gzip
import json
import random
import re
import sqlite3
import sys

NCCL = re.compile(r"(?<![a-zA-Z0-9])nccl", re.I)
STEP = re.compile(r"ProfilerStep#([0-9]+)")
GPU = {"kernel": "kernel", "Kernel": "kernel", "gpu_memcpy": "copy", "Memcpy": "copy", "gpu_memset": "copy", "Memset": "copy"}
SPANS = {"user_annotation": "range", "cpu_op": "operator", "Operator": "operator"}
DEPTH_MOST, NAME_BYTES = 64, 255

Work = collections.namedtuple("Work", "kind name device start end launched thread")
Span = collections.namedtuple("Span", "start end kind name")


def ns(value):
    try:
        scaled = decimal.Decimal(str(value)) * 1000
        return int(scaled.quantize(decimal.Decimal(1), decimal.ROUND_HALF_UP))
    except decimal.InvalidOperation:
        return None


def cut(name):
    return name.encode()[:NAME_BYTES].decode(errors="ignore")


def is_call(category):
    return category == "Runtime" or category.endswith(("_runtime", "_driver"))


class Trace:
    def __init__(self, path):
        data = open(path, "rb").read()
        data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
        events = json.loads(data, parse_float=decimal.Decimal)["traceEvents"]
        events = [e for e in events if e.get("ph") == "X"]
        self.calls, self.work, self.steps = {}, [], []
        self.spans = collections.defaultdict(list)
        for e in events:
            self.take_call(e)
            self.take_span(e)
        for e in events:
            self.take_work(e)
        self.steps.sort(key=lambda s: (s[0], s[1]))
        self.starts = [s[0] for s in self.steps]

    def take_call(self, e):
        correlation, at = e.get("args", {}).get("correlation"), ns(e.get("ts"))
        if is_call(e.get("cat", "")) and correlation and at is not None:
            kept = self.calls.get(correlation)
            if not kept or at < kept[0]:
                self.calls[correlation] = (at, str(e.get("tid", "")))

    def take_span(self, e):
        start, duration = ns(e.get("ts")), ns(e.get("dur"))
        if e.get("cat") not in SPANS or start is None or duration is None or duration < 0 or "tid" not in e:
            return
        step = STEP.fullmatch(e["name"])
        if step:
            self.steps.append((start, int(step[1]), start + duration))
        else:
            self.spans[str(e["tid"])].append(Span(start, start + duration, SPANS[e["cat"]], cut(e["name"])))

    def take_work(self, e):
        args = e.get("args", {})
        if e.get("cat") not in GPU:
            return
        start = ns(e["ts"])
        launched, thread = self.calls.get(args.get("correlation"), (start, None))
        self.work.append(Work(GPU[e["cat"]], e["name"], args.get("device", 0), start, start + ns(e["dur"]), launched, thread))

    def step_of(self, work):
        at = bisect.bisect_right(self.starts, work.launched) - 1
        return self.steps[at] if at >= 0 and work.launched < self.steps[at][2] else None

    def scopes_of(self, work):
        held = [(s.start, -s.end, i, s) for i, s in enumerate(self.spans[work.thread]) if s.start <= work.launched < s.end]
        return tuple((s.kind, s.name) for _, _, _, s in sorted(held)[:DEPTH_MOST])


def time_of(work, is_counted):
    """For how long, on each device, is_counted() of what runs."""
    total = 0
    for device in {w.device for w in work}:
        moments = collections.defaultdict(collections.Counter)
        for w in work:
            if w.device == device:
                what = "copy" if w.kind == "copy" else "nccl" if NCCL.search(w.name) else "compute"
                moments[w.start][what] += 1
                moments[w.end][what] -= 1
        running, times = collections.Counter(), sorted(moments)
        for now, then in zip(times, times[1:]):
            running.update(moments[now])
            total += then - now if is_counted(running) else 0
    return total


def by_step(trace):
    of = collections.defaultdict(list)
    for work in trace.work:
        of[trace.step_of(work)].append(work)
    for step in trace.steps + [None]:
        work = of[step]
        kernels = [w for w in work if w.kind == "kernel"]
        if step or work:
            yield {
                "number": step[1] if step else "",
                "launches": len(kernels),
                "copies": len(work) - len(kernels),
                "time_ns": step[2] - step[0] if step else "",
                "measured_ns": sum(w.end - w.start for w in kernels),
                "busy_ns": time_of(work, lambda r: any(r.values())),
                "communication_exposed_ns": time_of(work, lambda r: r["nccl"] and not r["compute"]),
            }


def by_scope(trace):
    out = collections.defaultdict(lambda: [0, 0])
    for work in trace.work:
        scopes = trace.scopes_of(work) if work.kind == "kernel" and work.thread else ()
        if scopes:
            out[scopes][0] += 1
            out[scopes][1] += work.end - work.start
    return {scopes: tuple(sums) for scopes, sums in out.items()}


def by_name(trace, kind):
    """Of each name of a range or an operator, and of None, which is in none: what was launched in it, and in it alone."""
    out = collections.defaultdict(collections.Counter)
    for work in trace.work:
        if work.kind == "kernel":
            names = [name for k, name in trace.scopes_of(work) if k == kind] if work.thread else []
            for name in set(names) or {None}:
                out[name].update(launches=1, measured=1, total_ns=work.end - work.start)
            out[names[-1] if names else None].update(self_launches=1, self_ns=work.end - work.start)
    return out


def scope_differences(trace, kind, path):
    wanted, rows = by_name(trace, kind), list(csv.DictReader(open(path)))
    all_ns = sum(w.end - w.start for w in trace.work if w.kind == "kernel")
    if rows and rows[-1]["name"] == f"outside of {kind}s":
        rows[-1]["name"] = None
    named = [float(row["total_ns"]) for row in rows if row["name"] is not None]
    if named != sorted(named, reverse=True):
        yield f"{kind}s are not sorted"
    if not named:
        yield f"no {kind}s"
    if len(rows) != len(wanted):
        yield f"{len(rows)} {kind}s, wanted {len(wanted)}"
    for row in rows:
        want = wanted[row["name"]]
        for key in ("launches", "self_launches", "measured", "total_ns", "self_ns"):
            if row[key] != str(want[key]):
                yield f"{kind} {row['name']}, {key}: {row[key]}, wanted {want[key]}"
        if abs(float(row["time_share_percent"]) - 100 * want["total_ns"] / all_ns) > 1e-6:
            yield f"{kind} {row['name']}: share {row['time_share_percent']}"


def stored_scopes(path):
    db = sqlite3.connect(path)
    scopes = {(p, i): (parent, kind, name) for p, i, parent, kind, name in db.execute("SELECT * FROM scope")}

    def chain(process, at):
        out = []
        while at:
            at, kind, name = scopes[process, at]
            out.append((kind, name))
        return tuple(reversed(out))

    rows = db.execute("SELECT i.id >> 40, i.scope, count(*), sum(r.measured_span) FROM launched_in i"
                      " JOIN launch_row r ON r.id = i.id GROUP BY 1, 2")
    return {chain(process, scope): (count, time) for process, scope, count, time in rows}


def check(path, database, steps, ranges, operators):
    trace, differences = Trace(path), []
    wanted, got = list(by_step(trace)), list(csv.DictReader(open(steps)))
    if len(wanted) != len(got):
        differences.append(f"{len(got)} rows of steps, wanted {len(wanted)}")
    for want, have in zip(wanted, got):
        differences += [f"step {want['number']}, {key}: {have[key]}, wanted {value}" for key, value in want.items() if have[key] != str(value)]
    scopes, stored = by_scope(trace), stored_scopes(database)
    differences += [f"{' > '.join(name for _, name in scope)}: {stored.get(scope)}, wanted {scopes.get(scope)}"
                    for scope in sorted(scopes.keys() | stored.keys()) if stored.get(scope) != scopes.get(scope)]
    differences += scope_differences(trace, "range", ranges)
    differences += scope_differences(trace, "operator", operators)
    print("\n".join(differences[:50]), end="\n" if differences else "")
    print(f"{len(trace.steps)} steps, {len(trace.work)} kernels and copies, {len(scopes)} scopes: {len(differences)} differences")
    return bool(differences)


class Maker:
    """Threads that open ranges and operators in each other, and next to each other, and launch."""

    def __init__(self, seed):
        self.random, self.events, self.correlation = random.Random(seed), [], 1
        self.gpu_free = collections.Counter()

    def us(self, value):
        return round(value, 3)

    def event(self, category, name, thread, start, duration, **args):
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": 100, "tid": thread, "ts": self.us(start),
                            "dur": self.us(duration), "args": args})

    def launch(self, thread, at):
        category = self.random.choice(["cuda_runtime", "cuda_runtime", "cuda_driver"])
        nodes = self.random.choice([0, 0, 0, 0, 3])
        for node in range(max(nodes, 1)):
            device, stream = self.random.randrange(2), self.random.choice([7, 20])
            start = max(at + self.random.uniform(1, 3000), self.gpu_free[device, stream])
            duration = self.random.uniform(1, 90)
            self.gpu_free[device, stream] = start + duration + 0.002
            name = self.random.choice(["gemm", "relu", "ncclDevKernel_AllReduce", "softmax"])
            kind = "kernel" if nodes or self.random.random() < 0.9 else "gpu_memcpy"
            args = {"device": device, "stream": stream, "context": 1}
            args |= {"correlation": self.correlation} if self.random.random() < 0.97 else {}
            args |= {"graph node id": node + 1} if nodes else {}
            args |= {"grid": [8, 1, 1], "block": [128, 1, 1]} if kind == "kernel" else {"bytes": 4096}
            self.events.append({"ph": "X", "cat": kind, "name": name if kind == "kernel" else "Memcpy HtoD", "pid": device,
                                "tid": stream, "ts": self.us(start), "dur": self.us(duration), "args": args})
        self.event(category, "cudaLaunchKernel", thread, at, 2, correlation=self.correlation)
        self.correlation += 1

    def span(self, thread, start, end, depth):
        kind = self.random.choice(["user_annotation", "cpu_op"])
        name = self.random.choice(["forward", "backward", "aten::mm", "aten::add", "\u00fcber \"all\"", "x" * 400 + "\u00e9" * 30, ""])
        late = self.random.choice([0, 0, 0, 25])  # ends after what holds it
        self.event(kind, name, thread, start, end - start + late)
        if self.random.random() < 0.05:
            self.events[-1]["dur"] = self.random.choice(["", -1, "never"])
        self.inside(thread, start, end, depth + 1)

    def inside(self, thread, start, end, depth):
        at = start
        while at < end:
            length = min(self.random.uniform(1, (end - start) / 2 + 2), end - at)
            if length < 12 or depth > 6:
                self.launch(thread, at + self.random.choice([0, length / 2, length]))
            elif self.random.random() < 0.7:
                self.span(thread, at, at + length, depth)
            at += length + self.random.choice([0, 1])

    def make(self):
        at, number = 1_000_000.0, self.random.randrange(20)
        for _ in range(self.random.randrange(2, 8)):
            length = self.random.uniform(50, 2000)
            self.event("user_annotation", f"ProfilerStep#{number}", 1, at, length)
            for thread in (1, 2, "autograd 3"):
                self.inside(thread, at - 20, at + length * 1.05, 0)
            number += self.random.choice([1, 1, 1, 2, 0])
            at += length + self.random.choice([0, 0, 5, 100, -30])
        self.random.shuffle(self.events)
        json.dump({"deviceProperties": [{"id": i, "name": "NVIDIA A100-SXM4-40GB", "computeMajor": 8, "computeMinor": 0,
                                         "numSms": 108} for i in range(2)], "traceEvents": self.events}, sys.stdout)


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "make":
        Maker(int(sys.argv[2])).make()
    elif len(sys.argv) == 7 and sys.argv[1] == "check":
        sys.exit(check(*sys.argv[2:]))
    else:
        sys.exit(__doc__)

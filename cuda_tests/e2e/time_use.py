#!/usr/bin/env python3
"""Works out from rows what `kerncast report --json` says of the time of GPUs, and prints where the two differ.

usage: time_use.py REPORT.json ROWS

ROWS is a trace (cuda_tests/traces, .csv.gz), or a CSV file with the columns clock, process, device, stream, kind (kernel,
HtoD, DtoH, another kind of copy, wait), start_ns, end_ns, launch_ns and name. Every sum is made from a list of moments at
which something begins or ends, and what runs between two of them, where kerncast goes through the rows by their starts.

As in HolisticTraceAnalysis: the time of a rank is that from its first start to its last end; it is idle while nothing runs;
computing while a kernel runs that is neither communication nor a copy; communication is hidden while such a kernel runs.
Other than there, communication is what NCCL's kernels are called by ("nccl" at the beginning of a word), and gaps are those
of a GPU, by cause.
"""
import collections
import csv
import gzip
import json
import re
import sys

NCCL = re.compile(r"(?<![a-zA-Z0-9])nccl", re.I)
Row = collections.namedtuple("Row", "clock process device stream kind start end launched name")


def copy_kind(name):
    for kind, word in (("HtoD", "htod"), ("DtoH", "dtoh"), ("DtoD", "dtod"), ("memset", "memset"), ("peer", "ptop")):
        if word in name.lower():
            return kind
    return "other"


def of_trace(path):
    for row in csv.DictReader(gzip.open(path, "rt")):
        start, launched = int(row["start_ns"]), row["launch_ns"]
        kind = "kernel" if row["kind"] == "kernel" else copy_kind(row["name"])
        yield Row(row["process"], row["process"], row["device"] + row["device_name"], (row["process"], row["stream"]), kind,
                  start, start + int(row["duration_ns"]), int(launched) if launched else None, row["name"])


def of_rows(path):
    for row in csv.DictReader(open(path)):
        yield Row(row["clock"], row["process"], row["device"], row["stream"], row["kind"], int(row["start_ns"]),
                  int(row["end_ns"]), int(row["launch_ns"]) if row["launch_ns"] else None, row["name"])


def kind_of(row):
    if row.kind != "kernel":
        return "copy"
    return "communication" if NCCL.search(row.name) else "compute"


def sums_of(rows):
    """Of rows on one clock."""
    moments = collections.defaultdict(lambda: collections.Counter())
    for row in rows:
        moments[row.start][kind_of(row)] += 1
        moments[row.end][kind_of(row)] -= 1
    running, out, times = collections.Counter(), collections.Counter(), sorted(moments)
    for now, then in zip(times, times[1:]):
        running.update(moments[now])
        ns, on = then - now, {kind for kind, count in running.items() if count > 0}
        out["span_ns"] += ns
        out["busy_ns" if on else "idle_ns"] += ns
        out["compute_ns"] += ns * ("compute" in on)
        out["communication_ns"] += ns * ("communication" in on)
        out["communication_hidden_ns"] += ns * ("communication" in on and "compute" in on)
        out["communication_exposed_ns"] += ns * ("communication" in on and "compute" not in on)
        out["kernels_ns"] += ns * ("compute" in on or "communication" in on)
        out["copies_only_ns"] += ns * (on == {"copy"})
    out["kernels"] = sum(row.kind == "kernel" for row in rows)
    out["copies"] = sum(row.kind != "kernel" for row in rows)
    return out


def gaps_of(rows, waits):
    """Of a device on one clock: (ns, start, cause, late_ns, waited_ns, name of what ran next)"""
    by_start = sorted(rows, key=lambda row: (row.start, row.launched is not None, row.launched or 0))
    until = by_start[0].end
    first_of = {}
    for row in by_start:
        first_of.setdefault(row.process, row)
    last = by_start[0]
    for row in by_start[1:]:
        if row.start > until:
            late = None if row.launched is None else max(0, min(row.launched, row.start) - until)
            waited = None if late is None else waited_ns(waits.get(row.process, ()), until, until + late) or None
            yield row.start - until, until, cause_of(last, row, row.start - until, late, waited, first_of), late, waited, row
        if row.end > until:
            until, last = row.end, row


def waited_ns(waits, start, end):
    """How long it was between these two that one of the waits, which are over by then, had begun and was not over."""
    within = [(max(begun, start), back) for begun, back in waits if start < back <= end and begun < back]
    moments = sorted({moment for wait in within for moment in wait})
    return sum(then - now for now, then in zip(moments, moments[1:]) if any(wait[0] <= now < wait[1] for wait in within))


def cause_of(before, after, ns, late, waited, first_of):
    if late is None:
        return "unknown"
    if late >= ns - late:
        if first_of[after.process] is after:
            return "nothing_launched"
        if (waited or 0) >= late - (waited or 0):
            return "synchronisation"
        return "copy" if before.kind in ("HtoD", "DtoH") and before.process == after.process else "host_late"
    if before.stream != after.stream:
        return "other_stream"
    return "copy" if after.kind in ("HtoD", "DtoH") else "launch"


def differences(report, rows):
    activity = report["activity"]
    waits = collections.defaultdict(list)
    for row in rows:
        if row.kind == "wait":
            waits[row.process].append((row.start, row.end))
    ran = [row for row in rows if row.kind != "wait"]
    for name, key in (("devices", lambda row: row.device), ("streams", lambda row: row.stream),
                      ("processes", lambda row: (row.process, row.device))):
        groups = collections.defaultdict(lambda: collections.defaultdict(list))
        for row in ran:
            groups[key(row)][row.clock].append(row)
        wanted = [sum((sums_of(part) for part in clocks.values()), collections.Counter()) for clocks in groups.values()]
        keys = sorted(set().union(*wanted))
        told = sorted(tuple(row[key] or 0 for key in keys) for row in activity[name])
        if told != sorted(tuple(row[key] for key in keys) for row in wanted):
            yield f"{name}: {keys}\n  told {told}\n  here {sorted(tuple(row[key] for key in keys) for row in wanted)}"
        for row in activity[name]:
            for key in (key for key in row if key.endswith("_share") and row[key] is not None):
                if abs(100 * row[key[:-6] + "_ns"] / row["span_ns"] - row[key]) > 1e-8 * row[key]:
                    yield f"{name}: {key} {row[key]} of {row[key[:-6] + '_ns']} in {row['span_ns']}"
    groups = collections.defaultdict(list)
    for row in ran:
        groups[row.clock, row.device].append(row)
    gaps = sorted((gap for group in groups.values() for gap in gaps_of(group, waits)), key=lambda gap: -gap[0])
    sums = collections.defaultdict(lambda: [0, 0])
    for gap in gaps:
        sums[gap[2]] = [sums[gap[2]][0] + 1, sums[gap[2]][1] + gap[0]]
    told = {row["cause"]: [row["count"], row["ns"]] for row in activity["idle_causes"]}
    if told != dict(sums):
        yield f"causes: told {told}, here {dict(sums)}"
    told = sorted((row["ns"], row["cause"], row["late_ns"], row["waited_ns"], row["next"]) for row in activity["gaps"])
    least = min([gap[0] for gap in gaps[:100]], default=0)
    here = sorted((gap[0], gap[2], gap[3], gap[4], gap[5].name if gap[5].kind == "kernel" else gap[5].kind)
                  for gap in gaps[:100])
    keep = [[row for row in list_ if row[0] > least or len(gaps) <= 100] for list_ in (told, here)]
    if repr(keep[0]) != repr(keep[1]) or len(told) != len(here):
        yield f"gaps: told {[row for row in keep[0] if row not in keep[1]][:3]}, here {[row for row in keep[1] if row not in keep[0]][:3]}"


def main(report, rows):
    rows = [row for row in (of_trace if rows.endswith(".gz") else of_rows)(rows)]
    wrong = list(differences(json.load(open(report)), rows))
    print(*wrong, sep="\n", end="\n" if wrong else "")
    print(f"{len(rows)} rows, communication {sum(kind_of(row) == 'communication' for row in rows)}, different: {len(wrong)}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

"""What a large graph costs: alone, with CUPTI as kerncast has it, and under kerncast."""
import os
import statistics

from .clock import OutOfTime
from .facts import NOT_ASKED, Facts

NAME, TITLE = "graphs", "Large graphs"
NEEDS_S, SHARE_S = 20, 60
SIZES = (2000, 10000)
ROUNDS = 3
MOST_TIMES = 3


def run_step(machine, clock, section):
    rows = section.table("nodes", "", "instantiate, ms", "launch, ms", "instantiate, times alone",
                         "launch, times alone", title=f"A chain of kernels; medians of {ROUNDS} processes.")
    for nodes in SIZES:
        try:
            one_size(machine, clock, section, rows, nodes)
        except OutOfTime as error:
            section.skip(f"{nodes} nodes: {error}")


def one_size(machine, clock, section, rows, nodes):
    times = {}
    for _ in range(1 if machine.quick else ROUNDS):
        for kind in ("alone", "with CUPTI", "under kerncast"):
            database = os.path.join(machine.scratch, f"graph-{nodes}.db") if kind == "under kerncast" else None
            options = [] if kind == "with CUPTI" else ["--cupti", "none"]
            facts = Facts(machine, clock, section, None, "graph-cost", "--nodes", nodes, *options,
                          title=f"{nodes} nodes, {kind}", preload=database)
            both = facts.get("instantiate_ms"), facts.get("launch_ms")
            bad = next((text for text in both if text.startswith(NOT_ASKED)), None)
            if bad:
                section.ask_not(f"F5-{nodes}", f"{kind}: {bad[len(NOT_ASKED):]}")
                return
            times.setdefault(kind, []).append([float(text) for text in both])
    medians = {kind: [statistics.median(run[i] for run in runs) for i in (0, 1)] for kind, runs in times.items()}
    alone = medians["alone"]
    for kind, (instantiate, launch) in medians.items():
        section.row(rows, nodes, kind, f"{instantiate:.2f}", f"{launch:.2f}", times_of(instantiate, alone[0]),
                    times_of(launch, alone[1]))
    factors = [here / max(before, 0.001) for here, before in zip(medians["under kerncast"], alone)]
    section.answer(f"F5-{nodes}", "facts", f"instantiation {factors[0]:.1f} x, launch {factors[1]:.1f} x",
                   max(factors) <= MOST_TIMES)


def times_of(value, base):
    return f"{value / max(base, 0.001):.1f}"

"""What a large graph costs: alone, with CUPTI as kerncast has it, and under kerncast."""
import os
import statistics

from .clock import OutOfTime
from .facts import NOT_ASKED, Facts

NAME, TITLE = "graphs", "Large graphs"
NEEDS_S, SHARE_S = 20, 60
SIZES = (2000, 10000)
MEASURES = {"measuring off": "off", "under kerncast": "all"}
KINDS = ("alone", "with CUPTI", *MEASURES)
ROUNDS = 3
CALL_US, NODE_NS, MOST_TIMES = 20, 10, 3  # what a launch may take more than alone; what instantiation may, as a factor


def run_step(machine, clock, section):
    rows = section.table("nodes", "", "instantiate, ms", "launch, ms", "instantiate, times alone",
                         "launch, times alone", title=f"A chain of kernels; medians of {ROUNDS} processes.")
    rounds = 1 if machine.quick else ROUNDS
    for i, nodes in enumerate(SIZES):
        times, part = {}, clock.share(clock.left() / (len(SIZES) - i))
        try:
            for _ in range(rounds):
                one_round(machine, part, section, nodes, times)
        except OutOfTime as error:
            section.skip(f"{nodes} nodes: {error}")
        except ValueError as error:
            section.ask_not(f"F5-{nodes}", str(error))
            continue
        if len(times) == len(KINDS):
            one_size(section, rows, nodes, times)


def one_round(machine, clock, section, nodes, times):
    """Adds (instantiation, launch) in ms for each kind; ValueError where facts did not tell them."""
    for kind in KINDS:
        measure = MEASURES.get(kind)
        database = os.path.join(machine.scratch, f"graph-{nodes}-{measure}.db") if measure else None
        options = [] if kind == "with CUPTI" else ["--cupti", "none"]
        facts = Facts(machine, clock, section, None, "graph-cost", "--nodes", nodes, *options,
                      title=f"{nodes} nodes, {kind}", preload=database, measure=measure)
        both = facts.get("instantiate_ms"), facts.get("launch_ms")
        bad = next((text for text in both if text.startswith(NOT_ASKED)), None)
        if bad:
            raise ValueError(f"{kind}: {bad[len(NOT_ASKED):]}")
        times.setdefault(kind, []).append([float(text) for text in both])


def one_size(section, rows, nodes, times):
    medians = {kind: [statistics.median(run[i] for run in runs) for i in (0, 1)] for kind, runs in times.items()}
    alone = medians["alone"]
    for kind, (instantiate, launch) in medians.items():
        section.row(rows, nodes, kind, f"{instantiate:.2f}", f"{launch:.3f}", times_of(instantiate, alone[0]),
                    times_of(launch, alone[1]))
    instantiate, launch = medians["measuring off"]
    factor, added_us = instantiate / max(alone[0], 0.001), 1000 * (launch - alone[1])
    section.answer(f"F5-{nodes}", "facts", f"instantiation {factor:.1f} x, launch {added_us:+.0f} µs",
                   factor <= MOST_TIMES and added_us <= CALL_US + nodes * NODE_NS / 1000)


def times_of(value, base):
    return f"{value / max(base, 0.001):.1f}"

"""What a large graph costs: alone, with CUPTI as kerncast has it, and under kerncast."""
import os
import statistics

from .clock import OutOfTime
from .facts import NOT_ASKED, Facts, sqlite3

NAME, TITLE = "graphs", "Large graphs"
NEEDS_S, SHARE_S = 20, 60
SIZES = (2000, 10000)
MEASURES = {"measuring off": "off", "under kerncast": "all", "as one": "all"}
RUN_OPTIONS = {"as one": ("--graphs=whole",)}
KINDS = ("alone", "with CUPTI", *MEASURES)
ROUNDS = 3
WHOLE_SHARE = 0.5  # of what CUPTI's records node by node add to a launch: a mere subscriber costs 0.4 µs a node
WHOLE_TIME = (0.90, 1.01)  # of the time between events, the best of some launches: it begins before the launch call
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
            for question in (f"F5-{nodes}", "graph-whole-cost", "graph-whole-time"):
                section.ask_not(question, str(error))
            continue
        if len(times) == len(KINDS):
            one_size(section, rows, nodes, times)
            as_one(section, nodes, times)


def one_round(machine, clock, section, nodes, times):
    """Adds (instantiation, launch) in ms for each kind; ValueError where facts did not tell them."""
    for kind in KINDS:
        measure = MEASURES.get(kind)
        database = os.path.join(machine.scratch, f"graph-{nodes}-{kind.replace(' ', '-')}.db") if measure else None
        options = [] if kind == "with CUPTI" else ["--cupti", "none"]
        facts = Facts(machine, clock, section, None, "graph-cost", "--nodes", nodes, *options,
                      title=f"{nodes} nodes, {kind}", preload=database, measure=measure,
                      run_options=RUN_OPTIONS.get(kind, ()))
        told = [facts.get(key) for key in ("instantiate_ms", "launch_ms", "between_events_ms")]
        bad = next((text for text in told if text.startswith(NOT_ASKED)), None)
        if bad:
            raise ValueError(f"{kind}: {bad[len(NOT_ASKED):]}")
        one = [float(text) for text in told[:2]]
        if kind in RUN_OPTIONS:
            one.append(share_measured(database, [float(text) for text in told[2].split()]))
        times.setdefault(kind, []).append(one)


MEASURED = """SELECT (measured_end_ns - measured_start_ns) / 1e6 FROM stream_call
    WHERE kind = 9 AND id >> 40 = (SELECT max(id) FROM process) ORDER BY id"""


def share_measured(database, between_ms):
    """What kerncast measured of each launch as one, as a share of the time between events: the largest."""
    if sqlite3 is None:
        raise ValueError("this python has no sqlite3 module")
    with_file = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        measured_ms = [row[0] for row in with_file.execute(MEASURED)]
    except sqlite3.Error as error:
        raise ValueError(f"as one: the database: {error}") from error
    finally:
        with_file.close()
    if len(measured_ms) != len(between_ms) or None in measured_ms:
        found = sum(ms is not None for ms in measured_ms)
        raise ValueError(f"as one: {found} of {len(between_ms)} launches were measured")
    return max(measured / between for measured, between in zip(measured_ms, between_ms))


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


def as_one(section, nodes, times):
    launch = {kind: statistics.median(run[1] for run in runs) for kind, runs in times.items()}
    by_node = min(launch["with CUPTI"], launch["under kerncast"]) - launch["alone"]
    added = launch["as one"] - launch["alone"]
    section.answer("graph-whole-cost", f"{nodes} nodes", f"{1000 * added:+.0f} µs, node by node {1000 * by_node:+.0f}",
                   added <= WHOLE_SHARE * by_node)
    share = max(one[2] for one in times["as one"])
    section.answer("graph-whole-time", f"{nodes} nodes", f"{100 * share:.1f} %",
                   WHOLE_TIME[0] <= share <= WHOLE_TIME[1])


def times_of(value, base):
    return f"{value / max(base, 0.001):.1f}"

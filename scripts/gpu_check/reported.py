"""What others met with this stack, as their reports describe it: CUPTI's buffers on the device that run out, wrong ids
once recording was switched off and on, a context that is reset, times that measuring changes, a graph that is replayed
for every token, and another process on the same GPU. facts_reported.c says whose reports."""
import os
import statistics
import subprocess

from .facts import NOT_ASKED, PART_S, Facts
from .ledger import Report

try:
    import sqlite3
except ImportError:
    sqlite3 = None

NAME, TITLE = "reported", "What others met"
NEEDS_S, SHARE_S = 15, 60
DEVICE_BUFFERS = 8  # records of a million kernels need more, where CUPTI does not use them again
MOST_MB = 50
MOST_CLOCK_NS = 50  # kerncast reads it twice for a launch
MOST_TIMES = 1.1  # of what a thing takes alone
ROUNDS = 3
DECODE = ("--nodes", 500, "--short-us", 3)
MEASURES = (("measuring off", "off"), ("measuring on", "all"))

MEASURED = "SELECT measured_end_ns - measured_start_ns FROM launch WHERE measured_end_ns IS NOT NULL"


def run_step(machine, clock, section):
    rows = section.table("part", "fact", "", "seen")
    parts = ((("clock",), read_clock), (("device-buffers",), device_buffers), (("windows",), windows),
             (("reset",), reset), (("durations", "two-processes"), durations), (("decode",), decode))
    for questions, part in parts:
        if section.wants(*questions):
            part(machine, clock, section, rows)


def value(section, question, facts, key):
    """A number; None where the facts program did not tell it, which is said."""
    text = facts.get(key)
    if not text.startswith(NOT_ASKED):
        return float(text)
    section.ask_not(question, text[len(NOT_ASKED):])
    return None


def read_clock(machine, clock, section, rows):
    ns = value(section, "clock", Facts(machine, clock, section, rows, "clock", "--cupti", "none"), "clock_ns")
    if ns is not None:
        section.answer("clock", "facts", f"{ns:.0f} ns", ns <= MOST_CLOCK_NS)


def device_buffers(machine, clock, section, rows):
    launches = ["--launches", 100] if machine.quick else []
    facts = Facts(machine, clock, section, rows, "graph-records", "--device-buffers", DEVICE_BUFFERS, *launches)
    kernels, records, without, memory_mb = (
        value(section, "device-buffers", facts, key)
        for key in ("graph_kernels", "graph_records", "without_times", "memory_mb"))
    if None not in (kernels, records, without, memory_mb):
        section.answer("device-buffers", "facts", f"{kernels - records:.0f} of {kernels:.0f} have no record, "
                       f"{without:.0f} no times; {memory_mb:+.0f} MB", kernels == records and without == 0
                       and memory_mb <= MOST_MB)


# --- under kerncast

def all_matched(machine, clock, section, question, facts, database, kernels=None):
    """That every launch has its own measurement."""
    report = Report(machine, clock, database)
    machine.results_database(database)
    why = facts.failed or report.objection(expected=kernels)
    section.answer(question, "kerncast's ledger", why or f"{report.count('matched')} of {report.count('launches')}",
                   not why)


def windows(machine, clock, section, rows):
    database, switch = (os.path.join(machine.scratch, name) for name in ("windows.db", "windows.file"))
    facts = Facts(machine, clock, section, rows, "windows", "--file", switch, "--cupti", "none", preload=database,
                  run_options=("--while", switch))
    all_matched(machine, clock, section, "windows", facts, database)


def reset(machine, clock, section, rows):
    database = os.path.join(machine.scratch, "reset.db")
    facts = Facts(machine, clock, section, rows, "reset", "--cupti", "none", preload=database)
    kernels = value(section, "reset", facts, "kernels")
    if kernels is not None:
        all_matched(machine, clock, section, "reset", facts, database, int(kernels))


# --- times

def durations(machine, clock, section, rows):
    """A kernel by events, alone and measured; and as kerncast measured it, alone and beside another process."""
    database = os.path.join(machine.scratch, "durations.db")
    alone, measured = (value(section, "durations", Facts(
        machine, clock, section, rows, "events", "--cupti", "none", preload=preload,
        title=f"a kernel by events, {'measured' if preload else 'alone'}"), "kernel_us")
        for preload in (None, database))
    if None not in (alone, measured):
        section.answer("durations", "facts", f"{alone:.1f} µs alone, {measured:.1f} µs measured",
                       measured <= MOST_TIMES * alone)
    beside = [os.path.join(machine.scratch, f"beside-{i}.db") for i in range(2)]
    other = start_other(machine, beside[1])
    try:
        Facts(machine, clock, section, rows, "events", "--cupti", "none", preload=beside[0],
              title="a kernel by events, two processes")
    finally:
        other.wait(PART_S)
    medians = [median_of(path) for path in (database, *beside)]
    if None in medians:
        section.ask_not("two-processes", "this python has no sqlite3 module" if sqlite3 is None else
                        "nothing was measured")
        return
    one, *two = (ns / 1000 for ns in medians)
    section.answer("two-processes", "kerncast", f"{one:.1f} µs by one, {two[0]:.1f} and {two[1]:.1f} µs by two",
                   max(two) <= MOST_TIMES * one)


def start_other(machine, database):
    command = [machine.kerncast, "run", "-q", "-o", database, "--", machine.program("facts"), "events", "--cupti",
               "none"]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                            env=machine.environment(**Facts.costs(machine)), start_new_session=True)


def median_of(database):
    """Of the measured durations, in ns; None where there are none."""
    if sqlite3 is None or not os.path.exists(database):
        return None
    with_file = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        found = [ns for ns, in with_file.execute(MEASURED)]
    except sqlite3.Error:
        return None
    finally:
        with_file.close()
    return statistics.median(found) if found else None


def decode(machine, clock, section, rows):
    """Each step is waited for, as where the next one needs its result. Kinds alternate."""
    launches = ["--launches", 100] if machine.quick else []
    times = section.table("", "µs a step", "times alone",
                          title="A graph of 500 kernels of 3 µs, replayed and waited for; medians.")
    found = {}
    for _ in range(1 if machine.quick else ROUNDS):
        for name, measure in (("alone", None), *MEASURES):
            database = os.path.join(machine.scratch, f"decode-{measure}.db") if measure else None
            facts = Facts(machine, clock, section, rows, "decode", *DECODE, *launches, "--cupti", "none", title=name,
                          preload=database, measure=measure or "all")
            step_us = value(section, "decode", facts, "step_us")
            if step_us is None:
                return
            found.setdefault(name, []).append(step_us)
    medians = {name: statistics.median(values) for name, values in found.items()}
    for name, step_us in medians.items():
        factor = step_us / medians["alone"]
        section.row(times, name, f"{step_us:.0f}", f"{factor:.2f}")
        if name != "alone":
            section.answer("decode", name, f"{factor:.2f} x", factor <= MOST_TIMES)

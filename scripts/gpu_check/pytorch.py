"""PyTorch where it is hardest for kerncast: its profiler from the first CUDA call on, forked
workers, compiled graphs, a program that never waits; and a small training."""
import bisect
import os

from .clock import OutOfTime, run
from .frameworks import FIRST_S, Unusable, alone, compared, installed, script, table
from .ledger import Report, difference, under_kerncast

try:
    import sqlite3
except ImportError:
    sqlite3 = None

NAME, TITLE = "pytorch", "PyTorch in particular"
NEEDS_S, SHARE_S = 30, 300
AHEAD_S, QUICK_AHEAD_S = 10, 2
LEAST_SHARE, MOST_LAG_MS = 90, 100
WITH = {"profiler-all": ("profiler-disabled", "profiler-off", "profiler-all"), "ahead": ("ahead", "lag")}
CLASSES = ("first_seen", "new_size", "repeated", "overlapped")


def run_step(machine, clock, section):
    if not installed(machine, "torch", clock):
        section.skip("torch is not installed")
        return
    rows = table(section)
    parts = (("profiler-all", lambda: profiler(machine, clock, section)),
             ("profiler-late", lambda: profiler_late(machine, clock, section)),
             ("loader", lambda: same(machine, clock, section, rows, "loader", "torch_loader.py")),
             ("ahead", lambda: ahead(machine, clock, section)),
             ("classes", lambda: training(machine, clock, section, rows)),
             ("compile", lambda: same(machine, clock, section, rows, "compile", "torch_compile.py")))
    for name, part in parts:
        if not section.wants(*WITH.get(name, (name,))):
            continue
        try:
            part()
        except (OutOfTime, Unusable) as error:
            section.skip(f"{name}: {error}")
            section.ask_not(name, str(error))


# --- the profiler

def profiler(machine, clock, section):
    """Seen without kerncast, and in each of its three settings."""
    name = "torch_profiled.py"
    rows = section.table("", "kernels in the profile", "launches in the ledger", "matched", "result",
                         title="torch.profiler, started before the first CUDA call.")
    plain = alone(machine, clock, section, name)
    section.row(rows, "alone", kernels_in(plain.out), "-", "-", "")
    command = [machine.python, script(machine, name)]
    for question, variables, measure in (("profiler-disabled", {"KERNCAST_DISABLE": "1"}, None),
                                         ("profiler-off", {}, "off"), ("profiler-all", {}, "all")):
        environment = machine.environment_as_found(**variables)
        report = None
        if measure is None:
            environment["LD_PRELOAD"] = machine.shim
            ended = run(command, clock, FIRST_S, environment)
        else:
            database = os.path.join(machine.scratch, f"torch_profiled-{measure}.db")
            ended = under_kerncast(machine, command, database, clock, FIRST_S, environment, measure)
            report = Report(machine, clock, database)
        section.file_text(f"$ {name}, {question}\n{ended.out}{ended.err}")
        why = difference(plain, ended) or (report and report.objection(measured=False))
        section.row(rows, question, kernels_in(ended.out), report.count("launches") if report else "-",
                    report.count("matched") if report else "-", why or "as alone")
        section.judge(why and f"{question}: {why}")
        section.answer(question, question, why or f"{kernels_in(ended.out)}, as without kerncast", not why)


def profiler_late(machine, clock, section):
    """Started when kerncast has measured for a while and the GPU has rested, as loops with a schedule do."""
    name = "torch_profiled_late.py"
    plain = alone(machine, clock, section, name)
    database = os.path.join(machine.scratch, "torch_profiled_late.db")
    ended = under_kerncast(machine, [machine.python, script(machine, name)], database, clock, FIRST_S,
                           machine.environment_as_found())
    report = Report(machine, clock, database)
    machine.results_database(database)
    section.file_text(f"$ kerncast run {name}\n{ended.out}{ended.err}")
    why = difference(plain, ended) or report.objection(measured=False)
    section.judge(why and f"profiler-late: {why}")
    section.answer("profiler-late", name, why or f"{kernels_in(ended.out)}, as without kerncast; of "
                   f"{report.count('launches')} launches {report.count('matched')} measured", not why)


def kernels_in(text):
    return next((line.split()[1] for line in text.splitlines() if line.startswith("kernels ")), "-")


# --- programs compared with themselves

def same(machine, clock, section, rows, question, name):
    report, why = compared(machine, clock, section, rows, name)
    if report is None:
        section.ask_not(question, why)
    else:
        section.answer(question, name, why or f"the same, {report.count('matched')} launches matched", not why)


def training(machine, clock, section, rows):
    report, why = compared(machine, clock, section, rows, "torch_small.py", *(["3"] if machine.quick else []))
    if report is None:
        section.ask_not("classes", why)
        return
    errors = section.table("launches", "matched", "mean error, %", "by time, %", "within 20 %",
                           title="A small training, by what was known when a launch was predicted.")
    for key in ("accuracy", *CLASSES):
        section.row(errors, "all" if key == "accuracy" else key.replace("_", " "), report.matched(key),
                    *[report.percent(key, figure) for figure in ("mape", "mape_time_weighted", "within_20")])
    missing = [key.replace("_", " ") for key in CLASSES if not report.matched(key)]
    found = ", ".join(f"{key.replace('_', ' ')} {report.matched(key)} ({report.percent(key)} %)" for key in CLASSES)
    section.answer("classes", "torch_small.py", why or found + (f"; none {', '.join(missing)}" if missing else ""),
                   not why and not missing)


# --- ahead of the GPU

MEASURED = """
SELECT launched_ns, known_events, measured_event, measured_end_ns FROM launch
WHERE process = (SELECT process FROM launch GROUP BY process ORDER BY count(*) DESC LIMIT 1) ORDER BY launched_ns"""


def ahead(machine, clock, section):
    """A measurement is in time if a later launch was predicted with it."""
    seconds = QUICK_AHEAD_S if machine.quick else AHEAD_S
    database = os.path.join(machine.scratch, "torch_ahead.db")
    command = [machine.python, script(machine, "torch_ahead.py"), str(seconds)]
    ended = under_kerncast(machine, command, database, clock, FIRST_S, machine.environment_as_found())
    section.file_text(f"$ kerncast run torch_ahead.py {seconds}\n{ended.out}{ended.err}")
    if ended.status:
        raise Unusable(f"torch_ahead.py: {ended.how()}: {ended.last_words()}")
    report = Report(machine, clock, database)
    machine.results_database(database)
    why = report.objection(measured=False)
    section.judge(why and f"torch_ahead.py: {why}")
    if sqlite3 is None:
        raise Unusable("this python has no sqlite3 module")
    if why:
        raise Unusable(why)
    with_file = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        launches = with_file.execute(MEASURED).fetchall()
    finally:
        with_file.close()
    say_ahead(section, launches, ended.out.strip().splitlines()[-1:])


def lags_of(launches):
    """(kernels that ended before the last launch, lags of those whose time a later launch knew), in ns."""
    known, lags, ended = [], [], 0
    for _, events, _, _ in launches:
        known.append(max(events or 0, known[-1] if known else 0))
    for _, _, event, end_ns in launches:
        if end_ns is None or end_ns > launches[-1][0]:
            continue
        ended += 1
        first = bisect.bisect_left(known, event) if event is not None else len(known)
        if first < len(known):
            lags.append(max(launches[first][0] - end_ns, 0))
    return ended, sorted(lags)


def say_ahead(section, launches, said):
    ended, lags = lags_of(launches)
    if not ended:
        raise Unusable("no kernel was measured that ended before the last launch")
    share = 100 * len(lags) / ended
    rate = 1e9 * (len(launches) - 1) / max(launches[-1][0] - launches[0][0], 1)
    at = lambda part: f"{lags[int(part * (len(lags) - 1))] / 1e6:.1f}" if lags else "-"
    rows = section.table("launches", "a second", "ended before the last launch", "measured before it, %",
                         "lag: median, ms", "99th percentile, ms", "longest, ms", title=" ".join(said))
    section.row(rows, len(launches), f"{rate:.0f}", ended, f"{share:.1f}", at(0.5), at(0.99), at(1))
    section.answer("ahead", "torch_ahead.py", f"{share:.1f} % of {ended}", share >= LEAST_SHARE)
    section.answer("lag", "torch_ahead.py", f"{at(0.99)} ms at {rate:.0f} launches per second",
                   bool(lags) and float(at(0.99)) <= MOST_LAG_MS)

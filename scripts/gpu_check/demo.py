"""The demo program, static and shared cudart, under `kerncast run`."""
import os

from .clock import run
from .ledger import COLUMNS, Report, difference, report_text, under_kerncast

NAME, TITLE = "demo", "The demo program"
NEEDS_S, SHARE_S = 10, 45


def launches_in(text):
    """"1 thread, 2000 kernel launches, checksum ...": what the program counted."""
    words = text.replace(",", "").split()
    return int(words[2]) if len(words) > 2 and words[2].isdigit() else -1


def run_step(machine, clock, section):
    rows = section.table("cudart", "threads", *COLUMNS, "MAPE %", "repeated %", "result")
    rounds = "40" if machine.quick else "250"
    for cudart, program in (("static", machine.static("demo-static")), ("shared", "demo-shared")):
        for threads in ("1", "8"):
            one(machine, clock, section, rows, cudart, [machine.program(program), "--threads", threads,
                                                       "--rounds", rounds])


def one(machine, clock, section, rows, cudart, command):
    threads = command[2]
    database = os.path.join(machine.scratch, f"demo-{cudart}-{threads}.db")
    environment = machine.environment()
    plain = run(command, clock, 40, environment)
    shimmed = under_kerncast(machine, command, database, clock, 40, environment)
    report = Report(machine, clock, database)
    machine.results_database(database)
    why = difference(plain, shimmed) or ("" if plain.status == 0 else f"alone: {plain.how()}: {plain.err.strip()}") or \
        report.objection(expected=launches_in(shimmed.out))
    section.file_text(f"$ kerncast run demo ({cudart} cudart), {threads} threads\n{shimmed.out}{shimmed.err}"
                      + report_text(machine, clock, database))
    section.row(rows, cudart, threads, *report.cells(), report.percent("accuracy"), report.percent("repeated"),
                why or "as alone")
    section.judge(why and f"{cudart}, {threads} threads: {why}")
    section.answer("demo-matched", f"{cudart} cudart, {threads} threads", why or "yes", not why)
    if report.count("launches"):
        section.claim("CUPTI measures kernels", f"the demo, {cudart} cudart, {threads} threads",
                      "yes" if report.count("records") else "no")

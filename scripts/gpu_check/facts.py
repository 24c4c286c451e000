"""What kerncast takes for granted about driver and CUPTI: looked at without the shim,
and by what the shim's ledger says of it."""
import os

from .clock import run
from .ledger import Report, under_kerncast

NAME, TITLE = "facts", "What is taken for granted about driver and CUPTI"
NEEDS_S, SHARE_S = 5, 60


def run_step(machine, clock, section):
    rows = section.table("fact", "", "seen")
    cupti = machine.place_of("libcupti.so.13")
    command = [machine.program("facts")] + ([cupti] if cupti else [])
    ended = run(command, clock, 40, machine.environment())
    section.file_text("$ facts\n" + ended.out + ended.err)
    for line in ended.out.splitlines():
        name, verdict, text = (line.split("\t") + ["", ""])[:3]
        section.row(rows, name, verdict, text)
        if verdict != "info":
            section.judge(f"{name}: {text}" if verdict == "fails" else "")
    if ended.status not in (0, 1):
        section.fail(f"facts: {ended.how()}")
    routed(machine, clock, section, rows)


def routed(machine, clock, section, rows):
    """The shim's own answer: functions it could only hook by name."""
    database = os.path.join(machine.scratch, "facts.db")
    command = [machine.program(machine.static("demo-static")), "--rounds", "5"]
    ended = under_kerncast(machine, command, database, clock, 30, machine.environment())
    report = Report(machine, clock, database)
    by_name = report.count("routed_by_name")
    section.row(rows, "the shim hooks every function by its address", "info",
                f"{by_name} of them by name, at addresses that are not exported")
    section.judge(f"demo: {ended.how()}" if ended.status else report.error)

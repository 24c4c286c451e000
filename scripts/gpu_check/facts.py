"""What kerncast takes for granted about driver and CUPTI: looked at without kerncast,
on the driver API alone, and by what kerncast's ledger says of it."""
import os

from .clock import run
from .ledger import Report, under_kerncast

try:
    import sqlite3
except ImportError:
    sqlite3 = None

NAME, TITLE = "facts", "What is taken for granted about driver and CUPTI"
NEEDS_S, SHARE_S = 20, 90
PART_S = 30  # a part of the facts that takes longer hangs
NOT_ASKED = "not asked: "


class Facts:
    """One process of the facts program: its lines, and the values among them."""

    def __init__(self, machine, clock, section, rows, part, *options, title="", preload=None, measure="all",
                 run_options=(), costs="facts.costs"):
        title = title or part
        command = [machine.program("facts"), part] + cupti_of(machine, options) + [str(o) for o in options]
        environment = machine.environment(**self.costs(machine, costs))
        if preload:  # the database
            self.ended = under_kerncast(machine, command, preload, clock, PART_S, environment, measure, run_options)
        else:
            self.ended = run(command, clock, PART_S, environment)
        section.file_text(f"$ facts {part} {' '.join(str(o) for o in options)}\n" + self.ended.out + self.ended.err)
        self.values, self.failed = {}, ""
        for line in self.ended.out.splitlines():
            name, verdict, text = (line.split("\t") + ["", ""])[:3]
            if verdict == "value":
                self.values[name] = text
                continue
            if rows is not None:
                section.row(rows, title, name, verdict, text)
            if verdict == "fails":
                self.failed = self.failed or f"{name}: {text}"
        if self.ended.status not in (0, 1):
            self.failed = self.failed or self.ended.how()
        section.judge(self.failed and f"{title}: {self.failed}")

    @staticmethod
    def costs(machine, name="facts.costs"):
        """What the simulated device needs to know of its kernels."""
        return {"SIMCUDA_COSTS": os.path.join(machine.files, name)} if machine.simulated else {}

    def get(self, key):
        """A value; what went wrong where it was not given."""
        return self.values.get(key) or NOT_ASKED + (self.failed or "it was not told")


def cupti_of(machine, options):
    cupti = machine.cupti()
    return ["--cupti", cupti] if cupti and "--cupti" not in options else []


def run_step(machine, clock, section):
    rows = section.table("part", "fact", "", "seen")
    parts = (((), lambda: Facts(machine, clock, section, rows, "addresses")),
             (("F1",), lambda: ids(machine, clock, section, rows, "F1", "driver")),  # decides about everything else
             (("F0",), lambda: ids(machine, clock, section, rows, "F0", "both")),
             (("F3-function", "F3-kernel"), lambda: handles(machine, clock, section, rows)),
             (("F3-static",), lambda: static_runtime(machine, clock, section, rows)),
             (("F4",), lambda: capture(machine, clock, section, rows)),
             (("F6",), lambda: dependent(machine, clock, section, rows)))
    for questions, part in parts:
        if section.wants(*questions):
            part()


# --- correlation ids

def ids(machine, clock, section, rows, question, domains):
    """An answer of each way to launch. A crash is an answer, too."""
    options = ["--domains", domains]
    records = Facts(machine, clock, section, rows, "records", *options, title=f"records, {domains}")
    one_id(section, question, "launch", records, "driver_launch_id")
    section.claim("CUPTI measures kernels", f"facts, {domains}",
                  "yes" if "driver_launch_id" in records.values else "no")
    for claim, key in (("GPU", "device"), ("driver", "driver")):
        if key in records.values:
            section.claim(claim, f"facts, {domains}", records.values[key])
    one_id(section, question, "graph", Facts(machine, clock, section, rows, "graphs", *options,
                                             title=f"graphs, {domains}"), "graph_launch_id")
    cudart = machine.place_of("libcudart.so.13")
    options += ["--cudart", cudart] if cudart else []
    one_id(section, question, "runtime launch", Facts(machine, clock, section, rows, "runtime", *options,
                                                      title=f"runtime, {domains}"), "runtime_launch_id")


def one_id(section, question, source, facts, key):
    whose = facts.get(key)
    if whose.startswith(NOT_ASKED):
        section.ask_not(question, f"{source}: {whose[len(NOT_ASKED):]}")
    else:
        section.answer(question, source, whose, whose.startswith("driver"))


# --- handles

def handles(machine, clock, section, rows):
    for question, part in (("F3-function", "kernel-as-function"), ("F3-kernel", "function-as-kernel")):
        facts = Facts(machine, clock, section, rows, part)
        answer = facts.values.get("answer")
        if answer:
            section.answer(question, "facts", f"{facts.get('result')}: {answer}", answer != "a wrong value")
        elif facts.ended.status > 128:
            section.answer(question, "facts", f"the process {facts.ended.how()}", False)
        else:
            section.ask_not(question, facts.get("answer")[len(NOT_ASKED):])


def static_runtime(machine, clock, section, rows):
    """A program with static cudart under kerncast: what kerncast knows of its kernels, and functions that it could
    hook by name only."""
    database = os.path.join(machine.scratch, "facts.db")
    command = [machine.program(machine.static("demo-static")), "--rounds", "250"]
    ended = under_kerncast(machine, command, database, clock, PART_S, machine.environment())
    report = Report(machine, clock, database)
    machine.results_database(database)
    section.row(rows, "kerncast", "hooks every function by its address", "info",
                f"{report.count('routed_by_name')} of them by name, at addresses that are not exported")
    section.judge(f"demo: {ended.how()}" if ended.status else report.error)
    if report.count("launches"):
        section.claim("CUPTI measures kernels", "kerncast's ledger", "yes" if report.count("records") else "no")
    if sqlite3 is None:
        section.ask_not("F3-static", "this python has no sqlite3 module")
    elif not report.error:
        known_kernels(section, database)


LAUNCHED = "SELECT mangled, code FROM kernel WHERE id IN (SELECT kernel FROM launch)"


def known_kernels(section, database):
    with_file = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        kernels = with_file.execute(LAUNCHED).fetchall()
    except sqlite3.Error as error:
        section.ask_not("F3-static", f"the database: {error}")
        return
    finally:
        with_file.close()
    named, read = sum(bool(name) for name, _ in kernels), sum(code.startswith("read") for _, code in kernels)
    others = sorted({str(code) for _, code in kernels if not code.startswith("read")})
    section.answer("F3-static", "demo", f"{named} of {len(kernels)} named, the code of {read} read"
                   + (f", of others: {', '.join(others)}" if others else ""), kernels and named == read == len(kernels))


# --- capture, dependent launch

def capture(machine, clock, section, rows):
    """Beside flushes of the facts program, and beside kerncast's own."""
    database = os.path.join(machine.scratch, "capture.db")
    for source, options, preload in (("flushes", (), None), ("kerncast", ("--cupti", "none"), database)):
        facts = Facts(machine, clock, section, rows, "capture", *options, title=f"capture, {source}", preload=preload)
        said = facts.get("end_capture")
        if said.startswith(NOT_ASKED):
            section.ask_not("F4", f"{source}: {said[len(NOT_ASKED):]}")
        else:
            section.answer("F4", source, said, said == "CUDA_SUCCESS")


def dependent(machine, clock, section, rows):
    facts = Facts(machine, clock, section, rows, "dependent")
    overlaps = facts.get("dependent_overlaps")
    if overlaps.startswith(NOT_ASKED):
        section.ask_not("F6", overlaps[len(NOT_ASKED):])
    else:
        kernels = facts.get("dependent_kernels")
        section.answer("F6", "facts", f"{overlaps} pairs of {kernels} kernels", int(overlaps) > 0)

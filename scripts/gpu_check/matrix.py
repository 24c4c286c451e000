"""The matrix of ways to launch (cuda_tests/matrix) on whatever cudart, driver and CUPTI are here."""
import concurrent.futures
import glob
import os
import shutil

from .clock import OutOfTime, run

NAME, TITLE = "matrix", "Ways to launch"
NEEDS_S, SHARE_S = 15, 190
CASE_S = 90  # a case that takes longer hangs
SAID_CHARS = 200  # of what is wrong, in the table; all of it is in the step's file
QUICK = ("static/runtime_chevron", "shared/runtime_launch", "static/runtime_graph", "driver/resolved_driver_ex",
         "static/process_exec")
# The other doors, tried on few cases: what they have in common with the first was tried there.
DOORS = ("injection", "audit", "all")
DOOR_CASES = ("static/runtime_chevron", "shared/runtime_graph", "driver/resolved_driver_launch")
NUMBERS = ("launches", "rows", "matched")


class Matrix:
    def __init__(self, machine, clock, section):
        self.machine, self.clock, self.section = machine, clock, section
        self.runner = os.path.join(machine.files, "matrix", "run-matrix")
        self.judged, self.wrong = 0, []
        self.how = [] if machine.simulated else ["--gpu"]
        self.environment = machine.environment(TMPDIR=machine.scratch)

    def cases(self):
        listed = run([self.runner, "--list"], self.clock, 10).out.split()
        return [case for case in listed if not self.machine.quick or case in QUICK]

    def run(self, case, door):
        """(what it printed, how it ended, folder with its databases), or OutOfTime."""
        folder = os.path.join(self.machine.scratch, f"matrix-{door}-{case.replace('/', '-')}")
        command = [self.runner, *self.how, "--door", door, "--keep", folder, case]
        try:
            return run(command, self.clock, CASE_S, self.environment), folder
        except OutOfTime as error:
            return error, folder

    def keep(self, folder, case, door):
        """Of a case that failed: its database, and what was said on standard error."""
        for path in sorted(glob.glob(os.path.join(folder, "*", "shimmed", "kerncast.db"))):
            threads = path.split(os.sep)[-3].rsplit("-", 1)[-1]
            name = os.path.join(self.machine.scratch, f"matrix-{door}-{case.replace('/', '-')}-{threads}.db")
            shutil.move(path, name)
            self.machine.results_database(name)
        for path in sorted(glob.glob(os.path.join(folder, "*", "*", "stderr"))):
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read()
            if text:
                self.section.file_text(f"{path[len(self.machine.scratch) + 1:]}:\n{text}")


def cells(line, case):
    """A row of run-matrix: the case, three numbers, three more where it ran with 8 threads, the verdict."""
    words = line[len(case):].split()
    numbers = []
    while words and len(numbers) < 6 and (words[0].isdigit() or words[0] == "-"):
        numbers.append(words.pop(0))
    return numbers + [""] * (6 - len(numbers)), " ".join(words)


def one_row(matrix, rows, case, door, ended, folder):
    section, name = matrix.section, case if door == "preload" else f"{case}, door {door}"
    if isinstance(ended, OutOfTime):
        section.skip(f"{name}: out of time")
    else:
        line = next((text for text in ended.out.splitlines() if text.startswith(case)), "")
        numbers, said = cells(line, case)
        if not line:
            said = f"{ended.how()}: {ended.err.strip()[-200:]}"
        if ended.status and said == "ok":
            said = ended.how()
        short = matrix.machine.without_places(said)[:SAID_CHARS]
        section.row(rows, *([case] if door == "preload" else [case, door]), *numbers, short)
        section.judge("" if said == "ok" else f"{name}: {short}")
        if said != "ok":
            matrix.wrong.append(f"{name}: {short}")
        matrix.judged += 1
        section.file_text(ended.out + ended.err)
        if said != "ok":
            matrix.keep(folder, case, door)
    shutil.rmtree(folder, ignore_errors=True)


def run_all(matrix, rows, cases):
    """Several at once where there are processors for it: correctness is in question here, not time."""
    workers = max(1, min(4, (os.cpu_count() or 1) // 4))
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        futures = [(case, door, pool.submit(matrix.run, case, door)) for case, door in cases]
        for case, door, future in futures:
            ended, folder = future.result()
            one_row(matrix, rows, case, door, ended, folder)


def run_step(machine, clock, section):
    matrix = Matrix(machine, clock, section)
    if not os.path.exists(matrix.runner):
        section.skip("no build/gpu/matrix/run-matrix")
        return
    if not shutil.which("sqlite3") and run([machine.python, "-c", "import sqlite3"], clock, 10).status:
        section.skip("run-matrix needs sqlite3 or a python with its module")
        return
    columns = [f"{name}, {threads}" for threads in ("1 thread", "8 threads") for name in NUMBERS]
    rows = section.table("case", *columns, "result", title="Preloaded. Launches as the program counts them.")
    cases = matrix.cases()
    if not cases:
        section.fail("run-matrix --list names no case")
    run_all(matrix, rows, [(case, "preload") for case in cases])
    if not machine.quick:
        rows = section.table("case", "door", *columns, "result", title="By the other doors.")
        run_all(matrix, rows, [(case, door) for door in DOORS for case in DOOR_CASES])
    if matrix.judged:
        section.answer("matrix-cases", "run-matrix", "yes" if not matrix.wrong else
                       f"{len(matrix.wrong)} of {matrix.judged} are not: {matrix.wrong[0]}", not matrix.wrong)

"""Programs of PyTorch, CuPy, JAX and Triton under the shim, compared with themselves."""
import os

from .clock import OutOfTime, run
from .ledger import COLUMNS, Report, difference, report_text, under_kerncast

NAME, TITLE = "frameworks", "PyTorch, Triton, CuPy, JAX"
NEEDS_S, SHARE_S = 20, 190
FIRST_S, ONE_S = 100, 60  # the first run of a framework reads gigabytes, and may compile
NO_GPU = 77  # a program's status where its framework sees no GPU

# program, the module that must be there
PROGRAMS = (("torch_train.py", "torch"), ("triton_kernels.py", "triton"), ("cupy_kernels.py", "cupy"),
            ("jax_jit.py", "jax"))


def installed(machine, module, clock):
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    return run([machine.python, "-c", code], clock, 20).status == 0


def script(machine, name):
    return os.path.join(machine.root, "cuda_tests", "gpu", name)


def table(section):
    return section.table("program", "CUPTI", *COLUMNS, "s alone", "s under kerncast", "result")


def run_step(machine, clock, section):
    rows = table(section)
    for name, module in PROGRAMS:
        try:
            if not installed(machine, module, clock):
                section.skip(f"{name}: {module} is not installed")
            else:
                arguments = ["10"] if machine.quick and name != "cupy_kernels.py" else []
                report, why = compared(machine, clock, section, rows, name, *arguments)
                if report is None:
                    section.ask_not("frameworks-same", why)
                else:
                    section.answer("frameworks-same", module, why or f"{report.count('matched')} matched", not why)
        except OutOfTime as error:
            section.skip(f"{name}: {error}")


class Unusable(Exception):
    """A program that does not run here without kerncast either."""


def compared(machine, clock, section, rows, name, *arguments):
    """A program alone and under kerncast. (report, what is wrong or None); (None, why) where it could not be tried."""
    try:
        plain = alone(machine, clock, section, name, *arguments)
    except Unusable as error:
        section.skip(str(error))
        return None, str(error)
    command = [machine.python, script(machine, name), *arguments]
    report, why = shimmed(machine, clock, section, rows, name, command, plain, "as found")
    cupti = machine.place_of("libcupti.so.13")
    if report.count("launches") and not report.count("measured") and cupti:
        report, why = shimmed(machine, clock, section, rows, name, command, plain, cupti)
    return report, why


def alone(machine, clock, section, name, *arguments, **variables):
    command = [machine.python, script(machine, name), *arguments]
    plain = run(command, clock, FIRST_S, machine.environment_as_found(**variables))
    section.file_text(f"$ {name} {' '.join(arguments)}\n{plain.out}{plain.err}")
    if plain.status == NO_GPU:
        raise Unusable(f"{name}: {plain.out.strip()}")
    if plain.status:
        raise Unusable(f"{name}: alone {plain.how()}: {plain.last_words()}")
    return plain


def shimmed(machine, clock, section, rows, name, command, plain, cupti):
    database = os.path.join(machine.scratch, f"{name[:-3]}{'' if cupti == 'as found' else '-cupti'}.db")
    chosen = {} if cupti == "as found" else {"KERNCAST_CUPTI": cupti}
    ended = under_kerncast(machine, command, database, clock, FIRST_S, machine.environment_as_found(**chosen))
    report = Report(machine, clock, database)
    machine.results_database(database)
    why, well = difference(plain, ended), "as alone"
    if why and ended.status == plain.status and varies(machine, clock, command, plain):
        section.skip(f"{name}: its result varies alone too, so it was not compared")
        why, well = None, "varies alone too"
    why = why or report.objection()
    section.file_text(f"$ kerncast run {name} (CUPTI {cupti})\n{ended.out}{ended.err}"
                      + report_text(machine, clock, database))
    section.row(rows, name, cupti, *report.cells(), f"{plain.seconds:.1f}", f"{ended.seconds:.1f}", why or well)
    section.judge(why and f"{name} (CUPTI {cupti}): {why}")
    return report, why


def varies(machine, clock, command, plain):
    """Whether the program does not repeat its own result."""
    return run(command, clock, ONE_S, machine.environment_as_found()).out != plain.out

"""Damaged databases, under an application and through every command that reads one."""

import glob
import re
import shutil
import sqlite3
import subprocess

from .build import commands_in
from .case import Failure
from .damage import not_sqlite, valid_sqlite
from .process import run

STEPS = 10_000_000  # of SQLite's machine, of a question to a damaged database
CALLS = 60  # of each of two threads of the application
VALID = 0.6  # share that stays SQLite
KNOW_A_DEVICE = ("predict", "slowdown")  # by its name, which may be damaged
WITHOUT_DATABASE = ("doctor", "explain")  # read none
FILTERS = ["--kernel=[a-z]", "--exclude=^q", "--range=[a-z]", "--stream=1,2,default", "--since=1us", "--until=1000s", "--min=1ns"]
OWN_FORMS = {  # of commands whose help does not tell all
    "run": [["-q", "-o", "{db}", "--", "{work}", "{counts}", "plain", "2", "30"]],
    "import": [["{trace}", "-o", "{db}"]],
    "predict": [
        ["--db", "{db}", "--device", "{device}", "blocks=64,threads=256,fma=1024,ld_global=2048"],
        ["--db", "{db}", "--json", "--device", "v100", "blocks=64,threads=256,fma=1024,ld_global=2048"],
    ],
    "slowdown": [
        ["--db", "{db}", "--device", "{device}", "blocks=110,threads=256,time=1ms", "blocks=450,threads=256,time=2ms"]
    ],
    "basis": [
        ["train", "{db}"],
        ["show", "{db}"],
        ["show", "--json", "{db}"],
        ["predict", "--kernel", "k", "--block", "64", "{db}"],
        ["predict", "--kernel", "torture", "--json", "{db}"],
    ],
    "merge": [["-o", "{folder}/merged.db", "{db}"], ["-o", "{folder}/merged.db", "{db}", "{db}"]],
    "prune": [
        ["--keep", "1", "{db}"],
        ["--keep", "1s", "--json", "{db}"],
        ["--keep", "64K", "{db}"],
        ["--dry-run", "--keep", "1", "--json", "{db}"],
    ],
    "diff": [
        *[[*form, "--old", "1", "--new", "2", "{db}"] for form in ([], ["--json"], ["--md"])],
        ["--baseline", "{folder}/baseline.json", "{db}"],
        [*FILTERS, "--old", "1", "--new", "2", "{db}"],
    ],
    "export": [
        [form, *options, "{db}"]
        for form in ("--csv", "--chrome")
        for options in ([], ["--run=1"], ["--run=all"], ["--run=all", *FILTERS])
    ],
    "pairs": [*[[*form, "--run", "2", "{db}"] for form in ([], ["--json"], ["--csv"])], ["--top", "26", *FILTERS, "{db}"]],
    "whatif": [
        *[[*form, "--device", "v100", "--run", "2", "{db}"] for form in ([], ["--json"], ["--csv"])],
        ["--device", "v100", "--from", "k40", "--anchor", "{db}", *FILTERS, "{db}"],
    ],
    "slow": [*[[*form, "--run", "2", "--old", "1", "{db}"] for form in ([], ["--json"])], ["--old", "none", *FILTERS, "{db}"]],
    "learn": [[*anonymous, "-o", "{folder}/learned.prior", "{db}"] for anonymous in ([], ["--anonymous"])],
    "experiment": [["--dir", "{folder}", "--json", "figures"]],
}


def help_of(build, *arguments):
    ended = subprocess.run([build.that_has(arguments[0]), *arguments], capture_output=True, text=True)
    return ended.stdout if ended.returncode == 0 else ""


def choices(placeholder):
    """Values of an option as its help names them: "kernel|model", "N|all"."""
    return [{"N": "1", "K..N[,...]": "1..2"}.get(choice, choice) for choice in placeholder.split("|") if choice != "FILE"]


def forms_of(build, command):
    """How a command can be told to read a database, by its own help: each of its options, and every value that is named."""
    if command in OWN_FORMS:
        return OWN_FORMS[command]
    text = help_of(build, command, "--help")
    usage = text.split("\n", 1)[0]
    operands = ["{db}" for word in usage.split() if re.fullmatch(r"\[?DB\d?(\.\.\.)?\]?(\.\.\.)?", word)]
    if not operands:
        return []
    forms = [operands]
    if "--since=" in text:
        forms.append([*FILTERS, *operands])
    if "--html=" in text:
        forms += [["--html={folder}/page.html", *options, *operands] for options in ([], ["--anonymous", *FILTERS])]
    for name, placeholder in re.findall(r"^ +(?:-\w, )?--([\w-]+)(?:=(\S+))?", text, re.MULTILINE):
        if name in ("help", "usage", "output", "anonymous"):
            continue
        if not placeholder:
            forms.append([f"--{name}", *operands])
        elif "|" in placeholder and placeholder.split("|")[0] != "NAME":
            forms += [[f"--{name}={choice}", *operands] for choice in choices(placeholder)]
    return forms


def commands_of(build):
    """{command: forms} of those that read a database, and the names of those that do not."""
    listed = commands_in(build.kerncast) + build.of_lab
    reading = {command: forms_of(build, command) for command in listed if command not in WITHOUT_DATABASE}
    return (
        {command: forms for command, forms in reading.items() if forms},
        [command for command in listed if not reading.get(command)],
    )


def damaged(case, database):
    """Puts a damaged database at DATABASE; whether it is valid SQLite."""
    base = case.random.choice(("run", "run", "trace", "all"))
    shutil.copy(case.bases.database(base), database)
    valid = case.random.random() < VALID
    if valid:
        case.note(f"{base}: " + "; ".join(valid_sqlite(case.random, database, case.bases.schema(base))))
        case.tried["valid_sqlite"] += 1
    else:
        case.note(f"{base}: " + not_sqlite(case.random, database, case.bases.logged))
    case.tried["databases"] += 1
    return valid


def was_there(counts, ended, database):
    """Whether kerncast was in the application at all: it has left a line, a journal or a process that ended."""
    if re.search(rb"^kerncast: ", ended.err(), re.MULTILINE) or glob.glob(glob.escape(database) + ".*.kcj"):
        return True
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    connection.set_progress_handler(lambda: 1, STEPS)
    try:
        (pid, *_), *_ = counts.threads()
        # The newest first, and nothing behind it: it may be the one row that can still be read.
        found = connection.execute("SELECT 1 FROM process NOT INDEXED WHERE pid = ? ORDER BY id DESC LIMIT 1", (pid,))
        return found.fetchone() is not None
    except sqlite3.Error:
        return False
    finally:
        connection.close()


class Application:
    """A damaged database under an application."""

    NAME, SHARE = "application", 8

    @staticmethod
    def describe(case):
        return f"{'sanitizers' if case.number % 2 else 'ordinary'} {case.random.random():.6f}"

    @staticmethod
    def attempt(case):
        database, counts, build = case.path("k.db"), case.counts(), case.sanitized_build()
        damaged(case, database)
        command = [case.build.program("work_driver"), counts.path, "plain", "2", str(CALLS)]
        ended = run(
            build, command, case.path("application"), build.preloaded(case.folder, database), build.confinement()
        )
        case.harmless(ended, None)
        case.same(case.bases.plain(command), ended)
        if not was_there(counts, ended, database):
            raise Failure(f"kerncast was not in the application: {ended.err()[:600]!r}")


class Commands:
    """A damaged database through a command."""

    NAME, SHARE = "commands", 22

    @staticmethod
    def plan(case):
        names = list(case.bases.commands)
        command = names[case.number // 2 % len(names)]
        return command, case.random.choice(case.bases.commands[command])

    @classmethod
    def describe(cls, case):
        command, form = cls.plan(case)
        return " ".join([command, *form])

    @classmethod
    def attempt(cls, case):
        command, form = cls.plan(case)
        case.tried[command] += 1
        build = case.sanitized_build()
        database = case.path(case.bases.experiment + ".db" if command == "experiment" else "k.db")
        damaged(case, database)
        if command == "recover" or case.random.random() < 0.1:
            case.bases.put_journal(case.random, database)
        words = {
            "db": database,
            "folder": case.folder,
            "work": case.build.program("work_driver"),
            "trace": case.bases.trace("csv"),
            "counts": case.counts().path,
            "device": case.bases.device,
        }
        arguments = [argument.format(**words) for argument in form]
        ended = case.kerncast(command, *arguments, build=build)
        # Wrong use would be this script's, but for a database that cannot be recorded into or does not know a device.
        case.harmless(ended, (0, 1, 2) if command in ("run", *KNOW_A_DEVICE) else (0, 1))
        if ended.status and not ended.err() and not ended.out():
            raise Failure(f"{' '.join(ended.command)}: status {ended.status}, and nothing is said")

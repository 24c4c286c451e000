"""Applications in tight places: limits, disks, denied system calls, namespaces. They must run as without kerncast."""

import os
import re
import shutil
import sqlite3

from .case import Failure, Skip
from .process import Running, run

CALLS = 150  # of each thread
PLACE_FAILED = 125  # exit status of confine
# What explains launches that are nowhere, on standard error and in the table `message`. Other messages do not.
LOSSES = re.compile(
    rb"^kerncast: .*(nothing is recorded|lost|journal is full|database cannot be written)|^ERROR: ld\.so: ", re.MULTILINE
)
LOSS_CODES = "'DATABASE', 'JOURNAL_MEMORY', 'JOURNAL_FULL', 'LOST', 'JOURNAL_FAILED', 'START_FAILED'"


def application(case, counts, *, threads=2, mode="plain", options=(), calls=CALLS):
    return [case.build.program("work_driver"), *options, counts.path, mode, str(threads), str(calls)]


def both(case, place, *, database, wrap=None, options=(), threads=2, mode="plain", second_run=False, may_fail=False):
    """Runs an application alone and under kerncast in the same place. Returns how the latter ended, and its counts.

    may_fail: where it fails alone, it might succeed the next time, so there is nothing to compare with.
    """
    wrap = wrap or (lambda command, env: (command, env))
    alone, counts = case.counts("alone"), case.counts()
    command, env = wrap(
        application(case, alone, threads=threads, mode=mode, options=options), case.build.environment(case.folder)
    )
    plain = run(case.build, command, case.path("plain"), env, place)
    if plain.status == PLACE_FAILED:
        raise Skip(f"not permitted: {plain.err().decode(errors='replace').strip()}")
    if second_run:
        shutil.copy(case.bases.database("run"), database)
        os.chmod(database, 0o666)
    command, env = wrap(
        application(case, counts, threads=threads, mode=mode, options=options),
        case.build.preloaded(case.folder, database),
    )
    shimmed = run(case.build, command, case.path("shimmed"), env, place)
    shimmed.counts = counts
    if not (may_fail and plain.status):
        case.same(plain, shimmed)
    if not plain.signal:  # such as SIGXFSZ, where the application itself writes more than it may
        case.harmless(shimmed, None)
    case.tried["applications"] += 1
    return shimmed


def known_processes(case, second_run):
    return case.bases.last_process("run") if second_run else 0


def accounted_for(case, shimmed, database, known, silent=False):
    """rows + dropped = launches, or a message says that some are lost. silent: no message is possible."""
    made, said = shimmed.counts.made(), silent or LOSSES.search(shimmed.err())
    if not os.path.exists(database):
        if made and not said:
            raise Failure(f"{made} launches, no database, and no message says that they are lost")
        return
    case.harmless(case.kerncast("recover", database, name="recover"))
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        (rows,) = connection.execute("SELECT count(*) FROM launch WHERE process > ?", (known,)).fetchone()
        (dropped,) = connection.execute(
            "SELECT coalesce(sum(count), 0) FROM ledger WHERE process > ? AND item IN" " ('dropped', 'after_end')",
            (known,),
        ).fetchone()
        (messages,) = connection.execute(
            f"SELECT count(*) FROM message WHERE process > ? AND code IN ({LOSS_CODES})", (known,)
        ).fetchone()
    except sqlite3.Error:
        rows = dropped = messages = 0  # the disk was full before there was a schema
    finally:
        connection.close()
    case.tried["launches"] += made
    case.tried["rows"] += rows
    case.tried["dropped"] += dropped
    if rows + dropped != made and not (said or messages):
        raise Failure(f"{made} launches, {rows} rows, {dropped} dropped, and no message says that some are lost")
    if rows > made:
        raise Failure(f"{made} launches, {rows} rows")


class Limits:
    """Disks and limits."""

    NAME, SHARE = "limits", 3
    KINDS = ("fsize", "nofile", "as", "nproc", "tmpfs", "read_only", "removed", "moved", "database_removed")

    @classmethod
    def plan(cls, case):
        kind = cls.KINDS[case.number % len(cls.KINDS)]
        choose = case.random.choice
        value = {
            "fsize": lambda: choose((1, 4, 8, 16, 31, 32, 64, 256, 1024)) << 10,
            "nofile": lambda: choose(range(3, 24)),
            "as": lambda: choose(range(30, 500, 7)) << 20,
            "nproc": lambda: choose((1, 2, 3, 4)),
            "tmpfs": lambda: choose((1, 16, 64, 128, 256, 1024, 2800, 3000, 4096, 6144)) << 10,
        }.get(kind, lambda: None)()
        return kind, value, case.random.random() < 0.5

    @classmethod
    def describe(cls, case):
        kind, value, second_run = cls.plan(case)
        return f"{kind} {value if value is not None else ''}{', with a database' if second_run else ''}"

    @classmethod
    def attempt(cls, case):
        kind, value, second_run = cls.plan(case)
        case.tried[kind] += 1
        os.chmod(case.folder, 0o777)
        database = case.path("k.db")
        if kind in ("fsize", "nofile", "as"):
            # Which thread asks for the last of the address space is decided by chance.
            limit = ["--limit", f"{kind}:{value}"]
            shimmed = both(case, limit, database=database, second_run=second_run, may_fail=kind == "as")
        elif kind == "nproc":
            shimmed = cls.few_processes(case, value, database, second_run)
        elif kind == "tmpfs":
            shimmed, database = cls.full_disk(case, value)
            second_run = False
        elif kind == "read_only":
            folder = case.path("read_only")
            os.mkdir(folder)
            database = os.path.join(folder, "k.db")
            shimmed = both(case, ["--unshare", "um", "--read-only", folder], database=database, second_run=second_run)
        else:
            cls.taken_away(case, kind)
            return
        accounted_for(case, shimmed, database, known_processes(case, second_run))

    @staticmethod
    def few_processes(case, value, database, second_run):
        if os.geteuid():
            raise Skip("needs root, to become a user without other processes")
        if run(
            case.build, ["test", "-x", case.build.program("work_driver")], case.path("probe"), {}, ["--user", "65534"]
        ).status:
            raise Skip("the build folder is closed to other users")
        for name in ("alone", "counts"):
            case.counts(name)
            os.chmod(case.path(name), 0o666)
        shimmed = both(
            case, ["--user", "65534", "--limit", f"nproc:{value}"], database=database, threads=1, second_run=second_run
        )
        if os.path.exists(database):
            os.chown(database, 0, 0)
        for name in os.listdir(case.folder):
            if name.endswith(".kcj"):
                os.chown(case.path(name), 0, 0)
        return shimmed

    @staticmethod
    def full_disk(case, value):
        disk, kept = case.path("disk"), case.path("kept")
        for folder in (disk, kept):
            os.makedirs(folder)
        script = 'kept=$1 disk=$2; shift 2; "$@"; status=$?; cp -r "$disk/." "$kept/" 2>/dev/null; exit $status'

        def wrap(command, env):
            inner = [case.build.program("confine")]
            for name, text in env.items():
                inner += ["--env", f"{name}={text}"]
            return ["bash", "-c", script, "-", kept, disk, *inner, "--", *command], {}

        shimmed = both(
            case, ["--unshare", "um", "--tmpfs", f"{disk}:{value}"], database=os.path.join(disk, "k.db"), wrap=wrap
        )
        return shimmed, os.path.join(kept, "k.db")

    @staticmethod
    def taken_away(case, kind):
        """The folder or the database disappears while the application launches."""
        folder, counts, alone = case.path("folder"), case.counts(), case.counts("alone")
        os.mkdir(folder)
        calls = 1500
        plain = run(
            case.build, application(case, alone, calls=calls), case.path("plain"), case.build.environment(case.folder)
        )
        running = Running(
            case.build,
            application(case, counts, calls=calls),
            case.path("shimmed"),
            case.build.preloaded(case.folder, os.path.join(folder, "k.db")),
        )
        moment = case.random.randrange(1, calls)
        while counts.made() < moment and running.process.poll() is None:
            pass
        if kind == "moved":
            os.rename(folder, case.path("elsewhere"))
        elif kind == "removed":
            shutil.rmtree(folder, ignore_errors=True)
        else:
            for name in os.listdir(folder):
                if not name.endswith(".kcj"):
                    os.unlink(os.path.join(folder, name))
        shimmed = running.wait()
        shimmed.counts = counts
        case.same(plain, shimmed)
        case.harmless(shimmed, None)
        case.tried["applications"] += 1


class Denials:
    """Denied system calls and namespaces."""

    NAME, SHARE = "denials", 3
    # Without these kerncast cannot tell whether descriptor 2 is still standard error, and writes nothing to it.
    SILENCING = ("fstat", "newfstatat")
    NAMESPACES = ("u", "um", "p", "pm", "ump", "umph", "umh", "up")

    @classmethod
    def plan(cls, case):
        second_run = case.random.random() < 0.5
        threads, mode = case.random.choice((1, 2, 4)), case.random.choice(("plain", "graph"))
        if case.number % 5 == 4:
            return "namespace", cls.NAMESPACES[case.number // 5 % len(cls.NAMESPACES)], None, second_run, threads, mode
        calls = case.bases.denials
        at = case.number - case.number // 5
        what = f"{calls[at // 2 % len(calls)]}:{('EPERM', 'ENOSYS')[at % 2]}"
        return "call", what, case.random.choice(("loaded", "from the start")), second_run, threads, mode

    @classmethod
    def describe(cls, case):
        kind, what, since, second_run, threads, mode = cls.plan(case)
        return f"{kind} {what} {since or ''} {mode} {threads}{', with a database' if second_run else ''}"

    @classmethod
    def attempt(cls, case):
        kind, what, since, second_run, threads, mode = cls.plan(case)
        case.tried[kind + "s"] += 1
        database = case.path("k.db")
        place, options = [], []
        if kind == "namespace":
            place = ["--unshare", what]
        elif since == "loaded":
            options = ["-d", what]
        else:
            place = ["--deny", what]
        shimmed = both(
            case, place, database=database, options=options, threads=threads, mode=mode, second_run=second_run
        )
        if kind == "namespace" or shimmed.status == 0:
            silent = what.partition(":")[0] in cls.SILENCING
            accounted_for(case, shimmed, database, known_processes(case, second_run), silent)

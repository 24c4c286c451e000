"""Sound files, made once per call: what the cases damage."""

import json
import os
import shutil
import sqlite3
import subprocess
import time

from .case import Counts, Failure
from .damage import Schema
from .databases import commands_of
from .process import WALL_S, Running, content, run
from .traces import sound_traces

JOURNALS = (
    ("work_driver", "plain", 2),
    ("work_driver", "graph", 1),
    ("work_runtime", "plain", 4),
    ("work_driver", "plain", 1),
)
JOURNAL_CALLS = 150  # made by a process that is then killed: more make its journal no worse
LAUNCH_S = 30
SETTLES_S = 0.02  # the killed process has written some of its launches into the database


class Alone:
    """How an application ended without kerncast, once for all cases."""

    def __init__(self, ended):
        out, err = ended.out(), ended.err()
        self.status, self.out, self.err = ended.status, lambda: out, lambda: err


class Outline:
    """What the cases are chosen from, without the files."""

    def __init__(self, build):
        self.build = build
        self.denials = self.asked(build.program("confine"), "--list").split()
        self.commands, self.not_reading = commands_of(build)

    @staticmethod
    def asked(*command):
        return subprocess.run(command, capture_output=True, text=True).stdout


class Bases(Outline):
    def __init__(self, build, folder):
        super().__init__(build)
        self.folder = folder
        os.makedirs(folder)
        self.traces = sound_traces(folder)
        self.make_databases()
        self.journals = [self.make_journal(i, *what) for i, what in enumerate(JOURNALS)]
        self.experiment = self.asked(build.lab, "experiment", "list").split()[0]
        self.alone = {}

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def must(self, command, **more):
        ended = run(
            self.build, command, self.path("made"), self.build.environment(self.folder, **more), cwd=self.folder
        )
        if ended.status:
            raise Failure(f"{' '.join(command)}: status {ended.status}: {ended.err().decode(errors='replace')}")
        return ended

    def record(self, database, *command):
        self.must([self.build.kerncast, "run", "-q", "-o", database, "--", *command])

    def kerncast(self, *arguments):
        return self.must([self.build.kerncast, *arguments])

    # --- databases

    def make_databases(self):
        one, everything, trace = self.path("run.db"), self.path("all.db"), self.path("trace.db")
        counts = Counts(self.path("counts"))
        for _ in range(2):
            self.record(one, self.build.program("work_driver"), counts.path, "plain", "2", "100")
        self.record(one, self.build.program("work_runtime"), counts.path, "graph", "1", "30")
        shutil.copy(one, everything)
        self.record(everything, os.path.join(self.build.root, "demo-static-sim"), "--rounds", "8")
        self.kerncast("calibrate", everything)
        self.kerncast("import", self.traces["csv"][0], "-o", everything)
        subprocess.run(
            [self.build.lab, "basis", "train", everything], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self.kerncast("import", self.traces["nvprof"][1], self.traces["json"][0], "-o", trace)
        connection = sqlite3.connect(everything)
        (self.device,) = connection.execute("SELECT name FROM device WHERE simulated ORDER BY id").fetchone()
        connection.close()
        self.schemas = {name: Schema(self.path(name + ".db")) for name in ("run", "all", "trace")}
        self.logged = self.make_log(one)

    def make_log(self, database):
        """A database of which some is still in its write-ahead log."""
        live, kept = self.path("live.db"), self.path("logged.db")
        shutil.copy(database, live)
        connection = sqlite3.connect(live)
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("UPDATE run SET directory = directory || '/'")
        connection.execute("UPDATE launch_row SET correlation = correlation + 1 WHERE id % 3 = 0")
        connection.commit()
        for suffix in ("", "-wal", "-shm"):
            shutil.copy(live + suffix, kept + suffix)
        connection.close()
        return kept

    def database(self, name):
        return self.path(name + ".db")

    def schema(self, name):
        return self.schemas[name]

    def last_process(self, name):
        connection = sqlite3.connect(f"file:{self.database(name)}?mode=ro", uri=True)
        (last,) = connection.execute("SELECT max(id) FROM process").fetchone()
        connection.close()
        return last

    # --- journals

    def make_journal(self, i, program, mode, threads):
        """The journal of a killed process and how many launches it brings in."""
        folder = self.path(f"journal{i}")
        os.makedirs(folder)
        counts = Counts(os.path.join(folder, "counts"))
        command = [self.build.program(program), counts.path, mode, str(threads), "0"]
        running = Running(self.build, command, folder, self.build.preloaded(folder, os.path.join(folder, "k.db")))
        until = time.monotonic() + LAUNCH_S
        while counts.made() < JOURNAL_CALLS * threads:
            if time.monotonic() > until:
                running.kill()
                raise Failure(
                    f"no launches: {content(os.path.join(folder, 'out'))!r} {content(os.path.join(folder, 'err'))!r}"
                )
            time.sleep(SETTLES_S)
        running.kill()
        running.wait()
        (journal,) = [name for name in os.listdir(folder) if name.endswith(".kcj")]
        alone = os.path.join(folder, "alone")
        os.makedirs(alone)
        shutil.copy(os.path.join(folder, journal), alone)
        self.kerncast("recover", os.path.join(alone, "k.db"))
        document = json.loads(self.kerncast("report", "--json", os.path.join(alone, "k.db")).out())
        return os.path.join(folder, journal), document["ledger"]["launches"]

    def put_journal(self, random, database):
        """One beside the database, as if it were of it."""
        source, _ = random.choice(self.journals)
        shutil.copy(source, database + "." + os.path.basename(source).split(".", 2)[-1])

    # --- applications

    def plain(self, command):
        """How an application ends without kerncast: what it prints depends on its arguments alone."""
        key = tuple(command[2:])
        if key not in self.alone:
            counts = Counts(self.path(f"plain{os.getpid()}"))
            ended = run(
                self.build,
                [command[0], counts.path, *command[2:]],
                self.path(f"plain{os.getpid()}.d"),
                self.build.environment(self.folder),
                wall_s=WALL_S,
            )
            self.alone[key] = Alone(ended)
        return self.alone[key]

    def trace(self, kind):
        return self.traces[kind][0]

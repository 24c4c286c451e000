"""One case: what it does is decided by seed, chapter and number alone."""

import collections
import glob
import json
import os
import random
import re
import struct

from .process import CPU_S, PEAK_KIB, SANITIZER_LOG, SANITIZER_STATUS, content, run


class Failure(Exception):
    """What is wrong."""


class Skip(Exception):
    """Why a case cannot be tried here."""


THREAD = struct.Struct("=IIQQQ")  # struct work_thread of cuda_tests/torture/work.h
COUNTS_BYTES = 8 + 64 * THREAD.size


class Counts:
    """The file in which a program under test counts its calls."""

    def __init__(self, path):
        self.path = path
        with open(path, "wb") as file:
            file.truncate(COUNTS_BYTES)

    def threads(self):
        """(pid, tid, calls begun, calls made, kernels of a call) of each thread."""
        data = content(self.path)
        (used,) = struct.unpack_from("=I", data)
        return [THREAD.unpack_from(data, 8 + i * THREAD.size) for i in range(min(used, 64))]

    def made(self):
        """Kernels launched by calls that have returned."""
        return sum(made * kernels for _, _, _, made, kernels in self.threads())


class Case:
    def __init__(self, build, bases, seed, chapter, number, folder):
        self.build, self.bases, self.seed, self.chapter, self.number = build, bases, seed, chapter, number
        self.folder = folder
        self.random = random.Random(f"{seed}/{chapter}/{number}")
        self.tried = collections.Counter()
        self.notes = []  # what was done, for who reads of a failure

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def note(self, text):
        self.notes.append(text)

    def sanitized_build(self):
        """The sanitizers' build in every other case, if there is one."""
        if self.number % 2 and self.build.sanitized:
            self.tried["with_sanitizers"] += 1
            return self.build.sanitized
        return self.build

    def counts(self, name="counts"):
        return Counts(self.path(name))

    # --- running

    def kerncast(self, *arguments, build=None, name="kerncast", confine=None, cwd=None):
        build = build or self.build
        return run(
            build,
            [build.that_has(arguments[0]), *arguments],
            self.path(name),
            build.environment(self.folder),
            build.confinement() if confine is None else confine,
            cwd or self.folder,
        )

    def sound(self, *arguments, **options):
        """A command that must do what it is told."""
        ended = self.kerncast(*arguments, **options)
        self.harmless(ended)
        if ended.status:
            raise Failure(f"kerncast {' '.join(arguments)}: status {ended.status}: {text(ended.err())[-600:]}")
        return ended

    def report(self, database, *arguments):
        ended = self.sound("report", "--json", "--run", "all", *arguments, database, name="report")
        try:
            return json.loads(ended.out())
        except ValueError as error:
            raise Failure(f"report --json: {error}") from None

    # --- rules

    def harmless(self, ended, statuses=(0, 1, 2)):
        """The rules of whatever is given a damaged file."""
        shown = " ".join(ended.command)
        reports = sanitizer_reports(self.folder) + [ended.err()] * bool(
            re.search(rb"runtime error:|ERROR: \w+Sanitizer", ended.err())
        )
        if reports:
            raise Failure(f"{shown}: sanitizer: {text(reports[0])[:3000]}")
        if ended.overdue:
            raise Failure(f"{shown}: did not end (processor time {ended.cpu_s:.1f} s)")
        if ended.signal:
            raise Failure(
                f"{shown}: signal {ended.signal} after {ended.cpu_s:.1f} s, {ended.peak_kib} KiB: "
                f"{text(ended.err())[-600:]}"
            )
        if ended.status == SANITIZER_STATUS or (statuses and ended.status not in statuses):
            raise Failure(f"{shown}: status {ended.status}: {text(ended.err())[-600:]}")
        if ended.cpu_s > CPU_S:
            raise Failure(f"{shown}: {ended.cpu_s:.1f} s of processor time")
        if ended.peak_kib > PEAK_KIB:
            raise Failure(f"{shown}: {ended.peak_kib >> 10} MiB")

    def same(self, plain, shimmed):
        """An application's output and status are those without kerncast, but for its lines on standard error."""
        if (plain.status, plain.out(), plain.err()) != (shimmed.status, shimmed.out(), others(shimmed.err())):
            raise Failure(
                f"{' '.join(shimmed.command)}: alone status {plain.status}, {show(plain)}; "
                f"under kerncast status {shimmed.status}, {show(shimmed)}"
            )


def others(err):
    """Lines of standard error that are not kerncast's, nor the loader's where it cannot load kerncast."""
    return b"".join(
        line
        for line in err.splitlines(keepends=True)
        if not re.match(rb"kerncast: |ERROR: ld.so: object .*libkerncast", line)
    )


def show(ended):
    return f"output {ended.out()[:300]!r}, error output {ended.err()[:600]!r}"


def text(data):
    return data.decode(errors="replace")


def sanitizer_reports(folder):
    return [content(path) for path in glob.glob(os.path.join(glob.escape(folder), SANITIZER_LOG + ".*"))]


def adds_up(document):
    ledger = document["ledger"]
    awaited = ledger.get("awaited") or 0
    if (
        not ledger["adds_up"]
        or ledger["launches"] != ledger["predicted"] + ledger["unpredictable"]
        or ledger["predicted"] != ledger["matched"] + ledger["unmeasured"] + awaited
    ):
        raise Failure(f"the ledger does not add up: {json.dumps(ledger)}")
    return ledger

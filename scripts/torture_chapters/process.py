"""Runs commands in a tight place, and says how they ended.

Every command is started by `confine` (cuda_tests/torture/confine.c), which lets it end with this process, in a session
of its own, which is killed as a whole when the command has ended or its time is over.
"""

import contextlib
import glob
import os
import resource
import signal
import subprocess

CPU_S = 10  # of a command or an application that meets a damaged file
PEAK_KIB = 512 << 10
HARD_CPU_S = 15  # the kernel ends it
WALL_S = 90  # on a machine however busy; a deadlock
OUTPUT_BYTES = 64 << 20  # that are looked at, unless more is asked for
SANITIZER_STATUS = 99
SANITIZER_LOG = "sanitizer"  # in the case's folder

live = set()  # sessions of this process


class Start:
    """A command is being started: what a signal asks for is done when it is among the live ones, so that it is ended."""

    under_way = False
    postponed = []

    def __enter__(self):
        Start.under_way = True

    def __exit__(self, *_):
        Start.under_way = False
        while Start.postponed:
            Start.postponed.pop()()


def forget_peak():
    """Forgets the largest size that this process has had, where the kernel can: it counts as a command's own, too."""
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")


def on(number, act):
    """Calls act() at the signal, or as soon as no command is being started."""
    signal.signal(number, lambda *_: Start.postponed.append(act) if Start.under_way else act())


class Ended:
    """signal: that ended it, or 0. status: exit status, or 128 + signal. overdue: it had to be killed."""

    def __init__(self, command, folder, status, usage, overdue):
        self.command, self.folder, self.overdue = command, folder, overdue
        self.signal = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        self.status = 128 + self.signal if self.signal else os.WEXITSTATUS(status)
        self.cpu_s = usage.ru_utime + usage.ru_stime
        self.peak_kib = usage.ru_maxrss

    def out(self, most=OUTPUT_BYTES):
        return content(os.path.join(self.folder, "out"), most)

    def err(self):
        return content(os.path.join(self.folder, "err"))


def content(path, most=OUTPUT_BYTES):
    """most: bytes; None: all."""
    with open(path, "rb") as file:
        return file.read(most)


class Running:
    """A command under way; its output goes to the files out and err of FOLDER."""

    def __init__(self, build, command, folder, env, confine=(), cwd=None):
        os.makedirs(folder, exist_ok=True)
        self.folder, self.command = folder, command
        full = [os.path.join(build.root, "torture", "confine"), "--limit", "core:0", *confine]
        for name, value in env.items():
            full += ["--env", f"{name}={value}"]
        with open(os.path.join(folder, "out"), "wb") as out, open(os.path.join(folder, "err"), "wb") as err:
            forget_peak()
            with Start():
                self.process = subprocess.Popen(
                    full + ["--", *command], stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True,
                    cwd=cwd or folder, env=build.outside,
                )
                live.add(self.process.pid)

    def kill(self):
        """The command and what it started."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            forget_peak()

    def members(self):
        """Processes of the command's session, reaped or not, of which a thread has not ended."""
        running = set()
        for path in glob.glob("/proc/[0-9]*/task/[0-9]*/stat"):
            try:
                state, _, _, session = content(path).rpartition(b")")[2].split()[:4]
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(session) == self.process.pid and state not in (b"Z", b"X"):
                running.add(int(path.split("/")[2]))
        return sorted(running)

    def wait(self, wall_s=WALL_S):
        overdue = []

        def end(*_):
            overdue.append(True)
            self.kill()

        before = signal.signal(signal.SIGALRM, end)
        signal.setitimer(signal.ITIMER_REAL, wall_s)
        try:
            _, status, usage = os.wait4(self.process.pid, 0)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        self.process.returncode = status
        self.kill()
        live.discard(self.process.pid)
        return Ended(self.command, self.folder, status, usage, bool(overdue))


def run(build, command, folder, env, confine=(), cwd=None, wall_s=WALL_S):
    return Running(build, command, folder, env, confine, cwd).wait(wall_s)


def end_all():
    for session in list(live):
        try:
            os.killpg(session, signal.SIGKILL)
        except ProcessLookupError:
            forget_peak()


def no_core():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

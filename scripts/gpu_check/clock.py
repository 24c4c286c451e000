"""The time that is left, and commands that never take more of it."""
import os
import signal
import subprocess
import threading
import time

RESERVE_S = 12  # kept for packing the databases and the last summary
KILL_WAIT_S = 3

stopped = threading.Event()  # somebody wants the check to end
running = set()


class OutOfTime(Exception):
    """There is no time for what comes next."""


class Clock:
    """A deadline. A share of it is a nearer deadline for one step."""

    def __init__(self, limit_s, end=None):
        self.begin = time.monotonic()
        self.end = end if end is not None else self.begin + max(limit_s - min(RESERVE_S, limit_s / 4), 0)

    def left(self):
        return 0 if stopped.is_set() else max(self.end - time.monotonic(), 0)

    def used(self):
        return time.monotonic() - self.begin

    def share(self, seconds):
        return Clock(0, min(self.end, time.monotonic() + seconds))


class Ended:
    """How a command ended: status as in a shell; 124 where it ran into its limit."""

    def __init__(self, status, out, err, seconds):
        self.status, self.out, self.err, self.seconds = status, out, err, seconds

    def last_words(self):
        """The last line that it wrote, of standard error if there is one."""
        lines = [line.strip() for line in (self.err.strip() or self.out).splitlines() if line.strip()]
        return lines[-1][-200:] if lines else "it said nothing"

    def how(self):
        if self.status == 124:
            return f"ran into its limit after {self.seconds:.0f} s"
        return "died by signal %d" % (self.status - 128) if self.status > 128 else "status %d" % self.status


def in_session(leader):
    """Processes of the session that the command leads: also those that made process groups of their own."""
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as file:
                if name.isdigit() and int(file.read().rsplit(")", 1)[1].split()[3]) == leader:
                    yield int(name)
        except (OSError, IndexError, ValueError):
            continue


def end_session(process):
    """The command and all it started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in list(in_session(process.pid)):
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue
        try:
            process.wait(KILL_WAIT_S)
        except subprocess.TimeoutExpired:
            continue


def run(command, clock, limit_s, environment=None, folder=None):
    """Runs a command for limit_s at most, and not past the clock's end."""
    begin = time.monotonic()
    limit_s = min(limit_s, clock.left())
    if limit_s < 1:
        raise OutOfTime(os.path.basename(command[0]))
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=environment, cwd=folder, start_new_session=True)
    except OSError as error:
        return Ended(126, "", str(error), 0)
    running.add(process)
    try:
        out, err = process.communicate(timeout=limit_s)
        status = process.returncode if process.returncode >= 0 else 128 - process.returncode
    except subprocess.TimeoutExpired:
        end_session(process)
        out, err = collect(process)
        status = 124
    finally:
        running.discard(process)
    if stopped.is_set():
        raise OutOfTime(f"{os.path.basename(command[0])} was stopped")
    return Ended(status, out.decode(errors="replace"), err.decode(errors="replace"), time.monotonic() - begin)


def stop(*_):
    """A signal handler: no more time for anything; what was found so far is still written."""
    stopped.set()
    for process in list(running):
        end_session(process)


def collect(process):
    """What a killed command had written; not waited for where a stray child keeps the pipe open."""
    try:
        return process.communicate(timeout=KILL_WAIT_S)
    except subprocess.TimeoutExpired as error:
        return error.stdout or b"", error.stderr or b""

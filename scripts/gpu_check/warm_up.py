"""The first import of a framework reads gigabytes. It is begun in the background as soon as the check begins."""
import subprocess

from .clock import KILL_WAIT_S, end_session

MODULES = ("torch", "triton", "jax", "cupy")
NICENESS = 10
TIMED_IN = ("cost", "pytorch")


class WarmUp:
    def __init__(self, machine):
        self.running = []
        for module in MODULES:
            try:
                self.running.append(subprocess.Popen(
                    ["nice", "-n", str(NICENESS), machine.python, "-c", f"import {module}"], stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=machine.environment_as_found(),
                    start_new_session=True))
            except OSError:
                break

    def wait(self, clock, limit_s):
        """Before times are measured; not longer than limit_s."""
        clock = clock.share(limit_s)
        for process in self.running:
            try:
                process.wait(max(clock.left(), 0))
            except subprocess.TimeoutExpired:
                return

    def end(self):
        for process in self.running:
            if process.poll() is None:
                end_session(process)
            try:
                process.wait(KILL_WAIT_S)
            except subprocess.TimeoutExpired:
                continue


def of(machine, steps):
    """On a GPU also where no step needs them: the command after this one will, and finds them in memory."""
    return WarmUp(machine) if steps and not machine.simulated else None

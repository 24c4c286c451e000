"""What was built, and the environment that it runs in."""

import functools
import os
import re
import subprocess

from .process import HARD_CPU_S, SANITIZER_LOG, SANITIZER_STATUS


def commands_in(program):
    """The names of all commands that a program's help lists."""
    ended = subprocess.run([program, "--help", "all"], capture_output=True, text=True)
    return re.findall(r"^  ([a-z]+) ", ended.stdout, re.MULTILINE)


class Build:
    """root: the build folder; kerncast: the command, another one in a test of this script; lab: kerncast-lab; sanitized:
    a Build with gcc's address and undefined sanitizers, or None where there is none."""

    def __init__(self, root, kerncast=None, runtime=None):
        self.root = os.path.abspath(root)
        self.kerncast = kerncast or os.path.join(self.root, "kerncast")
        self.lab = os.path.join(self.root, "kerncast-lab")
        self.shim = os.path.join(self.root, "libkerncast.so")
        self.runtime = runtime  # of the sanitizers
        self.sanitized = None
        self.outside = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("KERNCAST_", "SIMCUDA_", "CUDA_", "LD_", "ASAN_", "UBSAN_", "LSAN_"))
        }

    def find_sanitized(self):
        root = os.path.join(self.root, "address-undefined")
        runtime = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True).stdout.strip()
        if all(os.path.exists(os.path.join(root, name)) for name in ("kerncast", "kerncast-lab", "libkerncast.so")):
            self.sanitized = Build(root, runtime=runtime)
            self.sanitized.root = self.root  # stand-ins and programs are the ordinary ones
        return self.sanitized

    @functools.cached_property
    def of_lab(self):
        return commands_in(self.lab)

    def that_has(self, command):
        """The program that has a command: kerncast, also for one that neither has."""
        return self.lab if command in self.of_lab else self.kerncast

    def program(self, name):
        return os.path.join(self.root, "torture", name)

    def environment(self, folder, **more):
        """Of a command that runs in FOLDER."""
        env = {
            "LD_LIBRARY_PATH": os.path.join(self.root, "simcuda"),
            "SIMCUDA_SEED": "1",
            "HOME": folder,
            "TMPDIR": folder,
            "LC_ALL": "C.UTF-8",
        }
        if self.runtime:
            log = os.path.join(folder, SANITIZER_LOG)
            # A command that ends need not have freed everything; an allocation that is too large fails, as elsewhere.
            env["ASAN_OPTIONS"] = (
                f"log_path={log}:exitcode={SANITIZER_STATUS}:detect_leaks=0:"
                "allocator_may_return_null=1:quarantine_size_mb=8:verify_asan_link_order=0"
            )
            env["LD_PRELOAD"] = self.runtime  # for the programs that the command starts
            env["UBSAN_OPTIONS"] = f"print_stacktrace=1:exitcode={SANITIZER_STATUS}"
        env.update(more)
        return env

    def preloaded(self, folder, database, **more):
        """Of an application that is recorded."""
        preload = f"{self.runtime} {self.shim}" if self.runtime else self.shim
        return self.environment(
            folder, LD_PRELOAD=preload, NVTX_INJECTION64_PATH=self.shim, KERNCAST_DB=database, **more
        )

    def confinement(self):
        """Of a command that reads a damaged file: it is stopped before it harms the machine."""
        cpu = ["--limit", f"cpu:{HARD_CPU_S}"]
        return cpu if self.runtime else [*cpu, "--limit", f"as:{4 << 30}"]  # sanitizers map terabytes

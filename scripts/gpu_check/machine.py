"""Where things are on this machine: the programs, NVIDIA's libraries, the GPU."""
import glob
import os
import subprocess

LIBRARIES = ("libcudart.so.13", "libcupti.so.13")
TOOLKIT_FOLDERS = ["/usr/local/cuda/lib64", "/usr/local/cuda/extras/CUPTI/lib64"]
CLEARED = ("KERNCAST_", "SIMCUDA_")  # an environment of our own for every program
# But for these: a stand-in's fault must reach every program.
KEPT = ("SIMCUDA_FAULT", "SIMCUDA_DEVICE", "SIMCUDA_LOADS", "SIMCUDA_CUPTI_IDS", "SIMCUDA_CUPTI_NODES",
        "SIMCUDA_CUPTI_PLACE")


class NotReady(Exception):
    """Something must be built first."""


def program_lines(command):
    """What a command prints, at most ten seconds of it; none where it fails."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    return done.stdout.decode(errors="replace").splitlines()


class Machine:
    def __init__(self, options, root, scratch):
        self.root, self.scratch = root, scratch
        self.files = os.path.join(os.path.abspath(options.build), "gpu")
        self.python = options.python
        self.simulated, self.quick = options.simulated, options.quick
        self.kerncast = self.program("kerncast")
        self.lab = self.program("kerncast-lab")
        self.shim = self.program("libkerncast.so")
        self.site_folders, self.folders = [], [os.path.join(self.files, "simcuda")] if self.simulated else []
        self.gpu = self.find_gpu()  # before anything that takes time
        if self.gpu and not self.simulated:
            self.site_folders = self.find_site_folders()
            self.folders = self.toolkit_folders()
        self.about = {"GPU": self.gpu or "none"}
        self.databases = []  # for the archive and the accuracy, the most important first

    def program(self, name):
        path = os.path.join(self.files, name)
        if not os.path.exists(path):
            raise NotReady(f"{path} is not there: run `make gpu-check-files` where there is a compiler")
        return path

    def results_database(self, path):
        if os.path.exists(path):
            self.databases.append(path)

    def static(self, name):
        """The program with static cudart: the stand-in's cannot be swapped at run time, so it has a name of its own."""
        return name + "-sim" if self.simulated else name

    def without_places(self, text):
        """text as it can be shown around: no folder that only this machine has."""
        for folder, name in ((self.files, "build/gpu"), (self.scratch, "SCRATCH"), (self.root, ".")):
            text = text.replace(folder, name)
        return text

    def find_site_folders(self):
        """Folders of NVIDIA's wheels, where PyTorch and others have their libraries."""
        code = "import sys; print('\\n'.join(sys.path))"
        paths = program_lines([self.python, "-c", code])
        return sorted({f for p in paths if p for f in glob.glob(os.path.join(p, "nvidia", "*", "lib"))})

    def toolkit_folders(self):
        """A folder for each of NVIDIA's libraries: this machine's own before the ones brought along."""
        places = TOOLKIT_FOLDERS + self.site_folders + [os.path.join(self.files, "lib")]
        found = []
        for name in LIBRARIES:
            folder = next((p for p in places if os.path.exists(os.path.join(p, name))), None)
            if folder and folder not in found:
                found.append(folder)
        return found

    def all_places_of(self, prefix):
        """Every library of that name that the loader, the toolkit or a wheel has: where a program may find one."""
        folders = TOOLKIT_FOLDERS + self.site_folders
        found = [p for f in folders for p in glob.glob(os.path.join(f, prefix + "*"))]
        cached = [line.split("=>")[-1].strip() for line in program_lines(["/sbin/ldconfig", "-p"])
                  if line.strip().startswith(prefix)]
        return sorted(set(found + cached))

    def cupti(self):
        """A libcupti for a program that takes any: this machine's own before the one brought along, which may be of
        a later major version than the driver."""
        folders = self.folders if self.simulated else TOOLKIT_FOLDERS + self.site_folders
        own = [os.path.join(f, name) for name in ("libcupti.so.13", "libcupti.so.12") for f in folders]
        return next((path for path in own if os.path.exists(path)), None) or self.place_of("libcupti.so.13")

    def place_of(self, name):
        return next((p for f in self.folders for p in [os.path.join(f, name)] if os.path.exists(p)), None)

    def find_gpu(self):
        """The first GPU's name, or "" where the driver knows none."""
        probe = self.program("gpu-probe")
        try:
            done = subprocess.run([probe], env=self.environment(), capture_output=True, timeout=60, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return "" if done.returncode else done.stdout.decode(errors="replace").strip()

    def found_variables(self):
        return {k: v for k, v in os.environ.items()
                if k in KEPT and self.simulated or not k.startswith(CLEARED) and k != "LD_PRELOAD"}

    def environment(self, **more):
        """For one of our own programs."""
        variables = self.found_variables()
        path = self.folders + [p for p in variables.get("LD_LIBRARY_PATH", "").split(":") if p]
        variables["LD_LIBRARY_PATH"] = ":".join(path)
        variables["PATH"] = os.path.dirname(os.path.abspath(self.python)) + ":" + variables.get("PATH", os.defpath)
        if self.simulated:
            variables["SIMCUDA_COSTS"] = os.path.join(self.files, "demo.costs")
        variables.update(more)
        return variables

    def environment_as_found(self, **more):
        """For programs that bring their own libraries: nothing is set that a user would not have set."""
        variables = self.found_variables()
        if self.simulated:
            path = self.folders + [p for p in variables.get("LD_LIBRARY_PATH", "").split(":") if p]
            variables["LD_LIBRARY_PATH"] = ":".join(path)
        variables.update(more)
        return variables

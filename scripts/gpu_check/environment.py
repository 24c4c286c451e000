"""What this machine is, and what `kerncast doctor` says of it."""
import json
import os
import platform

from .clock import run

NAME, TITLE = "environment", "Environment"
NEEDS_S, SHARE_S = 5, 45

VERSIONS = """
import importlib.metadata as m, platform
print("python", platform.python_version())
for name in ("torch", "triton", "cupy", "cupy-cuda13x", "cupy-cuda12x", "jax", "jaxlib", "jax-cuda13-plugin",
             "jax-cuda12-plugin", "numpy", "nvidia-cuda-runtime", "nvidia-cuda-cupti", "nvidia-cuda-cupti-cu12"):
    try:
        print(name, m.version(name))
    except m.PackageNotFoundError:
        pass
"""


def run_step(machine, clock, section):
    section.claim("GPU", "gpu-probe", machine.gpu)
    smi(machine, clock, section)
    section.file_text(f"$ uname\n{' '.join(platform.uname())}")
    packages(machine, clock, section)
    libraries(machine, section)
    doctor(machine, clock, section)


def smi(machine, clock, section):
    if machine.simulated:
        section.skip("nvidia-smi: the device is simulated")
        return
    fields = "name,driver_version,memory.total,clocks.sm,clocks.max.sm,power.limit,persistence_mode,compute_mode"
    ended = run(["nvidia-smi", "--query-gpu=" + fields, "--format=csv,noheader"], clock, 15)
    if ended.status:
        section.skip(f"nvidia-smi: {ended.how()}")
        return
    values = [v.strip() for v in ended.out.splitlines()[0].split(",")]
    section.claim("GPU", "nvidia-smi", values[0])
    for field, value in zip(fields.split(","), values):
        if field != "name":
            machine.about[field.replace("_", " ")] = value
    section.file_text("$ nvidia-smi\n" + run(["nvidia-smi"], clock, 15).out)


def packages(machine, clock, section):
    ended = run([machine.python, "-c", VERSIONS], clock, 20)
    machine.about["python packages"] = ", ".join(ended.out.split("\n")).strip(", ")
    section.file_text("python packages:\n" + ended.out + ended.err)


def libraries(machine, section):
    rows = section.table("library", "found", title="What the compiled programs use.")
    for name in ("libcuda.so.1", "libcudart.so.13", "libcupti.so.13"):
        path = machine.place_of(name)
        section.row(rows, name, os.path.realpath(path) if path else
                    "as the loader finds it" if name == "libcuda.so.1" else "not found")
    for prefix in ("libcupti.so", "libcudart.so", "libcuda.so"):
        section.file_text(f"{prefix}: " + " ".join(machine.all_places_of(prefix)))


def doctor(machine, clock, section):
    environment = machine.environment(KERNCAST_DB=os.path.join(machine.scratch, "doctor.db"))
    ended = run([machine.kerncast, "doctor"], clock, 40, environment)
    section.file_text("$ kerncast doctor\n" + ended.out + ended.err)
    said = run([machine.kerncast, "doctor", "--json"], clock, 40, environment)
    try:
        answer = json.loads(said.out)
    except ValueError:
        section.fail(f"kerncast doctor --json: {said.how()}")
        return
    machine.about["driver API"] = answer["driver_version"]
    section.claim("driver", "kerncast doctor", answer["driver_version"])
    if answer["devices"]:
        section.claim("GPU", "kerncast doctor", answer["devices"][0])
    rows = section.table("level", "check", "doctor says")
    for check in answer["checks"]:
        section.row(rows, check["level"], check["name"], check["text"])
    named = [check["name"] for check in answer["checks"] if check["level"] == "problem"]
    section.answer("doctor", "kerncast doctor", ", ".join(named) or "no", answer["ok"])
    section.judge("" if answer["ok"] and ended.status == 0 else "kerncast doctor names a problem")
    section.judge("" if answer["simulated"] == machine.simulated else f"doctor: simulated is {answer['simulated']}")

"""`kerncast calibrate`: what it measures of this device, and whether that can be."""
import json
import os

from .clock import run

NAME, TITLE = "calibrate", "Calibration"
NEEDS_S, SHARE_S = 5, 20

# Quantity, and what it cannot exceed.
LIMITS = (("scattered_bytes_per_s", "copy_bytes_per_s"), ("bus_bytes_per_s", "copy_bytes_per_s"),
          ("shared_latency_ns", "global_latency_ns"), ("empty_kernel_ns", "launch_overhead_ns"))
NOT_POSITIVE = ("cupti_launch_ns", "cupti_kernel_ns")  # differences, which may come out below 0


def run_step(machine, clock, section):
    database = os.path.join(machine.scratch, "calibrate.db")
    environment = machine.environment()
    environment.pop("SIMCUDA_COSTS", None)
    ended = run([machine.kerncast, "calibrate", "--json", database], clock, clock.left(), environment)
    section.file_text("$ kerncast calibrate --json\n" + ended.out + ended.err)
    try:
        measured = {key: value for key, value in json.loads(ended.out).items() if key.endswith(("_ns", "_s"))}
    except ValueError:
        section.answer("calibration", "kerncast", f"{ended.how()}: {ended.last_words()}", False)
        section.fail(f"kerncast calibrate: {ended.how()}: {ended.last_words()}")
        return
    rows = section.table("quantity", "measured")
    for key, value in measured.items():
        section.row(rows, key, "-" if value is None else f"{value:.6g}")
    why = impossible(measured)
    section.answer("calibration", "kerncast", why or "yes", not why)
    section.passed()


def impossible(measured):
    """What cannot be, or ""."""
    for key, value in measured.items():
        if value is None or (value <= 0 and key not in NOT_POSITIVE):
            return f"{key} is {value}"
    for key, other in LIMITS:
        if measured[key] > measured[other]:
            return f"{key} is {measured[key]:.4g}, {other} {measured[other]:.4g}"
    return ""

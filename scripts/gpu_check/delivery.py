"""When CUPTI delivers records while a long kernel is in flight."""
from .facts import NOT_ASKED, Facts

NAME, TITLE = "delivery", "When records are delivered"
NEEDS_S, SHARE_S = 10, 25
SMALL_BYTES = 16384

# Buffer, kernels, how long each runs (µs). The last kinds fill more than one small buffer.
KINDS = ((1 << 20, 20, 5000), (SMALL_BYTES, 20, 5000), (SMALL_BYTES, 200, 500))


def run_step(machine, clock, section):
    rows = section.table("part", "fact", "", "seen")
    seen = section.table("buffer, bytes", "short kernels", "records delivered while the long one ran",
                         "longest flush, ms", title="A flush each 100 ms, beside a kernel of 2 s.")
    for size, kernels, short_us in KINDS:
        title = f"{kernels} kernels, {size} bytes"
        facts = Facts(machine, clock, section, rows, "delivery", "--buffer", size, "--kernels", kernels, "--short-us",
                      short_us, "--long-ms", 500 if machine.quick else 2000, title=title)
        count = facts.get("while_running")
        section.row(seen, size, kernels, count, facts.get("longest_flush_ms"))
        if count.startswith(NOT_ASKED):
            section.ask_not("F2" if kernels == 20 else "F2-buffer", f"{title}: {count[len(NOT_ASKED):]}")
        elif kernels == 20:
            place(section, title, int(count), kernels)
        else:
            section.answer("F2-buffer", title, f"{count} of {kernels} records", int(count) > 0)


def place(section, title, count, kernels):
    said = {0: "at the launch", kernels: "when the kernel has ended"}.get(
        count, f"neither: {count} of {kernels} records were delivered while the long kernel ran")
    section.answer("F2", title, said, count == 0)
    section.claim("a record takes its place", title, said)

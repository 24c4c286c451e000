"""First launches: a dozen of our own kernels (cuda_tests/explain), each predicted from its code before anything was
measured, beside what it then took. The range is the one that `kerncast explain` prints for such a launch."""
import os
import re

from .facts import Facts
from .ledger import Report

try:
    import sqlite3
except ImportError:
    sqlite3 = None

NAME, TITLE = "first", "First launches, from the code"
NEEDS_S, SHARE_S = 5, 25
LEAST_WITHIN_2, LEAST_IN_RANGE = 1 / 2, 3 / 4

# File, kernel, grid, block, bytes of shared memory, arguments as facts_first.c reads them. 16 million numbers, or
# matrices of 4,096 rows; the products of 1,024.
N = 1 << 24
FLAT, SQUARE, TILES = (N // 256, 1, 1), (128, 128, 1), (128, 512, 1)
LAUNCHES = (
    ("simple", "vector_add", FLAT, (256, 1, 1), 0, f"b0 b1 b2 i{N}"),
    ("simple", "matrix_sum", SQUARE, (32, 32, 1), 0, "b0 b1 b2 i4096"),
    ("simple", "matrix_sum_uncoalesced", SQUARE, (32, 32, 1), 0, "b0 b1 b2 i4096"),
    ("simple", "transpose_naive", SQUARE, (32, 8, 1), 0, "b0 b1 i4096"),
    ("simple", "stencil_2d", TILES, (32, 8, 1), 0, "b0 b1 i4096 f0.5 f0.125"),
    ("simple", "saxpy_grid_stride", (1024, 1, 1), (256, 1, 1), 0, f"i{N} f2 b0 b1"),
    ("simple", "copy_float4", (N // 1024, 1, 1), (256, 1, 1), 0, f"b0 b1 i{N // 4}"),
    ("simple", "exponential", FLAT, (256, 1, 1), 0, f"b0 b1 i{N}"),
    ("shared", "transpose_tiled", SQUARE, (32, 8, 1), 0, "b0 b1 i4096"),
    ("shared", "reduction", FLAT, (256, 1, 1), 1024, f"b0 b1 i{N}"),
    ("matmul", "matmul_naive_coalesced", (32, 32, 1), (32, 32, 1), 0, "b0 b1 b2 i1024"),
    ("matmul", "matmul_tiled_coalesced_32", (32, 32, 1), (32, 32, 1), 0, "b0 b1 b2 i1024"),
)

FIRSTS = """
SELECT k.mangled, l.solo_ns, l.solo_low_ns, l.solo_high_ns, l.measured_end_ns - l.measured_start_ns, l.model
FROM launch l JOIN kernel k ON k.id = l.kernel
WHERE (l.kernel, l.sequence) IN (SELECT kernel, min(sequence) FROM launch GROUP BY kernel)
AND l.solo_ns IS NOT NULL AND l.measured_end_ns IS NOT NULL ORDER BY l.sequence"""


def run_step(machine, clock, section):
    rows = section.table("part", "fact", "", "seen")
    listed, database = (os.path.join(machine.scratch, name) for name in ("first.txt", "first.db"))
    names = write_list(machine, listed)
    facts = Facts(machine, clock, section, rows, "first", "--file", listed, "--cupti", "none", preload=database,
                  costs="first.costs", run_options=("--fresh",))
    report = Report(machine, clock, database)
    machine.results_database(database)
    why = facts.failed or report.objection(measured=False)
    if why or sqlite3 is None:
        section.ask_not("first-launches", why or "this python has no sqlite3 module")
        return
    with_file = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        found = with_file.execute(FIRSTS).fetchall()
    finally:
        with_file.close()
    say(section, names, found)


def write_list(machine, path):
    """Returns the kernels' names by their mangled ones."""
    names, lines = {}, []
    for file, name, grid, block, shared, arguments in LAUNCHES:
        ptx = os.path.join(machine.files, "explain", file + ".ptx")
        with open(ptx, encoding="utf-8") as text:
            mangled = re.search(rf"\.entry ((?:_Z{len(name)})?{name}[A-Z0-9]?\w*)\(", text.read()).group(1)
        names[mangled] = name
        lines.append(" ".join(str(word) for word in (ptx, mangled, *grid, *block, shared, arguments)) + "\n")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(lines)
    return names


def say(section, names, found):
    rows = section.table("kernel", "predicted, µs", "range, µs", "measured, µs", "predicted / measured", "by")
    within, inside = 0, 0
    for mangled, solo, low, high, took, model in found:
        within += took / 2 <= solo <= took * 2
        inside += low <= took <= high
        section.row(rows, names.get(mangled, mangled), f"{solo / 1000:.1f}", f"{low / 1000:.1f} to {high / 1000:.1f}",
                    f"{took / 1000:.1f}", f"{solo / took:.2f}", model)
    count = len(LAUNCHES)
    section.answer("first-launches", "cuda_tests/explain", f"of {count}: {within} within 2 x, {inside} in their ranges",
                   within >= LEAST_WITHIN_2 * count and inside >= LEAST_IN_RANGE * count)

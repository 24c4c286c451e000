"""How kernels that share SMs slow each other down: cuda_tests/experiments/sharing, without kerncast."""
import csv
import os

from .clock import run

NAME, TITLE = "sharing", "Kernels that share SMs"
NEEDS_S, SHARE_S = 10, 20
QUICK = ("--repeat", "1", "--us", "300")
TABLES = ("sharing_kernels.csv", "sharing_pairs.csv")
OVERLAP = 0.9  # of the shorter one's time; a pair below did not share SMs for as long as it could


def run_step(machine, clock, section):
    folder = os.path.join(machine.files, "experiments")
    program = os.path.join(folder, machine.static("sharing"))
    costs = {"SIMCUDA_COSTS": os.path.join(folder, "sharing.costs")} if machine.simulated else {}
    ended = run([program, *(QUICK if machine.quick else ())], clock, clock.left(), machine.environment(**costs))
    texts = ended.out.split("\n\n")
    if ended.status or len(texts) != len(TABLES):
        section.fail(f"sharing: {ended.how()}: {ended.last_words()}")
    kernels, pairs = (rows_of(text, section, name) for text, name in zip(texts + [""], TABLES))
    if not pairs:
        return
    kernel_table(kernels, section)
    pair_table(kernels, pairs, section)


def rows_of(text, section, name):
    """The table's rows, and the table in the results folder, as far as the program came."""
    lines = text.splitlines()
    if lines:
        section.results_file(name, "\n".join(lines) + "\n")
    return [row for row in csv.DictReader(lines) if None not in row.values()]


def kernel_table(kernels, section):
    rows = section.table("kernel", "blocks on an SM", "threads", "registers", "shared memory, bytes", "steps",
                         "alone, µs", "work per ns", "of", title="Each alone.")
    for kernel in kernels:
        section.row(rows, kernel["kernel"], kernel["blocks_per_sm"], kernel["threads"], kernel["registers"],
                    kernel["shared_bytes"], kernel["steps"], f"{int(kernel['alone_ns']) / 1000:.0f}",
                    kernel["work_per_ns"], kernel["unit"])


def pair_table(kernels, pairs, section):
    names = [kernel["kernel"] for kernel in kernels]
    slowdown = {(pair["a"], pair["b"]): pair["slowdown_in_overlap_a"] for pair in pairs}
    rows = section.table("slowdown of", *(f"beside {name}" for name in names),
                         title="Time over the time alone, while both ran; the first was launched first.")
    for a in names:
        cells = [slowdown.get((a, b), "") for b in names]
        section.row(rows, a, *(f"{float(cell):.2f}" if cell else "-" for cell in cells))
    section.answer("sharing-pairs", "sharing", f"{len(pairs)} of {len(names) ** 2}", len(pairs) == len(names) ** 2)
    section.judge("" if len(pairs) == len(names) ** 2 else f"{len(pairs)} of {len(names) ** 2} pairs")
    apart = [f"{pair['a']} and {pair['b']}" for pair in pairs if float(pair["overlap_share"]) < OVERLAP]
    if apart:
        section.note(f"In {len(apart)} pairs the shorter kernel ran alone for more than a tenth of its time: "
                     + ", ".join(apart[:8]) + (", …" if len(apart) > 8 else "") + ".")
    partly = sum(1 for pair in pairs if pair["shared_sms_share"] and float(pair["shared_sms_share"]) < 1)
    if partly:
        section.note(f"In {partly} pairs some SMs had blocks of one kernel only.")

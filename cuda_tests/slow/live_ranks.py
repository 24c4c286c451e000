#!/usr/bin/env python3
"""Whether `kerncast slow` and `kerncast diff` name the slow rank first, on the sets of ranks.py while they are recorded live.

Two, four or eight processes, each a rank with a simulated GPU of its own, play their kernels (cuda_tests/playback) under one
`kerncast run`, each as long as ranks.py has made it, with an all-reduce at the end of each step in which those that are early
wait. A run before has the same steps, and no rank is slow in it. Kinds, as in ranks.py:

  rank        one takes 1.05 to 2 times as long in all kernels. Right: `slow` names it first, with 90 to 110 % of the time that
              it lost, and of what the others waited for it; the first contributor of `diff` is that rank as a whole, with 90 to
              110 % of that time
  kernel      one takes longer in one kernel, which costs it 2 % of its time or more. Right: `slow` names it first; the first
              contributor of `diff` is that kernel, on that rank, with 90 to 110 % of the time that it lost
  kernel_1    the same, 1 to 2 %
  kernel_0    the same, less than 0.5 %. Right: `slow` names no rank
  other_work  nothing is slow, and ranks have kernels, sizes and numbers of launches of their own. Right: `slow` names no rank
  before      of the run before, of any kind. Right: `slow` names no rank

usage: cuda_tests/slow/live_ranks.py [--build FOLDER] [--first SEED] [--sets N] [--kinds KIND[,KIND...]] [--list]

Status 1 if less than 95 % are right: of kernel 90 %, of kernel_1 80 %. All figures are of the simulated device.
"""

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile

import ranks

AHEAD_NS = 20_000_000  # of a kernel's start, so that a busy machine does not make it late
BEGIN_NS = 50_000_000
KINDS = ("rank", "kernel", "kernel_1", "kernel_0", "other_work")
NAMED = ("rank", "kernel", "kernel_1")
JOB = """for rank in $(seq 0 $(($1 - 1))); do
    RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=$1 "$2" "$3/$rank.launches" "$3/$rank.truth" 0.000001 0 &
done
wait"""


def write_launches(path, rows):
    """What cuda_tests/playback reads, of one rank."""
    kernels, lines = {}, []
    begin = rows[0][1] - BEGIN_NS
    for _, start, ns, size, kernel in rows:
        number = kernels.setdefault(kernel, len(kernels))
        lines.append(f"{max(start - begin - AHEAD_NS, 0)} {start - begin} {ns} 0 {number} {size * 64} 1 1 128 1 1 0")
    step_ns = rows[-1][1] + rows[-1][2] - begin
    with open(path, "w", encoding="utf-8") as file:
        print(f"{len(kernels)} 1 {len(lines)} {step_ns}", *kernels, *lines, sep="\n", file=file)


def record(given, folder, rows):
    of_rank = collections.defaultdict(list)
    for row in rows:
        of_rank[row[0]].append(row)
    for rank, own in of_rank.items():
        write_launches(f"{folder}/{rank}.launches", own)
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("KERNCAST_", "SIMCUDA_"))}
    environment.update(LD_LIBRARY_PATH=f"{given.build}/simcuda", SIMCUDA_DEVICE=",".join(["A100"] * len(of_rank)))
    job = ["sh", "-c", JOB, "ranks", str(len(of_rank)), f"{given.build}/playback/playback", folder]
    subprocess.run([f"{given.build}/kerncast", "run", "-q", "-o", f"{folder}/ranks.db", *job], env=environment, check=True)


def document(given, folder, *command):
    told = subprocess.run([f"{given.build}/kerncast", *command, "--json", f"{folder}/ranks.db"], capture_output=True, check=True)
    return json.loads(told.stdout)


def slow_of(given, folder, number, rows):
    found = document(given, folder, "slow", "--run", str(number))
    measured, played = found["measured"], sum(row[2] for row in rows)
    if measured["launches"] != len(rows) or abs(measured["ns"] - played) > 1e-8 * played:  # of nine digits
        sys.exit(f"{measured['launches']} launches of {measured['ns']} ns were measured, not {len(rows)} of {played} ns")
    return found["processes"]


def judge_slow(named, made, is_whole):
    """Whether the slow rank is named first; slow in all kernels: with what it lost, and the others waited for it."""
    if not named or not named[0]["name"].startswith(f"rank {made.slow} "):
        return False
    of = (named[0]["lost_ns"] / made.lost, named[0]["others_waited_ns"] / made.waited) if is_whole else ()
    return all(0.9 <= part <= 1.1 for part in of)


def judge_diff(first, made, is_whole):
    """Whether the first contributor is what became slower."""
    if not first or first["process"] != f"rank {made.slow}":
        return False
    if is_whole:
        return first["why"] == "slower_process" and 0.9 <= first["difference_ns"] / made.lost <= 1.1
    return first["why"] == "slower" and first["name"] == f"{next(iter(made.factors))} on rank {made.slow}"


def judge(given, folder, seed, kind):
    """By what is asked, whether it is right; and in words what was found."""
    made = ranks.make_set(seed, kind)
    before = ranks.make_set(seed, kind, as_it_should_be=True).rows
    record(given, folder, before)
    record(given, folder, made.rows)
    accused, named = slow_of(given, folder, 1, before), slow_of(given, folder, 2, made.rows)
    contributors = document(given, folder, "diff")["contributors"]
    right = {"before": not accused}
    if kind in NAMED:
        right[f"{kind} slow"] = judge_slow(named, made, kind == "rank")
        right[f"{kind} diff"] = judge_diff(contributors[0] if contributors else None, made, kind == "rank")
    else:
        right[f"{kind} slow"] = not named
    found = [", ".join(f"{one['name']} {one['lost_ns'] / 1e3:.0f} us" for one in some[:3]) or "none" for some in (named, accused)]
    first = f"{contributors[0]['name']} {contributors[0]['difference_ns'] / 1e3:.0f} us" if contributors else "none"
    return right, (f"{made.words}, rank {made.slow} lost {made.lost / 1e3:.0f} us, others waited {made.waited / 1e3:.0f} us;"
                   f" slow: {found[0]}; diff: {first}; before: {found[1]}")


def parse():
    options = argparse.ArgumentParser(description="Whether slow and diff name the slow rank of a live run first.")
    options.add_argument("--build", default=f"{ranks.ROOT}/build")
    options.add_argument("--first", type=int, default=1, help="seed of the first set")
    options.add_argument("--sets", type=int, default=20)
    options.add_argument("--kinds", default="rank,kernel,other_work,kernel_1,rank,kernel_0", help="of the sets, in turn")
    options.add_argument("--list", action="store_true", help="a line for each set")
    given = options.parse_args()
    given.kinds = given.kinds.split(",")
    if not set(given.kinds) <= set(KINDS):
        options.error(f"--kinds takes {', '.join(KINDS)}")
    return given


def main():
    given = parse()
    sums, of = collections.Counter(), collections.Counter()
    for number in range(given.sets):
        seed, kind = given.first + number, given.kinds[number % len(given.kinds)]
        with tempfile.TemporaryDirectory() as folder:
            right, words = judge(given, folder, seed, kind)
        sums.update(right)
        of.update(right.keys())
        wrong = [name for name, is_right in right.items() if not is_right]
        if given.list or wrong:
            print(f"seed {seed}, {kind}: {'WRONG: ' + ', '.join(wrong) if wrong else 'right'}: {words}", flush=True)
    for name in of:
        print(f"{name:15} {sums[name]:4} of {of[name]:4} right")
    sys.exit(0 if all(sums[name] >= ranks.LEAST.get(name.split()[0], 0.95) * of[name] for name in of) else 1)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Whether `kerncast slow` and `kerncast diff` name the slow rank first, on the sets of ranks.py while they are recorded live.

Two, four or eight processes, each a rank with a simulated GPU of its own, play their kernels (cuda_tests/playback) under one
`kerncast run`: each as long as ranks.py has made it, one rank 1.05 to 2 times as long in all, with an all-reduce at the end of
each step in which those that are early wait. A run before has the same steps, and no rank is slow in it.

  slow     right: that rank is named first, with 90 to 110 % of the time that it lost, and of what the others waited for it
  diff     right: the first contributor is that rank as a whole, with 90 to 110 % of that time
  healthy  of the run before, `slow` names no rank

usage: cuda_tests/slow/live_ranks.py [--build FOLDER] [--first SEED] [--sets N] [--list]

Status 1 if less than 95 % are right. All figures are of the simulated device.
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


def judge(given, folder, seed):
    """What is right, and in words what was found."""
    rows, slow, _, lost, waited, made = ranks.make_set(seed, "rank")
    before = ranks.make_set(seed, "rank", as_it_should_be=True)[0]
    record(given, folder, before)
    record(given, folder, rows)
    accused, named = slow_of(given, folder, 1, before), slow_of(given, folder, 2, rows)
    first = document(given, folder, "diff")["contributors"][:1]
    of_slow = [named[0]["lost_ns"] / lost, named[0]["others_waited_ns"] / waited] if named else [0, 0]
    of_diff = first[0]["difference_ns"] / lost if first else 0
    right = {
        "slow": bool(named) and named[0]["name"].startswith(f"rank {slow} ") and all(0.9 <= part <= 1.1 for part in of_slow),
        "diff": bool(first) and (first[0]["why"], first[0]["process"]) == ("slower_process", f"rank {slow}") and 0.9 <= of_diff <= 1.1,
        "healthy": not accused,
    }
    words = ", ".join(f"{one['name']} {one['lost_ns'] / 1e3:.0f} us" for one in named[:3]) or "none"
    healthy = ", ".join(f"{one['name']} {one['lost_ns'] / 1e3:.0f} us" for one in accused[:3]) or "none"
    return right, (f"{made}, rank {slow} lost {lost / 1e3:.0f} us; slow: {words}, {100 * of_slow[0]:.0f} %, of waiting {100 * of_slow[1]:.0f} %;"
                   f" diff: {first[0]['name'] if first else 'none'}, {100 * of_diff:.0f} %; healthy: {healthy}")


def main():
    options = argparse.ArgumentParser(description="Whether slow and diff name the slow rank of a live run first.")
    options.add_argument("--build", default=f"{ranks.ROOT}/build")
    options.add_argument("--first", type=int, default=1, help="seed of the first set")
    options.add_argument("--sets", type=int, default=20)
    options.add_argument("--list", action="store_true", help="a line for each set")
    given = options.parse_args()
    sums = collections.Counter()
    for seed in range(given.first, given.first + given.sets):
        with tempfile.TemporaryDirectory() as folder:
            right, words = judge(given, folder, seed)
        sums.update(right)
        wrong = [name for name, is_right in right.items() if not is_right]
        if given.list or wrong:
            print(f"seed {seed}: {'WRONG: ' + ', '.join(wrong) if wrong else 'right'}: {words}", flush=True)
    for name in ("slow", "diff", "healthy"):
        print(f"{name:10} {sums[name]:4} of {given.sets:4} right")
    sys.exit(0 if all(sums[name] >= 0.95 * given.sets for name in ("slow", "diff", "healthy")) else 1)


if __name__ == "__main__":
    main()

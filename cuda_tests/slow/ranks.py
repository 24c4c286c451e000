#!/usr/bin/env python3
"""Whether `kerncast slow` names the slow rank first, on seeded sets of made ranks, and accuses none of healthy ones.

Two, four or eight ranks repeat a step of kernels of several sizes that ends with an all-reduce, in which those that are
early wait; their clocks are up to 5 ms apart. Launches vary at random, kernels on ranks too, by 0.2 %.

  rank        one takes 1.05 to 2 times as long in all its kernels (1.3 to 2 where the clock ticks in microseconds, as in a
              third of the sets). Right: it is named first, with 90 to 110 % of the time that it lost: what its kernels
              took, less that over the factor; and 90 to 110 % of what the others waited for it, in the all-reduces in which
              it came last, but no more than it lost
  midway      the same, 1.2 to 2 times (from 1.5 in microseconds), from a step on that has a quarter of all before it and
              after it at least. Right: the same, and it is said when, to within two steps
  kernel      one takes 1.08 to 2 times as long in one kernel, which costs it 2 % of its time or more. Right: it is named first
  kernel_1    the same, 1 to 2 %
  kernel_0    the same, less than 0.5 %. Right: no process is named
  healthy     nothing is slow. Right: no process is named
  other_work  the same, where ranks have kernels, sizes and numbers of launches of their own

With --traces, healthy sets of recorded kernels: real ranks, and recordings of one process, the launches of each shape dealt
out to two, four and eight ranks at random. A recording counts as accused if a process is named in any of its sets.
KC_SHARED_DATA: folder of the full recordings; those for choosing constants are used.

usage: cuda_tests/slow/ranks.py [--build FOLDER] [--first SEED] [--sets N] [--list] [--traces]

Status 1 if less than 95 % of a kind are right.
"""

import argparse
import collections
import csv
import gzip
import json
import math
import os
import random
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
KINDS = ("rank", "healthy", "kernel", "rank", "other_work", "kernel_1", "rank", "kernel_0", "midway")
LEAST = {"kernel": 0.9, "kernel_1": 0.8}  # of a kind are right; of others 95 %
COSTS = {"kernel": (0.02, 1), "kernel_1": (0.01, 0.02), "kernel_0": (0, 0.005)}  # share of the rank's time
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
Made = collections.namedtuple("Made", "rows slow factors since lost waited words")
COLUMNS = "process kind start_ns duration_ns stream grid_x grid_y grid_z block_x block_y block_z name".split()


def make_steps(chance, ranks, kind):
    """By rank, its step: launches (kernel, size, mean duration in ns)."""
    ns = {f"kernel_{i}_{chance.randrange(1000)}": 2000 * 50 ** chance.random() for i in range(chance.randint(8, 14))}
    step = [(name, chance.choice((1, 2, 4))) for name in [*ns, *chance.choices(list(ns), k=chance.randint(5, 15))]]
    chance.shuffle(step)
    steps = []
    for rank in range(ranks):
        own = list(step)
        if kind == "other_work":
            own = [(name, size * chance.choice((1, 1, 3, 5))) for name, size in step for _ in range(chance.choice((0, 1, 1, 2)))]
            own += [(f"embedding_{rank}", size) for size in range(1, chance.randint(2, 8))]
        steps.append([(name, size, ns.get(name, 20000) * size) for name, size in own])
    return steps


def slow_kernels(chance, kind, step, tick):
    """By kernel, how many times as long it takes on the slow rank."""
    if kind == "rank":
        return dict.fromkeys((name for name, _, _ in step), chance.uniform(1.3 if tick > 1 else 1.05, 2))
    if kind == "midway":
        return dict.fromkeys((name for name, _, _ in step), chance.uniform(1.5 if tick > 1 else 1.2, 2))
    for _ in range(20 if kind in COSTS else 0):
        name, factor = chance.choice(step)[0], chance.uniform(1.3 if tick > 1 else 1.08, 2)
        lost = (factor - 1) * sum(ns for kernel, _, ns in step if kernel == name)
        least, most = COSTS[kind]
        if least <= lost / (lost + sum(ns for _, _, ns in step)) < most:
            return {name: factor}
    return {} if kind in COSTS else {None: 1}


def make_set(seed, kind, as_it_should_be=False):
    """Rows (rank, start, duration, size, kernel), the slow rank, by its slow kernels how many times as long they take, since
    when, what it lost, what others waited, and in words what was made.

    as_it_should_be: the same steps in another run, in which none is slow.
    """
    chance = random.Random(seed)
    ranks, tick, noise, count = chance.choice((2, 4, 8)), chance.choice((1, 1, 1000)), chance.choice((0.005, 0.01, 0.03)), chance.randint(12, 60)
    slow, rows, factors = chance.randrange(ranks), [], {}
    while not factors:
        steps = make_steps(chance, ranks, kind)
        factors = slow_kernels(chance, kind, steps[slow], tick)
    if as_it_should_be:
        chance, factors = random.Random(-seed), {None: 1}
    of_run = collections.defaultdict(lambda: math.exp(chance.gauss(0, 0.002)))
    now = [chance.randrange(10**9, 10**9 + 5 * 10**6) for _ in range(ranks)]  # each on its clock
    apart = list(now)

    def add(rank, ns, size, kernel):
        rows.append((rank, now[rank] // tick * tick, max(round(ns / tick), 1) * tick, size, kernel))
        now[rank] += round(ns)

    waited = lost = 0
    begins = chance.randint(math.ceil(count / 4), count * 3 // 4) if kind == "midway" else 0
    since = []
    for number in range(count):
        if number >= begins:
            since.append(now[slow])
        for rank in range(ranks):
            for kernel, size, ns in steps[rank]:
                times = factors.get(kernel, 1) if rank == slow and number >= begins else 1
                add(rank, ns * times * of_run[kernel, rank] * math.exp(chance.gauss(0, noise)), size, kernel)
                lost += rows[-1][2] * (1 - 1 / times)
                now[rank] += 2000
        there = [at - by for at, by in zip(now, apart)]
        waited += sum(max(there) - at for at in there) if there[slow] == max(there) else 0
        end = max(there) + round(30000 * math.exp(chance.gauss(0, 0.02)))
        for rank in range(ranks):
            add(rank, end + apart[rank] - now[rank], 1, ALL_REDUCE)
            now[rank] += 2000
    earliest = min(row[1] for row in rows)
    since = [since[0] - earliest, since[1] - since[0]] if begins else None
    return Made(rows, slow, factors, since, lost, min(waited, (ranks - 1) * lost), f"{ranks} ranks, {count} steps, x{max(factors.values()):.3f}, noise {noise}, tick {tick}")


def write(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(COLUMNS)
        for rank, start, ns, size, kernel in sorted(rows, key=lambda row: row[0]):
            out.writerow([f"rank {rank}", "kernel", start, ns, 7, size * 64, 1, 1, 128, 1, 1, kernel])


def slow_of(kerncast, folder, files):
    database = f"{folder}/ranks.db"
    if os.path.exists(database):
        os.remove(database)
    subprocess.run([kerncast, "import", *files, "-o", database], check=True, stdout=subprocess.DEVNULL)
    return json.loads(subprocess.run([kerncast, "slow", "--json", database], capture_output=True, check=True).stdout)["processes"]


def judge_made(given, folder):
    right, of = collections.Counter(), collections.Counter()
    for seed in range(given.first, given.first + given.sets):
        kind = KINDS[seed % len(KINDS)]
        made = make_set(seed, kind)
        write(f"{folder}/ranks.csv", made.rows)
        named = slow_of(f"{given.build}/kerncast", folder, [f"{folder}/ranks.csv"])
        first = named[0] if named else {"name": None, "lost_ns": 0, "others_waited_ns": 0, "since_ns": None}
        found = [first[of] / true if kind in ("rank", "midway") else 1 for of, true in (("lost_ns", made.lost), ("others_waited_ns", made.waited))]
        is_right = str(first["name"]).startswith(f"rank {made.slow} ") and all(0.9 <= part <= 1.1 for part in found)
        if made.since:
            is_right = is_right and first["since_ns"] is not None and abs(first["since_ns"] - made.since[0]) <= 2 * made.since[1]
        elif kind not in ("rank", "kernel", "kernel_1"):
            is_right = not named
        of[kind] += 1
        right[kind] += is_right
        if given.list or not is_right:
            others = ", ".join(f"{one['name']} {one['lost_ns'] / 1e3:.0f} us" for one in named[:3])
            print(f"seed {seed}: {kind}: {made.words}: {'right' if is_right else 'WRONG'}, of rank {made.slow} {100 * found[0]:.0f} %, of waiting {100 * found[1]:.0f} %; named: {others or 'none'}, since {first['since_ns']} of {made.since}")
    for kind in of:
        print(f"{kind:10} {right[kind]:4} of {of[kind]:4} right")
    return all(right[kind] >= LEAST.get(kind, 0.95) * of[kind] for kind in of)


# --- recordings


def recordings(data):
    """Names of recordings, and the files of their ranks."""
    with open(f"{data}/traces/USE.csv", encoding="utf-8") as file:
        use = {f"traces/{row['file']}": row["use"] for row in csv.DictReader(file)}
    for more in ("traces_2", "traces_3"):
        if os.path.exists(f"{data}/{more}/MANIFEST.csv"):
            with open(f"{data}/{more}/MANIFEST.csv", encoding="utf-8") as file:
                use.update({f"{more}/{row['file']}": row["use"] for row in csv.DictReader(file)})
    chosen = sorted(name for name, of in use.items() if of == "choose" and "/pytorch/" in name and os.path.exists(f"{data}/{name}"))
    groups = collections.defaultdict(list)
    for name in chosen:
        base = os.path.basename(name)[: -len(".csv.gz")]
        group = base[:-1] if base.startswith("param_dlrm") or base.startswith("hta_sampled_rank") else base
        groups[group].append(f"{data}/{name}")
    return groups


def kernels_of(path):
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        table = csv.DictReader(file)
        return table.fieldnames, [row for row in table if row["kind"] == "kernel"]


def dealt(path, ranks, chance):
    """The rows of one process, those of each launch shape dealt out in turn to the ranks in an order by chance."""
    columns, rows = kernels_of(path)
    rows = [row for row in rows if row["process"] == rows[0]["process"]]
    order = collections.defaultdict(list)
    for row in rows:
        left = order[tuple(row[name] for name in columns if name not in ("start_ns", "duration_ns", "launch_ns", "correlation", "stream"))]
        if not left:
            left.extend(chance.sample(range(ranks), ranks))
        row["process"] = f"rank {left.pop()}"
    return columns, sorted(rows, key=lambda row: row["process"])


def together(paths):
    parts = [kernels_of(path) for path in paths]
    for rank, (_, rows) in enumerate(parts):
        for row in rows:
            row["process"] = f"rank {rank}"
    return parts[0][0], [row for _, rows in parts for row in rows]


def sets_of(paths):
    if len(paths) > 1:
        for ranks in (count for count in (2, 4, 8) if count <= len(paths)):
            for first in range(0, len(paths) - ranks + 1, ranks):
                yield f"ranks {first} to {first + ranks - 1}", together(paths[first : first + ranks])
    for path in paths[:1] if len(paths) > 2 else paths:
        for ranks in (2, 4, 8):
            for seed in range(3):
                yield f"{os.path.basename(path)} dealt to {ranks}, {seed}", dealt(path, ranks, random.Random(seed))


def judge_recorded(given, folder):
    accused, sets, accused_sets = [], 0, 0
    groups = recordings(os.environ.get("KC_SHARED_DATA", f"{ROOT}/../shared/data"))
    for group, paths in groups.items():
        wrong = []
        for words, (columns, rows) in sets_of(paths):
            with open(f"{folder}/ranks.csv", "w", newline="", encoding="utf-8") as file:
                out = csv.DictWriter(file, columns)
                out.writeheader()
                out.writerows(rows)
            named = slow_of(f"{given.build}/kerncast", folder, [f"{folder}/ranks.csv"])
            sets += 1
            if named:
                wrong.append(f"{words}: " + ", ".join(f"{one['name']} {one['lost_ns'] / 1e3:.0f} us, {one['slower']}" for one in named[:3]))
        accused += [group] * bool(wrong)
        accused_sets += len(wrong)
        for line in wrong:
            print(f"{group}: ACCUSED, {line}")
    print(f"recorded: {len(accused)} of {len(groups)} recordings accused, in {accused_sets} of {sets} sets")
    return len(accused) <= 0.05 * len(groups)


def main():
    options = argparse.ArgumentParser(description="Whether kerncast slow names the slow rank first.")
    options.add_argument("--build", default=f"{ROOT}/build")
    options.add_argument("--first", type=int, default=1, help="seed of the first set")
    options.add_argument("--sets", type=int, default=40)
    options.add_argument("--list", action="store_true", help="a line for each set")
    options.add_argument("--traces", action="store_true", help="healthy sets of recordings instead")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(0 if (judge_recorded if given.traces else judge_made)(given, folder) else 1)


if __name__ == "__main__":
    main()

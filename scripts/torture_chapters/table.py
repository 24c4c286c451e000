"""What was tried, how many, what failed."""

import collections
import json
import os
import time


class Table:
    def __init__(self, chapters):
        self.cases, self.failed, self.skipped = (collections.Counter() for _ in range(3))
        self.seconds = collections.Counter()
        self.tried = {chapter: collections.Counter() for chapter in chapters}
        self.reasons = collections.Counter()

    def add(self, result):
        chapter = result["chapter"]
        self.cases[chapter] += 1
        self.seconds[chapter] += result["seconds"]
        self.failed[chapter] += bool(result["failure"])
        self.tried[chapter].update(result["tried"])
        if result["skip"]:
            self.skipped[chapter] += 1
            self.reasons[f"{chapter}: {result['skip']}"] += 1

    def progress(self):
        return f"{sum(self.cases.values())} cases, {sum(self.failed.values())} failed: " + ", ".join(
            f"{chapter} {self.cases[chapter]}" for chapter in self.tried
        )

    def show(self):
        print(f"{'chapter':<12} {'cases':>6} {'failed':>6} {'skipped':>7} {'time':>7}  tried")
        for chapter, tried in self.tried.items():
            what = ", ".join(f"{key} {tried[key]:,}" for key in sorted(tried))
            print(
                f"{chapter:<12} {self.cases[chapter]:>6} {self.failed[chapter]:>6} {self.skipped[chapter]:>7}"
                f" {self.seconds[chapter]:>5.0f} s"
                f"  {what}"
            )
        print(
            f"{'all':<12} {sum(self.cases.values()):>6} {sum(self.failed.values()):>6} {sum(self.skipped.values()):>7}"
            f" {sum(self.seconds.values()):>5.0f} s"
        )
        for reason, times in sorted(self.reasons.items()):
            print(f"skipped {times} times: {reason}")

    # --- totals of several calls: one line each

    def totals(self):
        found = collections.Counter()
        for chapter, tried in self.tried.items():
            found.update(
                {
                    f"{chapter}.cases": self.cases[chapter],
                    f"{chapter}.failed": self.failed[chapter],
                    f"{chapter}.skipped": self.skipped[chapter],
                }
            )
            found.update({f"{chapter}.{key}": count for key, count in tried.items()})
        return found

    def append(self, path, seed, seconds):
        line = {"seed": seed, "ended": int(time.time()), "seconds": round(seconds), "totals": self.totals()}
        with open(path, "a", encoding="ascii") as file:
            file.write(json.dumps(line, sort_keys=True) + "\n")


def add_up(path):
    """Prints the sums over all calls."""
    total, calls, seconds, seeds = collections.Counter(), 0, 0, []
    if os.path.exists(path):
        with open(path, encoding="ascii") as file:
            for line in map(json.loads, file):
                total.update(line["totals"])
                calls, seconds = calls + 1, seconds + line["seconds"]
                seeds.append(str(line["seed"]))
    print(f"SIMULATED. {calls} calls, {seconds} s, seeds {' '.join(seeds)}")
    for key in sorted(total):
        print(f"{key:<32} {total[key]:>12,}")

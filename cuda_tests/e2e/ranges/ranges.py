"""What each range should have taken, by a program's own account of its launches (cuda_tests/ranges/ranges.c).

    ranges.py LOG DATABASE CSV     compares it with the tables and with `kerncast report --by range --csv`

A launch is known by its number of blocks. Its time is in the database; what it was launched in, in the log.
"""
import csv
import sqlite3
import sys


def read_log(path):
    chains = {}
    for line in open(path, encoding="utf-8"):
        blocks, *names = line.rstrip("\n").split("\t")
        chains[int(blocks)] = tuple(names)
    return chains


def stored(db):
    """blocks: (names from the outermost, time)"""
    scopes = {(p, i): (parent, name) for p, i, parent, name in db.execute("SELECT process, local, parent, name FROM scope")}
    rows = db.execute("SELECT l.process, l.grid_x, i.scope, l.measured_end_ns - l.measured_start_ns FROM launch l"
                      " LEFT JOIN launched_in i ON i.id = l.process << 40 | l.sequence")
    out = {}
    for process, blocks, at, time in rows:
        names = []
        while at:
            at, name = scopes[process, at]
            names.append(name)
        out[blocks] = tuple(reversed(names)), time
    return out


def by_name(chains, times):
    """name: [launches, own launches, time, own time]; each name counts once for a launch"""
    out = {}
    for blocks, names in chains.items():
        for name in set(names) or {"outside of ranges"}:
            row = out.setdefault(name, [0, 0, 0, 0])
            is_own = not names or name == names[-1]
            for at, add in enumerate((1, is_own, times[blocks], times[blocks] * is_own)):
                row[at] += add
    return out


def main(log, database, report):
    chains, got = read_log(log), stored(sqlite3.connect(database))
    differences = [f"launch of {blocks} blocks: in {got.get(blocks, ('no row', 0))[0]}, wanted {names}"
                   for blocks, names in chains.items() if got.get(blocks, ("no row", 0))[0] != names]
    differences += [f"launch of {blocks} blocks: not in the log" for blocks in got.keys() - chains.keys()]
    wanted = by_name(chains, {blocks: time or 0 for blocks, (_, time) in got.items()})
    rows = {row["name"]: [int(row[key]) for key in ("launches", "self_launches", "total_ns", "self_ns")]
            for row in csv.DictReader(open(report, encoding="utf-8", newline=""))}
    differences += [f"{name}: reported {rows.get(name)}, wanted {wanted.get(name)}"
                    for name in sorted(rows.keys() | wanted.keys()) if rows.get(name) != wanted.get(name)]
    print("\n".join(differences[:30]), end="\n" if differences else "")
    print(f"{len(chains)} launches in {len(set(chains.values()))} scopes, {len(wanted)} names: {len(differences)} differences")
    return bool(differences)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

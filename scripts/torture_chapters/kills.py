"""SIGKILL at random moments: of recording programs, of commands while they import, of one of two racing recoveries."""

import json
import os
import shutil
import signal
import sqlite3
import time

from .case import Failure, adds_up, text
from .process import Running, content

NAME, SHARE = "kills", 5
GRIDS = 251  # WORK_GRIDS of cuda_tests/torture/work.h
NODES = 3  # WORK_NODES
MAGIC, HEADER_BYTES = b"KCJRNL1", 65536  # KC_JOURNAL_MAGIC, KC_HEADER_BYTES of store/journal/journal.h
START_S = 20  # until the first launch, on a machine however busy
AFTER_START_S, AFTER_LAUNCH_S = 0.06, 0.12  # within which programs are killed
RECOVERY_S, ROWS_PER_S = 0.012, 400_000  # of starting a command, and of importing


def plan(case):
    programs = []
    for _ in range(case.random.choice((1, 1, 1, 2, 3))):
        programs.append(
            {
                "program": case.random.choice(("work_driver", "work_driver", "work_runtime")),
                "mode": case.random.choice(("plain", "plain", "graph")),
                "threads": case.random.choice((1, 1, 2, 4, 8, 16)),
                "processes": None,
            }
        )
    if case.random.random() < 0.2:
        programs[0].update(processes=case.random.choice((2, 3, 4)), threads=case.random.choice((1, 2, 4)))
    done = {
        "programs": programs,
        "second_run": case.random.random() < 0.4,
        "launched": case.random.random() < 0.85,
        "moment": case.random.random(),
        "one_survives": len(programs) > 1 and case.random.random() < 0.4,
        "reader": case.random.choice((None, None, "report", "recover")),
        "recovery": case.random.choice(("killed", "killed", "race", "race", "undisturbed")),
        "recoveries": [
            (case.random.choice(("recover", "recover", "report")), case.random.random())
            for _ in range(case.random.choice((1, 2, 2, 3)))
        ],
    }
    for program in programs:
        program["options"] = case.random.choice(((), (), ("-c",), ("-e",), ("-c", "-e")))
    return done


def describe(case):
    done = plan(case)
    programs = [
        f"{' '.join((p['program'], *p['options']))} {p['mode']} {p['processes'] or 1}x{p['threads']}"
        for p in done["programs"]
    ]
    return f"{', '.join(programs)}; recovery {done['recovery']}"


def start(case, done, database):
    running = []
    for i, program in enumerate(done["programs"]):
        counts = case.counts(f"counts{i}")
        survives = done["one_survives"] and i == len(done["programs"]) - 1
        command = [
            case.build.program(program["program"]),
            *program["options"],
            counts.path,
            program["mode"],
            str(program["threads"]),
            "40" if survives else "0",
        ]
        if program["processes"]:
            command.append(str(program["processes"]))
        env = case.build.preloaded(case.folder, database, KERNCAST_QUIET="1", KERNCAST_GPU_STATE="10ms")
        running.append((Running(case.build, command, case.path(f"program{i}"), env), counts, survives))
    return running


def wait_for_launch(counts):
    """In each process of a program; a process that has not begun by then has other threads that have."""
    until = time.monotonic() + START_S
    while not any(made for _, _, _, made, _ in counts.threads()):
        if time.monotonic() > until:
            raise Failure(f"no launch in {START_S} s")
        time.sleep(0.001)


def wait_for_end(program):
    """Children that have been killed with their program take a moment to end; one may not have begun to launch."""
    until = time.monotonic() + START_S
    while running := program.members():
        if time.monotonic() > until:
            raise Failure(f"pids {running} have been killed and still run after {START_S} s")
        time.sleep(0.001)


def kill_programs(case, done, running):
    if done["launched"]:
        wait_for_launch(running[0][1])
    time.sleep(done["moment"] * (AFTER_LAUNCH_S if done["launched"] else AFTER_START_S))
    for program, _, survives in running:
        if not survives:
            program.kill()
    for program, counts, survives in running:
        ended = program.wait()
        wait_for_end(program)
        if survives:
            case.harmless(ended, (0,))
            continue
        if ended.signal != signal.SIGKILL:
            raise Failure(f"the program ended by itself: status {ended.status}: {ended.out()!r} {ended.err()!r}")
        launching = {pid for pid, _, begun, _, _ in counts.threads() if begun}
        case.tried["sigkills"] += max(len(launching), 1)
        case.tried["mid_run"] += len(launching)


def disturbed_recoveries(case, done, database, rows):
    """Commands that import, killed at a moment of the time that they may take."""
    within = RECOVERY_S + rows / ROWS_PER_S
    for i, (command, moment) in enumerate(done["recoveries"]):
        if not journals(case):
            return
        env = case.build.environment(case.folder)
        killed = Running(
            case.build, [case.build.kerncast, command, database], case.path(f"killed{i}"), env, cwd=case.folder
        )
        other = None
        if done["recovery"] == "race":
            other = Running(
                case.build, [case.build.kerncast, "recover", database], case.path(f"other{i}"), env, cwd=case.folder
            )
        time.sleep(moment * within)
        killed.kill()
        ended = killed.wait()
        case.tried["sigkills"] += 1
        if ended.signal == signal.SIGKILL:
            case.tried["while_recovering"] += 1
        if other:
            case.tried["races"] += 1
            case.harmless(other.wait(), (0, 1))  # 1: the database or the journal was in use


def journals(case):
    return [name for name in os.listdir(case.folder) if name.endswith(".kcj")]


def age_unborn(case):
    """A journal without a header, of a process killed before its first launch, is removed only when it is old: a process
    that nobody here can see may be writing it."""
    for name in journals(case):
        path = case.path(name)
        if os.path.getsize(path) <= HEADER_BYTES and not content(path)[: len(MAGIC)].strip(b"\0"):
            os.utime(path, (0, 0))


def graphs_are_whole(rows, begun, made):
    """Each graph launch has all its nodes once; the last one of a thread may have been under way."""
    groups = {}
    for grid, launch in rows:
        groups.setdefault(launch, []).append(grid)
    nodes = list(groups.values())
    under_way = nodes.pop() if len(nodes) > made else None
    lost = NODES * max(0, made - len(nodes)) + sum(NODES - len(set(group)) for group in nodes)
    twice = NODES * max(0, len(groups) - begun) + sum(
        len(group) - len(set(group)) for group in [*nodes, under_way or []]
    )
    return lost, twice, f"{len(groups)} graph launches, {len(rows)} rows" if lost or twice else None


def thread_is_whole(rows, begun, made, kernels):
    """rows: (grid_x, graph_launch) in the order of launches. (lost, twice), and what is wrong or None."""
    if kernels == NODES:
        return graphs_are_whole(rows, begun, made)
    lost = twice = at = 0
    for grid, _ in rows:
        expected = at % GRIDS + 1
        if grid == expected:
            at += 1
        elif (grid - expected) % GRIDS > GRIDS // 2:  # one of before
            twice += 1
        else:
            lost += (grid - expected) % GRIDS
            at += (grid - expected) % GRIDS + 1
    if at < made:
        lost += made - at
    if at > begun:
        twice += at - begun
    return lost, twice, f"{len(rows)} rows" if lost or twice else None


def rows_by_thread(database, known):
    """{(pid, thread): [(grid_x, graph_launch)...]} of processes after KNOWN; and of how many rows."""
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        pids = dict(connection.execute("SELECT id, pid FROM process WHERE id > ?", (known,)))
        threads = {}
        for process, thread, grid, graph in connection.execute(
            "SELECT process, thread, grid_x, graph_launch FROM launch WHERE process > ? ORDER BY process, sequence",
            (known,),
        ):
            threads.setdefault((pids.get(process), thread), []).append((grid, graph))
        (doubled,) = connection.execute(
            "SELECT count(*) FROM (SELECT 1 FROM launch WHERE process > ? AND measured_start_ns IS NOT NULL"
            " GROUP BY process, correlation, graph_node HAVING count(*) > 1)",
            (known,),
        ).fetchone()
        (integrity,) = connection.execute("PRAGMA integrity_check").fetchone()
    finally:
        connection.close()
    if integrity != "ok":
        raise Failure(f"integrity_check: {integrity}")
    if doubled:
        raise Failure(f"{doubled} measurements are used twice")
    return threads


def every_launch_once(case, database, known, all_counts):
    threads = rows_by_thread(database, known)
    wrong = []
    for counts in all_counts:
        for pid, tid, begun, made, kernels in counts.threads():
            lost, twice, why = thread_is_whole(threads.pop((pid, tid), []), begun, made, kernels)
            case.tried["launches"] += made * kernels
            case.tried["lost"] += lost
            case.tried["twice"] += twice
            if why:
                wrong.append(
                    f"pid {pid} thread {tid}: {made} calls made, {begun} begun, {why}: lost {lost}, twice {twice}"
                )
    if threads:
        wrong.append(f"rows of unknown threads: {[(key, len(rows)) for key, rows in threads.items()][:5]}")
    if wrong:
        raise Failure("; ".join(wrong))


def exact_agrees(case, database):
    rolled, exact = case.report(database), case.report(database, "--exact")
    adds_up(rolled)
    if rolled["ledger"] != exact["ledger"]:
        raise Failure(f"report {json.dumps(rolled['ledger'])} and report --exact {json.dumps(exact['ledger'])} differ")
    for key in ("accuracy", "first_seen", "new_size", "repeated", "solo", "overlapped"):
        a, b = rolled.get(key) or {}, exact.get(key) or {}
        if a.get("n") != b.get("n") or abs((a.get("mape") or 0) - (b.get("mape") or 0)) > 1e-6 * max(
            1, b.get("mape") or 0
        ):
            raise Failure(f"report and report --exact differ in {key}: {a} and {b}")


def attempt(case):
    done = plan(case)
    database, known = case.path("k.db"), 0
    if done["second_run"]:
        shutil.copy(case.bases.database("run"), database)
        known = case.bases.last_process("run")
    running = start(case, done, database)
    reader = None
    if done["reader"]:
        reader = Running(
            case.build,
            [case.build.kerncast, done["reader"], database],
            case.path("reader"),
            case.build.environment(case.folder),
            cwd=case.folder,
        )
    kill_programs(case, done, running)
    if reader:
        case.harmless(reader.wait(), (0, 1))  # 1: nothing was there yet
    all_counts = [counts for _, counts, _ in running]
    begun = sum(begun for counts in all_counts for _, _, begun, _, _ in counts.threads())
    if done["recovery"] != "undisturbed":
        disturbed_recoveries(case, done, database, begun)
    age_unborn(case)
    if begun or journals(case):
        recovered = case.sound("recover", database, name="last")
        if journals(case):
            raise Failure(f"journals left: {journals(case)}, recover: {text(recovered.out())}")
    if not os.path.exists(database):
        if sum(counts.made() for counts in all_counts):
            raise Failure("no database")
        return
    every_launch_once(case, database, known, all_counts)
    exact_agrees(case, database)

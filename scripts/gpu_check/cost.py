"""What a launch and a training step cost more: kinds of run alternate, medians count."""
import os
import shutil
import statistics

from .clock import OutOfTime, run
from .frameworks import FIRST_S, NO_GPU, installed, script
from .ledger import Report, under_kerncast

NAME, TITLE = "cost", "Added time"
NEEDS_S, SHARE_S = 25, 150
LAUNCH_SHARE = 0.25  # of the step's time; of the simulated device's, all
BUDGET_NS = {"1": 150, "8": 400}  # median added for each launch, measuring off, by streams
BUDGET_99_NS = 2000
BARE, COUNTED, OFF, ON = "unhooked", "counted only", "measuring off", "measuring on"
NO_KERNEL = "^$"  # no name matches it
PAUSE_ROUNDS, MOST_PAUSE_NS = 3, 100


def run_step(machine, clock, section):
    part = clock if machine.simulated else clock.share(clock.left() * LAUNCH_SHARE)
    if section.wants("launch-1", "launch-8"):
        launch_path(machine, part, section)
    if section.wants("pause"):
        pause(machine, clock, section)
    if section.wants("step", "step-adaptive", "step-profiler"):
        training(machine, clock, section)


# --- a launch

def launch_variants(machine):
    """Name, and what is preloaded and set. Each does what the one before does, and more: being in the way; knowing
    the launch and counting it; predicting it and writing that down; having it measured."""
    return ((BARE, {}), ("no-op preload", {"LD_PRELOAD": machine.program("noop_preload.so")}),
            (COUNTED, {"LD_PRELOAD": machine.shim, "KERNCAST_MEASURE": "off", "KERNCAST_KERNEL": NO_KERNEL}),
            (OFF, {"LD_PRELOAD": machine.shim, "KERNCAST_MEASURE": "off"}),
            (ON, {"LD_PRELOAD": machine.shim, "KERNCAST_MEASURE": "all"}))


def launch_path(machine, clock, section):
    samples, rounds, slowest = {}, 1 if machine.quick else 5, 0
    done = 0
    while done < rounds and (done == 0 or clock.left() > slowest):
        begin = clock.left()
        try:
            launch_round(machine, clock, samples)
        except OutOfTime as error:
            section.skip(f"launch path, round {done + 1}: {error}")
            break
        except RuntimeError as error:
            section.fail(str(error))
            break
        slowest = max(slowest, begin - clock.left())
        done += 1
    if done:
        launch_table(machine, section, samples, done)


def launch_round(machine, clock, samples):
    database = os.path.join(machine.scratch, "launch_path.db")
    for streams in BUDGET_NS:
        for name, variables in launch_variants(machine):
            for suffix in ("", "-wal", "-shm"):
                if os.path.exists(database + suffix):
                    os.unlink(database + suffix)
            if machine.simulated:
                variables = dict(variables, SIMCUDA_MODE="null")
            environment = machine.environment(KERNCAST_DB=database, KERNCAST_QUIET="1", **variables)
            ended = run([machine.program("launch_path"), streams], clock, 60, environment)
            if ended.status == 124:
                raise OutOfTime(f"launch_path, {name}: {ended.how()}")
            if ended.status:
                raise RuntimeError(f"launch_path, {name}: {ended.how()}: {ended.err.strip()}")
            median, high = ended.out.split()
            samples.setdefault((streams, name), []).append((int(median), int(high)))


def launch_table(machine, section, samples, rounds):
    title = f"Nanoseconds a launch, 1,000 queued on each stream; medians of {rounds} rounds, kinds alternating."
    if machine.simulated:
        title += " The driver's calls do nothing here."
    names = [name for name, _ in launch_variants(machine)]
    rows = section.table("streams", "", *names, "off adds", "on adds", "budget", title=title)
    for streams, budget in BUDGET_NS.items():
        for index, what, limit in ((0, "median", budget), (1, "99th percentile", BUDGET_99_NS)):
            values = {name: statistics.median(s[index] for s in samples[streams, name]) for name in names}
            off, on = (values[name] - values[BARE] for name in (OFF, ON))
            section.row(rows, streams, what, *[f"{v:.0f}" for v in values.values()], f"{off:.0f}", f"{on:.0f}",
                        f"{limit}: {'kept' if off <= limit else 'OVER'}")
            if what == "median":
                section.answer(f"launch-{streams}", "launch_path", f"{off:.0f} ns", off <= limit)
            # A stand-in's launch path on a busy machine decides nothing; `make bench` is there for that.
            if machine.simulated or off <= limit:
                section.passed()
            else:
                section.fail(f"{streams} streams, {what}: {off:.0f} ns added, budget {limit}")
    section.file_text("launch_path, (streams, kind): (median, 99th percentile) ns of each round\n"
                      + "\n".join(f"{key}: {value}" for key, value in samples.items()))


# --- a launch while adaptive measuring rests

def pause(machine, clock, section):
    """Nearly all of these launches: their shape is soon known. The simulated device does all its work here, as it
    makes no records otherwise."""
    times = {measure: [] for measure in ("off", "adaptive")}
    for _ in range(1 if machine.quick else PAUSE_ROUNDS):
        for measure, medians in times.items():
            environment = machine.environment(LD_PRELOAD=machine.shim, KERNCAST_QUIET="1", KERNCAST_MEASURE=measure,
                                              KERNCAST_DB=os.path.join(machine.scratch, f"pause-{measure}.db"))
            ended = run([machine.program("launch_path"), "1"], clock, 60, environment)
            if ended.status:
                section.ask_not("pause", f"launch_path, {measure}: {ended.how()}: {ended.last_words()}")
                return
            medians.append(int(ended.out.split()[0]))
    off, adaptive = (statistics.median(medians) for medians in times.values())
    section.answer("pause", "launch_path", f"{adaptive - off:+.0f} ns", adaptive - off <= MOST_PAUSE_NS)


# --- a training step

STEP_VARIANTS = (("alone", None, False), ("measuring off", "off", False), ("measuring on", "all", False),
                 ("measuring adaptively", "adaptive", False), ("PyTorch's profiler", None, True),
                 ("both", "all", True), ("Nsight Systems", None, False))
STEP_ROUNDS = 2
MOST_ADDED = 0.05  # of a step, with measuring on


def training(machine, clock, section):
    if machine.simulated:
        section.skip("training step: a simulated device's time says nothing")
        return
    if not installed(machine, "torch", clock):
        section.skip("training step: torch is not installed")
        return
    times, seen, reports, done, slowest = {}, {}, {}, 0, 0
    while done < (1 if machine.quick else STEP_ROUNDS) and (done == 0 or clock.left() > slowest):
        begin = clock.left()
        try:
            for name, measure, profiled in STEP_VARIANTS:
                if name == "Nsight Systems" and not shutil.which("nsys"):
                    continue
                one_loop(machine, clock, section, name, measure, profiled, times, seen, reports)
        except (OutOfTime, RuntimeError) as error:
            section.skip(f"training step, round {done + 1}: {error}")
            break
        slowest = max(slowest, begin - clock.left())
        done += 1
    if times:
        training_table(section, times, seen, reports)


def one_loop(machine, clock, section, name, measure, profiled, times, seen, reports):
    steps = "30" if machine.quick else "150"
    command = [machine.python, script(machine, "torch_loop.py"), steps] + (["--profile"] if profiled else [])
    environment = machine.environment_as_found()
    if name == "Nsight Systems":
        command = ["nsys", "profile", "-f", "true", "-o", os.path.join(machine.scratch, "nsys"), *command]
    if measure is None:
        ended = run(command, clock, FIRST_S, environment)
    else:
        database = os.path.join(machine.scratch, f"torch_loop-{name.replace(' ', '-')}.db")
        if name not in reports:
            machine.databases.append(database)
        ended = under_kerncast(machine, command, database, clock, FIRST_S, environment, measure)
        reports[name] = Report(machine, clock, database)
    section.file_text(f"$ torch_loop.py ({name})\n{ended.out}{ended.err}")
    if ended.status == NO_GPU:
        raise RuntimeError(ended.out.strip())
    if ended.status and name == "Nsight Systems":  # whether it works here is its own affair
        section.skip(f"training loop, {name}: {ended.how()}: {ended.last_words()}")
        return
    if ended.status:
        section.fail(f"training loop, {name}: {ended.how()}: {ended.last_words()}")
        return
    words = dict(line.split() for line in ended.out.splitlines() if len(line.split()) == 2)
    if "step_ms" not in words:
        section.fail(f"training loop, {name}: it printed no time")
        return
    times.setdefault(name, []).append(float(words["step_ms"]))
    if profiled:
        seen[name] = int(words.get("profiler_events", 0))


def training_table(section, times, seen, reports):
    rows = section.table("", "ms a step", "times alone", "device events in the profile", "launches", "matched",
                         "not measured",
                         title="A PyTorch training step (perceptron of 9 layers, Adam); medians, kinds alternating.")
    alone = statistics.median(times["alone"]) if "alone" in times else None
    for name, measure, _ in STEP_VARIANTS:
        if name not in times:
            continue
        median = statistics.median(times[name])
        report = reports.get(name)
        ledger = [report.count("launches"), report.count("matched"), report.reasons("unmeasured_reasons") or "-"] \
            if report else ["-", "-", "-"]
        ratio = f"{median / alone:.2f}" if alone else "-"
        section.row(rows, name, f"{median:.3f}", ratio, seen.get(name, "-"), *ledger)
        if report:
            why = report.objection(measured=name == "measuring on")
            section.judge(why and f"training loop, {name}: {why}")
    # The application's own profiler wins: it sees what it sees without us.
    here, without = seen.get("both"), seen.get("PyTorch's profiler")
    if here is not None and without is not None:
        section.judge("" if here == without else
                      f"PyTorch's profiler saw {here} device events under kerncast, {without} alone")
    step_goals(section, {name: statistics.median(values) for name, values in times.items()})


def step_goals(section, step_ms):
    """The added time of a step, alone and beside the profiler's."""
    if "alone" not in step_ms or "measuring on" not in step_ms:
        return
    added = step_ms["measuring on"] - step_ms["alone"]
    share = added / step_ms["alone"]
    section.answer("step", "measuring on", f"{100 * share:.1f} % ({1000 * added:.0f} µs)", share <= MOST_ADDED)
    if "measuring adaptively" in step_ms:
        adaptive = step_ms["measuring adaptively"] - step_ms["alone"]
        section.answer("step-adaptive", "measuring adaptively", f"{100 * adaptive / step_ms['alone']:.1f} % "
                       f"({1000 * adaptive:.0f} µs)", adaptive <= MOST_ADDED * step_ms["alone"])
    if "PyTorch's profiler" not in step_ms:
        return
    profiler = step_ms["PyTorch's profiler"] - step_ms["alone"]
    section.answer("step-profiler", "measuring on", f"{1000 * added:.0f} µs beside {1000 * profiler:.0f} µs",
                   added <= max(profiler, 0) / 2)

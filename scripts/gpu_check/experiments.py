"""The papers' experiments, small sizes: `kerncast-lab experiment`. Figures are drawn afterwards, from the databases."""
import json
import os

from .clock import run

NAME, TITLE = "experiments", "The papers' experiments"
NEEDS_S, SHARE_S = 10, 240
END_S = 10  # of the share, for the program that runs when no other is begun

QUICK = ("lambda", "pairs")


def run_step(machine, clock, section):
    folder = os.path.join(machine.scratch, "experiments")
    names = QUICK if machine.quick else ("all",)
    limit = max(int(clock.left()) - END_S, 1)
    environment = machine.environment()
    environment.pop("SIMCUDA_COSTS", None)  # the programs' own costs, which the command knows
    ended = run([machine.lab, "experiment", "--small", "--json", "--dir", folder, "--limit", str(limit), *names],
                clock, clock.left(), environment)
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        if name.endswith(".db"):
            machine.results_database(os.path.join(folder, name))
    try:
        experiments = json.loads(ended.out)["experiments"]
    except ValueError:
        section.fail(f"kerncast-lab experiment: {ended.how()}: {ended.last_words()}")
        return
    rows = section.table("experiment", "claim", "paper", "here", "holds here", "why",
                         title="What the papers claim, and what is measured here.")
    for experiment in experiments:
        one(experiment, section, rows)


def one(experiment, section, rows):
    name, wrong = experiment["name"], experiment["checks"]["wrong"]
    for claim in experiment["claims"]:
        holds = {True: "yes", False: "no", None: "not measured"}[claim["holds"]]
        section.row(rows, name, claim["claim"], claim["paper"], claim["here"] or "-", holds, claim["why"] or "")
    if experiment["complete"] < experiment["steps"]:
        section.skip(f"{name}: {experiment['complete']} of {experiment['steps']} steps in the time there was")
    if experiment["complete"]:
        section.answer("experiments-right", name, f"{wrong} wrong" if wrong else "yes", not wrong)
    if wrong:
        section.fail(f"{name}: {wrong} wrong results")
    elif experiment["complete"]:
        section.passed()

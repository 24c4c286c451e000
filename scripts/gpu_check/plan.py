"""Which steps there are, in the order of what depends on them, and the time of each."""
from . import (accuracy, calibrate, cost, delivery, demo, environment, experiments, facts, first, frameworks, graphs,
               idle, matrix, pytorch, reported, sharing)
from .clock import RESERVE_S

# The four commands of a first run on a GPU. What decides about the rest comes first. The accuracy is of the
# databases of the same command, so it belongs to two of them.
COMMANDS = {
    "A": (environment, facts, idle, delivery, graphs, reported),
    "B": (demo, frameworks, cost, accuracy),
    "C": (pytorch, first, calibrate, accuracy),
    "D": (matrix, sharing, experiments),
}
STEPS = (environment, facts, idle, delivery, graphs, reported, demo, frameworks, cost, pytorch, first, calibrate,
         matrix, accuracy, sharing, experiments)
COMMAND_LIMIT_S = 600  # what the machine that lends the GPU gives a command; some of it is for starting


def chosen(names):
    """The steps of "A" or "facts,demo" or ""; KeyError for a name that there is not."""
    if names in COMMANDS:
        return COMMANDS[names]
    known = {step.NAME: step for step in STEPS}
    wanted = [known[name] for name in names.split(",") if name]
    return tuple(step for step in STEPS if not wanted or step in wanted)


def limit_of(steps):
    """Time for all of them, in seconds."""
    return sum(step.SHARE_S for step in steps) + RESERVE_S


def share(step, left, later, quick):
    """A step's part of what is left, in seconds: with the parts of the later steps no more than there is. What a
    step does not use is for the later ones. quick: all parts are equal."""
    weights = [1 if quick else other.SHARE_S for other in (step, *later)]
    return left * weights[0] / sum(weights)


def check():
    """That the four commands have all steps, and end in time. ValueError where not."""
    for name, steps in COMMANDS.items():
        there_is, parts = limit_of(steps) - RESERVE_S, []
        for i, step in enumerate(steps):
            parts.append(share(step, there_is - sum(parts), steps[i + 1:], False))
        if sum(parts) > there_is + 0.01:
            raise ValueError(f"the steps of command {name} share {sum(parts):.0f} s of {there_is}")
        if limit_of(steps) >= COMMAND_LIMIT_S:
            raise ValueError(f"command {name} takes {limit_of(steps)} s of {COMMAND_LIMIT_S}")
    if {step for steps in COMMANDS.values() for step in steps} != set(STEPS):
        raise ValueError("a step is in none of the commands")


check()

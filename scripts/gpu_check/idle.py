"""What CUPTI costs in each of its states, what of that remains once it is switched off, and whether it measures again
after cuptiFinalize: looked at without kerncast."""
import statistics

from .facts import NOT_ASKED, Facts

NAME, TITLE = "idle", "CUPTI switched on and off"
NEEDS_S, SHARE_S = 15, 45
MOST_NS = 100  # that may remain, of each launch
GRAPH_NODES = 200  # as the facts program has it
STATE = "state "  # a value's name: state TIME NAME

# Title, and what the facts program is told. Attached late, it begins with the launches of a process without CUPTI.
LATE, EARLY = "attached late", "attached early"
ORDERS = ((LATE, ("--in-callback",)), (EARLY, ("--early",)))
BESIDE = (("finalized in a callback", ("--in-callback",)), ("finalized directly", ()))
BARE = ("bare", "bare, measured again")
SWITCHED_OFF, FINALIZED = "callbacks off", "finalized"


class Costs:
    """Of a launch in one state, in nanoseconds."""
    COLUMNS = ("launch call", "99 %", "launch", "launch, 4 threads", "graph launch call", "node of a graph")

    def __init__(self, text):
        self.reached_ms, *self.values = (float(word) for word in text.split())
        self.values[-1] /= GRAPH_NODES

    def added(self, bare):
        """What it costs more: the call, and the launch with the wait for it, by one thread and by four."""
        return [self.values[i] - bare[i] for i in (0, 2, 3)]


def run_step(machine, clock, section):
    launches = ["--launches", 2000] if machine.quick else []
    many = ["--launches", 20000] if machine.quick else []
    rows = section.table("part", "fact", "", "seen")
    states = section.table("CUPTI is", "state", "time", "reached in, ms", *Costs.COLUMNS, title="Nanoseconds. A launch "
                           "is an empty kernel with its part of a wait for 1,000; by four threads, each launch of "
                           "one. The first time, the process has not loaded CUPTI before it is attached late.")
    bare = None
    for title, options in ORDERS:
        facts = Facts(machine, clock, section, rows, "idle", *options, *launches, title=title)
        costs = costs_of(facts)
        for (time, state), cost in costs.items():
            section.row(states, title, state, time, f"{cost.reached_ms:.1f}", *[f"{v:.0f}" for v in cost.values])
        bare = bare or bare_of(costs)
        for question, state in (("idle-off", SWITCHED_OFF), ("idle-finalized", FINALIZED)):
            remains(section, question, title, costs, state, bare, facts)
        right(section, title, facts, "attached_again")
        right(section, f"{title}, graphs", facts, "graphs_again")
    beside(machine, clock, section, rows)
    Facts(machine, clock, section, rows, "many", *many)
    hardware = Facts(machine, clock, section, rows, "hw-trace")
    section.row(rows, "hw-trace", "cuptiActivityEnableHWTrace", "info", hardware.get("hw_trace"))


def costs_of(facts):
    """By time (1, 2) and state, in the order in which they came."""
    costs = {}
    for name, text in facts.values.items():
        if name.startswith(STATE):
            time, state = name[len(STATE):].split(" ", 1)
            costs[int(time), state] = Costs(text)
    return costs


def bare_of(costs):
    """Means of the states before CUPTI was there; None where it was there first."""
    found = [costs[1, state].values for state in BARE if (1, state) in costs]
    return [statistics.mean(values) for values in zip(*found)] if found else None


def remains(section, question, title, costs, state, bare, facts):
    found = [costs[time, state].added(bare) for time in (1, 2) if bare and (time, state) in costs]
    if not found:
        section.ask_not(question, f"{title}: {facts.failed or 'there is nothing to compare with'}")
        return
    call, each, threads = (statistics.mean(values) for values in zip(*found))
    said = f"{call:+.0f} ns in the call, {each:+.0f} ns in all, {threads:+.0f} ns by 4 threads"
    section.answer(question, title, said, max(call, each, threads) <= MOST_NS)


def right(section, title, facts, key):
    """Whether every record was right."""
    said = facts.get(key)
    if said.startswith(NOT_ASKED):
        section.answer("idle-again", title, said[len(NOT_ASKED):], False)
    else:
        section.answer("idle-again", title, "all right" if said == "1" else "not all right", said == "1")


def beside(machine, clock, section, rows):
    """While other threads launch."""
    table = section.table("CUPTI is", "rounds", "attach, ms", "detach, ms",
                          "longest launch call of another thread, ms: attaching, attached, detaching",
                          title="Attached and detached while two other threads launch: medians, and the longest.")
    for title, options in BESIDE:
        facts = Facts(machine, clock, section, rows, "reattach", *options, title=f"beside launches, {title}")
        section.row(table, title, *[facts.get(key) for key in ("rounds", "attach_ms", "detach_ms", "held_ms")])
        right(section, f"beside launches, {title}", facts, "reattached")

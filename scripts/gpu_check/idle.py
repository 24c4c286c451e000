"""What CUPTI costs in each of its states, what of that remains once it is switched off, whether it measures again
after cuptiFinalize, what becomes of graphs then, and whether correlation ids stay unique where callbacks are switched:
looked at without kerncast. What may end a process is asked in a process of its own."""
import statistics

from .facts import NOT_ASKED, Facts

NAME, TITLE = "idle", "CUPTI switched on and off"
NEEDS_S, SHARE_S = 15, 45
MOST_NS = 100  # that may remain, of each launch
MOST_MB = 50  # of the GPU's memory
GRAPH_NODES = 200  # as the facts program has it
STATE, GRAPHS = "state ", "graphs "  # names of values: state TIME NAME, graphs NAME

# Title, and what the facts program is told. Attached late, it begins with the launches of a process without CUPTI.
LATE, EARLY = "attached late", "attached early"
ORDERS = ((LATE, ("--in-callback",)), (EARLY, ("--early",)))
BESIDE = (("finalized in a callback", ("--in-callback",)), ("finalized directly", ()))
BARE = ("bare", "bare, measured again")
RESTING, SWITCHED_OFF, FINALIZED = "kinds off", "callbacks off", "finalized"  # kerncast rests with callbacks on
COSTS = ("idle-rest", "idle-off", "idle-finalized", "idle-again")
SURVIVAL = (("not seen by CUPTI", ()), ("launched while it was attached", ("--launched",)),
            ("instantiated while it was attached", ("--instantiated",)),
            ("instantiated and launched while it was attached", ("--instantiated", "--launched")))
# Question, what launches, what is switched off and on. kerncast switched the runtime's callbacks off, once.
STUCK = (("stuck-callbacks", "driver", "driver"), ("stuck-callbacks", "runtime", "driver"),
         ("stuck-callbacks", "runtime", "runtime"), ("stuck-kinds", "driver", "kinds"),
         ("stuck-kinds", "runtime", "kinds"))
THREADS = 4  # as the facts program has it


class Costs:
    """Of a launch in one state, in nanoseconds."""
    COLUMNS = ("launch call", "99 %", "launch", "launch, 4 threads")

    def __init__(self, text):
        self.reached_ms, *self.values = (float(word) for word in text.split())

    def added(self, bare):
        """What it costs more: the call, and the launch with the wait for it, by one thread and by four."""
        return [self.values[i] - bare[i] for i in (0, 2, 3)]


def run_step(machine, clock, section):
    rows = section.table("part", "fact", "", "seen")
    launches = ["--launches", 2000] if machine.quick else []
    many = ["--launches", 20000] if machine.quick else []
    parts = ((COSTS, lambda: launch_costs(machine, clock, section, rows, launches)),
             (("idle-again",), lambda: graph_costs(machine, clock, section, rows, launches)),
             (("graph-after-finalize",), lambda: survival(machine, clock, section, rows)),
             (("stuck-callbacks", "stuck-kinds"), lambda: stuck(machine, clock, section, rows)),
             (("idle-again",), lambda: beside(machine, clock, section, rows)),
             (("records",), lambda: records(machine, clock, section, rows, many)),
             (("hw-trace",), lambda: hardware(machine, clock, section, rows)))
    for questions, part in parts:
        if section.wants(*questions):
            part()


# --- costs

def launch_costs(machine, clock, section, rows, launches):
    table = section.table("CUPTI is", "state", "time", "reached in, ms", *Costs.COLUMNS, title="Nanoseconds. A launch "
                          "is an empty kernel with its part of a wait for 1,000; by four threads, each launch of "
                          "one. The first time, the process has not loaded CUPTI before it is attached late.")
    bare = None
    for title, options in ORDERS:
        facts = Facts(machine, clock, section, rows, "idle", *options, *launches, title=title)
        costs = costs_of(facts)
        for (time, state), cost in costs.items():
            section.row(table, title, state, time, f"{cost.reached_ms:.1f}", *[f"{v:.0f}" for v in cost.values])
        bare = bare or bare_of(costs)
        for question, state in (("idle-rest", RESTING), ("idle-off", SWITCHED_OFF), ("idle-finalized", FINALIZED)):
            remains(section, question, title, costs, state, bare, facts)
        right(section, title, facts, "attached_again")


def graph_costs(machine, clock, section, rows, launches):
    """Not after cuptiFinalize, which a graph may not survive."""
    table = section.table("CUPTI is", "state", "reached in, ms", "graph launch call", "node",
                          title=f"Nanoseconds, of a graph of {GRAPH_NODES} kernels.")
    for title, options in ORDERS:
        facts = Facts(machine, clock, section, rows, "idle-graphs", *options, *launches, title=f"{title}, graphs")
        for name, text in facts.values.items():
            if name.startswith(GRAPHS):
                reached_ms, call_ns, graph_ns = (float(word) for word in text.split())
                section.row(table, title, name[len(GRAPHS):], f"{reached_ms:.1f}", f"{call_ns:.0f}",
                            f"{graph_ns / GRAPH_NODES:.0f}")
        right(section, f"{title}, graphs", facts, "graphs_again")


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


# --- graphs, correlation ids, other threads

def survival(machine, clock, section, rows):
    """A crash is an answer, too."""
    for title, options in SURVIVAL:
        facts = Facts(machine, clock, section, rows, "survival", "--in-callback", *options, title=f"a graph {title}")
        said = facts.get("graph_survives")
        if not said.startswith(NOT_ASKED):
            section.answer("graph-after-finalize", title, said, said == "yes")
        elif facts.ended.status == 124 or facts.ended.status > 128:
            section.answer("graph-after-finalize", title, f"the process {facts.ended.how()}", False)
        else:
            section.ask_not("graph-after-finalize", f"{title}: {said[len(NOT_ASKED):]}")


def stuck(machine, clock, section, rows):
    """Threads whose correlation ids repeat."""
    cudart = machine.place_of("libcudart.so.13")
    for question, launches, switched in STUCK:
        if not section.wants(question):
            continue
        title = f"launches of the {launches}, {switched if switched == 'kinds' else f'callbacks of the {switched}'}"
        if launches == "runtime" and not cudart:
            section.ask_not(question, f"{title}: no shared CUDA runtime")
            continue
        options = ["--switch", switched] + (["--cudart", cudart] if launches == "runtime" else [])
        facts = Facts(machine, clock, section, rows, "stuck", *options, title=title)
        threads = facts.get("stuck_threads")
        if threads.startswith(NOT_ASKED):
            section.ask_not(question, f"{title}: {threads[len(NOT_ASKED):]}")
        else:
            said = "none" if threads == "0" else f"{threads} of {THREADS}, {facts.get('stuck_launches')} launches"
            section.answer(question, title, said, threads == "0")


def beside(machine, clock, section, rows):
    """While other threads launch."""
    table = section.table("CUPTI is", "rounds", "attach, ms", "detach, ms",
                          "longest launch call of another thread, ms: attaching, attached, detaching",
                          title="Attached and detached while two other threads launch: medians, and the longest.")
    for title, options in BESIDE:
        facts = Facts(machine, clock, section, rows, "reattach", *options, title=f"beside launches, {title}")
        section.row(table, title, *[facts.get(key) for key in ("rounds", "attach_ms", "detach_ms", "held_ms")])
        right(section, f"beside launches, {title}", facts, "reattached")


# --- many records

def records(machine, clock, section, rows, launches):
    facts = Facts(machine, clock, section, rows, "many", *launches)
    said = facts.get("many")
    if said.startswith(NOT_ASKED):
        section.ask_not("records", said[len(NOT_ASKED):])
        return
    memory_mb = float(facts.get("memory_mb"))
    section.answer("records", "facts", f"{'all' if said == '1' else 'not all'} right, {memory_mb:+.0f} MB",
                   said == "1" and memory_mb <= MOST_MB)


def hardware(machine, clock, section, rows):
    """Where CUPTI takes it, the records must be right."""
    facts = Facts(machine, clock, section, rows, "hw-trace")
    said = facts.get("hw_trace")
    section.row(rows, "hw-trace", "cuptiActivityEnableHWTrace", "info", said)
    if said.startswith(NOT_ASKED):
        section.ask_not("hw-trace", said[len(NOT_ASKED):])
        return
    right = facts.values.get("hw_records")
    section.answer("hw-trace", "facts", said + ("" if right is None else
                                                ", all records right" if right == "1" else ", not all records right"),
                   right != "0")

"""What only a GPU can answer: each question once, and what its answer should be. And claims: what several parts of
the check say of one thing, which must be the same."""

# Identifier, question, what is expected (what the stand-ins do, or the goal), and the step that asks.
CATALOGUE = (
    ("F0", "with callbacks of both APIs: whose correlation id does a kernel's record have?",
     "the driver call's, for launches by driver and runtime", "facts"),
    ("F1", "with callbacks of driver launches alone, as kerncast has them: whose id is it?",
     "the driver call's, for kernels, graphs and launches by the runtime", "facts"),
    ("F2", "does a record take its place in its buffer at the launch, or when the kernel has ended?",
     "at the launch: it is delayed by what was launched after it", "delivery"),
    ("F2-buffer", "are full small buffers returned while a later kernel still runs?", "yes", "delivery"),
    ("F3-function", "what does cuFuncGetAttribute answer for a CUkernel?", "an error, or the right value", "facts"),
    ("F3-kernel", "what does cuKernelGetAttribute answer for a CUfunction?", "an error, or the right value", "facts"),
    ("F3-static", "static cudart under kerncast: are kernels named, and is their code known?", "all", "facts"),
    ("F4", "does a global capture end well while another thread flushes?", "yes, with and without kerncast", "facts"),
    ("F5-2000", "a graph of 2,000 nodes, nothing measured: instantiation and launch under kerncast",
     "at most 3 x; 40 µs more", "graphs"),
    ("F5-10000", "a graph of 10,000 nodes: the same", "at most 3 x; 120 µs more", "graphs"),
    ("graph-whole-cost", "graphs measured as one (--graphs=whole): what a launch takes more, beside node by node",
     "half of it, or less", "graphs"),
    ("graph-whole-time", "the same: the measured time of a launch, beside that of events around it",
     "90 to 101 % of it", "graphs"),
    ("idle-rest", "what does CUPTI cost while kerncast rests, kinds switched off and callbacks on?",
     "100 ns of a launch or less", "idle"),
    ("idle-off", "what remains of CUPTI's cost after kinds and callbacks are switched off?",
     "100 ns of a launch or less", "idle"),
    ("idle-finalized", "the same, after cuptiFinalize", "100 ns of a launch or less", "idle"),
    ("idle-again", "attached again after cuptiFinalize, also while other threads launch: is every record right?",
     "all of them", "idle"),
    ("graph-after-finalize", "does a graph still launch after cuptiFinalize?", "yes", "idle"),
    ("stuck-callbacks", "callbacks switched off and on while threads launch: threads whose correlation ids repeat",
     "none", "idle"),
    ("stuck-kinds", "the same, kinds of records switched", "none", "idle"),
    ("records", "300,000 launches with records: is every record right, and how much memory of the GPU do they take?",
     "all of them, 50 MB or less", "idle"),
    ("hw-trace", "what does cuptiActivityEnableHWTrace answer, and are its records right?", "that it is not "
     "supported, or all of them", "idle"),
    ("clock", "how long does reading the clock take?", "50 ns or less", "reported"),
    ("device-buffers", "a million records of graphs' kernels, with 8 of CUPTI's device buffers: records without times, "
     "memory of the GPU", "none, 50 MB or less", "reported"),
    ("windows", "recording switched off and on by --while, kernels and graphs: launches matched", "all", "reported"),
    ("reset", "launches before and after cuDevicePrimaryCtxReset: matched", "all", "reported"),
    ("durations", "a kernel timed by events, alone and measured by kerncast", "at most 1.1 x", "reported"),
    ("two-processes", "a kernel as kerncast measures it, while another process does the same", "at most 1.1 x",
     "reported"),
    ("decode", "a graph of 500 kernels of 3 µs, replayed and waited for: time under kerncast", "at most 1.1 x",
     "reported"),
    ("F6", "do kernels of one stream overlap under programmatic dependent launch?", "yes", "facts"),
    ("demo-matched", "the demo under kerncast: the same output, and every launch matched?", "yes", "demo"),
    ("profiler-disabled", "PyTorch's profiler before the first CUDA call, KERNCAST_DISABLE=1: the kernels it saw",
     "as without kerncast", "pytorch"),
    ("profiler-off", "the same, KERNCAST_MEASURE=off", "as without kerncast", "pytorch"),
    ("profiler-all", "the same, KERNCAST_MEASURE=all", "as without kerncast", "pytorch"),
    ("loader", "a DataLoader with two worker processes: results, and the ledger", "as without kerncast, all matched",
     "pytorch"),
    ("compile", "torch.compile(mode=\"reduce-overhead\"): results, and the ledger", "as without kerncast, all matched",
     "pytorch"),
    ("ahead", "10 s of launches without a wait: launches measured while the program still launched", "90 % or more",
     "pytorch"),
    ("lag", "the same: from a kernel's end until predictions use its time, 99th percentile", "100 ms or less",
     "pytorch"),
    ("classes", "a small training: are launches first seen, of new sizes, repeated, overlapped, and the ledger right?",
     "all of them", "pytorch"),
    ("profiler-late", "PyTorch's profiler twice, after kerncast has measured and rested: the kernels it saw",
     "as without kerncast, each time", "pytorch"),
    ("first-launches", "a dozen own kernels, predicted from their code before they were ever measured",
     "half within 2 x, three quarters in their ranges", "first"),
    ("calibration", "kerncast calibrate: is everything measured, and possible?", "yes", "calibrate"),
    ("doctor", "does kerncast doctor name a problem?", "no", "environment"),
    ("frameworks-same", "programs of PyTorch, Triton, CuPy and JAX: results, and the ledger",
     "as without kerncast, all matched", "frameworks"),
    ("launch-1", "a launch, nothing measured: time that kerncast adds, one stream", "150 ns or less", "cost"),
    ("launch-8", "the same, eight streams", "400 ns or less", "cost"),
    ("pause", "a launch while --measure=adaptive rests: time that is added to one with measuring off", "100 ns or less",
     "cost"),
    ("matrix-cases", "every way to launch, by every door: is each case right?", "yes", "matrix"),
    ("intervals", "repeated launches that ran alone: inside their 90 % intervals", "87 to 95 %", "accuracy"),
    ("sharing-pairs", "kernels that share SMs: pairs that were measured", "all", "sharing"),
    ("experiments-right", "the papers' experiments: are all results right?", "yes", "experiments"),
    ("step-adaptive", "a training step under --measure=adaptive: time added", "5 % or less", "cost"),
    ("step", "a training step under kerncast: time added", "5 % or less", "cost"),
    ("step-profiler", "the same, beside what PyTorch's profiler adds", "half of it or less", "cost"),
)
STEP_OF = {row[0]: row[3] for row in CATALOGUE}


def steps_of(names):
    """The steps that ask them, each once; KeyError for a name that there is not."""
    return list(dict.fromkeys(STEP_OF[name] for name in names))


EXPECTED, UNEXPECTED, NOT_ASKED = "as expected", "NOT as expected", "not asked"


class Questions:
    """A question has an answer of each of its parts (ways to launch, sizes) that was asked, with what came of it."""

    def __init__(self, steps, chosen=()):
        """chosen: only these, where there are any."""
        self.asked = [row for row in CATALOGUE if row[3] in steps and (not chosen or row[0] in chosen)]
        self.chosen = set(chosen)
        self.answers = {row[0]: [] for row in CATALOGUE}  # (part, answer, whether as expected)
        self.reasons = {row[0]: [] for row in CATALOGUE}
        self.claims = {}

    def wants(self, names):
        return not self.chosen or bool(self.chosen.intersection(names))

    def answer(self, name, part, text, expected):
        self.answers[name].append((part, text, bool(expected)))

    def not_asked(self, name, reason):
        self.reasons[name].append(reason)

    def claim(self, name, source, value):
        """What source says of a thing; every source must say the same."""
        self.claims.setdefault(name, {})[source] = str(value)

    def verdict(self, name):
        given = self.answers[name]
        if not given:
            return NOT_ASKED
        return EXPECTED if all(expected for _, _, expected in given) else UNEXPECTED

    def text(self, name, step, sections):
        """The answers, with their parts where there are several; or why there is none."""
        given = self.answers[name]
        parts = [f"{part}: {text}" if len(given) > 1 else text for part, text, _ in given]
        parts += [f"not asked: {reason}" if given else reason for reason in self.reasons[name]]
        if parts:
            return "; ".join(parts)
        section = next((s for s in sections if s.name == step), None)
        if section is None:
            return "the check has not come to it"
        return (section.failures + section.skips + ["its step did not come to it"])[0]

    def rows(self, sections):
        """Of what this check asks: identifier, question, answer, verdict, expected."""
        return [(name, question, self.text(name, step, sections), self.verdict(name), expected)
                for name, question, expected, step in self.asked]

    def contradictions(self):
        found = []
        for name, said in self.claims.items():
            by_value = {}
            for source, value in said.items():
                by_value.setdefault(value, []).append(source)
            if len(by_value) > 1:
                found.append(f"{name}: " + ", but ".join(f"{value} ({', '.join(sources)})"
                                                         for value, sources in by_value.items()))
        return found

    def summary(self):
        verdicts = [self.verdict(name) for name, _, _, _ in self.asked]
        counts = ", ".join(f"{verdicts.count(kind)} {kind}" for kind in (EXPECTED, UNEXPECTED, NOT_ASKED))
        return f"{counts}; {len(self.contradictions()) or 'no'} contradiction" + (
            "s" if len(self.contradictions()) > 1 else "")

"""Trains trees that go on from those of the prior; `kerncast learn` holds this file and runs it, and
cuda_tests/prior/train_prior.py takes the trees' form from it.

Standard input: the number of words that trees may ask for; then a line for each launch shape, with tabs: program, what
was measured, what the built-in trees say (both the log of a time), the traits, and a bit for each word, hexadecimal.
Standard output: "trees", by how much launch shapes of programs left out of the training are off without and with such
trees (mean error of the log), the number of trees, that of limits, base and leaf (struct kc_prior_trees); for each trait
the number of its limits and these; for each tree its nodes, hexadecimal, and its leaves. Or "no", and why not.
"""
import sys

sys.path[:] = [path for path in sys.path if path]  # nothing that lies in the current folder is imported

import collections
import math
import os

LEAVES = 16
BINS = 63  # of a trait
TRAITS = ["waves", "blocks", "threads", "block_threads", "registers", "shared", "warps", "grid_x", "grid_y", "grid_z",
          "block_x", "block_y", "nominal", "traffic", "tile", "depth", "output", "name_words"]
GROWING = {"waves", "blocks", "threads", "nominal", "traffic"}  # time does not fall where these grow
LEAF_STEPS = 32767

PARAMETERS = dict(objective="huber", alpha=0.7, num_leaves=LEAVES, learning_rate=0.1, min_data_in_leaf=8, lambda_l2=1.0,
                  feature_fraction=0.5, bagging_fraction=0.8, bagging_freq=1, max_bin=BINS,
                  monotone_constraints_method="intermediate", seed=1, deterministic=True, force_row_wise=True,
                  num_threads=1, verbose=-1)

# Of the trees that go on. Chosen on the recorded traces marked "choose" (predictor/prior/README.md): learned from some
# programs and judged on another, none of which the trees before had seen. Small steps, as what one program takes is only
# partly true of others.
MORE_TREES = 64  # KC_KNOWLEDGE_TREES_MAX
MORE = dict(PARAMETERS, learning_rate=0.04, alpha=0.3, boost_from_average=False)
# What is true of one program may not be of the next: trees are kept where those of the other programs tell each one so
# much better. Chosen likewise: what passes is worse on a program that was not learned from once in 14 times, else it is
# nearly every fourth time (predictor/prior/README.md).
WORTH = 0.85
PARTS = 10  # into which programs are divided, at most


def constraints(words):
    return [int(trait in GROWING) for trait in TRAITS] + [0] * words


def weights(programs):
    """Each program weighs as the root of its number of rows."""
    members = collections.Counter(programs)
    return [10 / math.sqrt(members[program]) for program in programs]


def below(threshold):
    """The largest float that is not above it: x <= threshold is the same for every float x."""
    value = numpy.float32(threshold)
    return value if float(value) <= threshold else numpy.nextafter(value, numpy.float32(-numpy.inf))


class Tables:
    """The trees as prior.c reads them."""

    def __init__(self, model):
        self.trees = model.dump_model()["tree_info"]
        self.limits = [sorted({below(node["threshold"]) for tree in self.trees for node in self.inner(tree)
                               if node["split_feature"] == trait}) for trait in range(len(TRAITS))]
        means = [numpy.mean([leaf for leaf in self.leaf_values(tree["tree_structure"])]) for tree in self.trees]
        self.base = float(sum(means))
        self.leaf = max(abs(value - mean) for tree, mean in zip(self.trees, means)
                        for value in self.leaf_values(tree["tree_structure"])) / LEAF_STEPS or 1.0
        self.nodes, self.leaves = zip(*(self.pack(tree, mean) for tree, mean in zip(self.trees, means)))

    def inner(self, tree):
        waiting = [tree["tree_structure"]]
        while waiting:
            node = waiting.pop()
            if "split_feature" in node:
                yield node
                waiting += [node["left_child"], node["right_child"]]

    def leaf_values(self, node):
        if "split_feature" not in node:
            return [node["leaf_value"]]
        return self.leaf_values(node["left_child"]) + self.leaf_values(node["right_child"])

    def pack(self, tree, mean):
        nodes, leaves = [], []

        def place(node):
            if "split_feature" not in node:
                leaves.append(round((node["leaf_value"] - mean) / self.leaf))
                return 0x80 | len(leaves) - 1
            at = len(nodes)
            nodes.append(0)
            asked = node["split_feature"]
            last = self.limits[asked].index(below(node["threshold"])) if asked < len(TRAITS) else 0
            left, right = place(node["left_child"]), place(node["right_child"])
            nodes[at] = asked << 24 | last << 16 | left << 8 | right
            return at

        if place(tree["tree_structure"]) & 0x80:  # nothing to ask: a node that leads to the leaf either way
            nodes.append(0x8080)
        return nodes + [0] * (LEAVES - 1 - len(nodes)), leaves + [0] * (LEAVES - len(leaves))


class Lessons:
    def __init__(self, lines):
        self.words = int(next(lines))
        rows = [line.split("\t") for line in lines]
        self.programs = numpy.array([int(row[0]) for row in rows])
        self.measured, self.expected = (numpy.array([float(row[place]) for row in rows]) for place in (1, 2))
        self.asked = numpy.array([[float(number) for number in row[3:-1]] +
                                  [int(row[-1], 16) >> word & 1 for word in range(self.words)] for row in rows])

    def train(self, chosen):
        data = lightgbm.Dataset(self.asked[chosen], self.measured[chosen], init_score=self.expected[chosen],
                                weight=weights(self.programs[chosen]))
        return lightgbm.train(dict(MORE, monotone_constraints=constraints(self.words)), data, MORE_TREES)

    def judge(self):
        """Mean error of the log without and with trees that were trained on other programs; each weighs the same."""
        before, after = [], []
        for part in range(PARTS):
            left_out = self.programs % PARTS == part
            if not left_out.any() or left_out.all():
                continue
            model = self.train(~left_out)
            for program in sorted(set(self.programs[left_out])):
                of_it = self.programs == program
                missing = self.measured[of_it] - self.expected[of_it]
                before.append(numpy.abs(missing).mean())
                after.append(numpy.abs(missing - model.predict(self.asked[of_it], raw_score=True)).mean())
        return numpy.mean(before), numpy.mean(after)


def text_of(tables, before, after):
    limits = sum(len(limits) for limits in tables.limits)
    lines = [f"trees {before:.9g} {after:.9g} {len(tables.trees)} {limits} {numpy.float32(tables.base):.9g} "
             f"{numpy.float32(tables.leaf):.9g}"]
    lines += [" ".join([str(len(limits))] + [f"{limit:.9g}" for limit in limits]) for limits in tables.limits]
    lines += [" ".join([f"{node:x}" for node in nodes] + [str(leaf) for leaf in leaves])
              for nodes, leaves in zip(tables.nodes, tables.leaves)]
    return "\n".join(lines) + "\n"


def main():
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever else is printed is no answer
    try:
        global lightgbm, numpy
        import lightgbm
        import numpy
    except ImportError as error:
        answer.write(f"no it has no LightGBM (pip install lightgbm): {error}\n")
        return
    lessons = Lessons(sys.stdin)
    if len(set(lessons.programs)) < 2:
        answer.write("no there is one program, and what it teaches is judged on another; give databases of several\n")
        return
    before, after = lessons.judge()
    if after > WORTH * before:
        answer.write(f"no of programs left out they tell too little: a factor of {math.exp(after):.2f} off in the "
                     f"mean, and {math.exp(before):.2f} without them\n")
        return
    answer.write(text_of(Tables(lessons.train(numpy.full(len(lessons.programs), True))), before, after))


if __name__ == "__main__":
    main()
else:
    import lightgbm
    import numpy

"""Trains the prior's trees and writes them as C tables; scripts/train-prior calls it.

usage: train_prior.py DATA ROOT [--check | --judge]
"""
import collections
import csv
import gzip
import math
import os
import shutil
import subprocess
import sys
import tempfile

import lightgbm
import numpy

LEAVES = 16
BINS = 63  # of a trait
TRAITS = ["waves", "blocks", "threads", "block_threads", "registers", "shared", "warps", "grid_x", "grid_y", "grid_z",
          "block_x", "block_y", "nominal", "traffic", "tile", "depth", "output", "name_words"]
GROWING = {"waves", "blocks", "threads", "nominal", "traffic"}  # time does not fall where these grow
LEAF_STEPS = 32767

TREES = 200
WORDS = 16  # that trees may ask for
# Chosen on "choose", each program predicted by trees that had not seen it.
TRAINED = dict(objective="huber", alpha=0.5, num_leaves=LEAVES, learning_rate=0.1, min_data_in_leaf=8, lambda_l2=10.0,
               feature_fraction=0.5, bagging_fraction=0.5, bagging_freq=1, max_bin=BINS,
               monotone_constraints_method="intermediate", seed=1, deterministic=True, force_row_wise=True,
               num_threads=1, verbose=-1)
LEAST_NS = 1000  # KC_PRIOR_LEAST_NS
SHORTEST_NS = 200  # beyond it: a logarithm needs something
LAUNCHES = 9  # of a launch shape, whose median is learned: the first ones, as they are what is predicted
SAMPLES = 64  # rows of the test

# Recordings of one program: together they weigh as the root of their number of rows.
PROGRAMS = ["ao_vit", "hta_df", "hta_sampled", "hta_gp100", "kineto_resnet50", "nuggets", "param_dlrm", "param_linear",
            "switch_moe"]

GENERATED = "/* Written by scripts/train-prior. */\n"


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


def traces(data):
    """Files of PyTorch's profiler on which constants may be chosen."""
    with open(data + "/traces/USE.csv", newline="") as file:
        rows = [("traces", row["file"], row["use"]) for row in csv.DictReader(file)]
    for folder in ("traces_2", "traces_3"):
        with open(f"{data}/{folder}/MANIFEST.csv", newline="") as file:
            rows += [(folder, row["file"], row["use"]) for row in csv.DictReader(file)]
    return [f"{data}/{folder}/{name}" for folder, name, use in rows if use == "choose" and name.startswith("pytorch/")]


def program_of(path):
    name = os.path.basename(path)
    return next((program for program in PROGRAMS if name.startswith(program)), name)


def launches(path):
    """By kernel and launch shape: the first durations, in ns."""
    found = collections.OrderedDict()
    with gzip.open(path, "rt", encoding="latin-1", newline="") as file:
        for row in csv.DictReader(file):
            if row["kind"] != "kernel" or "nccl" in row["name"].lower() or not row["grid_x"]:
                continue
            numbers = [row[column] or "0" for column in (
                "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "registers", "static_shared_bytes",
                "dynamic_shared_bytes")]
            key = (row["device_name"], *numbers, row["name"].replace("\t", " "))
            durations = found.setdefault(key, [])
            if len(durations) < LAUNCHES and int(row["duration_ns"]) > 0:
                durations.append(int(row["duration_ns"]))
    return [(key, durations) for key, durations in found.items() if durations]


class Row:
    def __init__(self, program, line, key, durations):
        fields = line.split("\t")
        self.program = program
        self.speed = float(fields[1])
        self.traits = [float(text) for text in fields[2:2 + len(TRAITS)]]
        self.words = {word.lower() for word in fields[-1].split(" ")}
        self.name = key[-1]
        self.line = line
        self.target = math.log(max(numpy.median(durations) - LEAST_NS, SHORTEST_NS) * self.speed)


def rows_of(data, root):
    rows = []
    for path in traces(data):
        found = launches(path)
        told = subprocess.run([root + "/build/prior_rows"], check=True, capture_output=True, encoding="latin-1",
                              input="".join("\t".join(key) + "\n" for key, _ in found)).stdout.split("\n")
        rows += [Row(program_of(path), line, key, durations) for (key, durations), line in zip(found, told)
                 if line != "-"]
    return rows


def word_hash(word):
    """kc_word_hash()"""
    value = 0xcbf29ce484222325
    for letter in word.encode("latin-1"):
        value = (value ^ letter) * 0x100000001b3 & 0xffffffffffffffff
    return value & 0xffffffff


def vocabulary(rows):
    """Words that kernels of two programs have, and that tell most kernels from the others. Of words that always come
    together, one."""
    kernels = {row.name: row.words for row in rows}
    programs = collections.defaultdict(set)
    for row in rows:
        for word in row.words:
            programs[word].add(row.program)
    names = sorted(kernels)
    counts = collections.Counter(word for words in kernels.values() for word in words)
    known = [word for word in counts if len(programs[word]) >= 2 and 4 <= counts[word] <= 0.9 * len(names)]
    known.sort(key=lambda word: (-min(counts[word], len(names) - counts[word]), word))
    chosen, seen = [], set()
    for word in known:
        having = tuple(word in kernels[name] for name in names)
        if having not in seen and len(chosen) < WORDS:
            seen.add(having)
            chosen.append(word)
    return sorted(chosen, key=word_hash)


def matrix(rows, words):
    return numpy.array([row.traits + [float(word in row.words) for word in words] for row in rows], dtype=numpy.float64)


def train(rows, words):
    data = lightgbm.Dataset(matrix(rows, words), [row.target for row in rows],
                            weight=weights([row.program for row in rows]))
    return lightgbm.train(dict(TRAINED, monotone_constraints=constraints(len(words))), data, TREES)


def listed(values, indent="    "):
    """Values of an initialiser, as many on a line as fit."""
    lines, line = [], indent
    for value in values:
        if len(line) + len(value) + 1 > 120:
            lines.append(line.rstrip())
            line = indent
        line += value + ", "
    return "\n".join(lines + [line.rstrip()]) + "\n"


def flat(tables):
    return [value for table in tables for value in table]


def sizes_text(tables, words):
    return (GENERATED + "#ifndef KC_PRIOR_SIZES_H\n#define KC_PRIOR_SIZES_H\n\n"
            f"#define KC_PRIOR_WORDS {len(words)}u\n"
            f"#define KC_PRIOR_LIMITS {sum(len(limits) for limits in tables.limits)}u\n"
            f"#define KC_PRIOR_TREES {len(tables.trees)}u\n#define KC_PRIOR_LEAVES {LEAVES}u\n"
            f"#define KC_PRIOR_BASE {numpy.float32(tables.base):.9g}f\n"
            f"#define KC_PRIOR_LEAF {numpy.float32(tables.leaf):.9g}f\n\n#endif\n")


def number(value):
    text = f"{value:.9g}"
    return text + ("f" if any(c in text for c in ".en") else ".0f")


def table_text(tables, words):
    at = [0]
    for limits in tables.limits:
        at.append(at[-1] + len(limits))
    packed = flat(tables.leaves)
    return (GENERATED + '#include "prior_table.h"\n\n/* clang-format off */\n'
            "const uint32_t kc_prior_words[KC_PRIOR_WORDS] = {\n" +
            "".join(f"    0x{word_hash(word):08x}, /* {word} */\n" for word in words) +
            "};\n\nconst uint16_t kc_prior_limits_at[KC_TRAITS + 1] = {\n" + listed([str(place) for place in at]) +
            "};\n\nconst float kc_prior_limits[KC_PRIOR_LIMITS] = {\n" +
            listed([number(limit) for limits in tables.limits for limit in limits]) +
            "};\n\nconst int16_t kc_prior_leaves[KC_PRIOR_TREES * KC_PRIOR_LEAVES] = {\n" +
            listed([str(leaf) for leaf in packed]) + "};\n/* clang-format on */\n")


def nodes_text(tables):
    return (GENERATED + '#include "prior_table.h"\n\n/* clang-format off */\n'
            "const uint32_t kc_prior_nodes[KC_PRIOR_TREES * (KC_PRIOR_LEAVES - 1)] = {\n" +
            listed([f"0x{node:08x}" for node in flat(tables.nodes)]) + "};\n/* clang-format on */\n")


def samples_text(model, rows, words):
    """Every so many-th row, and what LightGBM itself says of it."""
    chosen = rows[::max(len(rows) // SAMPLES, 1)][:SAMPLES]
    told = model.predict(matrix(chosen, words))
    return "".join(f"{value:.9g}\t" + "\t".join(f"{trait:.9g}" for trait in row.traits) + "\t" +
                   " ".join(word for word in words if word in row.words) + "\n" for row, value in zip(chosen, told))


def trained_files(rows, root):
    """By path: the text of each file that is written of trees trained on these rows."""
    words = vocabulary(rows)
    model = train(rows, words)
    tables = Tables(model)
    folder = root + "/predictor/prior/"
    return {folder + "prior_sizes.h": sizes_text(tables, words), folder + "prior_table.c": table_text(tables, words),
            folder + "prior_nodes.c": nodes_text(tables),
            root + "/cuda_tests/prior/samples.tsv": samples_text(model, rows, words)}


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def first_guesses(kerncast, path, delay):
    """(predicted, measured) ns of kernels that were not measured yet, once for each launch shape."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([kerncast, "import", path, "-o", folder + "/db"], check=True, stdout=subprocess.DEVNULL)
        told = subprocess.run([kerncast, "replay", "--csv", "--delay", delay, "--exclude", "[nN][cC][cC][lL]",
                               folder + "/db"], check=True, capture_output=True, encoding="utf-8").stdout
    seen = set()
    for row in csv.DictReader(told.splitlines()):
        shape = row["process"], row["kernel"], row["shape"]
        if (row["novelty"] != "first_seen" or not row["measured_end_ns"] or row["unpredictable"] or
                row["excluded"] == "1" or shape in seen):
            continue
        seen.add(shape)
        yield tuple(max(int(row[end]) - int(row[start]), 1) for start, end in (
            ("start_ns", "end_ns"), ("measured_start_ns", "measured_end_ns")))


def figures(guesses):
    """Median and mean error and share within a factor of 2, in percent; predicted time over the measured one."""
    predicted, measured = numpy.array(guesses, dtype=numpy.float64).T
    errors = 100 * abs(predicted - measured) / measured
    near = (predicted <= 2 * measured) & (measured <= 2 * predicted)
    return numpy.array([numpy.median(errors), errors.mean(), 100 * near.mean(), predicted.sum() / measured.sum()])


def told(of_delays, counts):
    """Fields of a line: for each delay how many guesses, and their figures."""
    return [field for (median, mean, near, total), count in zip(of_delays, counts)
            for field in (count, f"{median:.1f}", f"{mean:.1f}", f"{near:.1f}", f"{total:.2f}")]


def judge(data, root):
    """Prints how well each program is predicted by trees that have not seen it."""
    rows, paths = rows_of(data, root), traces(data)
    programs = sorted({program_of(path) for path in paths})
    line = "{:<20}" + 2 * " | {:>6} {:>7} {:>7} {:>9} {:>6}"
    print(line.format("program left out", *2 * ["n", "median", "mean", "within 2", "sum"]))
    found = []
    with tempfile.TemporaryDirectory() as folder:
        tree = folder + "/tree"
        shutil.copytree(root, tree, symlinks=True, ignore=shutil.ignore_patterns(".git", "prior-environment"))
        for program in programs:
            for path, text in trained_files([row for row in rows if row.program != program], tree).items():
                write(path, text)
            subprocess.run(["make", "-s", "-C", tree, "build/kerncast"], check=True, stdout=subprocess.DEVNULL)
            guesses = [[guess for path in paths if program_of(path) == program
                        for guess in first_guesses(tree + "/build/kerncast", path, delay)] for delay in ("0", "10ms")]
            found.append([figures(of_delay) for of_delay in guesses])
            print(line.format(program, *told(found[-1], [len(of_delay) for of_delay in guesses])), flush=True)
    print(line.format("mean", *told(numpy.mean(found, axis=0), ["", ""])))


def main(data, root, check):
    rows = rows_of(data, root)
    texts = trained_files(rows, root)
    changed = []
    for path, text in texts.items():
        try:
            with open(path, encoding="utf-8") as file:
                same = file.read() == text
        except FileNotFoundError:
            same = False
        if not same:
            changed.append(os.path.relpath(path, root))
            if not check:
                write(path, text)
    print(f"{len(rows)} launch shapes, {TREES} trees; " +
          (f"{'would change' if check else 'written'}: {', '.join(changed)}" if changed else "nothing changes"))
    return bool(changed) and check


if __name__ == "__main__":
    if "--judge" in sys.argv[3:]:
        judge(sys.argv[1], sys.argv[2])
    else:
        sys.exit(main(sys.argv[1], sys.argv[2], "--check" in sys.argv[3:]))

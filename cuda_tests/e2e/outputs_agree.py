#!/usr/bin/env python3
"""Compares what outputs of one document say: each number that text, CSV, Markdown or the page has must be one that JSON has.

usage: outputs_agree.py JSON OUTPUT...

OUTPUT is named by what it is: text (.txt), CSV (.csv), Markdown (.md), the tables of a page as JSON (.page). A number reads as it does
where JSON's number is rounded to three digits or so by its unit, which is told by the key: this is worked out here with
decimals, not with kerncast's code. Whatever has a unit is compared wherever it stands, numbers without one in cells of tables.
A row of a table in TABLES must read as one object of JSON does by the keys that are written there, and so must a row of
CSV by the keys in its head: a number under another's head, or in another's row, is seen. Prints what differs, then how much was
compared, and of how many rows; the status is 1 if something differs.
"""
import csv
import decimal
import itertools
import json
import re
import sys

UNIT = re.compile(r"([-+−]?\d[\d,]*(?:\.\d+)?) (ns|µs|ms|s|%|B|KiB|MiB|GiB|TiB|GB/s|[GT]FLOP/s)(?![\w/])")
PLAIN = re.compile(r"^[-+−]?\d[\d,]*(?:\.\d+)?$")


def fixed(value, places):
    return f"{decimal.Decimal(value).quantize(decimal.Decimal(1).scaleb(-places), decimal.ROUND_HALF_EVEN):f}"


def three(value):
    size = abs(value)
    return fixed(value, 2 if size < 9.995 else 1 if size < 99.95 else 0)


def grouped(text):
    return re.sub(r"\B(?=(\d{3})+(?!\d))", ",", text)


def ns(value):
    for unit, name in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if abs(value) / (unit / 1e3) >= 999.5:
            return f"{three(value / unit)} {name}"
    return f"{fixed(value, 0)} ns"


def percent(value):
    size = abs(value)
    if size >= 999.5:
        return f"{'-' if value < 0 else ''}{grouped(str(int(size + 0.5)))} %"
    return f"{fixed(value, 0 if size >= 99.95 else 1 if size >= 0.9995 or size == 0 else 2)} %"


def count(value):
    return grouped(fixed(value, 0))


def mean_count(value):
    return count(value) if value == int(value) else three(value)


def size_of(value):
    units = ["B", "KiB", "MiB", "GiB", "TiB"]
    at = 0
    while value >= 1023.95 and at < 4:
        value, at = value / 1024, at + 1
    return f"{fixed(value, 1 if at else 0)} {units[at]}"


def rate(value):
    return f"{fixed(value / 1e9, 2 if value < 1e10 else 1)} GB/s"


def flops(value):
    if value < 1e13:
        return rate(value).replace("GB/s", "GFLOP/s")
    return rate(value / 1e3).replace("GB/s", "TFLOP/s")


def chance(value):
    return "< 1e-6" if value < 1e-6 else f"{value:.2g}"


def signed(show):
    return lambda value: ("-" if value < 0 else "+") + show(abs(value))


def left_out(columns):
    """The same without none, some and all of those whose key ends with "?"."""
    pairs = [column.split("=") for column in columns.split("; ")]
    optional = [n for n, (_, key) in enumerate(pairs) if key.endswith("?")]
    for count_ in range(len(optional) + 1):
        for without in itertools.combinations(optional, count_):
            yield [[head, key.rstrip("?")] for n, (head, key) in enumerate(pairs) if n not in without]


# Rows, and the columns of a table of them: head=key; "+": the number has a sign; "*": words, of which numbers are looked for;
# "?" behind it: the page has no such column where no row says anything there, or all say the same.
TABLES = [(rows, kept) for rows, columns in (
    ("kernels", "kernel=name; time=time_ns; share=time_share; launches=measured; mean=mean_measured_ns"),
    ("kernels", "kernel=name; share=time_share; launches=launches; mean=mean_measured_ns; predicted=mean_predicted_ns; "
                "median error=accuracy.median; error by time=accuracy.mape_time_weighted; within 20 %=accuracy.within_20; "
                "pred/meas=accuracy.bias; class=class; why=why?"),
    ("kernels", "kernel=name; time=work.measured_ns; known=work.known; arithmetic=work.flops_per_s; "
                "global data=work.bytes_per_s; of limit=work.of_limit; limit=work.limit"),
    ("kernels", "kernel=name; share=time_share; predicted=mean_predicted_ns; measured=mean_measured_ns; "
                "error=accuracy.mape_time_weighted; pred/meas=accuracy.bias"),
    ("classes", "class=name; time=time_ns; share=time_share; launches=measured; mean=mean_measured_ns"),
    *((rows, f"{one}=name; launches=launches; share=time_share; predicted=mean_predicted_ns; measured=mean_measured_ns; "
             "error=accuracy.mape_time_weighted; pred/meas=accuracy.bias") for rows, one in (
        ("kernels", "kernel"), ("models", "model"), ("streams", "stream"), ("cases", "case"), ("ranks", "rank"),
        ("gpus", "gpu"), ("classes", "class"))),
    ("groups", "launches=name; matched=accuracy.n; median=accuracy.median; by time=accuracy.mape_time_weighted; "
               "p90=accuracy.p90; within 20 %=accuracy.within_20; pred/meas=accuracy.bias; mean=accuracy.mape"),
    ("pairs", "predicted=name; solo=solo; by earlier=behind; by later=overtaken; unknown=unknown"),
    ("pairs", "predicted=name; solo=solo; overlapped by earlier=behind; by later=overtaken; not known=unknown"),
    ("processes", "process=command_line; pid=pid; ended=ended; launches=launches; ran for=duration_ns"),
    ("activity.devices", "GPU=name; first to last=span_ns; busy=busy_share; computing=compute_share; "
                         "exposed=communication_exposed_share; hidden=communication_hidden_share; "
                         "copies only=copies_only_share; idle=idle_share; launch-bound=idle_launch_bound_share"),
    ("activity.processes", "rank or process=name; GPU=gpu; first to last=span_ns; busy=busy_share; computing=compute_share; "
                           "exposed=communication_exposed_share; hidden=communication_hidden_share; "
                           "copies only=copies_only_share; idle=idle_share"),
    ("activity.streams", "stream=name; first to last=span_ns; kernels=kernels_share; copies only=copies_only_share; "
                         "idle=idle_share; launch-bound=idle_launch_bound_share"),
    ("activity.all", "of=of; name=name; GPU=gpu; first to last=span_ns; busy=busy_share; computing=compute_share; "
                     "exposed=communication_exposed_share; hidden=communication_hidden_share; "
                     "copies only=copies_only_share; idle=idle_share"),
    ("activity.copies", "copies=kind; count=count; size=bytes; time=ns; rate=bytes_per_s"),
    ("activity.idle_causes", "idle because=why; gaps=count; time=ns; share=share; what it means=meaning"),
    ("activity.gaps", "gap=ns; at=at_ns; cause=why; late=late_ns; waited=waited_ns; next=next"),
    ("activity.gaps", "gap=ns; at=at_ns; cause=why; late=late_ns; waited=waited_ns; GPU=gpu?; process=process?; thread=thread; "
                      "call=call?; before it=before; on=before_stream; next=next; on=stream"),
    ("slow.causes", "lost=lost_ns; launches=launches; cause=why; what it means=meaning"),
    ("slow.processes", "lost=lost_ns; others waited=others_waited_ns; took=took_ns; slower=+slower; launches=launches; "
                       "kernels=shown_kernels; GPU=gpu; rank or process=name"),
    *((f"slow.{rows}", f"lost=lost_ns; others waited=others_waited_ns; share=lost_share; launches=launches; cause=why; {one}=name")
      for rows, one in (("ranks", "rank or process"), ("gpus", "GPU"))),
    ("slow.kernels", "lost=lost_ns; took=took_ns; launches=launches; cause=why; kernel=name"),
    ("slow.kernels", "lost=lost_ns; took=took_ns; launches=launches; kernel=name"),
    ("slow.kernels", "lost=lost_ns; took=took_ns; launches=launches; cause=why; kernel=name; lost beside=*"),
    ("slow.launches", "lost=lost_ns; took=took_ns; should=should_ns; at=after_ns; stream=stream; cause=why; also=*?; kernel=name"),
    ("slow.launches", "lost=lost_ns; took=took_ns; should=should_ns; at=after_ns; stream=stream; cause=why; "
                      "rank or process=process_name; GPU=gpu?; also=*?; kernel=name"),
    ("slow.launches", "lost=lost_ns; took=took_ns; should=should_ns; at=after_ns; stream=stream; cause=why; kernel=name"),
    ("kernels", "kernel=name; launches=launches; share=time_share; here=here_ns; there=there_ns; from=there_low_ns; to=there_high_ns; "
                "there it is=answer"),
    ("evidence", "share=time_share; here=here_ns; how it is known=meaning"),
    ("kernels", "as=label; kernel=name; time=time_ns; share=time_share; launches=launches; alone=solo_ns; block=block; faster=faster"),
    ("kernels of pairs", "as=label; kernel=name; time=time_ns; share=time_share; launches=launches; alone=solo_ns; waves=waves"),
    *(("together", "pair=*; in turn=serial_ns; together=together_low_ns; to=together_high_ns; gain=gain_low; to=gain_high; "
                   f"better=answer{more}") for more in ("", "; measured=measured; gain then=measured_gain")),
    *(("variants", f"line=line; {times}; limited by=*; occupancy=occupancy; registers=registers; local=local_bytes") for times in (
        "expected=expected_ns; from=low_ns; to=high_ns; as good=as_good", "timed=measured_ns; estimated=estimated_ns")),
    ("by_model", "model=name; launches=n; median=median; p90=p90; mean=mape"),
    ("intervals", "launches=name; matched=n; inside=coverage; width=median_width"),
    ("learning_curve", "from launch=from; median=median; p90=p90; mean=mape"),
    ("contributors", "difference=+difference_ns; why=why; launches=launches; OLD=old_total_ns; NEW=new_total_ns; kernel=name"),
    ("contributors", "difference=+difference_ns; kernel=name; why=*; launches before=old_launches; now=new_launches; "
                     "time before=old_total_ns; now=new_total_ns; in place of=replaced; process=process"),
    ("steps of page", "step=*; time=time_ns; kernels=measured_ns; busy=busy_ns?; exposed=communication_exposed_ns?; "
                      "predicted=predicted_ns?; off=+predicted_off?"),
    ("steps of diff", "difference=+difference_ns; change=+change; OLD=old_ns; NEW=new_ns; of a step=of"),
    ("steps of diff", "difference=+difference_ns; change=+change; before=old_ns; now=new_ns; of a step=of"),
    ("changes", "kernel=name; launches=launches; before=old_ns; now=new_ns; change=+change; time lost=+lost_ns; p=p"),
    ("changes", "kernel=name; launches=launches; OLD=old_ns; NEW=new_ns; change=+change; time lost=+lost_ns; p=p"),
) for kept in left_out(columns)]
HEADS = [[head for head, _ in columns] for _, columns in TABLES]
GROUPS = {"all": "accuracy", "first seen": "first_seen", "new size": "new_size", "repeated": "repeated", "solo": "solo",
          "overlapped": "overlapped", "by earlier": "behind", "by later": "overtaken", "by earlier launches": "behind",
          "by later launches": "overtaken"}
CASES = {"alone": "alone", "together": "A", "in the last wave": "B", "one after the other": "C"}


def readings(key, value):
    """What a number may read like, by its key."""
    if key.endswith("ns"):
        shows = [ns]
    elif key.endswith("bytes_per_s"):
        shows = [rate]
    elif key.endswith("flops_per_s"):
        shows = [flops]
    elif key.endswith("bytes"):
        shows = [size_of, count]
    elif key == "waves":
        shows = [three, count]
    elif isinstance(value, int):
        shows = [count, lambda value: fixed(value, 0), percent]
    else:
        shows = [percent, three, chance, lambda value: fixed(value, 1), lambda value: fixed(value, 2),
                 lambda value: f"{value:g} %"]
    for show in shows:
        yield show(abs(value))
        if show in (ns, percent):
            yield from (sign + show(abs(value)) for sign in "+-")


def numbers(document, key=""):
    if isinstance(document, dict):
        for name, value in document.items():
            yield from numbers(value, name)
    elif isinstance(document, list):
        for value in document:
            yield from numbers(value, key)
    elif isinstance(document, (int, float)) and not isinstance(document, bool):
        yield key, document


def cells(line):
    return [cell for cell in re.split(r" {2,}", line.strip()) if cell]


def why_of(contributor):
    overlap = f"overlapped {'more' if contributor['overlap_ns'] > 0 else 'less'}"
    return {"overlap": overlap, "other_positions": "after others"}.get(contributor["why"], contributor["why"].replace("_", " "))


def launches_of(contributor):
    old, new = mean_count(contributor["old_launches"]), mean_count(contributor["new_launches"])
    return old if old == new else f"{old} → {new}"


def shown(key, row):
    """What a cell reads like."""
    if key == "*":
        return "…"
    value = row
    for part in key.lstrip("+").split("."):
        value = (value or {}).get(part)
    if isinstance(value, list):
        return ", ".join(value)
    if value is None or isinstance(value, str):
        return value
    if re.search("ns$", key):
        show = ns
    elif re.search("bytes_per_s$", key):
        show = rate
    elif re.search("flops_per_s$", key):
        show = flops
    elif key in ("bytes", "local_bytes"):
        show = size_of
    elif key in ("thread", "pid"):
        show = str
    elif key == "p":
        show = chance
    elif key in ("accuracy.bias", "waves"):
        show = three
    elif re.search("^(launches|old_launches|new_launches|measured|n|accuracy.n|count|from|stream|solo|behind|overtaken|unknown|line|registers)$", key):
        show = mean_count
    else:
        show = percent
    return (signed(show) if key.startswith("+") else show)(value)


def plain(name):
    """What is left of a name for which there is no room: tools/output/names/plain_name.h."""
    end, depth = len(name), 0
    for at in range(len(name) - 1, 0, -1) if name.endswith(")") else ():
        depth += (name[at] == ")") - (name[at] == "(")
        if not depth:
            end = at if re.match(r"[\w>]", name[at - 1]) else end
            break
    kept = masked = name[:end]
    if end < len(name):
        others = r"[^][<>(){}]*"
        pairs = "|".join(opens + others + closes for opens, closes in ("<>", (r"\(", r"\)"), "{}", (r"\[", r"\]")))
        while (hidden := re.sub(pairs, lambda found: "x" * len(found[0]), masked)) != masked:
            masked = hidden
        kept = kept[masked.rfind(" ") + 1:]
    kept = re.sub(r", std::array<char\*, \d+ul>|\(anonymous namespace\)::", "", kept)
    return re.sub(r"(^|[^\w:])(?:at::native::|c10::|std::)+", r"\1", kept)


def is_short_form(cell, text):
    return cell == text or "…" in cell and re.fullmatch(".*".join(map(re.escape, cell.split("…"))), text)


def reads(cell, text):
    if text is None:
        return cell in ("", "-")
    return "…" in (cell, text) or is_short_form(cell, text) or is_short_form(cell, plain(text))


def flat(row):
    """By the last part of its key."""
    out = {}
    for key, value in row.items():
        out.update(flat(value) if isinstance(value, dict) else {key: value})
    return out


def objects(document):
    if isinstance(document, dict):
        for value in document.values():
            yield from objects(value)
    elif isinstance(document, list):
        yield from (flat(row) for row in document if isinstance(row, dict))
        for row in document:
            yield from objects(row)


class Outputs:
    def __init__(self, document):
        self.document = document
        self.known = {text for key, value in numbers(document) for text in readings(key, value)}
        self.compared, self.rows, self.wrong = 0, 0, []

    def number(self, text, where):
        self.compared += 1
        if text.replace("−", "-") not in self.known:
            self.wrong.append(f"{text} ({where.strip()[:110]})")

    def cell(self, cell, where):
        if PLAIN.match(cell) and not re.match(r"^\d{4,}$", cell):
            self.number(cell, where)

    def prose(self, line):
        for match in UNIT.finditer(re.sub("within 20 %|90 % intervals", "", line)):
            self.number(match.group(), line)

    def text(self, path):
        lines = open(path, encoding="utf-8").read().split("\n")
        self.says_simulated(lines[0])
        for line in lines:
            self.prose(line)
            for cell in cells(line)[1:]:
                self.cell(cell, line)
        for i, heads in enumerate(map(cells, lines)):
            rows = []
            for row in lines[i + 1:]:
                if not row.startswith("  ") or row.startswith("  and ") or cells(row) in HEADS:
                    break
                rows.append(cells(row)[: len(heads)])  # models are explained at the end of their rows
            self.table(heads, [row for n, row in enumerate(rows) if not n or len(row) == len(heads)])

    def table(self, heads, lines):
        """Cells of lines below these heads; the first one at least is a row."""
        for (name, columns), known in zip(TABLES, HEADS):
            if sorted(heads) != sorted(known):
                continue
            columns = sorted(columns, key=lambda column: heads.index(column[0])) if heads != known else columns
            have = self.rows_of(name)
            for line in lines:
                self.rows += 1
                if len(line) != len(columns) or not any(all(reads(cell, shown(key, row)) for cell, (_, key) in zip(line, columns)) for row in have):
                    self.wrong.append(f"no row of {name} in JSON reads {line}")

    def rows_of(self, name):
        slow, report, diff = (self.document.get(part) or self.document for part in ("slow", "report", "diff"))
        replayed = (self.document.get("replayed") or {}).get("report") or report
        if name == "groups":
            return [{"name": text, "accuracy": replayed[key]} for text, key in GROUPS.items()]
        if name == "pairs":
            return [{"name": text, **replayed["concurrency"][key]} for text, key in CASES.items()]
        if name == "cases":
            return [{**row, "name": text} for row in report[name] for text, key in CASES.items() if key == row["name"]]
        if name == "contributors":
            others = diff["other_contributors"]
            return [{"difference_ns": others["difference_ns"], "name": f"{others['kernels']} other kernels"},
                    {**others, "why": f"{others['kernels']} others", "name": "below the limits, or by chance"},
                    *({**row, "why": why_of(row), "launches": launches_of(row)} for row in diff[name])]
        if name == "steps of page":
            return self.document["steps"]["rows"]
        if name == "steps of diff":
            return diff["steps"]["rows"]
        if name == "together":
            return [pair.get("together", pair) for pair in self.document["pairs"]]
        if name == "kernels of pairs":
            return self.document["kernels"]
        if name == "changes":
            return diff[name]
        if name == "activity.devices":
            called = {one["gpu"]: one["name"] for one in report["devices"]}
            return [{**row, "name": name} for row in report["activity"]["devices"]
                    for name in (row["name"], called[row["name"]], f"{row['name']}, {called[row['name']]}")]
        if name == "activity.all":
            return [row for of in ("devices", "processes", "streams") for row in report["activity"][of]]
        if name == "slow.kernels":
            return [{**row, "why": cause["why"]} for cause in slow["causes"] for row in cause["kernels"]]
        if name == "by_model":
            return [{"name": key, **row} for key, row in self.document[name].items()]
        if name == "intervals":
            return [{"name": key.replace("_", " "), **row} for key, row in self.document[name].items()]
        if "." in name:
            return {"slow": slow, "activity": report.get("activity")}[name.split(".")[0]][name.split(".")[1]]
        return (replayed if name == "kernels" else report)[name] + (report[name] if name == "kernels" else [])

    def csv(self, path):
        table = csv.reader(open(path, encoding="utf-8"))
        keys = next(table)
        if keys[1] == "id":  # a kernel, a stream or the like
            keys[0] = "name"
        called = {"matched": "n", "work_known": "known", "work_from": "from", "kernel_class": "class"}
        keys = [called.get(key.removesuffix("_percent"), key.removesuffix("_percent")) for key in keys]
        have = list(objects(self.document))
        for row in table:
            self.rows += 1
            self.compared += sum(bool(PLAIN.match(cell)) for cell in row)
            if not any(all(same(cell, of.get(key)) for cell, key in zip(row, keys[:-1])) for of in have) or \
                    (keys[-1], row[-1]) != ("simulated", str(int(self.document["simulated"]))):
                self.wrong.append(f"no object of JSON is {dict(zip(keys, row))}")

    def says_simulated(self, line):
        if line.strip("*").startswith("SIMULATED") != self.document["simulated"]:
            self.wrong.append(f"simulated is {self.document['simulated']} in JSON: {line}")

    def md(self, path):
        self.says_simulated(open(path, encoding="utf-8").readline())
        for line in open(path, encoding="utf-8"):
            self.prose(re.sub("`[^`]*`", "", line))
            for cell in line.strip().strip("|").split("|") if line.startswith("|") else []:
                self.cell(cell.strip(), line)
        lines = [[cell.strip(" `") for cell in line.strip().strip("|").split("|")] if line.startswith("|") else None
                 for line in [*open(path, encoding="utf-8"), ""]]
        for i, heads in enumerate(lines):
            if heads:
                self.table(heads, lines[i + 2: lines.index(None, i)])

    def page(self, path):
        for table in json.load(open(path, encoding="utf-8")):
            for row in table[1:]:
                for cell in row:
                    self.prose(cell)
                    self.cell(cell, " | ".join(row))
            self.table(table[0], table[1:])
            if table[0][:2] == ["step", "most on"]:
                self.ranks(table[0], table[1:])
            elif table[0] not in HEADS and table[0][0] != "what":
                self.wrong.append(f"what is in this table of the page? {table[0]}")


    def ranks(self, heads, lines):
        """Steps of several ranks side by side: their times."""
        steps = self.document["steps"]
        for line in lines:
            for rank, cell in zip(heads[2:], line[2:]):
                self.rows += 1
                of = [row for row in steps["rows"] if steps["processes"][row["place"]].startswith(rank) and str(row["number"]) == line[0].rstrip(" ▲")]
                if not (any(reads(cell, shown("time_ns", row)) for row in of) if of else cell == "-"):
                    self.wrong.append(f"no step of {rank} in JSON reads {line}")


def same(cell, value):
    """A cell of CSV, and what JSON has."""
    if isinstance(value, list):
        value = ", ".join(value)
    if value is None or isinstance(value, str):
        return cell == (value or "")
    return bool(cell) and float(cell) == value


def main(arguments):
    outputs = Outputs(json.load(open(arguments[0])))
    for path in arguments[1:]:
        getattr(outputs, {"txt": "text"}.get(path.rsplit(".", 1)[1], path.rsplit(".", 1)[1]))(path)
    print(*outputs.wrong, sep="\n", end="\n" if outputs.wrong else "")
    print(f"{outputs.compared} compared, {outputs.rows} rows, {len(outputs.wrong)} different")
    return bool(outputs.wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

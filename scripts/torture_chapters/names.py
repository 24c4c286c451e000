"""Hostile names of kernels, streams, files, devices and processes, through every output."""

import csv
import io
import json
import os
import re
import shutil
import sqlite3

from .case import Failure
from .process import run

NAME, SHARE = "names", 2
# What no output may have: C0 but the ends of lines, DEL, C1, marks of direction, U+2028 and U+2029.
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
FORMULA = ("=", "+", "-", "@")
PIECES = [
    b"\x1b[31m", b"\x1b]0;pwned\x07", b"\x1b[2J", b"\n", b"\r\n", b"\t", b"\x08\x08", b"\x7f", b"\x00",
    "\u009b31m".encode(), "\u0085".encode(), "\u202eevil".encode(), "\u2066".encode(), "\u2028".encode(),
    "\u061c".encode(), "\u200f".encode(), b"\xff\xfe", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\xaf",
    b"=1+1", b"+1", b"-1", b"@SUM(A1)", b"=cmd|' /C calc'!A0", b'"', b"'", b'""', b",", b";", b"|", b"\\", b"\\n",
    b"%s%n", b"%", b"{}", b"<script>", b"$(id)", b"`id`", b"\nLedger\n  launches 0", "\U0001f600".encode(),
    "名前".encode(), b" ", b"A" * 5000, b"L" * 100_000,
]
COLUMNS = (
    ("kernel", "name"), ("kernel", "mangled"), ("kernel", "module"), ("device", "name"), ("device", "uuid"),
    ("process", "command_line"), ("process", "executable"), ("process", "directory"), ("process", "source"),
    ("run", "command_line"), ("run", "directory"), ("run", "source"), ("run", "token"), ("stream", "kind"),
    ("message", "text"), ("message", "code"), ("ledger", "reason"), ("ledger", "item"), ("call_site", "symbol"),
    ("call_site", "module"), ("arguments", "text"), ("kernel", "code"), ("kernel", "cost_formula"),
    ("sweep_kernel", "name"), ("sweep_kernel", "module"), ("transfer", "kind"),
)


def describe(case):
    return f"{SOURCES[case.number % len(SOURCES)].__name__} {hostile(case.random)[:30]!r}"


def hostile(random):
    """A name, bytes."""
    if random.random() < 0.3:
        return random.randbytes(random.randrange(1, 40))
    return b"".join(random.choice(PIECES) for _ in range(random.choice((1, 2, 4))))


# --- outputs


def checked_text(data, what):
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Failure(f"{what}: not UTF-8: {error}: {data[max(0, error.start - 40):error.start + 20]!r}") from None
    found = CONTROL.search(text)
    if found:
        raise Failure(f"{what}: a control character: {text[max(0, found.start() - 60):found.start() + 20]!r}")
    return text


def checked_csv(data, what):
    text = checked_text(data.replace(b"\r\n", b"\n"), what)
    rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    if any(len(row) != len(rows[0]) for row in rows):
        raise Failure(f"{what}: rows of different lengths: {[row for row in rows if len(row) != len(rows[0])][0]!r}")
    for row in rows:
        for field in row:
            if field.startswith(FORMULA) and not re.fullmatch(r"-?\d[\d.e+-]*", field):
                raise Failure(f"{what}: a field that is a formula: {field[:80]!r}")


def checked_json(data, what):
    checked_text(data, what)

    def no_number(name):
        raise Failure(f"{what}: {name} in JSON")

    try:
        json.loads(data, parse_constant=no_number)
    except ValueError as error:
        raise Failure(f"{what}: not JSON: {error}") from None


def check_outputs(case, database, confine=None):
    """Every command that reads a database, in all of its forms."""
    words = {
        "db": database,
        "folder": case.folder,
        "work": case.build.program("work_driver"),
        "trace": case.bases.trace("csv"),
        "counts": case.counts("form").path,
        "device": case.bases.device,
    }
    for command, forms in case.bases.commands.items():
        if command in ("run", "import", "calibrate", "experiment"):
            continue
        for form in forms:
            if command == "prune" and "--dry-run" not in form:
                continue  # what it removes would be missing in what is printed afterwards
            check_output(case, command, *[argument.format(**words) for argument in form])
    export_to_file(case, database)


def export_to_file(case, database):
    for form, check in (("--csv", checked_csv), ("--chrome", checked_json)):
        path = case.path("exported")
        if case.kerncast("export", form, "-o", path, database).status == 0:
            with open(path, "rb") as file:
                check(file.read(), f"export {form} -o")
            case.tried["outputs"] += 1


def check_output(case, *arguments):
    ended = case.kerncast(*arguments)
    case.harmless(ended)
    what = "kerncast " + " ".join(ascii(argument)[1:-1][:100] for argument in arguments)
    case.tried["outputs"] += 1
    checked_text(ended.err(), what + " (error output)")
    out = ended.out(None)  # a document that is cut off is none
    if ended.status or not out:
        checked_text(out.replace(b"\r\n", b"\n"), what)
    elif "--csv" in arguments:
        checked_csv(out, what)
    elif "--json" in arguments or "--chrome" in arguments or "json" in arguments:
        checked_json(out, what)
    else:
        text = checked_text(out, what)
        if arguments[0] == "report" and text.count("\nLedger\n") > 1:
            raise Failure(f"{what}: a second ledger")


# --- where names come from


def csv_trace(case, database):
    rows = [b"kind,start_ns,duration_ns,process,device_name,module,name"]
    for i in range(case.random.choice((1, 5, 40))):
        fields = [b'"' + hostile(case.random).replace(b'"', b'""') + b'"' for _ in range(4)]
        rows.append(b"kernel,%d,1500,%s,%s,%s,%s" % (i * 2000, *fields))
    imported(case, database, b"\n".join(rows) + b"\n")


def json_trace(case, database):
    events = []
    for i in range(case.random.choice((1, 5, 40))):
        name = hostile(case.random).decode("utf-8", case.random.choice(("replace", "surrogateescape")))
        events.append(
            {
                "ph": "X",
                "cat": "kernel",
                "name": name,
                "ts": i * 20,
                "dur": 10.5,
                "args": {"grid": [32, 1, 1], "block": [128, 1, 1], "device": 0, "stream": 7, "correlation": i + 1},
            }
        )
    device = hostile(case.random).decode("utf-8", "replace")
    document = {
        "schemaVersion": 1,
        "deviceProperties": [{"id": 0, "name": device, "numSms": 108}],
        "distributedInfo": {"backend": "nccl", "rank": 1},
        "traceEvents": events,
    }
    raw = case.random.random() < 0.5
    imported(case, database, json.dumps(document, ensure_ascii=not raw).encode("utf-8", "surrogateescape"))


def nsys_trace(case, database):
    path = case.path("trace")
    shutil.copy(case.bases.trace("nsys"), path)
    connection = sqlite3.connect(path)
    for i in (1, 2, 3):
        connection.execute("UPDATE StringIds SET value = CAST(? AS TEXT) WHERE id = ?", (hostile(case.random), i))
    connection.execute("UPDATE TARGET_INFO_GPU SET name = CAST(? AS TEXT)", (hostile(case.random),))
    connection.commit()
    connection.close()
    check_output(case, "import", path, "-o", database)


def imported(case, database, data):
    path = case.path("trace")
    with open(path, "wb") as file:
        file.write(data)
    check_output(case, "import", path, "-o", database)


def edited(case, database):
    """A database in which texts were changed by hand."""
    shutil.copy(case.bases.database("all"), database)
    connection = sqlite3.connect(database)
    connection.execute(
        "INSERT INTO message(id, process, time_ns, severity, code, count, text) SELECT id << 40 | 999, id, 0, 2, 'code', 1, 'text'"
        " FROM process"
    )
    for table, column in case.random.sample(COLUMNS, case.random.choice((1, 3, len(COLUMNS)))):
        case.note(f"{table}.{column}")
        unique = " || rowid" if (table, column) in (("run", "token"), ("kernel", "mangled")) else ""
        try:
            connection.execute(
                f"UPDATE OR REPLACE {table} SET {column} = CAST(? AS TEXT){unique}", (hostile(case.random),)
            )
        except sqlite3.Error:
            pass  # a schema without it
    connection.commit()
    connection.close()


def paths(case, database):
    """Files and folders with hostile names; errors that quote them; values of options."""
    name = hostile(case.random).replace(b"/", b"").replace(b"\0", b"")[:80] or b"="
    folder = os.path.join(os.fsencode(case.folder), name)
    os.makedirs(folder, exist_ok=True)
    there = os.fsdecode(os.path.join(folder, name))
    shutil.copy(case.bases.database("run"), there)
    for arguments in (
        ["report", there],
        ["report", there + "x"],
        ["report", "--csv", there],
        ["report", "--json", there],
        ["export", "--csv", "-o", there + "/x", there],
        ["import", there, "-o", there + ".db"],
        ["recover", there],
        ["replay", there],
        ["devices", there],
        ["report", "--by=" + os.fsdecode(name)],
        ["predict", "--device", os.fsdecode(name), "x"],
        ["explain", there],
        ["doctor", there],
        ["slowdown", "--device", "v100", os.fsdecode(name), os.fsdecode(name)],
        ["basis", "space", there],
        [os.fsdecode(name)],
        ["report", "--" + os.fsdecode(name)],
    ):
        check_output(case, *arguments)
    counts = case.counts()
    shutil.copy(case.build.program("work_driver"), there + "app")
    env = case.build.environment(case.folder)
    case.harmless(
        run(
            case.build,
            [case.build.kerncast, "run", "-q", "-o", database, "--", there + "app", counts.path, "plain", "1", "5"],
            case.path("application"),
            env,
        ),
        (0,),
    )


def application(case, database):
    """Names that a program's code can have: long, and with the signs that PTX allows."""
    name = case.random.choice(
        (
            "k" * 100_000, "k" * 4094, "k" * 4095 + "b", "_Z" * 3000, "_ZN" + "9999999999" * 5 + "k",
            "_Z1kILi" + "1" * 500, "%s%n%p", "k%$_.$", "_Z1kIJ" + "i" * 20000 + "EEvv", "_Z" + "1aI" * 3000,
        )
    )
    case.note(name[:60])
    counts = case.counts()
    env = case.build.preloaded(case.folder, database, KERNCAST_QUIET="1")
    ended = run(
        case.build,
        [case.build.program("work_driver"), "-k", name, counts.path, "plain", "1", "20"],
        case.path("application"),
        env,
    )
    case.harmless(ended, (0, 3))  # 3: the stand-in does not take the name


SOURCES = (csv_trace, json_trace, edited, nsys_trace, paths, application)


def attempt(case):
    source = SOURCES[case.number % len(SOURCES)]
    case.tried[source.__name__] += 1
    database = case.path("k.db")
    source(case, database)
    if os.path.exists(database):
        check_outputs(case, database)

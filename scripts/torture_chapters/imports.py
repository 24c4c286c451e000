"""Damaged traces, imported."""

import gzip
import os
import re
import shutil
import zlib

from .case import Failure
from .damage import NAMES, NUMBERS, Schema, bytes_of, read, valid_sqlite, write

NAME, SHARE = "imports", 8
KINDS = ("json", "csv", "nsys", "nvprof", "json", "csv", "nsys", "bomb")
BLOCK = bytes(1 << 20)
VALUES = (
    "nan", "inf", "-inf", "1e999", "-1", "", "null", "true", "[]", "{}", "0x10", "1e-400", "9" * 400, "1.5.5", "'",
    "\x00", "\u202e",
)


def describe(case):
    return f"{kind_of(case)} {'sanitizers' if case.number % 2 else 'ordinary'} {case.random.random():.6f}"


def kind_of(case):
    return KINDS[case.number // 2 % len(KINDS)]


# --- text


def token(random):
    return (
        random.choice(VALUES) if random.random() < 0.5 else str(random.choice(NUMBERS) * random.choice((1, -1, 1000)))
    )


def tokens_changed(random, data):
    """Numbers and texts of a trace, and its separators."""
    places = [match.span() for match in re.finditer(rb'-?\d[\d.eE+-]*|"[^"\n]*"|[,:{}\[\]]', data)]
    out, end = bytearray(), 0
    chosen = sorted(random.sample(places, min(len(places), random.choice((1, 2, 5, 50)))))
    for start, stop in chosen:
        old = data[start:stop]
        if old.startswith(b'"'):
            new = b'"' + random.choice(NAMES).encode(errors="surrogatepass").replace(b'"', b"") + b'"'
            new = random.choice((new, new, token(random).encode(), b'"' + old.strip(b'"') * 500 + b'"', b""))
        elif old in b",:{}[]":
            new = random.choice((b"", old * 2, b"[", b"}", b",", b'"'))
        else:
            new = token(random).encode()
        out += data[end:start] + new
        end = stop
    return bytes(out + data[end:]), f"{len(chosen)} tokens changed"


def lines_changed(random, data):
    rows = data.split(b"\n")
    for _ in range(random.choice((1, 3, 20))):
        a, b = random.randrange(len(rows)), random.randrange(len(rows))
        kind = random.randrange(4)
        if kind == 0:
            rows[a], rows[b] = rows[b], rows[a]
        elif kind == 1:
            rows.insert(a, rows[b])
        elif kind == 2:
            rows[a] = rows[a] + rows[b]
        elif len(rows) > 1:
            del rows[a]
    return b"\n".join(rows), "lines changed"


def long_field(random, data):
    at = random.randrange(len(data))
    n = random.choice((5000, 70000, 3 << 20))
    return (
        data[:at] + random.choice((b"A", b",", b'"', b"\n", b"9", b"\xff", b"[")) * n + data[at:],
        f"{n} equal bytes in the middle",
    )


def nested(random, _):
    n = random.choice((100, 998, 1001, 20000, 1 << 20))
    inner = random.choice((b"[", b'{"a":', b'[{"args":', b'{"args":['))
    return b'{"traceEvents":[{"ph":"X","cat":"kernel","name":"k","ts":1,"dur":1,"args":' + inner * n, f"{n} levels"


def damaged_text(random, data):
    change = random.choice(
        (
            tokens_changed,
            tokens_changed,
            tokens_changed,
            lines_changed,
            long_field,
            nested,
            lambda r, d: bytes_of(r, d),
            lambda r, d: bytes_of(r, d),
        )
    )
    data, what = change(random, data)
    kind = random.randrange(6)
    if kind == 0:
        return gzip.compress(bytes(data), 1), what + ", gzip"
    if kind == 1:
        packed = bytearray(gzip.compress(bytes(data), 1))
        return bytes_of(random, packed)[0], what + ", gzip damaged"
    return bytes(data), what


# --- bombs


def bomb(random, path):
    """A small gzip file that unpacks to a lot: of space, of a name, of a number, of a field."""
    head, fill, tail = random.choice(
        (
            (b'{"traceEvents":[', b" ", b"]}"),
            (b'{"traceEvents":[{"ph":"X","cat":"kernel","name":"', b"A", b'","ts":1,"dur":1,"args":{"stream":7}}]}'),
            (b'{"traceEvents":[{"ph":"X","cat":"kernel","name":"k","dur":1,"args":{"stream":7},"ts":', b"9", b"}]}"),
            (b'{"traceEvents":[', b"[", b"]}"), (b'kind,start_ns,duration_ns,name\nkernel,1,1,"', b"A", b'"\n'),
            (b"kind,start_ns,duration_ns,name\nkernel,1,1,", b"\n", b"\n"),
            (b"kind,start_ns,duration_ns,name\nkernel,1,1,", b",", b"\n"),
        )
    )
    mebibytes = random.choice((40, 80, 160))
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    with open(path, "wb") as file:
        file.write(packer.compress(head))
        for _ in range(mebibytes):
            file.write(packer.compress(fill * len(BLOCK)))
        file.write(packer.compress(tail) + packer.flush())
    return f"{mebibytes} MiB of {fill!r} after {head[-20:]!r}"


# --- all


def make(case, path):
    kind = kind_of(case)
    case.tried[kind] += 1
    if kind == "bomb":
        case.note(bomb(case.random, path))
        return
    source = case.random.choice(case.bases.traces[kind])
    if kind == "nsys" and case.random.random() < 0.7:
        shutil.copy(source, path)
        schema = Schema(path)
        schema.views, schema.indexes = ["none"], ["none"]
        case.note("; ".join(valid_sqlite(case.random, path, schema)))
        return
    data, what = (
        damaged_text(case.random, read(source)) if kind != "nsys" else bytes_of(case.random, read(source), range(100))
    )
    case.note(f"{os.path.basename(source)}: {what}")
    write(path, data)


def attempt(case):
    trace, build = case.path("trace"), case.sanitized_build()
    make(case, trace)
    database = case.path("k.db")
    if case.random.random() < 0.2:
        shutil.copy(case.bases.database("trace"), database)
    ended = case.kerncast("import", trace, "-o", database, build=build)
    case.harmless(ended)
    if ended.status and not ended.err():
        raise Failure("import failed, and nothing is said")
    if os.path.exists(database):
        for command in (["report", "--exact"], ["replay"]):
            case.harmless(case.kerncast(*command, database, build=build))

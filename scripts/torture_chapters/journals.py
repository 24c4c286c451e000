"""Damaged journals, imported beside an undamaged one."""

import os
import shutil
import sqlite3
import struct

from .case import Failure
from .damage import NUMBERS, bytes_of, read, write

NAME, SHARE = "journals", 8
# Of struct kc_journal_header: magic 8 bytes, version, header_bytes, slot_bytes, segment_slots.
SIZES = struct.Struct("=8sIIII")
SLOT_STATES, SLOT_KINDS = 5, 25  # and one more each is none
HEADER_FIELDS = range(0, 8192, 4)
SPARSE_BYTES = (1 << 30, 9 << 30, 1 << 40)


def describe(case):
    return f"{'sanitizers' if case.number % 2 else 'ordinary'} {case.random.random():.6f}"


def layout_of(data):
    """Bytes of the header and of a slot, as an undamaged journal says."""
    _, _, header, size, _ = SIZES.unpack_from(data)
    return header, size


def slots(data, layout):
    """Offsets of slots that hold something."""
    header, size = layout
    return [at for at in range(header, len(data) - size, size) if data[at : at + 4] != b"\0\0\0\0"], size


def number(random, n_bytes):
    return (random.choice(NUMBERS) & (2 ** (8 * n_bytes) - 1)).to_bytes(n_bytes, "little")


def damage_header(random, data, _):
    for _ in range(random.choice((1, 1, 2, 5))):
        at = random.choice(HEADER_FIELDS[:60]) if random.random() < 0.7 else random.choice(HEADER_FIELDS)
        n_bytes = random.choice((4, 8))
        data[at : at + n_bytes] = number(random, n_bytes)
    return data


def damage_text(random, data, _):
    """Boot id, names and command line, without an end."""
    at = random.randrange(200, 9000)
    data[at : at + 4096] = random.choice((b"\xff", b"\x1b", b"A", b"\n")) * 4096
    return data


def damage_slots(random, data, layout):
    used, size = slots(data, layout)
    for _ in range(random.choice((1, 2, 10, 200)) if used else 0):
        at = random.choice(used)
        kind = random.randrange(6)
        if kind == 0:
            data[at : at + 4] = struct.pack("=I", random.randrange(SLOT_STATES + 1))
        elif kind == 1:
            data[at + 4 : at + 8] = struct.pack("=I", random.randrange(SLOT_KINDS + 1))
        elif kind == 2:
            data[at + 8 : at + 16] = number(random, 8)
        elif kind == 3:
            data[at + 16 : at + 24] = number(random, 2) + number(random, 2) + number(random, 4)  # of a part
        else:
            n_bytes = random.choice((1, 2, 4, 8))
            field = at + 16 + random.randrange(0, size - 24)
            data[field : field + n_bytes] = number(random, n_bytes)
    return data


def shuffle_slots(random, data, layout):
    used, size = slots(data, layout)
    for _ in range(random.choice((1, 5, 50)) if used else 0):
        a, b = random.choice(used), random.choice(used)
        if random.random() < 0.5:
            data[a : a + size] = data[b : b + size]
        else:
            data[a : a + size], data[b : b + size] = data[b : b + size], data[a : a + size]
    return data


def another_version(random, data, _):
    (version,) = struct.unpack_from("=I", data, 8)
    struct.pack_into("=I", data, 8, random.choice((0, version - 1, version + 1, -1)) & 0xFFFFFFFF)
    return data


def any_bytes(random, data, layout):
    used, _ = slots(data, layout)
    return bytearray(bytes_of(random, data, (list(range(512)) + used) or range(512))[0])


MUTATIONS = (
    damage_header, damage_header, damage_slots, damage_slots, damage_slots, shuffle_slots, damage_text, any_bytes,
    any_bytes, another_version,
)


def put_damaged(case, path, source):
    data = bytearray(read(source))
    layout = layout_of(data)
    for mutate in case.random.sample(MUTATIONS, case.random.choice((1, 1, 2))):
        case.note(mutate.__name__)
        data = mutate(case.random, data, layout)
        if len(data) < SIZES.size:
            break
    write(path, data)
    if case.random.random() < 0.08:
        with open(path, "r+b") as file:
            file.truncate(case.random.choice(SPARSE_BYTES))
        case.note("sparse")


def attempt(case):
    database, build = case.path("k.db"), case.sanitized_build()
    if case.random.random() < 0.4:
        shutil.copy(case.bases.database("run"), database)
    known = case.bases.last_process("run") if os.path.exists(database) else 0
    (source, _), (sound, rows) = case.random.sample(case.bases.journals, 2)
    name = f"k.db.{case.random.choice((1, 999999, 4194304, 2**31))}-{case.random.randrange(1, 10**6)}.kcj"
    put_damaged(case, case.path(name), source)
    pid, start = os.path.basename(sound).split(".")[-2].split("-")
    shutil.copy(sound, case.path(f"k.db.{pid}-{start}.kcj"))
    case.tried["journals"] += 1
    case.harmless(case.kerncast("recover", database, build=build))
    check_sound(database, int(pid), known, rows)
    for command in (["report", "--exact"], ["replay"]):
        case.harmless(case.kerncast(*command, database, build=build))


def check_sound(database, pid, known, rows):
    """The undamaged journal has come in whole."""
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        found = connection.execute(
            "SELECT count(*) FROM launch_row r JOIN process p ON p.id = r.id >> 40" " WHERE p.pid = ? AND p.id > ?",
            (pid, known),
        ).fetchone()[0]
        (integrity,) = connection.execute("PRAGMA integrity_check").fetchone()
    except sqlite3.Error as error:
        raise Failure(f"the database after recovery: {error}") from None
    finally:
        connection.close()
    if integrity != "ok":
        raise Failure(f"integrity_check: {integrity}")
    if found < rows:
        raise Failure(f"the undamaged journal has {rows} launches, {found} came in")

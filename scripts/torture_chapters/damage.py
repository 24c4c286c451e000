"""Damages files: bytes of any file, and values, schema and traps of a database that stays valid SQLite."""

import os
import shutil
import sqlite3

SPARSE_BYTES = (1 << 30, 10 << 30, 1 << 40)
STEPS = 100_000  # of SQLite's machine between two looks, and ...
LOOKS = 20  # ... how many until a statement of ours that meets its own trap is given up
PAGES_MAX = 16384  # of a damaged database: 64 MiB

NUMBERS = (
    0, 1, -1, 2, 255, 256, 65535, 2**31 - 1, 2**31, -(2**31), 2**32 - 1, 2**32, 2**40, 2**53, 2**62, 2**63 - 1,
    -(2**63), 10**15, 3 * 10**8, 5 * 10**7, 2**63 - 28,
)
NAMES = (
    "", "=1+1", "k\x1b[31m\x1b]0;x\x07", "k\nLedger\n  launches 0", "\u202eevil", "\u009b31m", "%s%n%s",
    "'; DROP TABLE run;--", '"', "..\\..\\x", "../../../etc/passwd", "\x00after", "<script>", "\u2028\u2029", "NaN",
    "1e999", "A100", "@SUM(A1)",
)


SMALL, MEDIUM, LARGE = range(3)  # values for thousands of rows, for all rows of a short table, for one row
TEXT_BYTES = {SMALL: (10, 100), MEDIUM: (1000, 20000), LARGE: (50000, 1000000)}
BLOB_BYTES = {SMALL: (0, 1, 17, 271), MEDIUM: (0, 1, 17, 271, 4096), LARGE: (271, 4096, 1000000, 33554432)}


def literal(random, size):
    """An SQL expression: a value of any type."""
    kind = random.randrange(12)
    if kind < 4:
        return str(random.choice(NUMBERS)) if random.random() < 0.9 else f"-{random.choice(NUMBERS[1:])}"
    if kind == 4:
        return "NULL"
    if kind == 5:
        return random.choice(("1e308", "-1e308", "1e-308", "9e999", "-9e999", "0.5", "-0.0", "9007199254740993.0"))
    if kind == 6:
        return quoted(random.choice(NAMES))
    if kind == 7:
        return f"hex(zeroblob({random.choice(TEXT_BYTES[size])}))"
    if kind == 8:
        return f"zeroblob({random.choice(BLOB_BYTES[size])})"
    if kind == 9:
        return f"x'{random.randbytes(random.choice((1, 8, 40, 300))).hex()}'"
    if kind == 10:
        return f"cast({quoted(random.choice(NAMES))} AS BLOB)"
    return str(random.getrandbits(64) - 2**63)


def quoted(text):
    return "'" + text.replace("'", "''") + "'" if "\x00" not in text else f"cast(x'{text.encode().hex()}' AS TEXT)"


def value_of(random, column, size=MEDIUM):
    """An expression over the row, or one that does not care."""
    kind = random.randrange(8)
    if kind == 0:
        return f'"{column}" + {random.choice(NUMBERS)}'
    if kind == 1:
        return f'"{column}" * {random.choice((-1, 2, 1000, 2**40))}'
    if kind == 2:
        return f'-"{column}"'
    return literal(random, size)


def where(random, schema, table):
    """Some rows of a table, and of which size values for them may be."""
    key = "rowid" if table in schema.with_rowid else f'"{schema.tables[table][1]}"'
    kind = random.randrange(5)
    if kind < 3:
        return ("", f" WHERE {key} % 2", f" WHERE {key} % 7 = 3")[kind], MEDIUM
    return f' WHERE {key} = (SELECT {("min", "max")[kind - 3]}({key}) FROM "{table}")', LARGE


class Schema:
    """Of a sound database: its tables with their columns, and its views."""

    def __init__(self, path):
        connection = sqlite3.connect(path)
        self.tables = {
            name: [row[1] for row in connection.execute(f'PRAGMA table_info("{name}")')]
            for name, in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
            if not name.startswith("sqlite_")
        }
        self.views = [
            name for name, in connection.execute("SELECT name FROM sqlite_master WHERE type = 'view' ORDER BY name")
        ]
        self.indexes = [
            name
            for name, in connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'index' AND sql NOT NULL ORDER BY name"
            )
        ]
        self.filled = [
            name for name in self.tables if connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]
        ]
        self.with_rowid = {
            name
            for name, sql in connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
            if "WITHOUT ROWID" not in sql
        }
        (self.version,) = connection.execute("PRAGMA user_version").fetchone()
        connection.close()


def wrong_values(random, schema):
    statements = []
    for _ in range(random.choice((1, 1, 2, 3, 6))):
        table = random.choice(schema.filled)
        columns = random.sample(schema.tables[table], min(random.choice((1, 1, 2, 4)), len(schema.tables[table])))
        rows, size = where(random, schema, table)
        changes = ", ".join(f'"{column}" = {value_of(random, column, size)}' for column in columns)
        statements.append(f'UPDATE OR REPLACE "{table}" SET {changes}{rows}')
    return statements


def rows_added_or_gone(random, schema):
    table = random.choice(schema.filled)
    columns = schema.tables[table]
    kind = random.randrange(4)
    if kind == 0:
        return [f'DELETE FROM "{table}"' + where(random, schema, table)[0]]
    if kind == 1:
        return [f'DROP TABLE "{table}"']
    chosen = random.choice(columns)
    if kind == 2:
        values = ", ".join(f'"{c}"' if c != chosen else value_of(random, c) for c in columns)
        return [f'INSERT OR REPLACE INTO "{table}" SELECT {values} FROM "{table}"']
    many, size = random.choice(((1, LARGE), (100, MEDIUM), (20000, SMALL)))
    values = ", ".join(literal(random, size) for _ in columns)
    return [
        f"WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {many})"
        f' INSERT OR REPLACE INTO "{table}" SELECT {values} FROM n'
    ]


def trap(random, schema):
    """Triggers, views without an end, generated columns, indexes on expressions."""
    table = random.choice(list(schema.tables))
    columns = ", ".join(f'"{c}"' for c in schema.tables[table])
    kind = random.randrange(7)
    if kind == 0:
        return [
            f'ALTER TABLE "{table}" RENAME TO real',
            f'CREATE VIEW "{table}" AS WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL'
            f" SELECT n + 1 FROM c) SELECT real.* FROM real, c",
        ]
    if kind == 1:
        return [
            f'ALTER TABLE "{table}" RENAME TO real',
            f'CREATE VIEW "{table}" AS SELECT {columns} FROM real, real AS b',
        ]
    if kind == 2:
        view = random.choice(schema.views)
        return [
            f'DROP VIEW "{view}"',
            f'CREATE VIEW "{view}" AS WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c)'
            f" SELECT n AS run, n AS name FROM c",
        ]
    if kind == 3:
        what = random.choice(
            (
                "DELETE FROM launch_row", f'DELETE FROM "{table}"', "SELECT RAISE(ABORT, 'no')",
                "SELECT RAISE(IGNORE)", "UPDATE launch_row SET flags = -1",
                f'INSERT OR REPLACE INTO "{table}" SELECT * FROM "{table}"',
            )
        )
        return [
            "PRAGMA recursive_triggers = 1",
            f'CREATE TRIGGER t {random.choice(("AFTER", "BEFORE"))}'
            f' {random.choice(("INSERT", "UPDATE", "DELETE"))} ON "{table}" BEGIN {what}; END',
        ]
    if kind == 4:
        return [f'ALTER TABLE "{table}" ADD COLUMN extra GENERATED ALWAYS AS (zeroblob(100000000))']
    if kind == 5:
        return [f'CREATE INDEX i ON "{table}"(length(hex("{random.choice(schema.tables[table])}")))']
    return [
        f'ALTER TABLE "{table}" RENAME TO real',
        f'CREATE TABLE "{table}"({columns}, PRIMARY KEY("{schema.tables[table][0]}"))' " WITHOUT ROWID",
        f'INSERT OR IGNORE INTO "{table}" SELECT * FROM real',
    ]


def another_schema(random, schema):
    table = random.choice(list(schema.tables))
    column = random.choice(schema.tables[table])
    return random.choice(
        (
            [
                f"PRAGMA user_version = {random.choice((0, 1, 2, schema.version - 1, schema.version + 1, 2**31 - 1, -1))}"
            ],
            [f"PRAGMA user_version = {random.randrange(max(1, schema.version))}", f'DROP TABLE "{table}"'],
            [f"PRAGMA application_id = {random.choice((0, 1, -1))}"],
            [f'ALTER TABLE "{table}" RENAME COLUMN "{column}" TO other'],
            [f'ALTER TABLE "{table}" DROP COLUMN "{column}"'],
            [f'DROP VIEW "{random.choice(schema.views)}"'],
            [f'DROP INDEX "{random.choice(schema.indexes)}"'],
            ["PRAGMA writable_schema = 1", f"UPDATE sqlite_master SET sql = {literal(random, LARGE)} WHERE name = '{table}'"],
            [
                "PRAGMA writable_schema = 1",
                f"UPDATE sqlite_master SET rootpage = {random.choice((0, 1, 2, 7, 2**31))}" f" WHERE name = '{table}'",
            ],
            ["PRAGMA writable_schema = 1", f"UPDATE sqlite_master SET type = 'view' WHERE name = '{table}'"],
            ["PRAGMA journal_mode = DELETE"],
            ["PRAGMA journal_mode = DELETE", "PRAGMA page_size = 512", "VACUUM"],
            ["PRAGMA journal_mode = DELETE", "PRAGMA page_size = 65536", "VACUUM"],
        )
    )


def valid_sqlite(random, path, schema):
    """Damages the database at PATH so that it is still one. Returns the statements."""
    make = random.choice((wrong_values,) * 7 + (rows_added_or_gone, rows_added_or_gone, trap, trap, another_schema))
    statements = make(random, schema)
    connection = sqlite3.connect(path, isolation_level=None)
    looks = [0]

    def enough():
        looks[0] += 1
        return looks[0] > LOOKS

    connection.set_progress_handler(enough, STEPS)
    for name in ("ignore_check_constraints = 1", "foreign_keys = 0", "synchronous = 0", f"max_page_count = {PAGES_MAX}"):
        connection.execute(f"PRAGMA {name}")
    for statement in statements:
        looks[0] = 0
        try:
            connection.execute(statement).fetchall()
        except (sqlite3.Error, OverflowError, UnicodeError):
            pass  # not all are possible together
    connection.close()
    return statements


# --- bytes


def bytes_of(random, data, interesting=()):
    """A damaged copy of DATA. interesting: offsets at which damage is likely to matter."""
    data = bytearray(data)
    kind = random.randrange(8)
    if kind == 0 or not data:
        return data[: random.randrange(len(data) + 1)], "cut off"
    if kind == 1:
        at, n = random.randrange(len(data)), random.choice((1, 16, 512, 4096))
        data[at : at + n] = bytes([random.choice((0, 255))]) * n
        return data, f"{n} equal bytes at {at}"
    if kind == 2:
        at, to, n = random.randrange(len(data)), random.randrange(len(data)), random.choice((4, 64, 4096))
        data[to : to + n] = data[at : at + n]
        return data, f"{n} bytes of {at} at {to}"
    if kind == 3:
        return data + random.randbytes(random.choice((1, 100, 5000))), "more at the end"
    n = random.choice((1, 1, 3, 10, 100))
    places = []
    for _ in range(n):
        at = random.choice(interesting) if interesting and random.random() < 0.6 else random.randrange(len(data))
        places.append(at)
        if random.random() < 0.5:
            data[at : at + 1] = bytes([random.randrange(256)])
        else:
            value = random.choice(NUMBERS) & (2**64 - 1)
            n_bytes = random.choice((2, 4, 8))
            data[at : at + n_bytes] = (value & (2 ** (8 * n_bytes) - 1)).to_bytes(
                n_bytes, random.choice(("little", "big"))
            )
    return data, f"values at {places[:6]}"


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def page_places(data):
    """Of a database: its header, and the headers and first cell pointers of its pages."""
    size = int.from_bytes(data[16:18], "big") or 4096
    size = 65536 if size == 1 else size
    return list(range(100)) + [
        start + offset for start in range(0, len(data), max(size, 512)) for offset in range(0, 24)
    ]


def not_sqlite(random, path, logged):
    """Damages the database at PATH by its bytes, or its log. logged: a sound one with its -wal and -shm. Returns what."""
    kind = random.randrange(10)
    if kind < 4:
        data = read(path)
        data, what = bytes_of(random, data, page_places(data))
        write(path, data)
        return f"database: {what}"
    if kind < 8:
        for suffix in ("", "-wal", "-shm"):
            shutil.copy(logged + suffix, path + suffix)
        suffix = random.choice(("-wal", "-wal", "-shm", ""))
        data = read(path + suffix)
        data, what = bytes_of(
            random, data, list(range(32)) + list(range(32, len(data), 4120)) if suffix == "-wal" else range(136)
        )
        write(path + suffix, data)
        gone = random.choice((None, None, "-shm", "-wal", ""))
        if gone is not None:
            os.unlink(path + gone)
        return f"{suffix or 'database'} of a log: {what}{'; without ' + (gone or 'the database') if gone is not None else ''}"
    if kind == 8:
        what = random.choice(("empty", "zeros", "text", "random", "folder", "sparse", "journal"))
        if what == "folder":
            os.unlink(path)
            os.mkdir(path)
        elif what == "sparse":
            with open(path, "r+b") as file:
                file.truncate(random.choice(SPARSE_BYTES))
        elif what == "journal":
            write(path + "-journal", bytes.fromhex("d9d505f920a163d7") + random.randbytes(5000))
        else:
            write(
                path,
                {"empty": b"", "zeros": bytes(8192), "text": b"no database\n" * 100, "random": random.randbytes(9000)}[
                    what
                ],
            )
        return what
    os.unlink(path)
    os.symlink(random.choice(("/dev/zero", "/dev/null", "/etc/passwd", "nowhere", path)), path)
    return "a link"

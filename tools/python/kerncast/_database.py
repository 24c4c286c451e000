"""Reading a database. It is a file that somebody else may have written, so nothing that it brings besides rows runs."""
import contextlib
import os
import sqlite3
import stat
import time
import urllib.parse
from typing import Any, Optional, Sequence, Union

from . import _command, _frames, _picture
from ._command import Error

Path = Union[str, "os.PathLike[str]"]
Run = Union[int, str, None]

STEPS = 1000  # of SQLite's virtual machine, between two looks at the clock
BUSY_S = 5  # for a writer that holds the file's lock
ROWS = 10000  # fetched at a time
# As the command has them: none of our rows, statements and patterns is longer.
LIMITS = (("LENGTH", 16 << 20), ("SQL_LENGTH", 1 << 20), ("LIKE_PATTERN_LENGTH", 1000), ("ATTACHED", 0))
CONFIG = (("DEFENSIVE", True), ("TRUSTED_SCHEMA", False), ("ENABLE_TRIGGER", False), ("ENABLE_FKEY", False))
READING = {getattr(sqlite3, name, code) for name, code in (
    ("SQLITE_SELECT", 21), ("SQLITE_READ", 20), ("SQLITE_FUNCTION", 31), ("SQLITE_TRANSACTION", 22))}

KERNEL = "LEFT JOIN kernel k ON k.id = l.kernel"
NAMED = {"kernel_name": "k.name"}
DERIVED = {
    "stream_number": "iif(p.source IS NULL, s.local, s.handle)",  # as the report and a trace call it
    "predicted_ns": "l.end_ns - l.start_ns",
    "measured_ns": "l.measured_end_ns - l.measured_start_ns",
}


def open_database(path: Path = "kerncast.db", seconds: float = 60) -> "Database":
    """A database for reading. seconds: the longest that an answer may take."""
    return Database(path, seconds)


def _connect(path):
    address = "file:" + urllib.parse.quote(os.fsencode(os.path.abspath(path))) + "?mode=ro"
    connection = sqlite3.connect(address, uri=True, timeout=BUSY_S, isolation_level=None)
    connection.text_factory = lambda text: text.decode("utf-8", "replace")
    for name, on in CONFIG:  # Python 3.12
        if hasattr(connection, "setconfig"):
            connection.setconfig(getattr(sqlite3, "SQLITE_DBCONFIG_" + name), on)
    for name, limit in LIMITS:  # Python 3.11
        if hasattr(connection, "setlimit"):
            connection.setlimit(getattr(sqlite3, "SQLITE_LIMIT_" + name), limit)
    for setting in ("trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0"):
        connection.execute("PRAGMA " + setting)
    return connection


def _anything(*_):
    """While the schema is checked. (None in place of a function means this since Python 3.11 only.)"""
    return sqlite3.SQLITE_OK


def _only_reads(action, *_):
    return sqlite3.SQLITE_OK if action in READING else sqlite3.SQLITE_DENY


class Database:
    """The runs, kernels and launches of a database of kerncast. It is opened read-only, and each answer is of one moment."""

    def __init__(self, path: Path = "kerncast.db", seconds: float = 60) -> None:
        self._path = os.fspath(path)
        self._seconds = seconds
        self._late = float("inf")
        self._connection = None
        with self._reasons():
            if not stat.S_ISREG(os.stat(self._path).st_mode):
                raise Error(f"{self._path!r} is not a file")
            self._connection = _connect(self._path)
            self._connection.set_progress_handler(lambda: time.monotonic() > self._late, STEPS)
            try:
                with self._reading():
                    pass
            except Error:
                self.close()
                raise

    def close(self) -> None:
        if self._connection:
            self._connection.close()
        self._connection = None

    def __enter__(self) -> "Database":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self):
        return f"kerncast.open({self._path!r})"

    @contextlib.contextmanager
    def _reasons(self):
        """Errors of SQLite and of the system become ours."""
        try:
            yield
        except sqlite3.Error as error:
            reason = f"no answer within {self._seconds} s" if "interrupted" in str(error) else error
            raise Error(f"{self._path!r}: {reason}") from None
        except OSError as error:
            raise Error(f"{self._path!r}: {error.strerror}") from None

    @contextlib.contextmanager
    def _reading(self):
        """One read transaction, in which the schema has been checked."""
        if not self._connection:
            raise Error(f"{self._path!r} has been closed")
        with self._reasons():
            self._late = time.monotonic() + self._seconds
            self._connection.set_authorizer(_anything)
            self._connection.execute("BEGIN")
            try:
                self._check()
                self._connection.set_authorizer(_only_reads)
                yield self._connection
            finally:
                self._late = float("inf")
                self._connection.execute("ROLLBACK")

    def _check(self):
        wanted = _command.schema()
        (application,), = self._connection.execute("PRAGMA application_id")
        (version,), = self._connection.execute("PRAGMA user_version")
        if application != wanted["application_id"]:
            raise Error(f"{self._path!r} is not a database of kerncast")
        if version != wanted["version"]:
            is_newer = version > wanted["version"]
            cure = "a newer kerncast is needed" if is_newer else "`kerncast recover` brings it up to date"
            raise Error(f"{self._path!r} has version {version}, and this kerncast reads {wanted['version']}: {cure}")
        made = {made["name"].lower(): made for made in wanted["objects"]}
        found = set()
        for name, kind, table, sql in self._connection.execute("SELECT name, type, tbl_name, sql FROM main.sqlite_master"):
            own = made.get(str(name).lower())
            if own and (kind, table, sql) != (own["type"], own["table"], own["sql"]):
                raise Error(f"{self._path!r}: its {own['type']} {own['name']} is another than kerncast makes")
            if kind == "trigger":
                raise Error(f"{self._path!r}: its schema has a trigger")
            found.add(str(name).lower())
        lacking = [name for name in made if name not in found and not made[name]["optional"]]
        if lacking:
            raise Error(f"{self._path!r}: its schema lacks {lacking[0]}")

    def _run(self, connection, run):
        """The number of a run; None: of all of them."""
        if run == "all":
            return None
        if run is None:
            (run,), = connection.execute("SELECT max(id) FROM run")
            return run
        try:
            number = int(run)
            known = connection.execute("SELECT 1 FROM run WHERE id = ?", (number,)).fetchone()
        except (TypeError, ValueError, OverflowError):
            raise Error(f"{run!r} is not a run: give a number or \"all\"") from None
        if not known:
            raise Error(f"{self._path!r}: no run {number}")
        return number

    def _columns(self, connection, sql, parameters):
        cursor = connection.execute(sql, parameters)
        names = [column[0] for column in cursor.description]
        values = [[] for _ in names]
        while True:
            rows = cursor.fetchmany(ROWS)
            if not rows:
                return dict(zip(names, values))
            for column, more in zip(values, zip(*rows)):
                column.extend(more)

    def launches(self, kind: Optional[str] = None, run: Run = None, columns: Optional[Sequence[str]] = None,
                 limit: Optional[int] = None) -> Any:
        """The launches of a run, in the order of their calls: the columns of the view `launch` and, of each, kernel_name,
        stream_number (as the report and a trace call it), predicted_ns and measured_ns.

        kind: "pandas", "polars", "arrow" or "dicts" (a list of them); without it, the first of these that is installed.
        run: its number; without it, the latest; "all". columns: names of some. limit: rows at most.
        """
        return self._operations("launch", KERNEL, kind, run, columns, limit)

    def transfers(self, kind: Optional[str] = None, run: Run = None, columns: Optional[Sequence[str]] = None,
                  limit: Optional[int] = None) -> Any:
        """The copies and memsets of a run, in the order of their calls: the columns of the table `transfer`,
        stream_number, predicted_ns and measured_ns. The arguments are those of launches()."""
        return self._operations("transfer", "", kind, run, columns, limit)

    def _operations(self, table, joined, kind, run, columns, limit):
        with self._reading() as connection:
            names = [row[0] for row in connection.execute(f"SELECT * FROM {table} LIMIT 0").description]
            known = dict({name: f'l."{name}"' for name in names}, **(NAMED if joined else {}), **DERIVED)
            unknown = [name for name in columns or () if name not in known]
            if unknown:
                raise Error(f"{'launches' if joined else 'transfers'} have no column {unknown[0]!r}; "
                            f"they have {', '.join(known)}")
            chosen = ", ".join(f'{known[name]} AS "{name}"' for name in columns or known)
            read = self._columns(connection, f"SELECT {chosen} FROM {table} l {joined} JOIN process p ON p.id = l.process "
                                 "LEFT JOIN stream s ON s.id = l.stream "
                                 "WHERE ?1 IS NULL OR p.run = ?1 ORDER BY l.process, l.sequence LIMIT ?2",
                                 (self._run(connection, run), -1 if limit is None else int(limit)))
        return _frames.make(read, kind)

    def kernels(self, kind: Optional[str] = None, run: Run = None) -> Any:
        """The kernels of a run, the one that took most time first: launches, measured time, errors of the predictions.

        measured_ns and mean_measured_ns are of all measured launches; errors and mean_predicted_ns of the matched ones.
        """
        with self._reading() as connection:
            read = self._columns(connection, "SELECT kernel, name, launches, measured, n AS matched, mape, "
                                 "mape_time_weighted, within_20, took_ns AS measured_ns, "
                                 "1.0 * took_ns / nullif(measured, 0) AS mean_measured_ns, mean_predicted_ns, run "
                                 "FROM accuracy_by_kernel JOIN (SELECT run AS in_run, kernel AS of_kernel, "
                                 "sum(measured_ns) AS took_ns FROM rollup GROUP BY 1, 2) "
                                 "ON in_run = run AND of_kernel = coalesce(kernel, 0) "
                                 "WHERE ?1 IS NULL OR run = ?1 ORDER BY took_ns DESC", (self._run(connection, run),))
        return _frames.make(read, kind)

    def runs(self, kind: Optional[str] = None) -> Any:
        """The runs, the oldest first."""
        with self._reading() as connection:
            read = self._columns(connection, "SELECT id AS run, started_unix_ns, command_line, directory, simulated, source "
                                 "FROM run ORDER BY id", ())
        return _frames.make(read, kind)

    def _repr_html_(self):
        """For Jupyter: the latest run, and predicted against measured durations."""
        try:
            with self._reading() as connection:
                number = self._run(connection, None)
                about = self._columns(connection, "SELECT command_line, simulated FROM run WHERE id = ?", (number,))
                (launches,), = connection.execute("SELECT sum(launches) FROM accuracy WHERE run = ? AND class = 'all'",
                                                  (number,))
                every = max(1, (launches if isinstance(launches, int) else 0) // _picture.POINTS)
                points = self._columns(
                    connection, "SELECT end_ns - start_ns AS predicted, measured_end_ns - measured_start_ns AS measured, "
                    "novelty FROM launch WHERE run = ?1 AND sequence % ?2 = 0 LIMIT ?3", (number, every, 2 * _picture.POINTS))
        except Error as error:
            return _picture.sentence(str(error))
        return _picture.page(number, about, launches, points)

"""How good the predictions were, from the databases of this check."""
import os

from .ledger import Report

try:
    import sqlite3
except ImportError:
    sqlite3 = None

NAME, TITLE = "accuracy", "Accuracy"
NEEDS_S, SHARE_S = 1, 10

LOW, HIGH = 87, 95  # %, of what should be 90
LEAST_LAUNCHES = 1000  # of which the share means something

COVERAGE = """
SELECT count(*), sum(took BETWEEN solo_low_ns AND solo_high_ns), avg(abs(solo_ns - took) / CAST(took AS REAL)) FROM
  (SELECT solo_ns, solo_low_ns, solo_high_ns, measured_end_ns - measured_start_ns AS took FROM launch
   WHERE solo_ns IS NOT NULL AND measured_start_ns IS NOT NULL AND novelty = 'repeated' AND overlap = 'none')
WHERE took > 0"""


def run_step(machine, clock, section):
    rows = section.table("database", "matched", "all %", "first seen %", "new size %", "repeated %",
                         "repeated, by time %", "within 20 %",
                         title="Mean absolute error of what was predicted before each launch.")
    for path in machine.databases:
        report = Report(machine, clock, path)
        if report.count("matched"):
            section.row(rows, name_of(path), report.count("matched"),
                        *[report.percent(k) for k in ("accuracy", "first_seen", "new_size", "repeated")],
                        report.percent("repeated", "mape_time_weighted"), report.percent("accuracy", "within_20"))
    if not rows:
        section.skip("no database with matched launches")
        return
    section.passed()
    if sqlite3 is None:
        section.skip("interval coverage: this python has no sqlite3 module")
        return
    coverage(machine, section)


def coverage(machine, section):
    rows = section.table("database", "repeated, alone", "in the interval %", "solo time's error %",
                         title="Of launches measured alone: how often the measured time lay in the 90 % interval.")
    for path in machine.databases:
        with_file = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        try:
            n, inside, error = with_file.execute(COVERAGE).fetchone()
            if n:
                share = 100 * inside / n
                if n >= LEAST_LAUNCHES:
                    section.answer("intervals", name_of(path), f"{share:.1f} %", LOW <= share <= HIGH)
                section.row(rows, name_of(path), n, f"{share:.1f}", f"{100 * error:.1f}")
        except sqlite3.Error as error:
            section.fail(f"{name_of(path)}: {error}")
        finally:
            with_file.close()


def name_of(path):
    return os.path.splitext(os.path.basename(path))[0]

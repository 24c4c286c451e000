"""Programs under `kerncast run`, compared with themselves, and what the ledger says."""
import json
import os

from .clock import run

COLUMNS = ("launches", "predicted", "measured", "matched", "records", "by name")


class Report:
    """kerncast report --json of a database's latest run; empty where there is none."""

    def __init__(self, machine, clock, database):
        self.database, self.document, self.error = database, {}, ""
        if not os.path.exists(database):
            self.error = "no database"
            return
        ended = run([machine.kerncast, "report", "--json", database], clock, 60)
        try:
            self.document = json.loads(ended.out)
        except ValueError:
            self.error = f"kerncast report: {ended.how()}: {ended.err.strip()}"

    def count(self, key):
        return self.document.get("ledger", {}).get(key, 0)

    def reasons(self, key):
        return {k: v for k, v in self.document.get("ledger", {}).get(key, {}).items() if v}

    def cells(self):
        return [self.count(k) for k in ("launches", "predicted", "measured", "matched", "records", "routed_by_name")]

    def matched(self, group):
        """Matched launches of a class."""
        return self.document.get(group, {}).get("n") or 0

    def percent(self, group, key="mape"):
        """A figure in percent; "-" where nothing was matched."""
        value = self.document.get(group, {}).get(key)
        return "-" if value is None else f"{value:.1f}"

    def objection(self, expected=None, measured=True):
        """What is wrong with it, or None. expected: kernels, where the program counts them itself."""
        if self.error:
            return self.error
        launches = self.count("launches")
        if expected is not None and launches != expected:
            return f"{launches} launches recorded, {expected} executed"
        if not launches:
            return "no launch recorded"
        if not self.document["ledger"].get("adds_up"):
            return "the ledger does not add up"
        if self.count("predicted") != launches:
            reasons = self.reasons("unpredictable_reasons")
            return f"{launches - self.count('predicted')} launches not predicted: {reasons}"
        if self.count("unmatched") or self.count("dropped") or self.count("records_dropped"):
            return (f"{self.count('unmatched')} CUPTI records without a launch, "
                    f"{self.count('records_dropped')} records and {self.count('dropped')} launches dropped")
        if measured and self.count("matched") != launches:
            return f"{launches - self.count('matched')} launches not measured: {self.reasons('unmeasured_reasons')}"
        return None


def difference(plain, shimmed):
    """What kerncast changed about a program, or None."""
    if shimmed.status != plain.status:
        return f"under kerncast {shimmed.how()}, alone {plain.how()}"
    if shimmed.out != plain.out:
        for a, b in zip(plain.out.splitlines() + [""], shimmed.out.splitlines() + [""]):
            if a != b:
                return f"printed {b!r} under kerncast, {a!r} alone"
        return "printed something else under kerncast"
    return None


def under_kerncast(machine, command, database, clock, limit_s, environment, measure=None, run_options=()):
    """Runs command under `kerncast run`."""
    options = ["-o", database, *run_options] + ([f"--measure={measure}"] if measure else [])
    return run([machine.kerncast, "run", "-q", *options, "--", *command], clock, limit_s, environment)


def report_text(machine, clock, database):
    return run([machine.kerncast, "report", database], clock, 60).out

"""The results folder: a summary that is rewritten after every row, a text file a
step, and the databases in one archive. At most 8 files, each of 16 MB at most."""
import os
import shutil
import subprocess
import tarfile
import time

FILE_BYTES = 16_000_000
TEXT_BYTES = 4_000_000
PASSED, FAILED, SKIPPED = "passed", "FAILED", "skipped"


def cell(value):
    return str(value).replace("|", "\\|").replace("\n", " ")


class Section:
    """One step's part: remarks, tables, and what goes into its text file."""

    def __init__(self, results, name, title):
        self.results, self.name, self.title = results, name, title
        self.began, self.ended = time.monotonic(), None
        self.failures, self.skips, self.notes, self.tables = [], [], [], []
        self.passes = 0

    def seconds(self):
        return (self.ended or time.monotonic()) - self.began

    def verdict(self):
        if self.failures:
            return FAILED
        return PASSED if self.passes else SKIPPED

    def remark(self):
        parts = [f"{self.passes} passed"] if self.passes else []
        parts += [f"{len(self.failures)} failed: {self.failures[0]}"] if self.failures else []
        parts += [f"{len(self.skips)} skipped: {self.skips[0]}"] if self.skips else []
        return "; ".join(parts)

    def passed(self):
        self.passes += 1
        self.results.write_summary()

    def fail(self, why):
        self.failures.append(why)
        self.results.write_summary()

    def skip(self, why):
        self.skips.append(why)
        self.results.write_summary()

    def judge(self, why):
        """Nothing to object to: passed."""
        if why:
            self.fail(why)
        else:
            self.passed()

    def note(self, text):
        self.notes.append(text)
        self.results.write_summary()

    def table(self, *columns, title=""):
        rows = []
        self.tables.append((title, columns, rows))
        return rows

    def row(self, rows, *values):
        rows.append(values)
        self.results.write_summary()

    def file_text(self, text):
        """Appended to the step's own file at once."""
        path = os.path.join(self.results.folder, self.name + ".txt")
        if not os.path.exists(path) or os.path.getsize(path) + len(text) < TEXT_BYTES:
            with open(path, "a", encoding="utf-8") as file:
                file.write(text if text.endswith("\n") else text + "\n")

    def markdown(self, simulated):
        lines = [f"## {self.title}", "", f"{self.verdict()}: {self.remark() or 'nothing ran'}."]
        for note in self.notes:
            lines += ["", note]
        for title, columns, rows in self.tables:
            caption = " ".join(filter(None, ["SIMULATED: a stand-in device, no GPU." if simulated else "", title]))
            lines += ["", caption, ""] if caption else [""]
            lines += ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
            lines += ["| " + " | ".join(cell(v) for v in row) + " |" for row in rows]
        for kind, list_ in (("Failed", self.failures), ("Skipped", self.skips)):
            if list_:
                lines += ["", f"{kind}:"] + [f"- {cell(text)}" for text in list_]
        return lines + [""]


class Results:
    def __init__(self, folder, machine, clock, date):
        self.folder, self.machine, self.clock, self.date = folder, machine, clock, date
        self.sections = []
        os.makedirs(folder, exist_ok=True)
        for name in os.listdir(folder):  # of an earlier check
            if name == "summary.md" or name.endswith(".txt") or name.startswith("databases.tar"):
                os.unlink(os.path.join(folder, name))

    def begin(self, name, title):
        section = Section(self, name, title)
        self.sections.append(section)
        self.write_summary()
        return section

    def end(self, section):
        section.ended = time.monotonic()
        self.write_summary()

    def passed(self):
        verdicts = [section.verdict() for section in self.sections]
        return FAILED not in verdicts and PASSED in verdicts

    def verdict(self):
        skipped = sum(bool(section.skips) for section in self.sections)
        tail = f" ({skipped} steps left something out)" if skipped else ""
        return ("passed" if self.passed() else "FAILED") + tail

    def write_summary(self):
        simulated = self.machine.simulated
        lines = [f"# GPU check{', SIMULATED' if simulated else ''}: {self.machine.gpu or 'no GPU'}, {self.date}", ""]
        if simulated:
            lines += ["SIMULATED: all of this ran on a stand-in device. It says nothing about hardware.", ""]
        lines += ["| | |", "|---|---|"] + [f"| {k} | {cell(v)} |" for k, v in self.machine.about.items()]
        lines += [f"| date | {self.date} |", f"| time | {self.clock.used():.0f} s |", ""]
        lines += ["| step | result | seconds | remark |", "|---|---|---|---|"]
        lines += [f"| {s.name} | {s.verdict() if s.ended else 'running'} | {s.seconds():.0f} | {cell(s.remark())} |"
                  for s in self.sections]
        lines.append("")
        for section in self.sections:
            lines += section.markdown(simulated)
        path = os.path.join(self.folder, "summary.md")
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write(self.machine.without_places("\n".join(lines)))
        os.replace(path + ".new", path)

    def finish(self):
        self.pack()
        self.write_summary()

    def pack(self):
        """As many databases as fit, those of the first steps first."""
        chosen = list(self.machine.databases)
        while chosen and not self.archive(chosen):
            chosen.pop()
        left_out = len(self.machine.databases) - len(chosen)
        if left_out:
            self.sections[-1].note(f"{left_out} databases are left out of the archive, to keep it below 16 MB.")

    def archive(self, paths):
        tar = os.path.join(self.machine.scratch, "databases.tar")
        with tarfile.open(tar, "w") as file:
            for path in paths:
                file.add(path, os.path.join("databases", os.path.basename(path)))
        if shutil.which("zstd"):
            packed = os.path.join(self.folder, "databases.tar.zst")
            done = subprocess.run(["zstd", "-q", "-f", "-T0", tar, "-o", packed], check=False).returncode == 0
        else:
            packed = os.path.join(self.folder, "databases.tar.gz")
            with tarfile.open(packed, "w:gz") as file:
                for path in paths:
                    file.add(path, os.path.join("databases", os.path.basename(path)))
            done = True
        if done and os.path.getsize(packed) <= FILE_BYTES:
            return True
        os.unlink(packed)
        return False

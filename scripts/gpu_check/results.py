"""The results folder: a summary that is rewritten after every row, a text file of
what was printed, tables as CSV, and the databases in one archive, each of 16 MB at most."""
import os
import shutil
import subprocess
import tarfile
import time

from .clock import stopped

FILE_BYTES = 16_000_000
TEXT_BYTES = 1_400_000  # of a step: all steps together are below FILE_BYTES
DETAILS = "details.txt"
SIMULATED = "SIMULATED: a stand-in device, no GPU."
PASSED, FAILED, SKIPPED = "passed", "FAILED", "skipped"


def cell(value):
    return str(value).replace("|", "\\|").replace("\n", " ")


class Section:
    """One step's part: remarks, tables, and what goes into its text file."""

    def __init__(self, results, name, title):
        self.results, self.name, self.title = results, name, title
        self.began, self.ended = time.monotonic(), None
        self.failures, self.skips, self.notes, self.tables = [], [], [], []
        self.passes, self.text_bytes = 0, 0

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

    def answer(self, question, part, text, expected):
        self.results.questions.answer(question, part, text, expected)
        self.results.write_summary()

    def wants(self, *questions):
        """Whether one of these questions is asked; none named: whether all are."""
        return self.results.questions.wants(questions)

    def ask_not(self, question, reason):
        self.results.questions.not_asked(question, reason)
        self.results.write_summary()

    def claim(self, name, source, value):
        self.results.questions.claim(name, source, value)

    def file_text(self, text):
        """What a command printed, appended to the details at once."""
        begins = "" if self.text_bytes else f"==== {self.title}\n"
        data = (begins + text.rstrip("\n") + "\n").encode("utf-8", "replace")
        if self.text_bytes + len(data) <= TEXT_BYTES:
            self.text_bytes += len(data)
            with open(os.path.join(self.results.folder, DETAILS), "ab") as file:
                file.write(data)

    def results_file(self, name, text):
        """A table with more than the summary shows, as a file of its own."""
        with open(os.path.join(self.results.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def markdown(self, simulated):
        lines = [f"## {self.title}", "", f"{self.verdict()}: {self.remark() or 'nothing ran'}."]
        for note in self.notes:
            lines += ["", note]
        for title, columns, rows in self.tables:
            above = " ".join(filter(None, [SIMULATED if simulated else "", title]))
            lines += ["", above, ""] if above else [""]
            lines += ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
            lines += ["| " + " | ".join(cell(v) for v in row) + " |" for row in rows]
        for kind, list_ in (("Failed", self.failures), ("Skipped", self.skips)):
            if list_:
                lines += ["", f"{kind}:"] + [f"- {cell(text)}" for text in list_]
        return lines + [""]


class Results:
    def __init__(self, folder, machine, clock, date, questions):
        self.folder, self.machine, self.clock, self.date = folder, machine, clock, date
        self.sections, self.questions = [], questions
        self.finished = False
        os.makedirs(folder, exist_ok=True)
        for name in os.listdir(folder):  # of an earlier check
            if name == "summary.md" or name.endswith((".txt", ".csv")) or name.startswith("databases.tar"):
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
        return FAILED not in verdicts and PASSED in verdicts and not self.questions.contradictions()

    def verdict(self):
        skipped = sum(bool(section.skips) for section in self.sections)
        tail = f" ({skipped} steps left something out)" if skipped else ""
        so_far = "" if self.finished else "UNFINISHED, so far: "
        return so_far + (PASSED if self.passed() else FAILED) + tail

    def write_summary(self):
        simulated = self.machine.simulated
        lines = [f"# GPU check{', SIMULATED' if simulated else ''}: {self.machine.gpu or 'no GPU'}, {self.date}", ""]
        if simulated:
            lines += ["SIMULATED: all of this ran on a stand-in device. It says nothing about hardware.", ""]
        lines += [f"{self.verdict()}. Answers: {self.questions.summary()}.", ""]
        lines += [f"CONTRADICTION: {cell(text)}\n" for text in self.questions.contradictions()]
        if self.questions.asked:
            lines += [SIMULATED, ""] if simulated else []
            lines += ["| | question | answer | | expected |", "|---|---|---|---|---|"]
            lines += [f"| {' | '.join(cell(value) for value in row)} |" for row in self.questions.rows(self.sections)]
            lines.append("")
        lines += ["| step | result | seconds | remark |", "|---|---|---|---|"]
        lines += [f"| {s.name} | {s.verdict() if s.ended else 'running'} | {s.seconds():.0f} | {cell(s.remark())} |"
                  for s in self.sections] + [""]
        lines += ["| | |", "|---|---|"] + [f"| {k} | {cell(v)} |" for k, v in self.machine.about.items()]
        lines += [f"| date | {self.date} |", f"| time | {self.clock.used():.0f} s |", ""]
        for section in self.sections:
            lines += section.markdown(simulated)
        path = os.path.join(self.folder, "summary.md")
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write(self.machine.without_places("\n".join(lines)))
        os.replace(path + ".new", path)

    def finish(self):
        self.finished = not stopped.is_set()
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

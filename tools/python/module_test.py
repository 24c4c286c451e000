"""Tests of the module, without packages from elsewhere.

usage: python3 tools/python/module_test.py DB     DB: recorded on the simulated device; kerncast in PATH
"""
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import kerncast  # noqa: E402
from kerncast import _frames, _picture, _record  # noqa: E402

RECORDED = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else None
HOSTILE = '</text></svg><script>alert(1)</script>"\'&\u2028\x1b[31m\u202e'


class InFolder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.path = os.path.join(self.folder, "it's 100% #1?.db")  # a path is no address
        shutil.copy(RECORDED, self.path)

    def change(self, sql):
        with sqlite3.connect(self.path) as connection:
            connection.executescript(sql)
        connection.close()

    def header(self):
        with open(self.path, "rb") as file:
            return file.read(100)

    def refuses(self, part, **options):
        with self.assertRaises(kerncast.Error) as caught:
            kerncast.open(self.path, **options)
        self.assertIn(part, str(caught.exception))


class Reading(InFolder):
    def rows(self, sql):
        with sqlite3.connect(self.path) as connection:
            answer = connection.execute(sql).fetchall()
        connection.close()
        return answer

    def test_launches_are_those_of_the_view(self):
        with kerncast.open(self.path) as database:
            launches = database.launches("dicts")
            self.assertEqual([(row["process"], row["sequence"], row["solo_ns"]) for row in launches],
                             self.rows("SELECT process, sequence, solo_ns FROM launch ORDER BY 1, 2"))
            named = self.rows("SELECT k.name FROM launch l JOIN kernel k ON k.id = l.kernel ORDER BY process, sequence")
            self.assertEqual([(row["kernel_name"],) for row in launches], named)
            for row in launches:
                self.assertEqual(row["measured_ns"], row["measured_end_ns"] - row["measured_start_ns"])
                self.assertEqual(row["predicted_ns"], row["end_ns"] - row["start_ns"])

    def test_some_columns_and_rows(self):
        with kerncast.open(self.path) as database:
            some = database.launches("dicts", columns=["measured_ns", "kernel_name"], limit=3)
            self.assertEqual(len(some), 3)
            self.assertEqual(list(some[0]), ["measured_ns", "kernel_name"])
            with self.assertRaises(kerncast.Error):
                database.launches("dicts", columns=['" FROM launch; --'])
            with self.assertRaises(kerncast.Error):
                database.launches("sparse")

    def test_transfers(self):
        with kerncast.open(self.path) as database:
            transfers = database.transfers("dicts")
            self.assertEqual([(row["kind"], row["bytes"], row["measured_ns"], row["stream_number"]) for row in transfers],
                             self.rows("SELECT t.kind, t.bytes, t.measured_end_ns - t.measured_start_ns, s.local FROM transfer t "
                                       "JOIN stream s ON s.id = t.stream ORDER BY t.process, t.sequence"))
            self.assertGreater(len(transfers), 2)
            self.assertEqual(database.transfers("dicts", columns=["bytes"], limit=1), [{"bytes": transfers[0]["bytes"]}])
            with self.assertRaises(kerncast.Error) as caught:
                database.transfers("dicts", columns=["kernel_name"])
            self.assertIn("transfers have no column 'kernel_name'", str(caught.exception))

    def test_runs(self):
        self.change("INSERT INTO run SELECT id + 1, 'other', started_unix_ns, command_line, directory, simulated, source FROM run")
        with kerncast.open(self.path) as database:
            self.assertEqual([row["run"] for row in database.runs("dicts")], [1, 2])
            self.assertEqual(database.launches("dicts"), [])  # of the latest
            total, = self.rows("SELECT count(*) FROM launch")
            self.assertEqual(len(database.launches("dicts", run=1)), total[0])
            self.assertEqual(len(database.launches("dicts", run="all")), total[0])
            self.assertEqual(sum(row["launches"] for row in database.kernels("dicts", run=1)), total[0])
            for wrong, part in ((99, "no run 99"), (0, "no run 0"), (-1, "no run -1"), ("x", "'x' is not a run"),
                                (2**64, "is not a run"), ([], "is not a run")):
                for read in (database.launches, database.kernels):
                    with self.assertRaises(kerncast.Error) as caught:
                        read("dicts", run=wrong)
                    self.assertIn(part, str(caught.exception))

    def test_kernels_without_predictions(self):
        trace = os.path.join(self.folder, "trace.csv")
        with open(trace, "w") as file:
            file.write("process,device_name,stream,kind,start_ns,duration_ns,launch_ns,grid_x,grid_y,grid_z,block_x,"
                       "block_y,block_z,registers,bytes,name\n")
            for number, (kernel, duration_ns) in enumerate([("short", 1000), ("long", 9000), ("short", 3000), ("short", 2001)]):
                file.write(f"0,Tesla V100,1,kernel,{number * 10000},{duration_ns},{number * 10000},8,1,1,128,1,1,32,,{kernel}\n")
        path = os.path.join(self.folder, "imported.db")
        subprocess.run(["kerncast", "import", trace, "-o", path], check=True, capture_output=True)
        with kerncast.open(path) as database:
            self.assertEqual([(row["name"], row["launches"], row["measured"], row["matched"], row["measured_ns"],
                               row["mean_measured_ns"], row["mean_predicted_ns"]) for row in database.kernels("dicts")],
                             [("long", 1, 1, 0, 9000, 9000, None), ("short", 3, 3, 0, 6001, 6001 / 3, None)])

    def test_traces(self):
        trace, path = os.path.join(self.folder, "t.csv"), os.path.join(self.folder, "traces.db")
        for factor in (1, 2):
            with open(trace, "w") as file:
                file.write("process,kind,start_ns,duration_ns,grid_x,grid_y,grid_z,block_x,block_y,block_z,stream,name\n")
                for number in range(60):
                    for kernel, ns in (("steady", 40000), ("moved", 30000 * factor)):
                        file.write(f"0,kernel,{number * 1000000 + ns},{ns + number % 7},8,1,1,64,1,1,20,{kernel}\n")
            self.assertIn("120 kernels", kerncast.import_trace(trace, database=path))
        with kerncast.open(path) as database:
            self.assertEqual({row["stream_number"] for row in database.launches("dicts")}, {20})
        told = kerncast.diff(path, path, old_run=1)
        self.assertEqual([(one["name"], one["difference_ns"]) for one in told["contributors"]], [("moved", 60 * 30000)])
        self.assertEqual(kerncast.diff(path, path, old_run=1, kernel="steady")["contributors"], [])
        shutil.copy(path, path + ".copy")
        told = kerncast.diff([path], [path, path + ".copy"], old_run=1)
        self.assertEqual([(one["name"], one["difference_ns"]) for one in told["contributors"]], [("moved", 60 * 30000)])
        self.assertEqual(kerncast.slow(path, run=1, old="none")["run"], 1)
        self.assertEqual(kerncast.slow([path, path + ".copy"], run=1, old="none")["run"], 1)
        for wrong, part in ((lambda: kerncast.slow(path, run=9), "9"), (lambda: kerncast.slow(path, top=None), "top takes a value"),
                            (lambda: kerncast.import_trace(), "no trace"), (lambda: kerncast.diff(path, trace), "t.csv"),
                            (lambda: kerncast.diff([], path), "no database"),
                            (lambda: kerncast.import_trace(path + "?"), "No such file"),
                            (lambda: kerncast.slow("--version"), "--version")):
            with self.assertRaises(kerncast.Error) as caught:
                wrong()
            self.assertIn(part, str(caught.exception))

    def test_version(self):
        told = subprocess.run(["kerncast", "--version"], check=True, capture_output=True, text=True).stdout
        self.assertEqual(told.splitlines()[0], f"kerncast {kerncast.__version__}")
        with self.assertRaises(AttributeError):
            kerncast.other

    def test_closed(self):
        database = kerncast.open(self.path)
        database.close()
        with self.assertRaises(kerncast.Error):
            database.launches()

    def test_nothing_can_be_written(self):
        with open(self.path, "rb") as file:
            before = file.read()
        with kerncast.open(self.path) as database:
            for sql in ("DELETE FROM run", "ATTACH '/dev/null' AS a", "PRAGMA user_version = 3"):
                with self.assertRaises(kerncast.Error) as caught, database._reading() as connection:
                    connection.execute(sql)
                self.assertRegex(str(caught.exception), "not authorized|readonly")
        with open(self.path, "rb") as file:
            self.assertEqual(file.read(), before)


class Foreign(InFolder):
    """Databases that somebody else made."""

    def test_not_one_of_ours(self):
        self.change("PRAGMA application_id = 1")
        self.refuses("not a database of kerncast")

    def test_versions(self):
        own = int.from_bytes(self.header()[60:64], "big")  # sqlite.org/fileformat.html, 1.3
        self.change(f"PRAGMA user_version = {own - 1}")
        self.refuses("`kerncast recover` brings it up to date")
        self.change(f"PRAGMA user_version = {own + 1}")
        self.refuses("a newer kerncast is needed")

    def test_trigger(self):
        self.change("CREATE TRIGGER t AFTER DELETE ON run BEGIN SELECT 1; END")
        self.refuses("trigger")

    def test_view_in_place_of_a_table(self):
        self.change("ALTER TABLE kernel RENAME TO k2; CREATE VIEW kernel AS SELECT * FROM k2")
        self.refuses("another than kerncast makes")

    def test_another_view(self):
        self.change("DROP VIEW launch; CREATE VIEW launch AS SELECT 1 AS run")
        self.refuses("its view launch is another")

    def test_lacking(self):
        self.change("DROP VIEW concurrency")
        self.refuses("lacks concurrency")

    def test_a_table_of_the_user(self):
        self.change("CREATE TABLE mine (x)")
        kerncast.open(self.path).close()

    def test_what_is_no_file(self):
        fifo = os.path.join(self.folder, "fifo")
        os.mkfifo(fifo)
        for path in ("/dev/zero", self.folder, fifo, os.path.join(self.folder, "missing")):
            with self.assertRaises(kerncast.Error):
                kerncast.open(path)

    def test_damage(self):
        with open(self.path, "r+b") as file:
            file.seek(2000)
            file.write(b"\xff" * 3000)
        with self.assertRaises(kerncast.Error):
            with kerncast.open(self.path) as database:
                database.launches("dicts")

    def test_time_is_limited(self):
        with kerncast.open(self.path) as database:
            database._seconds = 0
            with self.assertRaises(kerncast.Error) as caught:
                database.launches("dicts")
            self.assertIn("no answer within 0 s", str(caught.exception))

    def test_values_of_other_types(self):
        self.change(f"UPDATE kernel SET name = CAST(x'ff3c00' AS TEXT); UPDATE launch_row SET solo = 'text' WHERE id % 2")
        with kerncast.open(self.path) as database:
            rows = database.launches("dicts", columns=["kernel_name", "solo_ns"])
            self.assertEqual(rows[0]["kernel_name"][:2], "\ufffd<")
            database._repr_html_()


class Frames(unittest.TestCase):
    columns = {"n": [1, None, 1 << 60], "x": [0.5, 2, None], "t": ["a", b"\xffb", 3], "none": [None, None, None]}

    def frame(self, kind):
        try:
            return _frames.make(self.columns, kind)
        except kerncast.Error as error:
            self.skipTest(str(error))

    def test_dicts(self):
        self.assertEqual(_frames.make(self.columns, "dicts")[2], {"n": 1 << 60, "x": None, "t": 3, "none": None})
        self.assertEqual(_frames.make({"n": []}, "dicts"), [])

    def test_pandas(self):
        frame = self.frame("pandas")
        self.assertEqual(frame["n"].tolist()[2], 1 << 60)
        self.assertEqual(frame["x"].tolist()[:2], [0.5, 2.0])
        self.assertEqual(frame["t"].tolist(), ["a", "\ufffdb", "3"])
        self.assertEqual(int(frame.isna().sum().sum()), 5)

    def test_polars(self):
        frame = self.frame("polars")
        self.assertEqual(frame["n"].to_list(), [1, None, 1 << 60])
        self.assertEqual(frame["x"].to_list(), [0.5, 2.0, None])
        self.assertEqual(frame["t"].to_list(), ["a", "\ufffdb", "3"])

    def test_arrow(self):
        frame = self.frame("arrow")
        self.assertEqual(frame.to_pydict(), {"n": [1, None, 1 << 60], "x": [0.5, 2.0, None], "t": ["a", "\ufffdb", "3"],
                                             "none": [None] * 3})


class Picture(InFolder):
    def test_hostile_text(self):
        self.change("UPDATE run SET command_line = '%s'" % HOSTILE.replace("'", "''"))
        with kerncast.open(self.path) as database:
            page = database._repr_html_()
        self.assertNotIn("<script", page)
        for sign in "\u2028\x1b\u202e":
            self.assertNotIn(sign, page)
        self.assertIn("SIMULATED", page)
        xml.dom.minidom.parseString(page[page.index("<svg"):])  # well-formed
        names = {node.tagName for node in xml.dom.minidom.parseString(f"<div>{page.replace('<br>', '')}</div>").getElementsByTagName("*")}
        self.assertLessEqual(names, {"div", "p", "b", "svg", "g", "rect", "line", "text", "circle"})

    def test_points_are_where_they_belong(self):
        # Between 1 and 100 µs, 10 µs is in the middle of both axes: 160 of 320 pixels.
        pairs = [(1000, 1000, "repeated"), (100000, 100000, "repeated"), (10000, 10000, "new_size")]
        self.assertIn('<circle cx="160.0" cy="160.0"', _picture._drawing(pairs))
        self.assertIn('<circle cx="0.0" cy="320.0"', _picture._drawing(pairs))
        self.assertIn('<circle cx="320.0" cy="0.0"', _picture._drawing(pairs))
        self.assertIn(">10 µs</text>", _picture._drawing(pairs))

    def test_what_cannot_be_drawn(self):
        about = {"command_line": ["a"], "simulated": [0]}
        points = {"predicted": [1, 0, -5, None, "x", 1.5], "measured": [0, 1, 1, 1, 1, 1], "novelty": [None] * 6}
        self.assertNotIn("<svg", _picture.page(1, about, 6, points))
        self.assertNotIn("SIMULATED", _picture.page(1, about, 6, points))


class Predicting(unittest.TestCase):
    def test_the_same_as_the_command(self):
        said = json.loads(subprocess.run(["kerncast", "predict", "--json", "-d", "h200", "blocks=4096,threads=256,fma=1024"],
                                         stdout=subprocess.PIPE, check=True).stdout)
        self.assertEqual(kerncast.predict(device="h200", blocks=4096, threads=256, fma=1024), said)
        self.assertEqual(kerncast.predict("blocks=4096,threads=256,fma=1024", device="h200"), said)
        self.assertEqual(kerncast.predict({"blocks": 4096, "threads": 256, "fma": 1024}, device="h200"), said)

    def test_what_is_wrong_is_said(self):
        for wrong in ({"blocks": "1,fma=2"}, {"blocks": True}, {"nosuch": 1}, {"device": "nosuch", "blocks": 1, "threads": 1}):
            with self.assertRaises(kerncast.Error):
                kerncast.predict(**wrong)
        with self.assertRaises(kerncast.Error):  # a kernel is no option
            kerncast.predict("--help", device="h200")


class Recording(unittest.TestCase):
    def test_names_of_drivers(self):
        for name in ("libcuda.so.1", "libcuda.so", "libcuda.so.580.65.06"):
            self.assertTrue(_record.DRIVER.fullmatch(name))
        for name in ("libcudart.so.13", "libcudadebugger.so.1", "libcuda.so.1.txt"):
            self.assertFalse(_record.DRIVER.fullmatch(name))


if __name__ == "__main__":
    if not RECORDED:
        sys.exit(__doc__)
    unittest.main()

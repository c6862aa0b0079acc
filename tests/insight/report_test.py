"""report_test.py - the numbers of ./jw report, against traces whose numbers are known by construction.

usage: report_test.py BUILD KNOWN"""

import json
import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

import started

TOOLS = started.with_packages()
BUILD, KNOWN = sys.argv[1:]

import numpy as np  # noqa: E402

import calls  # noqa: E402
import events as analysis  # noqa: E402
import figures  # noqa: E402
import flames  # noqa: E402
import plots  # noqa: E402
import report  # noqa: E402
import stacks  # noqa: E402
import summary  # noqa: E402
import traceio  # noqa: E402
from traceio import FREE, MALLOC  # noqa: E402

MS = 1_000_000
PAGE = 4096
BASE = 0x7F0000000000


class Report(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.path = self.folder / "a.jwt"

    def write(self, *threads: list[tuple[int, int, int, int]]) -> None:
        """A trace of rows of time, address, size and kind."""
        writer = traceio.Writer(self.path, {"command": ["made", "by hand"]})
        for thread, rows in enumerate(threads, 1):
            events = np.zeros(len(rows), traceio.EVENT)
            for name, column in zip(("time", "address", "size", "kind"), zip(*rows, strict=True), strict=True):
                events[name] = column
            writer.record("thread", process=1, thread=thread, tid=thread, time=0, name=f"T{thread}")
            writer.events(1, thread, events)
        writer.close()

    def process(self) -> summary.Process:
        return summary.process_of(traceio.read(self.path), 1)

    def jw(self, *words: object, status: int = 0) -> subprocess.CompletedProcess:
        command = [sys.executable, "-B", TOOLS, "--build", BUILD, *words]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def test_lives_of_pages(self) -> None:
        """Page 0: two objects that overlap in time; then one that stays. Pages 1 to 10: one object of eleven pages from
        the middle of page 0 on. Page 20: used twice."""
        half = PAGE // 2
        self.write(
            [
                (0, BASE, 100, MALLOC),
                (1 * MS, BASE + half, 10 * PAGE, MALLOC),  # to the middle of page 10
                (2 * MS, BASE, 0, FREE),
                (4 * MS, BASE + half, 0, FREE),
                (5 * MS, BASE, 64, MALLOC),
                (6 * MS, BASE + 20 * PAGE, 64, MALLOC),
                (7 * MS, BASE + 20 * PAGE, 0, FREE),
                (8 * MS, BASE + 20 * PAGE, 64, MALLOC),
                (10 * MS, BASE + 20 * PAGE, 0, FREE),
            ]
        )
        process = self.process()
        lives = sorted(
            (int(life) if life != figures.NEVER else -1, int(weight))
            for life, weight in zip(process.pages.lifetime, process.pages.weight, strict=True)
        )
        self.assertEqual(lives, [(-1, 1), (1 * MS, 1), (2 * MS, 1), (3 * MS, 1), (3 * MS, 9), (4 * MS, 1)])
        used = dict(zip(process.pages.time.tolist(), process.pages.used.tolist(), strict=True))
        self.assertEqual([used[moment * MS] for moment in (0, 1, 4, 5, 6, 7, 8, 10)], [1, 11, 0, 1, 2, 1, 2, 1])
        about = summary.summary_of(process)
        self.assertEqual(about["lifetimes"]["pages"]["count"], 14)
        self.assertEqual(about["lifetimes"]["pages"]["p50"], 3 * MS)
        self.assertEqual(about["lifetimes"]["pages"]["alive_at_end"], 1 / 14)
        self.assertEqual(about["lifetimes"]["objects"]["within_500ms"], 4 / 5)
        self.assertEqual(about["totals"]["peak_bytes"], 10 * PAGE + 100)
        self.assertEqual(about["totals"]["peak_seconds"], 0.001)
        self.assertEqual(about["totals"]["end_bytes"], 64)

    def test_frees_by_other_threads(self) -> None:
        """In each millisecond i of ten, thread 2 frees i of ten objects of thread 1."""
        first, second = [], []
        for number in range(100):
            first.append((number, BASE + 64 * number, 48, MALLOC))
        for number in range(100):
            slice_, place = divmod(number, 10)
            row = ((slice_ + 1) * MS + place, BASE + 64 * number, 0, FREE)
            (second if place < slice_ else first).append(row)
        self.write(first, second)
        process = self.process()
        moments, share, counts = figures.crossing_by_ms(process.objects)
        self.assertEqual(moments.tolist(), list(range(1, 11)))
        np.testing.assert_allclose(share, np.arange(10) / 10)
        self.assertEqual(counts.tolist(), [10] * 10)
        about = summary.summary_of(process)
        self.assertEqual(about["totals"]["cross_thread_frees"], 45)
        self.assertEqual([one["freed_by_others"] for one in about["threads"]], [45, 0])
        self.assertEqual([one["name"] for one in about["threads"]], ["T1", "T2"])

    def test_sizes_and_cells(self) -> None:
        self.write([(i, BASE + 65536 * i, 16 if i < 90 else 4096, MALLOC) for i in range(100)])
        process = self.process()
        sizes, operations, amounts = figures.size_distribution(process.objects)
        self.assertEqual(sizes.tolist(), [16, 4096])
        np.testing.assert_allclose(operations, [0.9, 1])
        np.testing.assert_allclose(amounts, [1440 / 42400, 1])
        cells = figures.heat_map(process.events, process.end, process.events.allocates)
        self.assertEqual(cells.sum(axis=1).nonzero()[0].tolist(), [4, 36])  # doublings 1 and 9 above 8 B
        self.assertEqual((int(cells[4].sum()), int(cells[36].sum())), (90, 10))
        about = summary.summary_of(process)
        self.assertEqual(about["alive_at_peak"][0], {"from": 4096, "to": 4096, "objects": 10, "bytes": 40960})
        self.assertEqual(about["trough"]["sparse_pages"], 90)
        self.assertEqual(about["trough"]["pinning"], [{"from": 16, "to": 16, "pages": 90}])

    def test_cells_of_allocations_and_of_frees(self) -> None:
        """All is allocated in the first half of the time, and freed in the second."""
        born = [(i, BASE + 65536 * i, 16, MALLOC) for i in range(100)]
        self.write([*born, *((MS + i, BASE + 65536 * i, 0, FREE) for i in range(100))])
        events, end = self.process().events, self.process().end
        for chosen, half in ((events.allocates, slice(0, 300)), (~events.allocates, slice(300, 600))):
            cells = figures.heat_map(events, end, chosen)
            self.assertEqual((int(cells.sum()), int(cells[4, half].sum())), (100, 100))

    def test_addresses(self) -> None:
        """Half of the used addresses are full for the first half of the time, the others for the second."""
        large = 240 * PAGE
        self.write(
            [(0, BASE, large, MALLOC), (5 * MS, BASE, 0, FREE), (5 * MS, BASE + (1 << 30), large, MALLOC),
             (10 * MS, BASE + (1 << 30), 0, FREE)]
        )  # fmt: skip
        process = self.process()
        cells, row_bytes = figures.address_map(process.objects, process.end, 4, 10)
        self.assertEqual(row_bytes, large // 2)
        self.assertEqual(cells[0].round(3).tolist(), cells[1].round(3).tolist())
        self.assertEqual(cells[0].round(3).tolist(), [1] * 6 + [0] * 4)  # each bin in which it lived
        self.assertEqual(cells[3].round(3).tolist(), [0] * 5 + [1] * 5)

    def test_a_recorded_program(self) -> None:
        self.jw("record", "-o", self.path, "--", KNOWN, "plain")
        about = json.loads(self.jw("report", "--json", self.path).stdout)
        big = 1000000
        given = [big + 1000 + i for i in range(100)]
        own = sum(big + i for i in range(100)) + 50 * big + 4096 * 300 + big + 500 + sum(given)
        libc = about["totals"]["peak_bytes"] - own
        self.assertTrue(0 <= libc < 200000, libc)
        self.assertEqual(about["totals"]["cross_thread_frees"] // 40, 1)
        self.assertEqual(about["program"], Path(KNOWN).name[:15])
        giver = next(one for one in about["threads"] if one["name"] == "giver")
        self.assertEqual(giver["freed_by_others"], 40)
        self.assertEqual(giver["end_bytes"], sum(given[-10:]))
        self.assertTrue(giver["ended"])
        whole = analysis.of_process(traceio.read(self.path), 1)
        self.assertEqual(about["live"][-1], int(whole.live()[-1]))

    def test_pages_stand_alone(self) -> None:
        self.jw("record", "-o", self.path, "--", KNOWN, "plain")
        one, two = self.folder / "one.html", self.folder / "two.html"
        self.jw("report", self.path, "-o", one)
        self.jw("report", self.path, self.path, "-o", two)
        for page in (one, two):
            text = page.read_text()
            self.assertNotRegex(text, r'(src|href)="(?!data:)')
            self.assertIn("width=device-width", text)
        for title in ("Memory in use", "Sizes", "Life times", "Threads by activity", "Frees by another thread",
                      "Fragmentation", "Addresses", "What this means for tuning", "giver"):  # fmt: skip
            self.assertIn(title, one.read_text())

    def test_who_allocated(self) -> None:
        """Two functions by construction: one's objects live on, the other's are short-lived."""
        rows = [(0, BASE, 1000, MALLOC), (1, BASE + 4096, 500, MALLOC), (2, BASE + 4096, 0, FREE),
                (3, BASE + 4096, 300, MALLOC), (4, BASE + 4096, 0, FREE), (9 * MS, BASE, 0, FREE),
                (9 * MS + 1, BASE, 64, MALLOC)]  # fmt: skip
        events = np.zeros(len(rows), traceio.EVENT)
        for name, column in zip(("time", "address", "size", "kind"), zip(*rows, strict=True), strict=True):
            events[name] = column
        events["stack"] = [7, 8, 0, 8, 0, 0, 9]
        said = [(7, 0xA1, 0xC1), (8, 0xB1, 0xC1), (9, 0xD1, 0)]  # frames; 9 has one
        lines = []
        for number, first, second in said:
            lines += [(1 if second == 0 else 2, 0, number, traceio.STACK), (first, second, number, traceio.FRAMES)]
        writer = traceio.Writer(self.path, {"command": ["made", "by hand"]})
        writer.record("names", names={0xA1: ["keeps"], 0xB1: ["inlined", "spends"], 0xC1: ["main"]})
        writer.definitions(1, 1, np.array(lines, traceio.DEFINITION))
        writer.events(1, 1, events)
        writer.close()
        callers = json.loads(self.jw("report", "--json", self.path).stdout)["callers"]
        self.assertEqual(callers["notes"], [])
        self.assertEqual(
            callers["peak"],
            {"bytes": 1500, "objects": 2, "stacks": [
                {"bytes": 1000, "objects": 1, "frames": ["keeps", "main"]},
                {"bytes": 500, "objects": 1, "frames": ["inlined", "spends", "main"]},
            ]},
        )  # fmt: skip
        self.assertEqual(callers["leaked"]["stacks"], [{"bytes": 64, "objects": 1, "frames": ["0xd1"]}])
        self.assertEqual(
            callers["short_lived"]["stacks"], [{"bytes": 800, "objects": 2, "frames": ["inlined", "spends", "main"]}]
        )
        moments = callers["over_time"]  # the first one is 0.75 ms after the start
        self.assertEqual([one["bytes"] for one in moments], [1000] * 11 + [64])
        self.assertEqual(moments[0]["stacks"], [{"bytes": 1000, "objects": 1, "frames": ["keeps", "main"]}])
        self.assertAlmostEqual(moments[3]["seconds"], 0.003, places=6)
        page = self.folder / "page.html"
        self.jw("report", self.path, "-o", page)
        text = page.read_text()
        self.assertNotRegex(text, r'<(script|link|img)[^>]* (src|href)="(?!data:)')
        for word in (
            "Over time",
            "Bytes alive at each of 12 moments",
            "Alive at the peak",
            "Alive at the end",
            "Short-lived",
            "keeps",
            "spends",
            "0xd1",
        ):
            self.assertIn(word, text)

    def test_a_recording_whose_recorder_was_killed(self) -> None:
        self.write([(0, BASE, 100, MALLOC)])
        page, said = self.folder / "page.html", "The recording was ended before the program"
        self.jw("report", self.path, "-o", page)
        self.assertIn(said, page.read_text())
        self.jw("record", "-o", self.path, "--", KNOWN, "plain")
        self.jw("report", self.path, "-o", page)
        self.assertNotIn(said, page.read_text())

    def test_what_the_advice_says(self) -> None:
        """Memory in use has fallen only if large objects are gone as well. Threads of one name have their numbers."""
        large = [(0, BASE, 10 << 20, MALLOC), (1, BASE + (16 << 20), 1000, MALLOC), (2, BASE + (16 << 20), 0, FREE)]
        other = [(3, BASE + (17 << 20), 500, MALLOC), (4, BASE, 0, FREE), (MS * 9, BASE + (18 << 20), 7, MALLOC)]
        for second, trough, words in (([], 10 << 20, None), (other, 500, "from 10 MB to 500 B at 4 ns.")):
            self.write(large, *([second] * bool(second)))
            about = summary.summary_of(self.process())
            self.assertEqual(about["trough"]["bytes"], trough)
            said = " ".join(report.advice(about))
            self.assertEqual("Memory in use falls" in said, words is not None)
            self.assertIn(words or "", said)
        for thread in about["threads"]:
            thread["name"] = "worker"
        self.assertIn("come from worker, thread 1 (1).", " ".join(report.advice(about)))
        self.assertEqual([plots.amount(size) for size in (1023, 1 << 10, (1 << 20) - 8, 3 << 29)],
                         ["1023 B", "1 KB", "1 MB", "1.5 GB"])  # fmt: skip

    def test_amounts_that_are_rounded_up(self) -> None:
        said = {999: "999", 999.7: "1 k", 999999: "1 M", 1e12: "1 T", 0: "0"}
        self.assertEqual([plots.count(value) for value in said], list(said.values()))

    def test_objects_without_a_size(self) -> None:
        """They are drawn, and nothing warns of a logarithm."""
        self.write([(0, BASE, 0, MALLOC), (MS, BASE, 0, FREE)])
        page = self.folder / "page.html"
        self.assertNotIn("Warning", self.jw("report", self.path, "-o", page).stderr)
        self.assertIn("made by hand, a.jwt.", page.read_text())

    def test_sums_of_calls(self) -> None:
        """Parts of one name under different callers are different; a stack may end where another one goes on."""
        known = stacks.Stacks(
            {1: np.array([10, 30]), 2: np.array([20, 10, 30]), 3: np.array([10, 40]), 4: np.array([30])},
            names={10: ["inlined", "f"], 20: ["g"], 30: ["main"], 40: ["start"]},
        )
        tree = calls.calls_of(known, np.arange(5))  # 0: no stack
        sums = tree.sums(np.array([1, 10, 100, 1000, 10000]))
        paths = {}
        for number, name in enumerate(tree.names):
            paths[number] = f"{paths[int(tree.parent[number])]}/{name}" if number else ""
        self.assertEqual(
            {paths[number]: int(total) for number, total in enumerate(sums)},
            {"": 11111, "/(not known)": 1, "/main": 10110, "/main/f": 110, "/main/f/inlined": 110,
             "/main/f/inlined/g": 100, "/start": 1000, "/start/f": 1000, "/start/f/inlined": 1000},
        )  # fmt: skip
        self.assertEqual(tree.depth.tolist(), [paths[number].count("/") for number in range(len(paths))])

    def test_many_stacks(self) -> None:
        """Each is named once for the tree, and in the fifteen sets of objects only those that are shown."""
        number, frames = 2000, 30
        events, lines = np.zeros(number, traceio.EVENT), []
        events["time"], events["address"] = np.arange(number) * 1000, BASE + 64 * np.arange(number)
        events["size"], events["kind"], events["stack"] = 64, MALLOC, np.arange(1, number + 1)
        for stack in range(1, number + 1):
            lines.append((frames, 0, stack, traceio.STACK))
            lines += [(stack * 64 + at, 1 + at, stack, traceio.FRAMES) for at in range(frames // 2)]
        writer = traceio.Writer(self.path, {"command": ["made", "by hand"]})
        writer.definitions(1, 1, np.array(lines, traceio.DEFINITION))
        writer.events(1, 1, events)
        writer.close()
        with mock.patch("stacks.names_of", wraps=stacks.names_of) as named:
            found = flames.flames_of(self.process())
        self.assertLessEqual(named.call_count, flames.SHOWN * (len(flames.KINDS) + flames.MOMENTS))
        self.assertEqual(found.kinds["peak"].whole.objects, number)
        self.assertEqual([flame.whole.bytes for _, flame in found.moments][-1], 64 * number)

    def test_names_of_a_file_that_was_built_again(self) -> None:
        program = self.folder / "program"
        program.write_bytes(Path(KNOWN).read_bytes())
        program.chmod(0o755)
        self.jw("record", "--stacks", "-o", self.path, "--", program, "plain")
        for later, names in ((0, True), (100, False)):
            os.utime(program, (time.time() + later, time.time() + later - 50))
            callers = json.loads(self.jw("report", "--json", self.path).stdout)["callers"]
            self.assertEqual("giver" in json.dumps(callers), names)
            self.assertEqual("is newer than the recording" in "".join(callers["notes"]), not names)

    def test_what_cannot_be_read_or_written(self) -> None:
        self.assertIn("cannot be read", self.jw("report", self.path, status=1).stderr)
        self.path.write_text("no trace")
        self.assertIn("not a trace", self.jw("report", self.path, status=1).stderr)
        traceio.Writer(self.path, {}).close()
        self.assertIn("has no events", self.jw("report", self.path, status=1).stderr)
        self.write([(0, BASE, 1, MALLOC)])
        self.assertIn("cannot be written", self.jw("report", self.path, "-o", self.folder / "no/a", status=1).stderr)


unittest.main(argv=sys.argv[:1])

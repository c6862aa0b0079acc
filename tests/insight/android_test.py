"""android_test.py - a recorded trace as Android's text, and back, is the same trace; ours reads theirs.

usage: android_test.py BUILD KNOWN REPLAY    REPLAY: the test that replays such texts (tests/trace/replay.c)"""

import gzip
import random
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path
from unittest import mock

import started

TOOLS = started.with_packages()
BUILD, KNOWN, REPLAY = sys.argv[1:]

import numpy as np  # noqa: E402
import zstandard  # noqa: E402

import events as analysis  # noqa: E402
import heaptrack  # noqa: E402
import stacks  # noqa: E402
import traceio  # noqa: E402
import traces  # noqa: E402
from traceio import MALLOC  # noqa: E402

SYNTHETIC = started.ROOT / "tests/trace/synthetic.txt"


class Texts(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def jw(self, *words: object, status: int = 0) -> str:
        command = [sys.executable, "-B", TOOLS, "--build", BUILD, *words]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr

    def there_and_back(self, trace: Path, suffix: str) -> None:
        text, back = self.folder / f"a{suffix}", self.folder / "back.jwt"
        self.jw("trace", "export", trace, "-o", text)
        self.jw("trace", "import", text, "-o", back)
        whole = traceio.read(trace)
        old = analysis.of_process(whole, analysis.processes(whole)[0])
        new = analysis.of_process(traceio.read(back), 1)
        for name in ("time", "size", "partner", "address", "kind", "alignment"):
            np.testing.assert_array_equal(getattr(old, name), getattr(new, name), name)
        numbers = {int(pair): pair for pair in np.unique(old.thread)}  # threads are numbered as they appear
        self.assertEqual(len(numbers), len(np.unique(new.thread)))
        pairs = set(zip(old.thread.tolist(), new.thread.tolist(), strict=True))
        self.assertEqual(len(pairs), len(numbers))
        if suffix == ".txt":
            subprocess.run([REPLAY, text], check=True, stdout=subprocess.DEVNULL)

    def test_nothing_is_lost(self) -> None:
        trace = self.folder / "a.jwt"
        for program in ([KNOWN, "plain"], [KNOWN, "threads"], [KNOWN, "fork"], ["python3", "-c", "import json, ssl"]):
            for suffix in (".txt", ".zip"):
                with self.subTest(program=program, suffix=suffix):
                    self.jw("record", "-o", trace, "--", *program)
                    self.there_and_back(trace, suffix)

    def test_a_text_without_times(self) -> None:
        trace = self.folder / "b.jwt"
        self.jw("trace", "import", SYNTHETIC, "-o", trace)
        events = analysis.of_process(traceio.read(trace), 1)
        live, most, sizes = 0, 0, {}
        for line in SYNTHETIC.read_text().splitlines():
            _, operation, *words = line.split()
            values = [int(word, 0) for word in words]
            if operation == "realloc":
                live -= sizes.pop(values[1], 0)
            if operation == "free":
                live -= sizes.pop(values[0], 0)
            elif operation != "thread_done":
                size = values[1] * values[2] if operation == "calloc" else values[-1]
                sizes[values[0]] = size
                live += size
            most = max(most, live)
        self.assertEqual((int(events.live().max()), int(events.live()[-1])), (most, live))
        self.assertEqual((events.older, events.doubtful), (0, 0))
        self.there_and_back(trace, ".txt")

    def test_addresses_that_change_hands_inside_a_realloc(self) -> None:
        """Thread 1's realloc lasts from 20 to 60 and goes from 0xa0 to 0xb0; thread 2 uses these meanwhile."""
        first = [(1, 0xA0, 8, traceio.MALLOC), (20, 0xA0, 16, traceio.REALLOC_BEGIN),
                 (60, 0xB0, 16, traceio.REALLOC_END), (90, 0xB0, 0, traceio.FREE)]  # fmt: skip
        takes = [(30, 0xA0, 8, traceio.MALLOC), (70, 0xA0, 0, traceio.FREE)]
        had = [(2, 0xB0, 8, traceio.MALLOC), (50, 0xB0, 0, traceio.FREE)]
        for second, reallocs in ((takes, 1), (had, 1), (had[:1] + takes[:1] + had[1:] + takes[1:], 0)):
            with self.subTest(second=second):
                trace, text = self.folder / "d.jwt", self.folder / "d.txt"
                writer = traceio.Writer(trace, {})
                for thread, rows in ((1, first), (2, second)):
                    events = np.zeros(len(rows), traceio.EVENT)
                    for name, column in zip(("time", "address", "size", "kind"), zip(*rows, strict=True), strict=True):
                        events[name] = column
                    writer.events(1, thread, events)
                writer.close()
                self.jw("trace", "export", trace, "-o", text)
                self.assertEqual(text.read_text().count("realloc"), reallocs)
                subprocess.run([REPLAY, text], check=True, stdout=subprocess.DEVNULL)
                if reallocs:
                    self.there_and_back(trace, ".txt")

    def test_a_file_of_heaptrack(self) -> None:
        """main calls keeps, which has 100 bytes for ever, and spends, which has 48 three times and 32 at the end; at
        most two of the three are alive at a time."""
        lines = ["v 10400 3", "X program argument", "I 1000 10", "s 4 main", "s 5 keeps", "s 6 spends", "s 8 /a/b/c.c",
                 "s 3 lib", "i 1010 5 1 4 2a", "i 1020 5 2 0 0", "i 1030 5 3 4 7 1 4 8", "i 1040 5", "t 1 0", "t 2 1",
                 "t 3 1", "t 4 1", "a 64 2", "c 0", "R 20", "+ 0", "a 30 3", "+ 1", "+ 1", "c a", "- 1", "+ 1", "- 1",
                 "- 1", "- 1", "a 20 4", "+ 2", "# end"]  # fmt: skip
        text, trace = self.folder / "h.txt", self.folder / "h.jwt"
        for pack in (lambda data: data, gzip.compress, zstandard.compress):
            text.write_bytes(pack("\n".join(lines).encode() + b"\n"))
            self.jw("trace", "import", text, "-o", trace)
            read = traceio.read(trace)
            events = analysis.of_process(read, 1)
            self.assertEqual(events.size.tolist(), [100, 48, 48, 48, 48, 48, 48, 32])
            self.assertEqual(events.live().tolist(), [100, 148, 196, 148, 196, 148, 100, 132])
            self.assertEqual((events.time[2] < 10**7, events.time[3]), (True, 10**7))
            known = stacks.of_process(read, 1)
            names = [stacks.names_of(known, int(number)) for number in events.stack[events.allocates]]
            self.assertEqual(names[0], ["main (c.c:42)", "keeps"])
            self.assertEqual(names[1:4], [["main (c.c:42)", "main (c.c:8)", "spends (c.c:7)"]] * 3)
            self.assertEqual(names[4], ["main (c.c:42)", "lib+0x1040"])
            self.assertEqual(read.of("memory")[0]["samples"], [[1, 0, 0x20 * 4096]])
            self.assertEqual(read.about["command"], ["program", "argument"])
        text.write_text("\n".join([*lines[:20], "c a", "+ 0", "- 0", "+ 0", "c a"]) + "\n")  # one time, written twice
        self.jw("trace", "import", text, "-o", trace)
        self.assertEqual(analysis.of_process(traceio.read(trace), 1).live().tolist(), [100, 200, 100, 200])
        text.write_text("\n".join(lines[:20]) + "\n+ 9\n")
        self.assertIn("h.txt:21: not a line of heaptrack", self.jw("trace", "import", text, "-o", trace, status=1))

    def test_the_benchmark_takes_a_recording(self) -> None:
        """./jw bench --trace: as the text that export makes, made once; a file that is none is refused."""
        trace, folder, text = self.folder / "a.jwt", self.folder / "bench", self.folder / "a.txt"
        folder.mkdir()
        self.jw("record", "-o", trace, "--", KNOWN, "threads")
        self.jw("trace", "export", trace, "-o", text)
        made = traces.unpacked(trace, folder)
        self.assertEqual(made.read_text(), text.read_text())
        subprocess.run([REPLAY, made], check=True, stdout=subprocess.DEVNULL)
        made.write_text("as it was")
        self.assertEqual(traces.unpacked(trace, folder).read_text(), "as it was")
        trace.write_bytes(trace.read_bytes()[:12])
        with self.assertRaisesRegex(SystemExit, "a.jwt could not be read"):
            traces.unpacked(trace, folder)
        self.assertEqual(list(folder.iterdir()), [made])

    def test_piles_of_heaptrack(self) -> None:
        """Each kind's objects are a pile; here these are lists, there whole columns. Blocks end anywhere in a line."""
        chance, kinds = random.Random(1), 40
        rows, live, free, place = [], [[] for _ in range(kinds)], [[] for _ in range(kinds)], heaptrack.BASE
        lines = ["v 10400 3", "i 1 0", "t 1 0"]
        for kind in range(kinds):
            lines += [f"a {kind * 9:x} 1", f"c {kind:x}"]
            for _ in range(3000):
                one, up = chance.randrange(kind + 1), chance.random() < 0.5
                unusual = "  " if chance.random() < 0.1 else " "
                lines.append(f"{'+' if up else '-'}{unusual}{one:{chance.choice('xX')}}")
                if up:
                    if not free[one]:
                        free[one].append(place)
                        place += max(one * 9 + 15 & ~15, 16)
                    live[one].append(free[one].pop())
                    rows.append((live[one][-1], one * 9, MALLOC))
                elif live[one]:
                    free[one].append(live[one].pop())
                    rows.append((free[one][-1], 0, traceio.FREE))
        text, trace = self.folder / "h.txt", self.folder / "h.jwt"
        text.write_text("\n".join(lines) + "\n")
        with mock.patch("heaptrack.BLOCK", 999):
            heaptrack.import_file(heaptrack.opened(text), text, trace)
        (events,) = traceio.read(trace).streams.values()
        self.assertEqual(events[["address", "size", "kind"]].tolist(), rows)

    def test_what_heaptrack_recorded(self) -> None:
        """Its numbers and ours of the same program, which is known."""
        if shutil.which("heaptrack") is None:
            self.skipTest("heaptrack is not installed")
        made, trace = self.folder / "made", self.folder / "h.jwt"
        subprocess.run(["heaptrack", "-o", made, KNOWN, "threads"], check=True, capture_output=True, timeout=100)
        self.jw("trace", "import", next(self.folder.glob("made*")), "-o", trace)
        read = traceio.read(trace)
        events = analysis.of_process(read, 1)
        own = events.allocates & (events.size >= 1000000)
        self.assertEqual(events.size[own].tolist(), [1002000 + i for i in range(20)])
        self.assertTrue((events.partner[own] >= 0).all())
        known = stacks.of_process(read, 1)
        for number in np.unique(events.stack[own]).tolist():
            self.assertIn("short_lived", " ".join(stacks.names_of(known, number)))

    def test_usual_and_unusual_lines(self) -> None:
        """C reads the first ones (replay/lines.c), Python the others; blocks of text end anywhere in a line."""
        usual: list[str] = []
        for at in range(60000):
            place, tid = 0x7F0000000000 + at * 64, 100 + at % 3
            for call in (
                f"malloc {place:#x} {at}", f"realloc {place + 16:#x} {place:#x} {at + 5}", f"free {place + 16:#x}",
                f"calloc {place:#x} 3 {at}", f"realloc {place:#x} 0x0 8", f"memalign {place + 32:#x} 64 {at}",
                "malloc 0x0 1", f"realloc 0x0 {place:#x} 99",
            ):  # fmt: skip
                usual.append(f"{tid}: {call} {len(usual) * 7} {len(usual) * 7 + 3}")
        usual += ["100: thread_done 0x0 9000000", "7: malloc 0x0 1 5 5"]
        unusual = [line.replace(" ", "  ", 2) for line in usual]
        text, traces = self.folder / "d.txt", []
        for lines in (usual, unusual, [line.rsplit(" ", 2)[0] for line in usual[:-2]]):
            text.write_text("\n".join(lines) + "\n")
            self.jw("trace", "import", text, "-o", self.folder / "d.jwt")
            traces.append(traceio.read(self.folder / "d.jwt"))
        first, second, untimed = traces
        self.assertEqual(first.records, second.records)
        self.assertEqual([record["tid"] for record in first.of("thread")], [100, 101, 102, 7])
        self.assertEqual(first.of("thread_end")[0]["time"], 9000000)
        self.assertEqual(sum(map(len, first.streams.values())), 60000 * 9)
        for key, events in first.streams.items():
            np.testing.assert_array_equal(events, second.streams[key])
            for name in ("address", "size", "kind", "alignment"):
                np.testing.assert_array_equal(events[name], untimed.streams[key][name])
        self.assertEqual(untimed.streams[1, 1]["time"][:4].tolist(), [1000, 2000, 2001, 3000])

    def test_what_is_no_text_of_theirs(self) -> None:
        text, trace = self.folder / "c.txt", self.folder / "c.jwt"
        texts = {
            "": "has no line",
            "1: malloc 0x10 8\nnonsense\n": "c.txt:2: not a line",
            "1: malloc 0x10\n": "c.txt:1: not a line",
            "1: mall 0x10 3\n": "not a line",
            "\x1b[31m\x9b0m\0 red\n": "c.txt:1: not a line of memory_replay: ?[31m?0m? red\n",
            "v 10400 3\n+ \x1b[31m\n": "c.txt:2: not a line of heaptrack: + ?[31m\n",
        }
        for content, said in texts.items():
            text.write_text(content)
            self.assertIn(said, self.jw("trace", "import", text, "-o", trace, status=1))
        for names, said in (([], "the archive is empty"), (["a.txt", "b.txt"], "the archive has 2 files, not one")):
            with zipfile.ZipFile(self.folder / "c.zip", "w") as archive:
                for name in names:
                    archive.writestr(name, "1: malloc 0x10 32\n")
            said_now = self.jw("trace", "import", self.folder / "c.zip", "-o", trace, status=1)
            self.assertEqual(said_now, f"jw: {self.folder / 'c.zip'}: cannot be read: {said}\n")
        self.assertIn("cannot be read", self.jw("trace", "import", self.folder / "none", "-o", trace, status=1))
        with zipfile.ZipFile(self.folder / "c.zip", "w") as archive:
            archive.writestr("c.txt", "1: malloc 0x10 32\n" * 1000)
        (self.folder / "c.zip").write_bytes((self.folder / "c.zip").read_bytes()[:100])
        said_now = self.jw("trace", "import", self.folder / "c.zip", "-o", trace, status=1)
        self.assertEqual(said_now, f"jw: {self.folder / 'c.zip'}: a zip archive that is cut off or damaged\n")
        self.assertIn("not a trace", self.jw("trace", "export", text, "-o", trace, status=1))


unittest.main(argv=sys.argv[:1])

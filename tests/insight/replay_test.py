"""replay_test.py - ./jw replay makes the recorded calls: same live bytes, same threads, contents verified.

usage: replay_test.py BUILD KNOWN FORGETS    FORGETS: an allocator that loses contents (forgets.c)"""

import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import started

TOOLS = started.with_packages()
BUILD, KNOWN, FORGETS = sys.argv[1:]

import events as analysis  # noqa: E402
import replay  # noqa: E402
import traceio  # noqa: E402


class Replay(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.path = self.folder / "a.jwt"

    def jw(self, *words: object, status: int = 0) -> subprocess.CompletedProcess:
        command = [sys.executable, "-B", TOOLS, "--build", BUILD, *words]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def replayed(self, *words: object) -> dict:
        return json.loads(self.jw("replay", self.path, "--rest", "0", "--json", *words).stdout)

    def test_live_bytes_are_those_of_the_recording(self) -> None:
        for program, threads in ((["python3", "-c", "import json, ssl"], 1), ([KNOWN, "plain"], 2),
                                 ([KNOWN, "threads"], 21), ([KNOWN, "long"], 1)):  # fmt: skip
            with self.subTest(program=program):
                self.jw("record", "-o", self.path, "--", *program)
                trace = traceio.read(self.path)
                process = analysis.processes(trace)[0]
                events = analysis.of_process(trace, process)
                step = 100000 if program[-1] == "long" else 7
                calls, _, over = replay.calls_of(events, {one["thread"] for one in trace.of("thread_end")})
                expected = events.live()[over[step - 1 :: step]].tolist()
                for name, one in self.replayed("--step", step).items():
                    self.assertEqual(one["live"], expected, name)
                    self.assertEqual(one["calls"], len(calls))
                    self.assertEqual(one["threads"], threads)
                    self.assertGreaterEqual(one["peak_kb"] + 200, int(events.live().max()) >> 10)

    def test_lost_contents_are_noticed(self) -> None:
        self.jw("record", "-o", self.path, "--", KNOWN, "plain")
        done = self.jw("replay", self.path, "--lib", FORGETS, status=1)
        self.assertIn("failed", done.stderr)
        self.assertIn("replay.c", done.stderr)

    def test_pages_and_kept_times(self) -> None:
        self.jw("record", "-o", self.path, "--", KNOWN, "threads")
        out = self.folder / "r.html"
        self.jw("replay", self.path, "--timing", "kept", "--runs", "2", "-o", out)
        self.assertNotRegex(out.read_text(), r'(src|href)="(?!data:)')

    def test_two_libraries_of_one_name(self) -> None:
        """An older build beside this one; both were one row."""
        self.jw("record", "-o", self.path, "--", KNOWN, "threads")
        library = self.folder / "libjwmalloc.so"
        shutil.copy(next(Path("/lib").glob("*/libm.so.6")), library)
        results = self.replayed("--lib", library)
        self.assertEqual(list(results), ["system", "jwmalloc", str(library)])
        for one in results.values():
            self.assertEqual(len(one["proportional_kb"]), len(one["resident_kb"]))
            self.assertLessEqual(one["steady_pss_kb"], one["peak_pss_kb"])

    def test_what_cannot_be_replayed(self) -> None:
        self.assertIn("cannot be read", self.jw("replay", self.path, status=1).stderr)
        self.jw("record", "-o", self.path, "--", KNOWN, "threads")
        self.assertIn("no such library", self.jw("replay", self.path, "--lib", "/no.so", status=1).stderr)
        self.assertIn("cannot be preloaded", self.jw("replay", self.path, "--lib", __file__, status=1).stderr)
        self.assertIn("no such library", self.jw("replay", self.path, "--lib", "libno.so", status=1).stderr)
        self.jw("replay", self.path, "--lib", "libm.so.6")  # a name that the loader knows
        for option, value in (("--runs", "0"), ("--step", "0"), ("--rest", "-1"), ("--rest", "1e3")):
            said = self.jw("replay", self.path, f"{option}={value}", status=2).stderr
            self.assertIn(f"'{value}' is not a number from ", said)
        self.assertIn("no process 9", self.jw("replay", self.path, "--process", "9", status=1).stderr)


unittest.main(argv=sys.argv[:1])

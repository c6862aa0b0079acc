"""guard_test.py - what ./jw guard says of each mistake of mistakes.c, and that correct programs run unharmed.

usage: guard_test.py BUILD MISTAKES [LIBRARY]    with LIBRARY, an allocator, preloaded behind the guard

Each allocation is a sample, so that nothing depends on chance. Functions are looked for in the stacks by name."""

import math
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import started

TOOLS = started.with_packages()
BUILD, MISTAKES, *LIBRARY = sys.argv[1:]
PROGRAM = Path(MISTAKES).name
WITH = ["--lib", LIBRARY[0]] if LIBRARY else []
SEGV, ABRT = 128 + signal.SIGSEGV, 128 + signal.SIGABRT
PLACE = (
    r"(?P<distance>\d+) bytes (?P<side>before|inside|behind the end of) the object 0x[0-9a-f]+ of (?P<size>\d+) bytes"
)
LINE = re.compile(rf"jw guard: (?P<kind>.*) at 0x[0-9a-f]+, {PLACE}; process \d+")
# mistake: status, kind, distance, side, object's size, and a function of each stack
FOUND = {
    "overflow": (SEGV, "overflow: write", 2, "behind the end of", 48, "writes", "allocates"),
    "overflow_read": (SEGV, "overflow: read", 0, "behind the end of", 48, "reads", "allocates"),
    "underflow": (SEGV, "underflow: write", 3, "before", 48, "writes", "allocates"),
    "small_overflow": (ABRT, "overflow, seen at free: write", 2, "behind the end of", 42, "frees", "allocates"),
    "small_underflow": (ABRT, "underflow, seen at free: write", 5, "before", 42, "frees", "allocates"),
    "left_overflow": (ABRT, "overflow, seen at free: write", 58, "behind the end of", 42, "make_it", "allocates"),
    "zero": (ABRT, "overflow, seen at free: write", 0, "behind the end of", 0, "frees", "allocates"),
    "read_after": (SEGV, "use after free: read", 39, "inside", 40, "reads", "allocates", "frees"),
    "late_read": (SEGV, "use after free: read", 39, "inside", 40, "reads", "allocates", "frees"),
    "write_after": (SEGV, "use after free: write", 0, "inside", 40, "writes", "allocates", "frees"),
    "double_free": (ABRT, "double free", 0, "inside", 40, "frees", "allocates", "frees"),
    "double_realloc": (ABRT, "double free", 0, "inside", 40, "make_it", "allocates", "frees"),
    "inner_free": (ABRT, "invalid free", 8, "inside", 40, "frees", "allocates"),
    "guard_free": (ABRT, "invalid free", 0, "behind the end of", 48, "frees", "allocates"),
}
KNOWS_WRITES = platform.machine() == "x86_64"
IS = {SEGV: "accessed by", ABRT: "found by"}


class Guarding(unittest.TestCase):
    def jw(self, *words: object, slots: int = 64, rate: int = 1) -> subprocess.CompletedProcess:
        command = [sys.executable, "-B", TOOLS, "--build", BUILD, "guard", "--rate", rate, "--slots", slots, *WITH]
        text = [str(word) for word in (*command, *words)]
        return subprocess.run(text, capture_output=True, text=True, timeout=200)

    def check(self, mistake: str, said: str) -> None:
        status, kind, distance, side, size, *functions = FOUND[mistake]
        kind = kind if KNOWS_WRITES or ": " not in kind else kind.rpartition(": ")[0] + ": access"
        lines = said.splitlines()
        line = LINE.fullmatch(lines[0])
        self.assertTrue(line, said)
        found = (line["kind"], int(line["distance"]), line["side"], int(line["size"]))
        self.assertEqual(found, (kind, distance, side, size), said)
        stacks = re.split(r"^  (\w+ by) thread \d+:\n", "".join(f"{text}\n" for text in lines[1:]), flags=re.MULTILINE)
        self.assertEqual(stacks[1::2], [IS[status], "allocated by", "freed by"][: len(functions)], said)
        for function, stack in zip(functions, stacks[2::2], strict=True):
            self.assertRegex(stack, rf"^    #0 (site_)?{function} \(mistakes.c:\d+\) /.*/{PROGRAM}\+0x", said)

    def test_each_mistake(self) -> None:
        for mistake, (status, *_) in FOUND.items():
            for how in ("here", "thread", "child"):
                with self.subTest(mistake=mistake, how=how):
                    done = self.jw("--symbolize", "--", MISTAKES, mistake, how)
                    self.assertEqual(done.returncode, status, done.stderr)
                    self.check(mistake, done.stderr)

    def test_frames_without_names(self) -> None:
        """As addr2line reads them, at once or in a file."""
        with tempfile.TemporaryDirectory() as folder:
            output = Path(folder) / "found"
            self.jw("-o", output, "--", MISTAKES, "write_after")
            done = self.jw("-o", output, "--", MISTAKES, "write_after")
            reports = output.read_text()
        self.assertEqual((done.stderr, len(LINE.findall(reports))), ("", 2))
        said = self.jw("--", MISTAKES, "write_after").stderr
        path, offset = re.search(r"accessed by thread \d+:\n    #0 (/.*)\+(0x[0-9a-f]+)\n", said).groups()
        named = subprocess.run(["addr2line", "-f", "-e", path, offset], capture_output=True, text=True, check=True)
        self.assertEqual(named.stdout.split()[0], "site_writes")
        code = subprocess.run(["objdump", "-d", path], capture_output=True, text=True, check=True).stdout
        self.assertIn(f" {int(offset, 16):x}:\t", code)  # the access itself

    def test_the_programs_handler_follows(self) -> None:
        done = self.jw("--symbolize", "--", MISTAKES, "write_after", "handled")
        self.assertEqual(done.returncode, 9)
        self.check("write_after", done.stderr)

    def check_unharmed(self, *program: str, slots: int, status: int = 0) -> None:
        done = self.jw("--", *program, slots=slots)
        self.assertEqual((done.returncode, done.stderr), (status, ""), done.stdout)

    def test_correct_programs(self) -> None:
        for slots in (1, 8, 2000):
            self.check_unharmed(MISTAKES, "correct", slots=slots)

    def test_handlers(self) -> None:
        self.check_unharmed(MISTAKES, "handlers", slots=8)

    def test_other_faults(self) -> None:
        self.check_unharmed(MISTAKES, "null", slots=8, status=SEGV)
        self.check_unharmed(MISTAKES, "null", "handled", slots=8, status=9)
        self.check_unharmed("sh", "-c", "kill -SEGV $$", slots=8, status=SEGV)

    def test_python(self) -> None:
        work = "import json, threading, subprocess; t = threading.Thread(target=json.dumps, args=([1] * 9999,)); "
        work += "t.start(); t.join(); subprocess.run(['true'], check=True); print(json.loads('[1]'))"
        for slots in (4, 500):
            self.check_unharmed("env", "PYTHONMALLOC=malloc", sys.executable, "-c", work, slots=slots)

    @unittest.skipUnless(shutil.which("node"), "without node: no runtime with a handler of its own")
    def test_node(self) -> None:
        self.check_unharmed("node", "-e", "JSON.parse(JSON.stringify([...Array(1000).keys()]))", slots=8)

    def test_rate(self) -> None:
        """Distances are uniform from 1 to 2 rate - 1: n samples have the deviation sqrt(n / 3). The bound is six."""
        done = self.jw("--", MISTAKES, "samples", rate=100)
        self.assertEqual(done.stderr, "")
        self.assertLess(abs(int(done.stdout) - 2000), 6 * math.sqrt(2000 / 3))

    def test_messages(self) -> None:
        for words in (["--rate", 0, "--", "true"], ["--slots", 0, "--", "true"], ["--slots", 16385, "--", "true"]):
            done = self.jw(*words)
            self.assertEqual(done.returncode, 1)
            self.assertIn("--rate is from 1", done.stderr)
        self.assertIn("cannot be run", self.jw("--", "/no/program").stderr)
        done = self.jw("--lib", "/etc/passwd", "--", "true")
        self.assertEqual((done.returncode, done.stderr), (1, "jw: /etc/passwd: cannot be preloaded\n"))

    def test_an_unwritable_file(self) -> None:
        done = self.jw("-o", "/no/folder/a", "--", "true")
        self.assertEqual(
            (done.returncode, done.stderr), (1, "jw: /no/folder/a: cannot be written: No such file or directory\n")
        )
        for words in ([], ["--symbolize"]):  # a full disk: what was found is shown
            done = self.jw("-o", "/dev/full", *words, "--", MISTAKES, "write_after")
            self.assertEqual(len(LINE.findall(done.stderr)), 1, done.stderr)
            self.assertRegex(done.stderr, r"freed by thread \d+:\n    #0 ")


unittest.main(argv=sys.argv[:1])

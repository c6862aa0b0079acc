"""foreign_test.py - files of strangers, and outputs that cannot be written: one message, and no traceback.

usage: foreign_test.py BUILD KNOWN"""

import contextlib
import functools
import gzip
import io
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import warnings
from collections.abc import Callable
from pathlib import Path

import started

TOOLS = started.with_packages()
BUILD, KNOWN = sys.argv[1:]

import numpy as np  # noqa: E402
import zstandard  # noqa: E402

import arguments  # noqa: E402
import events as analysis  # noqa: E402
import figures  # noqa: E402
import traceio  # noqa: E402
from errors import TraceError  # noqa: E402
from traceio import FREE, MALLOC  # noqa: E402

TIMES = 60  # that each file is damaged
JUNK = (None, "x", -1, 1 << 70, 1e300, [], {}, [[]], True, "\ud800", 0)
HEAPTRACK = """v 10400 3
X program
I 1000 10
s 4 main
s 5 keeps
s 3 lib
i 1010 3 1 2 2a
i 1020 3 2 0 0
t 1 0
t 2 1
a 64 2
c 0
R 20
+ 0
a 30 1
+ 1
c a
- 1
"""


def damaged(data: bytes, chance: random.Random) -> bytes:
    """Cut off, bits turned, bytes replaced, bytes lost, or a part twice."""
    changed, at, length = bytearray(data), chance.randrange(len(data)), chance.randrange(1, 60)
    match chance.randrange(5):
        case 0:
            del changed[at:]
        case 1:
            changed[at] ^= 1 << chance.randrange(8)
        case 2:
            changed[at : at + length] = chance.randbytes(length)
        case 3:
            del changed[at : at + length]
        case 4:
            changed[at:at] = changed[at // 2 : at // 2 + length]
    return bytes(changed)


def wrecked(value: object, chance: random.Random) -> object:
    """JSON with one part of it missing, or of another kind."""
    if chance.random() < 0.9 and value and isinstance(value, dict | list):
        value = value.copy()
        at = chance.choice(list(value)) if isinstance(value, dict) else chance.randrange(len(value))
        if chance.random() < 0.3:
            del value[at]
        else:
            value[at] = wrecked(value[at], chance)
        return value
    return chance.choice(JUNK)


def wrong_inside(data: bytes, chance: random.Random) -> bytes:
    """A trace whose chunks are whole, and one of them has wrong contents."""
    _, version, length = traceio.HEADER.unpack_from(data)
    about, at, chunks = data[traceio.HEADER.size :][:length], traceio.HEADER.size + length, []
    while at < len(data):
        head = list(traceio.CHUNK.unpack_from(data, at))
        start, at = at + traceio.CHUNK.size, at + traceio.CHUNK.size + head[7]
        chunks.append((head, zstandard.ZstdDecompressor().decompress(data[start:at])))
    chosen = chance.randrange(len(chunks) + 1)
    if chosen == len(chunks):
        about = json.dumps(wrecked(json.loads(about), chance)).encode()
    else:
        head, raw = chunks[chosen]
        if chance.random() < 0.3:
            head[chance.choice((1, 2, 3, 4, 5, 8, 9))] = chance.choice((0, 1, 2, 3, 7, 40, 65535))
        elif head[1] == traceio.JSON:
            raw = json.dumps(wrecked(json.loads(raw), chance)).encode()
        elif raw:
            raw = damaged(raw, chance)
        chunks[chosen] = (head, raw)
    parts = [traceio.HEADER.pack(traceio.MAGIC, version, len(about)), about]
    for head, raw in chunks:
        packed = zstandard.ZstdCompressor(level=1, write_checksum=True).compress(raw)
        head[6:8] = len(raw), len(packed)
        parts += [traceio.CHUNK.pack(*head), packed]
    return b"".join(parts)


class Foreign(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.path = self.folder / "a.jwt"

    def jw(self, *words: object, **options: object) -> subprocess.CompletedProcess:
        command = [sys.executable, "-B", str(TOOLS), "--build", BUILD, *map(str, words)]
        return subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=200, **options)

    def recorded(self, *words: object) -> bytes:
        done = self.jw("record", "-o", self.path, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.path.read_bytes()

    def try_all(self, data: bytes, suffix: str, damage: Callable, *words: object) -> None:
        """In this process: a start of Python takes longer than the work."""
        path = self.folder / f"damaged{suffix}"
        refused = 0
        for number in range(TIMES):
            path.write_bytes(damage(data, random.Random(number)))
            said = io.StringIO()
            with self.subTest(suffix=suffix, damage=damage.__name__, number=number), contextlib.ExitStack() as stack:
                stack.enter_context(contextlib.redirect_stderr(said))
                stack.enter_context(contextlib.redirect_stdout(said))
                stack.enter_context(warnings.catch_warnings())
                warnings.simplefilter("ignore")  # of numpy: what a wrong number makes of another
                parsed = arguments.parse([str(word) for word in (*words[:-1], path, *words[-1])])
                try:
                    parsed.run(parsed)
                except TraceError as error:
                    refused += 1
                    self.assertNotIn("\n", str(error))
        self.assertGreater(refused, 0)

    def test_damaged_traces(self) -> None:
        data = self.recorded("--stacks", "--", KNOWN, "fork")
        out = ["-o", self.folder / "out.txt"]
        self.try_all(data, ".jwt", damaged, "trace", "export", out)
        self.try_all(data, ".jwt", wrong_inside, "trace", "export", out)
        self.try_all(data, ".jwt", wrong_inside, "report", "--json", [])

    def test_damaged_texts(self) -> None:
        self.recorded("--", KNOWN, "threads")
        for suffix in (".txt", ".zip"):
            text = self.folder / f"whole{suffix}"
            self.assertEqual(self.jw("trace", "export", self.path, "-o", text).returncode, 0)
            self.try_all(text.read_bytes(), suffix, damaged, "trace", "import", ["-o", self.path])

    def test_damaged_files_of_heaptrack(self) -> None:
        for pack in (bytes, gzip.compress, zstandard.compress):
            self.try_all(pack(HEAPTRACK.encode()), ".heaptrack", damaged, "trace", "import", ["-o", self.path])

    def imported(self, data: bytes) -> subprocess.CompletedProcess:
        path = self.folder / "h"
        path.write_bytes(data)
        return self.jw("trace", "import", path, "-o", self.path)

    def test_heaptrack_of_a_killed_program(self) -> None:
        """What it has is used, and one line says that it is cut off."""
        chance = random.Random(1)
        many = HEAPTRACK + "".join(f"s 10 {chance.randbytes(8).hex()}\n+ 1\n- 1\n" for _ in range(30000))
        for pack in (bytes, gzip.compress, zstandard.compress):
            data = pack(many.encode())
            done = self.imported(data[: len(data) // 2 + 1])
            self.assertEqual((done.returncode, done.stderr.count("\n")), (0, 2), done.stderr)
            self.assertIn("cut off in or after line", done.stderr)
        self.assertIn("in its format 4", self.imported(HEAPTRACK.replace("v 10400 3", "v 10600 4").encode()).stderr)

    def test_stacks_in_a_circle(self) -> None:
        done = self.imported(HEAPTRACK.replace("t 1 0", "t 1 1").encode())
        self.assertIn("h:9: not a line of heaptrack: t 1 1", done.stderr)

    def write(self, *rows: tuple[int, int, int, int], thread: int = 1, **process: int) -> None:
        writer = traceio.Writer(self.path, {"command": []})
        if process:
            writer.record("process", **{"process": 1, "parent": 0, "time": 0, "command": ""} | process)
        events = np.zeros(len(rows), traceio.EVENT)
        for name, column in zip(("time", "address", "size", "kind"), zip(*rows, strict=True), strict=True):
            events[name] = column
        writer.events(1, thread, events)
        writer.close()

    def test_numbers_that_cannot_be(self) -> None:
        for row in ((1, 1 << 63, 8, MALLOC), (1, 16, 1 << 63, MALLOC), (1 << 63, 16, 8, MALLOC), (1, 16, 8, 7)):
            with self.subTest(row=row):
                self.write(row)
                with self.assertRaisesRegex(TraceError, "damaged: the chunk at byte"):
                    traceio.read(self.path)
        self.write((1, 16, 8, MALLOC), parent=1)  # its own child
        with self.assertRaisesRegex(TraceError, "a parent that is younger"):
            traceio.read(self.path)

    def test_a_long_time_and_a_high_number_of_a_thread(self) -> None:
        """A year, and the two thousand millionth thread, take no more memory than a second and the first one."""
        self.write((0, 4096, 8, MALLOC), (365 * 86400 * 10**9, 4096, 0, FREE), thread=2 * 10**9)
        done = self.jw("report", "--json", self.path, stdout=subprocess.PIPE)
        self.assertEqual(done.returncode, 0, done.stderr)
        about = json.loads(done.stdout)
        self.assertEqual([one["thread"] for one in about["threads"]], [2 * 10**9])
        self.assertEqual(about["totals"]["busiest_operations_per_second"], 1000)
        self.assertEqual(figures.shares_by(np.zeros(0), np.zeros(0), np.zeros(3)).tolist(), [0, 0, 0])

    def test_many_generations(self) -> None:
        """Each process is its parent's only child, and the last one has an object of each."""
        writer = traceio.Writer(self.path, {"command": []})
        for number in range(1, 1501):
            writer.record("process", process=number, parent=number - 1, time=number, command="")
            events = np.zeros(1, traceio.EVENT)
            events[0] = (number, 64 * number, 8, 0, MALLOC, 0, 0)
            writer.events(number, number, events)
        writer.close()
        events = analysis.of_process(traceio.read(self.path), 1500)
        self.assertEqual((len(events.size), events.inherited), (1500, 1499))

    def test_full_devices(self) -> None:
        full = Path("/dev/full")
        done = self.jw("record", "-o", full, "--", "true")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, "jw: /dev/full: cannot be written: No space left on device\n")
        self.recorded("--", KNOWN, "threads")
        with full.open("w") as output:
            done = self.jw("report", "--json", self.path, stdout=output)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.splitlines()[-1], "jw: the output: No space left on device")

    def test_a_disk_that_becomes_full(self) -> None:
        """What is made of a recording is whole or not there, and an older file of its name stays."""
        self.recorded("--stacks", "--", KNOWN, "threads")
        text, old = self.folder / "a.txt", self.folder / "heaptrack"
        self.assertEqual(self.jw("trace", "export", self.path, "-o", text).returncode, 0)
        old.write_text(HEAPTRACK)
        out = self.folder / "out"
        for words, name, limit in (
            (("report", self.path), "a.html", 40000), (("replay", self.path, "--rest", 0), "a.html", 40000),
            (("trace", "export", self.path), "b.txt", 64), (("trace", "export", self.path), "a.zip", 64),
            (("trace", "import", text), "b.jwt", 64), (("trace", "import", old), "b.jwt", 64),
        ):  # fmt: skip
            for before in (None, b"before"):
                with self.subTest(words=words, name=name, before=before):
                    out.mkdir()
                    if before:
                        (out / name).write_bytes(before)
                    limited = functools.partial(resource.setrlimit, resource.RLIMIT_FSIZE, (limit, limit))
                    done = self.jw(*words, "-o", out / name, stdout=subprocess.DEVNULL, preexec_fn=limited)
                    self.assertEqual((done.returncode, done.stderr.splitlines()[-1]),
                                     (1, f"jw: {out / name}: cannot be written: File too large"))  # fmt: skip
                    left = {path.name: path.read_bytes() for path in out.iterdir()}
                    self.assertEqual(left, {name: before} if before else {})
                    shutil.rmtree(out)

    def test_what_is_ended_while_it_writes(self) -> None:
        """Nothing is left beside the file, and there is no traceback."""
        events = np.zeros(1 << 20, traceio.EVENT)
        events["time"], events["address"] = np.arange(len(events)), 64 * np.arange(1, len(events) + 1)
        events["size"], events["kind"] = 8, MALLOC
        writer, out = traceio.Writer(self.path, {"command": []}), self.folder / "out"
        writer.events(1, 1, events)
        writer.close()
        out.mkdir()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            words = ["--build", BUILD, "trace", "export", str(self.path), "-o", str(out / "a.txt")]
            export = subprocess.Popen([sys.executable, "-B", str(TOOLS), *words], stderr=subprocess.PIPE, text=True)
            while export.poll() is None and not any(path.stat().st_size for path in out.iterdir()):
                time.sleep(0.01)
            export.send_signal(number)
            said = export.communicate()[1]
            self.assertEqual((export.returncode, said, list(out.iterdir())), (128 + number, "", []))

    def test_a_profile_keeps_what_it_is_written_into(self) -> None:
        """A fifo stays one, as a device would; a link stays one; the folder of neither gets another file."""
        fifo, link, file = (self.folder / name for name in ("fifo", "link", "file"))
        os.mkfifo(fifo)
        link.symlink_to(file)
        with open(os.open(fifo, os.O_RDWR), "rb", buffering=0) as reader:
            for path in (fifo, link):
                self.assertEqual(self.jw("profile", "-o", path, "--", "true").returncode, 0)
            self.assertTrue(fifo.is_fifo())
            self.assertTrue(link.is_symlink())
            for data in (reader.read(1 << 16), file.read_bytes()):
                self.assertIn(b"inuse_space", gzip.decompress(data))
        self.assertEqual(sorted(self.folder.iterdir()), [fifo, file, link])

    def test_what_is_said_before_the_program_runs(self) -> None:
        ran, none = self.folder / "ran", self.folder / "none/a.pb.gz"
        for words, said in (
            (("profile", "-o", none), f"jw: {none}: cannot be written: No such file or directory\n"),
            (("profile", "-o", self.folder), f"jw: {self.folder}: cannot be written: Is a directory\n"),
            *(((command, "-o", self.path, "--lib", "/no.so"), "jw: /no.so: there is no such library\n")
              for command in ("record", "profile", "guard")),
        ):  # fmt: skip
            with self.subTest(words=words):
                done = self.jw(*words, "--", "touch", ran)
                self.assertEqual((done.returncode, done.stderr), (1, said))
                self.assertFalse(ran.exists())

    def test_a_recording_is_kept(self) -> None:
        """A wrong argument does not write over it, and it is not what is made of it."""
        self.recorded("--", KNOWN, "threads")
        before, text, path = self.path.read_bytes(), self.folder / "a.txt", str(self.path)
        self.assertEqual(self.jw("trace", "export", path, "-o", text).returncode, 0)
        for words, said in (
            (("record", "-o", path, "--lib", "/no.so", "--", "true"), "/no.so: there is no such library"),
            (("record", "-o", path, "--", "/no/program"), "/no/program: cannot be run: No such file or directory"),
            (("record", "-o", path, "--", text), f"{text}: cannot be run: Permission denied"),
            (("report", path, "-o", path), f"{path}: is the file that is read"),
            (("report", text, path, "-o", path), f"{path}: is the file that is read"),
            (("replay", path, "-o", path), f"{path}: is the file that is read"),
            (("trace", "export", path, "-o", path), f"{path}: is the file that is read"),
        ):
            with self.subTest(words=words):
                done = self.jw(*words)
                self.assertEqual((done.returncode, done.stderr), (1, f"jw: {said}\n"))
                self.assertEqual(self.path.read_bytes(), before)
        lines = text.read_bytes()
        self.assertEqual(self.jw("trace", "import", text, "-o", text).stderr, f"jw: {text}: is the file that is read\n")
        self.assertEqual(text.read_bytes(), lines)

    def test_closed_streams(self) -> None:
        """As a daemon has them: no error, and no other file gets their numbers. The program has them closed, too."""
        page, look = self.folder / "page.html", "import os; [os.fstat(n) for n in (1, 2)]"
        for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
            with self.subTest(closed=closed):
                for words, status in (
                    (("record", "-o", self.path, "--", KNOWN, "threads"), 0), (("report", self.path, "-o", page), 0),
                    (("record", "-o", self.path, "--", "python3", "-c", look), int(">" in closed)),
                ):  # fmt: skip
                    command = [sys.executable, "-B", str(TOOLS), "--build", BUILD, *map(str, words)]
                    done = subprocess.run(["sh", "-c", f'exec "$@" {closed}', "sh", *command], capture_output=True)
                    self.assertEqual(done.returncode, status, done.stderr)
                self.assertEqual(page.read_bytes()[-8:], b"</html>\n")

    def test_a_reader_that_has_enough(self) -> None:
        self.recorded("--", KNOWN, "threads")
        command = [sys.executable, "-B", str(TOOLS), "--build", BUILD, "report", "--json", str(self.path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as done:
            done.stdout.close()
            self.assertNotIn("Error", done.stderr.read())

    def test_an_argument_that_is_no_text(self) -> None:
        self.recorded("--", KNOWN, "plain", b"\xff<b>".decode(errors="surrogateescape"))
        page = self.folder / "page.html"
        done = self.jw("report", self.path, "-o", page)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("plain ?&lt;b&gt;", page.read_text())


unittest.main(argv=sys.argv[:1])

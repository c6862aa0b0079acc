"""watch_test.py - what ./jw stat, top and map say of a process with known objects agrees with what that says itself.

usage: watch_test.py BUILD WATCHED LIBRARY"""

import contextlib
import ctypes
import errno
import io
import itertools
import json
import os
import platform
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from xml.etree import ElementTree

import started

TOOLS = started.with_packages()
BUILD, WATCHED, LIBRARY = (Path(word) for word in sys.argv[1:])

from prometheus_client.openmetrics import parser  # noqa: E402

COMMANDS = ("stat", "top", "map")
NOBODY = 65534
PAGE = "<8sII16sIIQQII"
SMALLS, MIDS, FREED, CHILDS = 1000, 20, 500, 500


class Program:
    """A running watched.c. `folder`: where the libraries are; `user`: of the process."""

    def __init__(
        self, options: str = "watch:true", folder: Path = BUILD, user: int | None = None, program: Path = WATCHED
    ):
        environment = os.environ | {"JWMALLOC_CONF": options, "LD_PRELOAD": str(folder / LIBRARY.name)}
        self.process = subprocess.Popen(
            [program if user is None else folder / WATCHED.name],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
            user=user, group=user,
        )  # fmt: skip
        self.pid = int(self.process.stdout.readline())

    def order(self, letter: str) -> str:
        """Gives the line of the answer that is not the number; the number is `answered`."""
        self.process.stdin.write(letter)
        self.process.stdin.flush()
        text = self.process.stdout.readline() if letter == "p" else ""
        self.answered = int(self.process.stdout.readline())
        return text

    def __enter__(self) -> "Program":
        return self

    def __exit__(self, *_) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


def jw(*words: object) -> subprocess.CompletedProcess:
    command = [sys.executable, "-B", TOOLS, "--build", BUILD, *words]
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=100)


def look(pid: int) -> dict:
    done = jw("stat", pid, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def of_size(look: dict, name: str, size: int) -> dict[str, int]:
    return next(entry for entry in look[name] if entry["size"] == size)


def slow(look: dict, path: str) -> dict:
    return next(entry for entry in look["slow"] if entry["path"] == path)


def copied(folder: Path, *paths: Path) -> None:
    folder.chmod(0o755)
    for path in paths:
        shutil.copy(path, folder)
        (folder / path.name).chmod(0o755)


def refuse_to_read(error: int) -> None:
    """From now on process_vm_readv fails in this process and its children: by a filter of system calls (seccomp)."""
    load, jump_if, give, number = 0x20, 0x15, 0x06, 310
    program = struct.pack(
        "HBBIHBBIHBBIHBBI", load, 0, 0, 0, jump_if, 0, 1, number, give, 0, 0, 0x50000 | error, give, 0, 0, 0x7FFF0000
    )
    code = ctypes.create_string_buffer(program)
    words = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", 4, ctypes.addressof(code)))
    system = ctypes.CDLL(None)
    if system.prctl(38, 1, 0, 0, 0) or system.prctl(22, 2, words, 0, 0):  # no new privileges; the filter
        os._exit(3)


class Watching(unittest.TestCase):
    def refuses(self, pid: int, *parts: str) -> None:
        """One line, and status 1."""
        for command in COMMANDS:
            done = jw(command, pid)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            for part in (f"process {pid}", *parts):
                self.assertIn(part, done.stderr)

    def test_it_agrees_with_the_process(self) -> None:
        with Program("watch:true,reclaim_thread:false") as program:  # no round between the two looks
            said = ElementTree.fromstring(program.order("p"))
            seen = look(program.pid)["statistics"]
        for name in ("objects", "in_objects", "pid"):
            self.assertEqual(int(said.find(name).text), seen[name], name)
        for tier in ("frontend", "midend", "backend", "huge"):
            for field in said.find(tier):
                if field.tag != "classes":
                    self.assertEqual(int(field.text), seen[tier][field.tag], f"{tier}.{field.tag}")
            classes = [
                {entry.tag: int(entry.text) for entry in part} for part in said.iterfind(f"{tier}/classes/class")
            ]
            self.assertEqual(classes, seen[tier].get("classes", []), tier)

    def test_known_objects(self) -> None:
        with Program() as program:
            seen = look(program.pid)
        self.assertEqual(seen["missing_pages"], 0)
        self.assertEqual(of_size(seen, "mid", 5120)["in_use"], MIDS * 5120)
        self.assertEqual(of_size(seen, "ranges", 28 * 4096)["in_use"], 28 * 4096)
        self.assertEqual(seen["tiers"]["huge"]["in_use"], 10 << 20)
        self.assertGreaterEqual(of_size(seen, "small", 64)["in_use"], SMALLS * 64)
        self.assertLess(of_size(seen, "small", 64)["in_use"], (SMALLS + 50) * 64)
        self.assertLess(abs(of_size(seen, "small", 128)["in_use"] - FREED * 128), 20 * 128)
        threads = {heap["thread"]: heap for heap in seen["heaps"]}
        self.assertEqual(len(threads), 2)
        self.assertGreaterEqual(threads.pop(program.pid)["out"], SMALLS * 64)
        (second,) = threads.values()
        self.assertGreaterEqual(second["reserved"], SMALLS * 128)
        self.assertLess(abs(second["out"] - FREED * 128), 8192)

    def test_slow_paths(self) -> None:
        with Program() as program:
            before = look(program.pid)
            program.order("f")
            child = look(program.answered)
        for path in ("small", "mid", "large"):
            times = slow(before, path)["times"]
            least = sum(count << bit for bit, count in enumerate(times) if bit)
            most = sum(count * (2 << bit) for bit, count in enumerate(times))
            self.assertLessEqual(least, slow(before, path)["nanoseconds"])
            self.assertLessEqual(slow(before, path)["nanoseconds"], most)
        self.assertGreaterEqual(sum(slow(before, "small")["times"]), SMALLS * 64 // 4096)
        self.assertGreaterEqual(sum(slow(before, "mid")["times"]), MIDS // 4)
        self.assertGreaterEqual(sum(slow(before, "large")["times"]), 3)
        self.assertLess(sum(slow(child, "large")["times"]), sum(slow(before, "large")["times"]))

    def test_a_child_has_its_own_page(self) -> None:
        with Program() as program:
            before = look(program.pid)
            program.order("f")
            self.assertNotEqual(program.answered, program.pid)
            parent, child = look(program.pid), look(program.answered)
            files = [os.readlink(path) for path in Path(f"/proc/{program.answered}/fd").iterdir()]
        self.assertEqual(parent["statistics"]["in_objects"], before["statistics"]["in_objects"])
        more = of_size(child, "small", 96)["in_use"] - of_size(parent, "small", 96)["in_use"]
        self.assertEqual(more, CHILDS * 96)
        self.assertEqual(child["statistics"]["pid"], program.answered)
        self.assertEqual(sum("jwmalloc-watch" in file for file in files), 1)

    def test_a_busy_process(self) -> None:
        reader = BUILD / "jwwatch-reader"
        with Program() as program:
            program.process.stdin.write("b")
            program.process.stdin.flush()
            for _ in range(3):
                with subprocess.Popen(
                    [reader, str(program.pid), "--map", "--every", "1"], stdout=subprocess.PIPE
                ) as it:
                    for _ in range(15):
                        seen = json.loads(it.stdout.readline())
                        self.assertGreater(seen["statistics"]["in_objects"], 10 << 20)
                        self.assertLess(seen["statistics"]["in_objects"], 6 << 30)
                    it.terminate()
            program.process.stdin.write("q")
            program.process.stdin.flush()
            self.assertEqual(int(program.process.stdout.readline()), program.pid)
            program.process.stdin.close()
            self.assertEqual(program.process.wait(timeout=20), 0)
            self.assertEqual(program.process.stderr.read(), "")

    def test_it_ends(self) -> None:
        with Program() as program:
            with subprocess.Popen(
                [BUILD / "jwwatch-reader", str(program.pid), "--every", "20"],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            ) as reader:  # fmt: skip
                reader.stdout.readline()
                program.process.kill()
                program.process.wait()
                _, said = reader.communicate(timeout=20)
            self.assertEqual((reader.returncode, said), (1, f"process {program.pid} has ended\n"))
            self.refuses(program.pid, "there is none")

    def test_without_the_option(self) -> None:
        for options in ("", "watch:false"):
            with Program(options) as program:
                self.refuses(program.pid, "JWMALLOC_CONF=watch:true")
                self.assertNotIn("jwwatch", Path(f"/proc/{program.pid}/maps").read_text())
                files = [os.readlink(path) for path in Path(f"/proc/{program.pid}/fd").iterdir()]
                self.assertFalse([file for file in files if "jwmalloc" in file])

    def test_its_file_is_closed(self) -> None:
        with Program() as program:
            program.order("c")
            self.refuses(program.pid, "JWMALLOC_CONF=watch:true")
            program.order("f")
            self.assertEqual(look(program.answered)["statistics"]["pid"], program.answered)

    def test_the_file_cannot_be_cut(self) -> None:
        with Program() as program:
            files = [path for path in Path(f"/proc/{program.pid}/fd").iterdir() if "jwmalloc" in os.readlink(path)]
            self.assertGreaterEqual(int(files[0].name), 100)
            with files[0].open("r+b") as file, self.assertRaises(PermissionError):
                file.truncate(0)

    def test_no_process(self) -> None:
        self.refuses(99999999, "there is none")

    def page(self, version: int, layout: int) -> None:
        """This process shares a page that this test has made up."""
        file = os.memfd_create("jwmalloc-watch")
        with os.fdopen(file, "wb", buffering=0) as page:
            head = (b"jwwatch\0", version, 1136, b"9.9.9", layout, os.getpid(), 0, 0, 0, 4)
            page.write(struct.pack(PAGE, *head).ljust(4096, b"\0"))
            if version == 1:
                self.refuses(os.getpid(), "another build of jwmalloc (9.9.9)")
            else:
                self.refuses(os.getpid(), f"version {version}", "reads version 1")

    def test_another_version(self) -> None:
        self.page(2, 0)
        self.page(1, 0)

    def test_no_library(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            copied(Path(name), LIBRARY)
            with Program(folder=Path(name)) as program:
                self.refuses(program.pid, "JWMALLOC_CONF=watch:true")
                program.process.stdin.close()
                program.process.wait(timeout=20)
                self.assertEqual(program.process.stderr.read(), "jwmalloc: watch: libjwwatch.so cannot be loaded\n")

    @unittest.skipUnless(os.getuid() == 0, "only root can be several users")
    def test_users(self) -> None:
        """The same user sees it without more rights; another one does not."""
        reader = BUILD / "jwwatch-reader"
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            copied(folder, LIBRARY, BUILD / "libjwwatch.so", reader, WATCHED)

            def as_nobody(pid: int) -> subprocess.CompletedProcess:
                command = [folder / reader.name, str(pid)]
                return subprocess.run(command, capture_output=True, text=True, user=NOBODY, group=NOBODY)

            with Program(folder=folder, user=NOBODY) as program:
                done = as_nobody(program.pid)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(json.loads(done.stdout)["statistics"]["pid"], program.pid)
                self.assertEqual(look(program.pid)["statistics"]["pid"], program.pid)
            with Program(folder=folder) as program:
                done = as_nobody(program.pid)
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertIn(f"process {program.pid} is another user's", done.stderr)

    @unittest.skipUnless(platform.machine() == "x86_64", "the filter has this processor's numbers")
    def test_a_system_that_refuses(self) -> None:
        """As Yama does with ptrace_scope 2, a container's filter, and a kernel without process_vm_readv."""
        with Program() as program:
            for error, said in ((errno.EPERM, "Operation not permitted"), (errno.ENOSYS, "Function not implemented")):
                done = subprocess.run(
                    [BUILD / "jwwatch-reader", str(program.pid)], capture_output=True, text=True,
                    preexec_fn=lambda error=error: refuse_to_read(error),
                )  # fmt: skip
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertEqual(
                    done.stderr, f"process {program.pid}: the system refuses to read its memory ({said}): "
                    'see "Who may look" in docs/insight/watch.md\n')  # fmt: skip

    def test_a_program_at_a_fixed_address(self) -> None:
        """Debian's python3 is one, as the reader is: its variables without a file lie above 4 MB."""
        with Program(program=Path(str(WATCHED).replace("-control", "-fixed"))) as program:
            self.assertGreater(look(program.pid)["statistics"]["in_objects"], 10 << 20)

    def test_openmetrics(self) -> None:
        with Program("watch:true,reclaim_thread:false") as program:  # as above
            seen, text = look(program.pid), jw("stat", program.pid, "--openmetrics").stdout
        self.assertTrue(text.endswith("# EOF\n"))
        samples = [
            sample for family in parser.text_fd_to_metric_families(io.StringIO(text)) for sample in family.samples
        ]

        def value(name: str, **labels: str) -> float:
            (found,) = (one.value for one in samples if one.name == name and one.labels == labels)
            return found

        statistics = seen["statistics"]
        self.assertEqual(value("jwmalloc_objects_bytes"), statistics["in_objects"])
        self.assertEqual(value("jwmalloc_tier_bytes", tier="huge", state="in_use"), 10 << 20)
        self.assertEqual(value("jwmalloc_class_bytes", tier="midend", size="5120", state="in_use"), MIDS * 5120)
        self.assertEqual(value("jwmalloc_rounds_total"), statistics["backend"]["rounds"])
        for path in ("small", "mid", "large", "free"):
            times = slow(seen, path)["times"]
            self.assertEqual(value("jwmalloc_slow_path_seconds_count", path=path), sum(times))
            self.assertEqual(value("jwmalloc_slow_path_seconds_bucket", path=path, le="1.024e-06"), sum(times[:10]))

    def test_map(self) -> None:
        """Each root's runs follow each other from its start to its end; known objects lie in runs of their kinds."""
        with Program() as program:
            done = jw("map", program.pid, "--json")
            picture = jw("map", program.pid).stdout
            maps = Path(f"/proc/{program.pid}/maps").read_text()
        seen = json.loads(done.stdout)
        at, kinds = {root: root for root in seen["roots"]}, {}
        for address, length, kind, size, _, used in seen["runs"]:
            root = address // seen["root_size"] * seen["root_size"]
            self.assertEqual(at[root], address)
            at[root] += length
            kinds.setdefault(kind, []).append((address, length, size, used))
        self.assertEqual(at, {root: root + seen["root_size"] for root in seen["roots"]})
        self.assertEqual([length for _, length, *_ in kinds["large"]], [28 * 4096])
        self.assertEqual(sum(used for _, _, size, used in kinds["mid"] if size == 5120), MIDS * 5120)
        self.assertGreaterEqual(sum(used for _, _, size, used in kinds["small"] if size == 64), SMALLS * 64)
        self.assertEqual([length for _, length in seen["huge"]], [10 << 20])
        mapped = [tuple(int(end, 16) for end in line.split()[0].split("-")) for line in maps.splitlines()]
        for address, length, *_ in kinds["closed"]:
            self.assertFalse([one for one in mapped if one[0] < address + length and address < one[1]])
        for address, _ in seen["huge"]:
            self.assertTrue([one for one in mapped if one[0] <= address < one[1]])
        for text in ("1 roots of 4 MB", "L  large objects: 112 KB", "huge object of 10 MB"):
            self.assertIn(text, picture)
        rows = [line[18:] for line in picture.splitlines() if line.startswith(" " * 4) and "huge" not in line]
        self.assertTrue({"S", "M", "L", "."} <= set("".join(rows)), picture)

    def test_top(self) -> None:
        with Program() as program:
            text = jw("top", program.pid, "--once").stdout
        for row in (r"(?m)^huge +10 MB", r"(?m)^mid 5 KB +100 KB .* 100 %", rf"(?m)^{program.pid} "):
            self.assertRegex(text, row)

    def test_top_without_a_terminal(self) -> None:
        """One picture after the other."""
        command = [sys.executable, "-B", TOOLS, "--build", BUILD, "top", "--interval", "100"]
        with (
            Program() as program,
            subprocess.Popen([*command, str(program.pid)], stdout=subprocess.PIPE, text=True) as top,
        ):
            heads = [line for line in itertools.islice(top.stdout, 150) if line.startswith("slow path")]
            top.kill()
            self.assertGreater(len(heads), 2)

    @unittest.skipUnless(shutil.which("tmux"), "without tmux: no terminal to draw in")
    def test_top_in_a_small_terminal(self) -> None:
        """Has the first rows of each table."""
        with Program() as program:
            top = f"{sys.executable} -B {TOOLS} --build {BUILD} top {program.pid} --interval 100"
            tmux = ["tmux", "-L", f"jw-small-{os.getpid()}"]
            subprocess.run([*tmux, "-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", top], check=True)
            for _ in range(100):
                drawn = subprocess.run([*tmux, "capture-pane", "-p"], capture_output=True, text=True).stdout
                if re.search(r"^small .* \d+ +\d+ ", drawn, re.M):
                    break
                time.sleep(0.1)
        for row in (r"tier +in use", "huge +10 MB", r"class +in use", r"ranges ", "free +[0-9]", "[0-9]+ +[0-9.]+ KB"):
            self.assertRegex(drawn, f"(?m)^{row}")

    @unittest.skipUnless(shutil.which("tmux"), "without tmux: no terminal to draw in")
    def test_top_in_a_terminal(self) -> None:
        """Draws again and again; when the process has ended, says so in one line, and leaves the terminal."""
        name = f"jw-{os.getpid()}"
        with tempfile.TemporaryDirectory() as folder, Program() as program:
            said = Path(folder) / "said"
            top = f"{sys.executable} -B {TOOLS} --build {BUILD} top {program.pid} --interval 100 2> {said}"
            tmux = ["tmux", "-L", name]
            subprocess.run([*tmux, "-f", "/dev/null", "new-session", "-d", "-x", "150", "-y", "45", top], check=True)
            for _ in range(100):
                drawn = subprocess.run([*tmux, "capture-pane", "-p"], capture_output=True, text=True).stdout
                if "a second" in drawn:
                    break
                time.sleep(0.1)
            self.assertRegex(drawn, r"(?m)^huge +10 MB")
            self.assertRegex(drawn, r"slow path +calls +a second")
            program.process.kill()
            program.process.wait()
            for _ in range(100):
                if said.read_text():
                    break
                time.sleep(0.1)
            self.assertEqual(said.read_text(), f"jw: process {program.pid} has ended\n")

    def test_text(self) -> None:
        with Program() as program:
            text = jw("stat", program.pid).stdout
        self.assertRegex(text, rf"^jwmalloc [0-9.]+ in {WATCHED.name}, process {program.pid}\n")
        for row in (r"(?m)^  huge +10 MB", r"(?m)^  mid 5 KB +100 KB", rf"(?m)^  {program.pid} "):
            self.assertRegex(text, row)


unittest.main(argv=sys.argv[:1])

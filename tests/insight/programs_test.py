"""programs_test.py - each command on a real program: record, report, replay and profile; stat, top and map while it
runs on jwmalloc.

usage: programs_test.py BUILD LIBRARY cpython|redis|node|gcc"""

import contextlib
import gzip
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Iterator
from pathlib import Path

import started

TOOLS = started.with_packages()
BUILD, LIBRARY, PROGRAM = sys.argv[1:]

import traceio  # noqa: E402

PYTHON = os.environ.get("JW_PYTHON", "/usr/bin/python3")  # the system's, as in programs/common.sh
NEEDS = {
    "cpython": [PYTHON], "redis": ["redis-server", "redis-cli", "redis-benchmark"], "node": ["node"], "gcc": ["gcc"],
}  # fmt: skip
WATCHED = {"JWMALLOC_CONF": "watch:true", "LD_PRELOAD": LIBRARY}
SKIPPED = 77
WORKERS = 3
NODE = """
const { Worker, isMainThread, parentPort } = require('worker_threads');
if (!isMainThread) {
    const kept = [];
    for (let i = 0; i < 300; i++) kept.push(Buffer.alloc(20000, i), JSON.stringify({ i, text: 'x'.repeat(500) }));
    parentPort.postMessage(kept.length);
    parentPort.on('message', () => process.exit(0));
} else {
    const workers = Array.from({ length: %d }, () => new Worker(__filename));
    let ready = 0;
    for (const one of workers) one.on('message', () => { if (++ready === workers.length) console.log('ready'); });
    process.stdin.on('data', () => {}).on('end', () => { for (const one of workers) one.postMessage(0); });
}
"""
CPYTHON = """
import json, sys
kept = [json.loads(json.dumps({"number": i, "text": "x" * (i % 700)})) for i in range(20000)]
print("ready", flush=True)
sys.stdin.read()
"""


def jw(*words: object) -> str:
    command = [sys.executable, "-B", str(TOOLS), "--build", BUILD, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, f"{words}: {done.stderr}"
    return done.stdout


def c_source(functions: int) -> str:
    lines = (f"int f{i}(int *a, int n) {{ for (int k = 0; k < n; k++) a[k] = a[k] * {i} + f{i - 1}(a, k % 3);"
             f" return a[n & {i % 7}]; }}\n" for i in range(1, functions))  # fmt: skip
    return "static int f0(int *a, int n) { return a[n]; }\n" + "".join(lines)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def compilers(pid: int) -> Iterator[int]:
    """Of the children of gcc; they may end at any moment."""
    with contextlib.suppress(OSError):
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            if Path(f"/proc/{child}/comm").read_text() == "cc1\n":
                yield int(child)


class Program(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.trace = self.folder / "a.jwt"
        self.write("work.py", CPYTHON)
        self.write("work.js", NODE % WORKERS)
        self.write("work.c", c_source(600 if "stat" in self.id() else 150))
        self.port = free_port()
        server = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--dir", folder.name, "--save", ""]
        self.command = {
            "cpython": [PYTHON, str(self.folder / "work.py")],
            "node": ["node", str(self.folder / "work.js")],
            "gcc": ["gcc", "-O2", "-c", str(self.folder / "work.c"), "-o", str(self.folder / "work.o")],
            "redis": server,
        }[PROGRAM]

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def cli(self, *words: str) -> str:
        done = subprocess.run(["redis-cli", "-p", str(self.port), *words], capture_output=True, text=True)
        return done.stdout

    def benchmark(self) -> None:
        words = ["-p", str(self.port), "-q", "-n", "5000", "-P", "8", "-r", "5000", "-d", "200", "-t", "set,lpush,hset"]
        subprocess.run(["redis-benchmark", *words], check=True, capture_output=True)

    def run_inside(self, *words: object, environment: dict | None = None) -> subprocess.Popen:
        """Starts the program, as the argument of a command of ours if there are words; until it has done its work."""
        before = [sys.executable, "-B", str(TOOLS), "--build", BUILD, *map(str, words), "--"] if words else []
        started_one = subprocess.Popen(
            before + self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env=os.environ | (environment or {}) | {"CCACHE_DISABLE": "1"},
        )  # fmt: skip
        self.addCleanup(self.end, started_one)
        if PROGRAM == "redis":
            while "PONG" not in self.cli("ping"):
                self.assertIsNone(started_one.poll())
                time.sleep(0.05)
            self.benchmark()
        elif PROGRAM != "gcc":
            self.assertEqual(started_one.stdout.readline(), "ready\n")
        return started_one

    def end(self, program: subprocess.Popen) -> None:
        program.kill()
        program.wait()
        program.stdin.close()
        program.stdout.close()

    def finish(self, program: subprocess.Popen) -> None:
        if PROGRAM == "redis":
            self.cli("shutdown", "nosave")
        program.stdin.close()
        self.assertEqual(program.wait(timeout=100), 0)

    def test_record_report_replay(self) -> None:
        self.finish(self.run_inside("record", "-o", self.trace))
        trace = traceio.read(self.trace)
        self.assertEqual((trace.cut, trace.of("end")[0]["lost"]), (False, 0))
        page = self.folder / "page.html"
        jw("report", self.trace, "-o", page)
        about = json.loads(jw("report", "--json", self.trace))
        self.assertIn(about["program"], page.read_text())
        self.assertGreater(about["totals"]["allocations"], 10000)
        self.assertGreaterEqual(about["totals"]["threads"], 1 + WORKERS if PROGRAM == "node" else 1)
        if PROGRAM == "gcc":
            self.assertEqual(about["program"], "cc1")
        replayed = json.loads(jw("replay", self.trace, "--rest", "0", "--json"))
        self.assertEqual(replayed["jwmalloc"]["live"], replayed["system"]["live"])
        self.assertGreater(replayed["jwmalloc"]["calls"], about["totals"]["allocations"])

    def test_profile(self) -> None:
        out = self.folder / "a.pb.gz"
        self.finish(self.run_inside("profile", "-o", out, "--rate", "10000"))
        profiles = list(self.folder.glob("a*.pb.gz"))
        self.assertGreater(sum(len(gzip.decompress(path.read_bytes())) for path in profiles), 1000)

    def large_child(self, program: subprocess.Popen) -> int:
        """The compiler proper, which is stopped in the middle of its work: so it is still there after three looks."""
        reader = Path(BUILD) / "jwwatch-reader"
        while program.poll() is None:
            for pid in compilers(program.pid):
                look = subprocess.run([reader, str(pid)], capture_output=True, text=True)
                if look.returncode == 0 and json.loads(look.stdout)["statistics"]["in_objects"] > 4 << 20:
                    os.kill(pid, signal.SIGSTOP)
                    return pid
        self.fail("the compiler was not seen at work")

    def test_stat_top_map(self) -> None:
        program = self.run_inside(environment=WATCHED)
        pid = self.large_child(program) if PROGRAM == "gcc" else program.pid
        seen = json.loads(jw("stat", pid, "--json"))
        in_objects = seen["statistics"]["in_objects"]
        self.assertGreater(in_objects, 1 << 20)
        self.assertGreater(seen["statistics"]["resident"], in_objects)
        self.assertEqual(sum(tier["in_use"] > 0 for tier in list(seen["tiers"].values())[:3]), 3)
        self.assertTrue(all(sum(slow["times"]) > 0 for slow in seen["slow"] if slow["path"] != "free"))
        threads = {heap["thread"] for heap in seen["heaps"] if heap["out"] and not heap["abandoned"]}
        alive = {int(path.name) for path in Path(f"/proc/{pid}/task").iterdir()}
        self.assertIn(pid, threads)
        self.assertLessEqual(threads, alive)
        if PROGRAM == "node":
            self.assertGreaterEqual(len(threads), 1 + WORKERS)
        if PROGRAM == "redis":
            time.sleep(0.3)  # it asks its allocator ten times a second
            fields = dict(line.split(":") for line in self.cli("info", "memory").split() if ":" in line)
            said = int(fields.get("allocator_allocated", 0))
            if int(fields["used_memory"]) != said:  # else it was built without jemalloc, and does not ask
                self.assertLess(abs(said - in_objects), in_objects // 20)
        # The name of a link by which it was started: Debian's redis-server is a link to redis-check-rdb.
        file = Path(f"/proc/{pid}/exe").resolve()
        link = file.with_name(Path(f"/proc/{pid}/comm").read_text().strip())
        name = "redis-server" if PROGRAM == "redis" else (link if link.resolve() == file else file).name
        for words in (("stat", pid), ("top", pid, "--once"), ("map", pid)):
            self.assertIn(f"in {name}, process {pid}\n", jw(*words))
        self.assertIn("jwmalloc_objects_bytes", jw("stat", pid, "--openmetrics"))
        addresses = json.loads(jw("map", pid, "--json"))
        self.assertGreater(len(addresses["runs"]), 10)
        if PROGRAM == "gcc":
            os.kill(pid, signal.SIGCONT)
        self.finish(program)


if missing := [name for name in NEEDS[PROGRAM] if shutil.which(name) is None]:
    print(f"skipped: {', '.join(missing)} is not installed")
    sys.exit(SKIPPED)
unittest.main(argv=sys.argv[:1])

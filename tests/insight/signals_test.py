"""signals_test.py - a signal ends the program that is recorded, profiled or guarded; what it does until then is
written.

usage: signals_test.py BUILD"""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import started

TOOLS = started.with_packages()
(BUILD,) = sys.argv[1:]

import traceio  # noqa: E402

# What ./jw does, without a build.
DOOR = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(started.ROOT / "tools/jw")!r})
import insight
insight.flavours.build = lambda *_: None
insight.flavours.BUILD = Path({BUILD!r})
insight.parse(*sys.argv[1:])
from argparse import Namespace
sys.exit(insight.run(Namespace(command=sys.argv[1], words=sys.argv[2:])))
"""
# It needs longer than the quarter of a second that Python's subprocess.call gives a child after Ctrl-C.
PROGRAM = """
import signal, sys, time
def end(*_):
    time.sleep(1)
    kept = [bytearray(9000 + i) for i in range(1000)]
    print("ended", flush=True)
    sys.exit(3)
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP):
    signal.signal(number, end)
print("ready", flush=True)
while True:
    time.sleep(1)
"""


class Signals(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def check(self, words: list[object], number: signal.Signals, whole_group: bool) -> None:
        command = [sys.executable, "-B", "-c", DOOR, *map(str, words), "--", sys.executable, "-c", PROGRAM]
        # The door looks for packages in the tree's own build, and installs none: they are there.
        one = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True,
                               env=os.environ | {"JW_NO_INSTALL": "1"})  # fmt: skip
        try:
            self.assertEqual(one.stdout.readline(), "ready\n")
            (os.killpg if whole_group else os.kill)(one.pid, number)
            self.assertEqual((one.communicate(timeout=30)[0], one.returncode), ("ended\n", 3))
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(one.pid, signal.SIGKILL)
            one.wait()
            one.stdout.close()

    def check_recording(self, number: signal.Signals, whole_group: bool = True) -> None:
        path = self.folder / "a.jwt"
        self.check(["record", "-o", path], number, whole_group)
        trace = traceio.read(path)
        self.assertEqual([record["exit"] for record in trace.of("end")], [3])
        sizes = [size for events in trace.streams.values() for size in events["size"].tolist()]
        self.assertTrue(set(range(9500, 10000)) <= set(sizes))

    def test_record_after_a_signal_of_the_terminal(self) -> None:
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
            with self.subTest(number=number):
                self.check_recording(number)

    def test_record_hands_on_what_comes_to_it_alone(self) -> None:
        self.check_recording(signal.SIGTERM, whole_group=False)

    def test_a_stopped_job_loses_nothing(self) -> None:
        """Both processes are stopped for longer than a thread waits for a recording process that is gone."""
        path = self.folder / "a.jwt"
        work = "kept = [bytearray(9000 + i) for i in range(100000)]"
        one = subprocess.Popen(
            [sys.executable, "-B", TOOLS, "--build", BUILD, "record", "-o", path, "--", sys.executable, "-c",
             "import time; print('ready', flush=True); time.sleep(1); " + work],
            stdout=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        try:
            self.assertEqual(one.stdout.readline(), "ready\n")
            program = int(Path(f"/proc/{one.pid}/task/{one.pid}/children").read_text())
            os.kill(one.pid, signal.SIGSTOP)
            time.sleep(3)  # its ring is full, and it waits
            os.kill(program, signal.SIGSTOP)
            time.sleep(11)
            os.kill(program, signal.SIGCONT)
            time.sleep(0.5)
            os.kill(one.pid, signal.SIGCONT)
            one.communicate(timeout=60)
            self.assertEqual(one.returncode, 0)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(one.pid, signal.SIGKILL)
            one.wait()
            one.stdout.close()
        trace = traceio.read(path)
        self.assertEqual([record["lost"] for record in trace.of("end")], [0])
        sizes = {size for events in trace.streams.values() for size in events["size"].tolist()}
        self.assertTrue(set(range(9500, 100000)) <= sizes)

    def test_a_closed_terminal_ends_no_recording(self) -> None:
        """Standard error cannot be written, as that of a terminal that was closed; a process outlives the program."""
        path = self.folder / "a.jwt"
        with open("/dev/full", "w") as full:
            command = [sys.executable, "-B", TOOLS, "--build", BUILD, "record", "-o", path, "--"]
            done = subprocess.run([*command, "sh", "-c", "sleep 1 & exit 4"], stderr=full, timeout=60)
        self.assertEqual(done.returncode, 4)
        self.assertEqual([record["exit"] for record in traceio.read(path).of("end")], [4])

    def test_profile(self) -> None:
        path = self.folder / "a.pb.gz"
        self.check(["profile", "--rate", "1000", "-o", path], signal.SIGINT, whole_group=True)
        self.assertGreater(path.stat().st_size, 1000)
        self.check(["profile", "--rate", "1000", "-o", path], signal.SIGTERM, whole_group=False)

    def test_guard(self) -> None:
        self.check(["guard"], signal.SIGINT, whole_group=True)
        self.check(["guard"], signal.SIGTERM, whole_group=False)

    def test_nothing_is_left(self) -> None:
        before = set(Path("/dev/shm").glob("jw-*"))
        self.check_recording(signal.SIGINT)
        time.sleep(0.1)
        mine = {path for path in set(Path("/dev/shm").glob("jw-*")) - before if path.stat().st_uid == os.getuid()}
        self.assertEqual([path for path in mine if not Path(f"/proc/{path.name.split('-')[2]}").exists()], [])


unittest.main(argv=sys.argv[:1])

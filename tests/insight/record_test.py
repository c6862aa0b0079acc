"""record_test.py - what ./jw record writes of programs whose allocations are known (known.c).

usage: record_test.py BUILD KNOWN [LIBRARY]    with LIBRARY, an allocator, preloaded behind the recorder"""

import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import started

TOOLS = started.with_packages()
BUILD, KNOWN, *LIBRARY = sys.argv[1:]

import numpy as np  # noqa: E402

import events as analysis  # noqa: E402
import recorder  # noqa: E402
import stacks  # noqa: E402
import traceio  # noqa: E402

BIG, OBJECTS = 1000000, 100
WITH = ["--lib", LIBRARY[0]] if LIBRARY else []


class Recording(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.path = self.folder / "a.jwt"

    def jw(self, *words: object, limit: int | None = None) -> subprocess.CompletedProcess:
        def limited() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        command = [sys.executable, "-B", TOOLS, "--build", BUILD, *words]
        return subprocess.run(
            [str(word) for word in command], capture_output=True, text=True, timeout=100,
            preexec_fn=limited if limit else None,
        )  # fmt: skip

    def record(self, *program: object, status: int = 0, stacks: bool = False) -> traceio.Trace:
        done = self.jw("record", "-o", self.path, *WITH, *(["--stacks"] if stacks else []), "--", *program)
        self.assertEqual(done.returncode, status, done.stderr)
        self.said = done.stderr
        trace = traceio.read(self.path)
        self.assertFalse(trace.cut)
        self.assertEqual(trace.of("end")[0]["lost"], 0)
        self.assertEqual(trace.of("end")[0]["events"], sum(len(events) for events in trace.streams.values()))
        return trace

    def own(self, trace: traceio.Trace, process: int, first: int = 0, last: int = 10**9) -> analysis.Events:
        """The program's own events: libc has no objects of such sizes."""
        events = analysis.of_process(trace, process)
        keep = (events.size >= BIG + first) & (events.size < BIG + last)
        place = np.cumsum(keep) - 1
        events.stack = events.stack[keep]
        events.partner = np.where(events.partner[keep] < 0, -1, place[events.partner[keep]])
        for name in ("time", "size", "thread", "address", "kind", "alignment"):
            setattr(events, name, getattr(events, name)[keep])
        return events

    def check_plain(self, trace: traceio.Trace, process: int) -> None:
        events = self.own(trace, process)
        first = sum(BIG + i for i in range(OBJECTS))
        grown = first + BIG * (OBJECTS // 2)
        others = grown + 4096 * 300 + BIG + 500
        given = [BIG + 1000 + i for i in range(OBJECTS)]
        live, expected = events.live(), np.cumsum([BIG + i for i in range(OBJECTS)])
        np.testing.assert_array_equal(live[:OBJECTS], expected)
        self.assertEqual(live[2 * OBJECTS - 1], grown)  # each of 50 reallocs is two events
        self.assertEqual(live[2 * OBJECTS + 1], others)
        self.assertEqual(live.max(), others + sum(given))
        self.assertEqual(live[-1], sum(given[-10:]))
        self.assertEqual((events.older, events.doubtful), (0, 0))
        kinds = np.bincount(events.kind, minlength=7)
        self.assertEqual(kinds[traceio.MALLOC : traceio.FREE + 1].tolist(), [100, 100, 2, 50, 50, 192])
        aligned = events.alignment[events.kind == traceio.ALIGNED]
        self.assertEqual(aligned.tolist(), [12, 6])
        frees = events.kind == traceio.FREE
        crossing = events.thread[frees] != events.thread[events.partner[frees]]
        self.assertEqual(int(crossing.sum()), OBJECTS // 2 - 10)
        self.assertEqual(len(set(events.thread.tolist())), 2)

    def test_plain(self) -> None:
        trace = self.record(KNOWN, "plain")
        self.check_plain(trace, 1)
        names = {record["name"] for record in trace.of("thread_end")}
        self.assertIn("giver", names)
        self.assertEqual(trace.of("program"), [{"what": "program", "process": 1, "path": str(Path(KNOWN).resolve())}])
        self.assertEqual(trace.of("process")[0]["parent"], 0)

    def test_threads_one_after_another_are_told_apart(self) -> None:
        trace = self.record(KNOWN, "threads")
        events = self.own(trace, 1, 2000)
        allocated = events.size[events.allocates]
        self.assertEqual(allocated.tolist(), [BIG + 2000 + i for i in range(20)])
        self.assertEqual(len(set(events.thread.tolist())), 20)
        self.assertEqual(len(trace.of("thread_end")), 20)

    def check_children(self, trace: traceio.Trace, exact: bool) -> None:
        self.assertEqual([record["process"] for record in trace.of("process")], [1, 2])
        self.assertEqual(trace.of("process")[1]["parent"], 1)
        parent, child = self.own(trace, 1, 4000), self.own(trace, 2, 3000)
        expected = [BIG + 4000, *(BIG + 5000 + i for i in range(OBJECTS))]
        self.assertEqual(parent.size[parent.allocates].tolist(), expected)
        self.assertEqual(parent.live()[-1], 0)
        freed = child.size[~child.allocates].tolist()
        self.assertEqual(freed[-OBJECTS:], [BIG + 3000 + i for i in range(OBJECTS)])
        if exact:  # what was the parent's at the fork is known
            self.assertEqual(freed[0], BIG + 4000)
            self.assertEqual(child.live()[-1], 0)

    def test_fork(self) -> None:
        self.check_children(self.record(KNOWN, "fork"), True)

    def test_a_child_made_by_a_system_call(self) -> None:
        self.check_children(self.record(KNOWN, "clone"), False)

    def test_exec(self) -> None:
        trace = self.record(KNOWN, "exec")
        self.assertEqual(self.own(trace, 1, 7000, 7001).live().tolist(), [BIG + 7000, 0])
        self.check_plain(trace, 2)

    def test_a_killed_program_loses_nothing(self) -> None:
        trace = self.record(KNOWN, "killed", status=137)
        events = self.own(trace, 1)
        self.assertEqual(len(events.size), 400000)
        self.assertEqual((events.live()[-1], events.live().max()), (0, BIG + 6000))

    def functions(self, trace: traceio.Trace, process: int, numbers: np.ndarray) -> set[tuple[str, ...]]:
        """Those of the program, the innermost first, of stacks by number."""
        known = stacks.of_process(trace, process)
        stacks.add_names(known, trace, numbers)
        said = {number: stacks.names_of(known, number)[::-1] for number in numbers.tolist()}
        own = ("plain", "giver", "short_lived", "busy", "in_child", "forks", "main")
        return {tuple(word for name in names if (word := name.split(" ")[0]) in own) for names in said.values()}

    def check_stacks(self, trace: traceio.Trace, events: analysis.Events) -> None:
        """All known, and what the recorder needed for them is not the program's allocator's."""
        self.assertEqual(trace.of("end")[0]["inside"], 0)
        self.assertEqual(int((events.stack[events.allocates] == 0).sum()), 0)
        self.assertGreater(len(events.stack), 0)

    def test_stacks(self) -> None:
        trace = self.record(KNOWN, "plain", stacks=True)
        self.check_plain(trace, 1)
        events = self.own(trace, 1)
        self.check_stacks(trace, events)
        self.assertFalse(events.stack[~events.allocates].any())
        given = (events.size >= BIG + 1000) & (events.size < BIG + 1100) & events.allocates
        mains = {names[-1:] for names in self.functions(trace, 1, np.unique(events.stack[events.allocates & ~given]))}
        self.assertEqual(mains, {("main",)})
        self.assertEqual(self.functions(trace, 1, np.unique(events.stack[given])), {("giver",)})

    def test_stacks_of_threads_and_of_a_killed_program(self) -> None:
        trace = self.record(KNOWN, "threads", stacks=True)
        events = self.own(trace, 1, 2000)
        self.check_stacks(trace, events)
        self.assertEqual(self.functions(trace, 1, np.unique(events.stack[events.allocates])), {("short_lived",)})
        trace = self.record(KNOWN, "killed", status=137, stacks=True)
        events = self.own(trace, 1)
        self.check_stacks(trace, events)
        self.assertEqual(int(events.allocates.sum()), 200000)

    def test_stacks_in_children(self) -> None:
        """A child's objects, and those that it has of its parent."""
        trace = self.record(KNOWN, "fork", stacks=True)
        self.check_children(trace, True)
        events = self.own(trace, 2)
        self.check_stacks(trace, events)
        old = events.allocates & (events.size == BIG + 4000)
        self.assertEqual(int(old.sum()), 1)
        new = self.functions(trace, 2, np.unique(events.stack[events.allocates & ~old]))
        self.assertEqual({names[:1] for names in new}, {("in_child",)})
        self.assertNotIn("in_child", next(iter(self.functions(trace, 2, events.stack[old]))))

    def test_stacks_while_other_threads_fork(self) -> None:
        trace = self.record(KNOWN, "crowd", stacks=True)
        self.assertEqual(len(trace.of("process")), 21)
        events = self.own(trace, 1, 8000)
        self.check_stacks(trace, events)
        self.assertEqual(self.functions(trace, 1, np.unique(events.stack[events.allocates])), {("busy",)})

    def test_a_thousand_forks(self) -> None:
        trace = self.record(KNOWN, "many_forks")
        self.assertEqual(len(trace.of("process")), 1001)
        parent, child = self.own(trace, 1), self.own(trace, 1001)
        self.assertEqual((len(parent.size), parent.live()[-1]), (2000, 0))
        self.assertEqual(child.size.tolist(), [BIG + 4000] * 2)  # its parent's, and its free

    def test_five_hundred_threads_with_an_odd_name(self) -> None:
        trace = self.record(KNOWN, "many_threads")
        events = self.own(trace, 1, 2000)
        self.assertEqual(sorted(events.size[events.allocates].tolist()), [BIG + 2000 + i for i in range(500)])
        self.assertEqual(len(set(events.thread.tolist())), 500)
        page = self.folder / "page.html"
        done = self.jw("report", self.path, "-o", page)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("&lt;/script&gt;&lt;b&gt;$x_", page.read_text())
        self.assertNotIn("</script><b>", page.read_text())

    @unittest.skipUnless(os.getuid() == 0 and shutil.which("unshare"), "no right to mount")
    def test_full_memory_ends_the_recording_and_not_the_program(self) -> None:
        """The program fills the memory in which the next rings would be; each further process needs one."""
        mark = self.folder / "mark"
        again = " ".join(f"{KNOWN} threads;" for _ in range(8))
        program = f"dd if=/dev/zero of=/dev/shm/full bs=1M 2>{self.folder}/dd; {again} touch {mark}"
        command = [sys.executable, "-B", TOOLS, "--build", BUILD, "record", "-o", self.path, "--", "sh", "-c", program]
        mounted = 'mount -t tmpfs -o size=300m tmpfs /dev/shm || exit 77; exec "$@"'
        words = ["unshare", "-m", "sh", "-c", mounted, "sh", *map(str, command)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=100)
        if done.returncode == 77:
            self.skipTest("no right to mount")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("cannot be written: No space left on device; the recording ends here", done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        self.assertTrue(mark.exists())
        self.assertFalse(traceio.read(self.path).cut)

    def test_a_killed_recorder_leaves_a_readable_file(self) -> None:
        """What was written by then; the program goes on."""
        command = [sys.executable, "-B", TOOLS, "--build", BUILD, "record", "-o", self.path, "--", KNOWN, "long"]
        killed = subprocess.Popen([str(word) for word in command])
        while not self.path.exists() or self.path.stat().st_size < 100000:
            self.assertIsNone(killed.poll())
        killed.kill()
        killed.wait()
        self.assertGreater(sum(len(events) for events in traceio.read(self.path).streams.values()), 0)

    def test_a_recording_of_the_time_before_stacks(self) -> None:
        self.check_plain(traceio.read(Path(__file__).with_name("version1.jwt")), 1)

    def test_a_folder_that_another_recording_removes_meanwhile(self) -> None:
        """Between the moment at which its name was read and that of its owner's end."""
        left = self.folder / "jw-record-1-x"
        left.mkdir()

        def ended(_: int) -> None:
            left.rmdir()

        with unittest.mock.patch.object(recorder, "start_of", ended):
            recorder.remove_left_folders(self.folder)
        self.assertFalse(left.exists())

    def test_a_full_disk_ends_the_recording_and_not_the_program(self) -> None:
        """The limit is the recorder's: the rings are as large as 1 MB."""
        tmp = self.folder / "small"
        tmp.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", tmp], capture_output=True)
        if mounted.returncode:
            self.skipTest("no right to mount")
        try:
            self.path = tmp / "a.jwt"
            mark = self.folder / "mark"
            done = self.jw("record", "-o", self.path, "--", "sh", "-c", f"{KNOWN} long && touch {mark}")
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"{self.path}: cannot be written: No space left on device", done.stderr)
            self.assertTrue(mark.exists())
            trace = traceio.read(self.path)
            self.assertFalse(trace.cut)
            self.assertGreater(sum(len(events) for events in trace.streams.values()), 0)
        finally:
            subprocess.run(["umount", tmp], check=True)

    def test_resident_memory_of_the_short_and_of_the_ended(self) -> None:
        """A process has a sample at its start. One that has ended, and that nobody waits for, has no memory."""
        waits = "import os, time\nif os.fork():\n time.sleep(0.5)"
        trace = self.record("python3", "-c", waits)
        samples = [row for record in trace.of("memory") for row in record["samples"]]
        self.assertEqual({row[0] for row in samples}, {record["process"] for record in trace.of("process")})
        self.assertGreater(min(row[2] for row in samples), 0)

    def test_no_file_and_no_program(self) -> None:
        done = self.jw("record", "-o", self.folder / "nowhere/a.jwt", "--", "true")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1))
        self.assertIn("cannot be written: No such file or directory", done.stderr)
        done = self.jw("record", "-o", self.path, "--", self.folder / "no_program")
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot be run", done.stderr)

    def test_a_killed_recorder_leaves_nothing_for_long(self) -> None:
        """The next recording removes its rings. The program is not of interest here: it has ended."""
        command = [sys.executable, "-B", TOOLS, "--build", BUILD, "record", "-o", self.path, "--", "sleep", "60"]
        killed = subprocess.Popen([str(word) for word in command])
        while not (found := list(Path("/dev/shm").glob(f"jw-record-{killed.pid}-*"))):
            pass
        while not (programs := self.children(killed.pid)):
            pass
        killed.kill()
        killed.wait()
        os.kill(programs[0], signal.SIGKILL)
        self.record(KNOWN, "threads")
        self.assertFalse(found[0].exists())

    def children(self, pid: int) -> list[int]:
        tasks = Path(f"/proc/{pid}/task").glob("*/children")
        return [int(child) for task in tasks for child in task.read_text().split()]

    def test_cut_and_foreign_files(self) -> None:
        whole = self.record(KNOWN, "plain")
        data = self.path.read_bytes()
        most = sum(len(events) for events in whole.streams.values())
        for size in (len(data) - 1, len(data) // 2, len(data) // 3):
            self.path.write_bytes(data[:size])
            trace = traceio.read(self.path)
            self.assertTrue(trace.cut)
            self.assertLessEqual(sum(len(events) for events in trace.streams.values()), most)
        for text, said in ((b"", "not a trace"), (b"GIF89a" * 10, "not a trace"), (data[:40], "cut off"),
                           (data[:8] + b"\x09" + data[9:], "version 9")):  # fmt: skip
            self.path.write_bytes(text)
            with self.assertRaisesRegex(traceio.TraceError, said):
                traceio.read(self.path)
        with self.assertRaisesRegex(traceio.TraceError, "cannot be read"):
            traceio.read(self.folder / "none.jwt")


unittest.main(argv=sys.argv[:1])

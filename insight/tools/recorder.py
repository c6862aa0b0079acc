"""recorder.py - ./jw record: runs a program and writes what its threads put into their rings (record/protocol.h).

It is a process of its own, so that a program that is killed loses nothing, and none of its threads is ours."""

import argparse
import contextlib
import ctypes
import mmap
import os
import shutil
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import program
from errors import TraceError, say
from preload import preload
from traceio import EVENT, MODULE, PROCESS, PROGRAM, THREAD_AGAIN, THREAD_BEGIN, THREAD_END, Writer

MAGIC = 0x314452434552574A
MOST_RINGS, SLOTS, SLOT = 1 << 16, 4096, 128
AHEAD = 8  # rings that wait for threads
READY, TAKEN, PROCESSES, STOP, HEARTBEAT, LOST, INSIDE = range(2, 9)  # 32-bit words of the control file
BLOCK = 32768  # events of a chunk
OLDEST = 1.0  # seconds that an event waits for its chunk to be full


@dataclass
class Stream:
    """A thread's events that no chunk has yet."""

    process: int
    thread: int
    name: str = ""
    parts: list[np.ndarray] = field(default_factory=list)
    definitions: list[np.ndarray] = field(default_factory=list)  # of stacks and modules
    count: int = 0
    since: float = 0.0


@dataclass
class Ring:
    memory: mmap.mmap
    events: np.ndarray
    stream: Stream | None = None


@dataclass
class Process:
    number: int
    pid: int
    started: str
    program: bytes = b""
    gone: bool = False


def start_of(pid: int) -> str | None:
    """When a process started, which tells it from a later one of its number; None if it has ended."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return None if words[0] in "ZX" else words[19]


def text_of(path: str) -> str:
    try:
        return Path(path).read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


class Rings:
    """The shared files."""

    def __init__(self, folder: Path, library: Path) -> None:
        self.folder, self.offered, self.live = folder, 0, {}
        size = SLOTS + SLOT * MOST_RINGS
        with (folder / "control").open("w+b") as file:
            file.truncate(size)
            os.posix_fallocate(file.fileno(), 0, SLOTS)
            self.memory = mmap.mmap(file.fileno(), size)
        self.words = np.frombuffer(self.memory, "<u4", SLOTS // 4)
        self.heads = np.ndarray(MOST_RINGS, "<u4", self.memory, SLOTS, (SLOT,))
        self.capacities = np.ndarray(MOST_RINGS, "<u4", self.memory, SLOTS + 4, (SLOT,))
        self.owners = np.ndarray(MOST_RINGS, "<u4", self.memory, SLOTS + 8, (SLOT,))
        self.tails = np.ndarray(MOST_RINGS, "<u4", self.memory, SLOTS + 64, (SLOT,))
        self.code = ctypes.CDLL(str(library))
        for function in (self.code.jw_drain, self.code.jw_offer):
            function.restype = ctypes.c_uint32
        self.copies = np.zeros(BLOCK, EVENT)
        self.offer()
        self.words[:2] = MAGIC & 0xFFFFFFFF, MAGIC >> 32

    def offer(self) -> None:
        """Keeps rings ahead of the threads; the more there are, the smaller is each."""
        try:
            self.make_rings()
        except OSError as error:  # the memory behind the folder is full
            raise TraceError(f"{self.folder}: cannot be written: {error.strerror}") from error

    def make_rings(self) -> None:
        while self.offered < min(int(self.words[TAKEN]) + AHEAD, MOST_RINGS):
            slot_page = SLOTS + SLOT * self.offered & ~4095
            capacity = BLOCK if len(self.live) < 32 else 8192 if len(self.live) < 256 else 2048
            with (self.folder / "control").open("r+b") as file:  # so that no thread's write finds no memory
                os.posix_fallocate(file.fileno(), slot_page, 4096)
            with (self.folder / f"R{self.offered}").open("w+b") as file:
                os.posix_fallocate(file.fileno(), 0, capacity * EVENT.itemsize)
                memory = mmap.mmap(file.fileno(), capacity * EVENT.itemsize)
            self.live[self.offered] = Ring(memory, np.frombuffer(memory, EVENT))
            self.capacities[self.offered] = capacity
            self.offered += 1
            self.code.jw_offer(ctypes.c_void_p(self.words.ctypes.data), ctypes.c_uint32(self.offered))

    def waiting(self) -> list[tuple[int, int]]:
        """Rings with events, and how many."""
        first = min(self.live, default=0)
        pending = self.heads[first : self.offered] - self.tails[first : self.offered]
        return [(first + int(at), int(pending[at])) for at in np.flatnonzero(pending)]

    def drain(self, number: int) -> np.ndarray:
        slot = self.words.ctypes.data + SLOTS + SLOT * number
        events = self.live[number].events.ctypes.data
        count = self.code.jw_drain(
            ctypes.c_void_p(slot), ctypes.c_void_p(events), ctypes.c_void_p(self.copies.ctypes.data),
            ctypes.c_uint32(BLOCK),
        )  # fmt: skip
        return self.copies[:count].copy()

    def drop(self, number: int) -> None:
        del self.live[number]  # the mapping goes with its last user
        (self.folder / f"R{number}").unlink(missing_ok=True)


class Recorder:
    def __init__(self, rings: Rings, writer: Writer, sample: float) -> None:
        self.rings, self.writer, self.sample = rings, writer, sample
        self.streams: dict[tuple[int, int], Stream] = {}
        self.threads: dict[tuple[int, int], int] = {}  # (process, tid) -> thread
        self.processes: dict[int, Process] = {}
        self.thread_count = self.events = 0
        self.samples: list[tuple[int, int, int]] = []
        self.failed = ""
        self.next_look = self.next_sample = 0.0

    def poll(self, everything: bool = False) -> bool:
        """Moves events on. True if some ring was filling up."""
        busy = False
        self.guard(self.rings.offer)
        for number, count in self.rings.waiting():
            while count:
                busy |= count > self.rings.capacities[number] // 4
                self.take(number, self.rings.drain(number))
                count -= min(count, BLOCK)
        now = time.monotonic()
        for stream in list(self.streams.values()):
            if stream.count and (everything or stream.count >= BLOCK or now - stream.since > OLDEST):
                self.flush(stream)
        if now >= self.next_sample:
            self.next_sample = now + self.sample
            self.sample_memory()
        if everything or now >= self.next_look:
            self.next_look = now + 0.5
            self.look_at_processes()
            self.write_samples()
        return busy

    def take(self, number: int, events: np.ndarray) -> None:
        """Events of one ring: its thread changes with events of the higher kinds."""
        ring, start = self.rings.live[number], 0
        for at in np.flatnonzero((events["kind"] >= PROCESS) & (events["kind"] < MODULE)):
            self.keep(ring, events[start:at])
            self.change(ring, number, events[at])
            start = at + 1
        self.keep(ring, events[start:])

    def keep(self, ring: Ring, events: np.ndarray) -> None:
        stream = ring.stream
        if not len(events) or stream is None:
            return
        defining = events["kind"] >= MODULE
        if defining.any():
            stream.definitions.append(events[defining])
            events = events[~defining]
        if not stream.count:
            stream.since = time.monotonic()
        stream.parts.append(events)
        stream.count += len(events)
        self.events += len(events)
        if stream.count >= BLOCK:
            self.flush(stream)

    def change(self, ring: Ring, number: int, event: np.void) -> None:
        kind, when, tid = int(event["kind"]), int(event["time"]), int(event["stack"])
        process = int(self.rings.owners[number])
        text = event["address"].tobytes() + event["size"].tobytes()
        if kind in (PROCESS, PROGRAM):
            self.begin_process(process, event) if kind == PROCESS else self.name_program(process, text)
            return
        name = text.split(b"\0")[0].decode(errors="replace")
        key = (process, tid)
        if kind == THREAD_BEGIN or key not in self.threads:
            self.thread_count += 1
            self.threads[key] = self.thread_count
            self.streams[process, self.thread_count] = Stream(process, self.thread_count)
            self.say("thread", process=process, thread=self.thread_count, tid=tid, time=when, name=name)
        ring.stream = self.streams[process, self.threads[key]]
        if kind == THREAD_END:
            self.say("thread_end", process=process, thread=self.threads[key], time=when, name=name)
            self.flush(ring.stream)
        elif kind == THREAD_AGAIN:
            ring.stream.since = 0.0

    def begin_process(self, number: int, event: np.void) -> None:
        if number in self.processes:
            return
        pid = int(event["address"])
        for other in self.processes.values():  # exec: the old image's rings get no more events
            other.gone |= other.pid == pid
        self.processes[number] = Process(number, pid, start_of(pid) or "")
        self.next_sample = 0.0  # many a compiler ends before the next one
        self.say(
            "process", process=number, pid=pid, parent_pid=int(event["size"]), parent=int(event["stack"]),
            bits=8 << int(event["alignment"]), time=int(event["time"]), command=text_of(f"/proc/{pid}/cmdline"),
        )  # fmt: skip

    def name_program(self, number: int, text: bytes) -> None:
        """16 bytes at a time, from the process itself: it may have ended before anybody looks at it."""
        process = self.processes[number]
        process.program += text
        if process.program.endswith(b"\0") or len(process.program) >= 256:
            name = process.program.split(b"\0")[0].decode(errors="replace")
            self.say("program", process=number, path=name)

    def flush(self, stream: Stream) -> None:
        events = stream.parts[0] if len(stream.parts) == 1 else np.concatenate(stream.parts or [np.zeros(0, EVENT)])
        stream.parts, stream.count = [], 0
        if stream.definitions:
            definitions, stream.definitions = np.concatenate(stream.definitions), []
            self.guard(lambda: self.writer.definitions(stream.process, stream.thread, definitions))
        self.guard(lambda: self.writer.events(stream.process, stream.thread, events))

    def say(self, what: str, **said: object) -> None:
        self.guard(lambda: self.writer.record(what, **said))

    def guard(self, write) -> None:
        """After a failed write the program goes on, and is not recorded any more."""
        if self.failed:
            return
        try:
            write()
        except TraceError as error:
            self.failed = str(error)
            self.rings.words[STOP] = 1
            say(f"{error}; the recording ends here, the program goes on", "record")

    def sample_memory(self) -> None:
        now = time.monotonic_ns()
        for process in self.processes.values():
            if process.gone:
                continue
            words = text_of(f"/proc/{process.pid}/statm").split()
            if words and words[1] != "0":  # one that has ended, and that nobody has waited for, has 0
                self.samples.append((process.number, now, int(words[1]) * mmap.PAGESIZE))

    def write_samples(self) -> None:
        if self.samples:
            self.say("memory", samples=self.samples)
            self.samples = []

    def look_at_processes(self) -> None:
        for process in self.processes.values():
            if not process.gone and start_of(process.pid) != process.started:
                process.gone = True
                self.say("process_end", process=process.number, time=time.monotonic_ns())
            elif not process.gone:
                self.look_at_names(process)
        pending = dict(self.rings.waiting())
        for number in [number for number in self.rings.live if int(self.rings.owners[number])]:
            owner = self.processes.get(int(self.rings.owners[number]))
            if owner is not None and owner.gone and number not in pending:
                self.rings.drop(number)

    def look_at_names(self, process: Process) -> None:
        """A thread has its name mostly after its start, and a killed one says none at its end."""
        for (number, tid), thread in self.threads.items():
            stream = self.streams[number, thread]
            if number == process.number and (name := text_of(f"/proc/{process.pid}/task/{tid}/comm")):
                if name != stream.name:
                    self.say("thread_name", process=number, thread=thread, name=name)
                stream.name = name

    def alive(self) -> list[Process]:
        return [process for process in self.processes.values() if not process.gone]


def beat(rings: Rings, ended: threading.Event) -> None:
    """A thread of its own: a slow disk is not a dead recorder."""
    while not ended.wait(0.5):
        rings.words[HEARTBEAT] += 1


def run_program(arguments: argparse.Namespace, preloaded: str, rings: Rings, recorder: Recorder) -> int:
    environment = {**os.environ, "LD_PRELOAD": preloaded, "JW_RECORD_FOLDER": str(rings.folder)}
    if arguments.stacks:
        environment["JW_RECORD_STACKS"] = "1"
    running = program.start(arguments.program, environment)
    while running.poll() is None:
        if not recorder.poll():
            time.sleep(0.002)
    recorder.poll(everything=True)
    told, interrupted = False, program.interrupted()
    while recorder.alive() and not interrupted() and not recorder.failed:
        if not told and (told := True):
            say(f"waiting for {len(recorder.alive())} further processes; Ctrl-C ends", "record")
        if not recorder.poll():
            time.sleep(0.002)
    rings.words[STOP] = 1
    recorder.poll(everything=True)
    return program.status_of(running)


def remove_left_folders(memory: Path) -> None:
    """Of recording processes that were killed."""
    for left in [*memory.glob("jw-record-*-*"), *memory.glob("jw-profile-*-*")]:
        pid = left.name.split("-")[2]
        if pid.isdigit() and start_of(int(pid)) is None:
            with contextlib.suppress(OSError):  # another recording process may end, or remove it, at this moment
                if left.stat().st_uid == os.getuid():
                    shutil.rmtree(left, ignore_errors=True)


def shared_folder(kind: str, output: Path) -> Path:
    """In memory, where there is enough of it."""
    memory = Path("/dev/shm")
    if memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 256 << 20:
        remove_left_folders(memory)
        return Path(tempfile.mkdtemp(prefix=f"jw-{kind}-{os.getpid()}-", dir=memory))
    return Path(tempfile.mkdtemp(prefix=f".jw-{kind}-", dir=output.resolve().parent))


def record(arguments: argparse.Namespace) -> int:
    about = {
        "made_by": "jw record", "date": time.strftime("%Y-%m-%dT%H:%M:%S%z"), "command": arguments.program,
        "stacks": arguments.stacks,
        "libraries": list(map(str, arguments.lib)), "page_size": mmap.PAGESIZE, "processors": os.cpu_count(),
    }  # fmt: skip
    preloaded = preload(arguments.build / "libjwrecord.so", arguments.lib)
    program.check_program(arguments.program)
    writer = Writer(arguments.output, about)
    folder = shared_folder("record", arguments.output)
    ended = threading.Event()
    try:
        rings = Rings(folder, arguments.build / "libjwdrain.so")
        recorder = Recorder(rings, writer, arguments.sample / 1000)
        threading.Thread(target=beat, args=(rings, ended), daemon=True).start()
        code = run_program(arguments, preloaded, rings, recorder)
        lost = int(rings.words[LOST])
        inside = {"inside": int(rings.words[INSIDE])} if arguments.stacks else {}
        recorder.say("end", time=time.monotonic_ns(), exit=code, lost=lost, events=recorder.events, **inside)
        writer.close()
    finally:
        ended.set()
        shutil.rmtree(folder, ignore_errors=True)
    if lost:
        say(f"{lost} events were not recorded", "record")
    if not recorder.events:
        say("no events: is the program linked statically, or set-uid?", "record")
    said = f"{recorder.events} events, {len(recorder.processes)} processes, {recorder.thread_count} threads"
    say(f"{said}, {writer.size / 1e6:.1f} MB in {arguments.output}", "record")
    return 1 if recorder.failed else code

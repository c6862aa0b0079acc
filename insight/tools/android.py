"""android.py - traces as the text that Android's memory_replay reads, with its times, and back; also in a zip.

    <thread>: malloc <pointer> <size> <start ns> <end ns>          and calloc (count size), memalign (alignment size)
    <thread>: realloc <new pointer> <old pointer or 0x0> <size> <start ns> <end ns>
    <thread>: free <pointer> <start ns> <end ns>                   and thread_done 0x0 <end ns>

The times may be missing, as they are in older traces: then each line is a microsecond."""

import argparse
import ctypes
import zipfile
import zlib
from pathlib import Path

import numpy as np

import events as analysis
import heaptrack
import traceio
from errors import TraceError, say, start_of
from traceio import ALIGNED, CALLOC, EVENT, FREE, MALLOC, REALLOC_BEGIN, REALLOC_END, THREAD_END
from whole import whole

MICROSECOND = 1000
LONGEST = 4096  # bytes of a line
BLOCK, ROOM = 1 << 20, 1 << 16  # bytes of text, and events, at a time
ZIP = b"PK\3\4"
NOTHING = 0  # the kind of no event


def pairs_of_reallocs(events: analysis.Events) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the begins and ends that belong together. A begin without an end was a free; an end without a begin is
    an allocation, because its old object is not in the recording."""
    at = np.flatnonzero((events.kind == REALLOC_BEGIN) | (events.kind == REALLOC_END))
    at = at[np.argsort(events.thread[at], kind="stable")]
    same = events.thread[at[:-1]] == events.thread[at[1:]]
    pair = np.flatnonzero(same & (events.kind[at[:-1]] == REALLOC_BEGIN) & (events.kind[at[1:]] == REALLOC_END))
    return at[pair], at[pair + 1]


def as_one_line(events: analysis.Events) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Begins and ends of the reallocs that are one line, and whether that line stands at the begin.

    A line stands where its new object is allocated. If another thread had got the old address by then, it stands where
    the old one was freed. If the new address was not yet free there, the realloc is a free and a malloc."""
    begins, ends = pairs_of_reallocs(events)
    order = np.argsort(events.address, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    address = events.address[order]

    def neighbour(of: np.ndarray, step: int) -> np.ndarray:
        """The next or last event of the same address, or an index that lies outside of each interval."""
        near = rank[of] + step
        inside = (near >= 0) & (near < len(order))
        near = np.clip(near, 0, len(order) - 1)
        outside = len(order) if step > 0 else -1
        return np.where(inside & (address[near] == events.address[of]), order[near], outside)

    taken = neighbour(begins, 1) < ends
    not_yet_free = neighbour(ends, -1) > begins
    one = ~(taken & not_yet_free)
    return begins[one], ends[one], taken[one]


def rows_of(columns: tuple[np.ndarray, ...]):
    """Some at a time: numbers of Python need much memory."""
    for first in range(0, len(columns[0]), BLOCK):
        yield from zip(*(column[first : first + BLOCK].tolist() for column in columns), strict=True)


def lines(trace: traceio.Trace, process: int):
    events = analysis.of_process(trace, process)
    begins, ends, early = as_one_line(events)
    other = np.full(len(events.time), -1, np.int64)
    other[begins], other[ends] = ends, begins
    silent = np.zeros(len(events.time), bool)
    silent[np.where(early, ends, begins)] = True
    done = {record["thread"]: record["time"] for record in trace.of("thread_end") if record["process"] == process}
    last = {int(thread): at for at, thread in enumerate(events.thread)}
    columns = (events.thread, events.kind, events.address, events.size, events.alignment, events.time, other, silent)
    address, time, start = events.address, events.time, events.start
    for at, (thread, kind, pointer, size, alignment, when, pair, quiet) in enumerate(rows_of(columns)):
        now = when + start
        if quiet:
            pass
        elif pair >= 0:
            begin, end = (at, pair) if kind == REALLOC_BEGIN else (pair, at)
            times = f"{time[begin] + start} {time[end] + start}"
            yield f"{thread}: realloc {address[end]:#x} {address[begin]:#x} {events.size[end]} {times}\n"
        elif kind in (FREE, REALLOC_BEGIN):
            yield f"{thread}: free {pointer:#x} {now} {now}\n"
        elif kind == CALLOC:
            yield f"{thread}: calloc {pointer:#x} 1 {size} {now} {now}\n"
        elif kind == ALIGNED:
            yield f"{thread}: memalign {pointer:#x} {1 << alignment} {size} {now} {now}\n"
        else:
            yield f"{thread}: malloc {pointer:#x} {size} {now} {now}\n"
        if last[thread] == at and thread in done:
            yield f"{thread}: thread_done 0x0 {done[thread]}\n"


def chosen_process(trace: traceio.Trace, wanted: int | None) -> int:
    found = analysis.processes(trace)
    if trace.cut:
        say("the trace is cut off or damaged; what is before that is used")
    if not found:
        raise TraceError("the trace has no events")
    if wanted is not None and wanted not in found:
        raise TraceError(f"the trace has no process {wanted}; it has {', '.join(map(str, sorted(found)))}")
    return found[0] if wanted is None else wanted


def export(arguments: argparse.Namespace) -> int:
    traceio.spare(arguments.output, arguments.trace)
    trace = traceio.read(arguments.trace)
    process = chosen_process(trace, arguments.process)
    others = len(analysis.processes(trace)) - 1
    with whole(arguments.output) as place:
        if arguments.output.suffix == ".zip":
            with (
                zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive,
                archive.open(f"{arguments.output.stem}.txt", "w", force_zip64=True) as text,
            ):
                text.writelines(line.encode() for line in lines(trace, process))
        else:
            with place.open("w") as text:
                text.writelines(lines(trace, process))
    if others and arguments.process is None:
        say(f"process {process} of {others + 1}; --process N takes another one", "trace")
    return 0


def only_file(archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    files = [one for one in archive.infolist() if not one.is_dir()]
    if len(files) != 1:
        number = f"has {len(files)} files, not one" if files else "is empty"
        raise zipfile.BadZipFile(f"the archive {number}")
    return files[0]


def blocks_of(file):
    yield from iter(lambda: file.read(BLOCK), b"")


def text_blocks(path: Path):
    """Of its text, some at a time."""
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive, archive.open(only_file(archive)) as text:
                yield from blocks_of(text)
        else:
            with path.open("rb") as text:
                for block in blocks_of(text):
                    if block.startswith(ZIP):  # without its end, where its table is
                        raise TraceError(f"{path}: a zip archive that is cut off or damaged")
                    yield block
    except (OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise TraceError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error


class Reading(ctypes.Structure):
    """As replay/lines.c has it."""

    _fields_ = (
        ("events", ctypes.c_void_p), ("line", ctypes.c_uint64), ("room", ctypes.c_uint32), ("count", ctypes.c_uint32),
        ("timed", ctypes.c_uint32),
    )  # fmt: skip


class Importer:
    """Events, whose `stack` is the line's thread. Kind 0 is no event: a call that failed."""

    def __init__(self, build: Path, path: Path) -> None:
        self.read_lines = ctypes.CDLL(str(build / "libjwdrain.so")).jw_read_lines
        self.read_lines.restype = ctypes.c_size_t
        self.path, self.events = path, np.zeros(ROOM, EVENT)
        self.reading = Reading(self.events.ctypes.data, 0, ROOM, 0, 0)
        self.parts: list[np.ndarray] = []

    def add(self, text: bytes) -> bytes:
        """Reads its whole lines, and gives back the rest."""
        at = 0
        place = ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p).value or 0
        while True:
            rest = ctypes.c_size_t(len(text) - at)
            at += self.read_lines(ctypes.c_void_p(place + at), rest, ctypes.byref(self.reading))
            full = self.reading.count + 2 > ROOM
            if full:
                self.keep()
            end = text.find(b"\n", at) + 1 or len(text)
            if not text[at:end].endswith(b"\n") and end - at < LONGEST:
                return text[at:]
            if not full:
                self.unusual_line(text[at : min(end, at + LONGEST)])
                at = min(end, at + LONGEST)

    def keep(self) -> None:
        self.parts.append(self.events[: self.reading.count].copy())
        self.reading.count = 0

    def unusual_line(self, line: bytes) -> None:
        """One that C does not know: with more spaces, say, or a wrong one."""
        self.reading.line += 1
        try:
            rows = self.line(line) if line.strip() else []
        except (ValueError, KeyError, IndexError):
            said = f"not a line of memory_replay: {start_of(line)}"
            raise TraceError(f"{self.path}:{self.reading.line}: {said}") from None
        for row in rows:
            self.events[self.reading.count] = (*row, 0)
            self.reading.count += 1

    def line(self, line: bytes) -> list[tuple[int, ...]]:
        """Its events: time, address, size, thread, kind, alignment."""
        thread, operation, *words = line.split()
        values = [int(word, 0) for word in words]
        tid = int(thread.rstrip(b":"))
        if not 0 <= min(values) <= max(values) <= traceio.MOST or not 0 <= tid <= traceio.MOST_THREADS:
            raise ValueError("a number")
        fields = {b"malloc": 2, b"calloc": 3, b"memalign": 3, b"realloc": 3, b"free": 1, b"thread_done": 1}[operation]
        times = values[fields : fields + 2] or [self.reading.line * MICROSECOND]
        self.reading.timed |= len(values) > fields
        start, end = times[0], times[-1]
        pointer, size = values[0], values[fields - 1]
        if operation == b"thread_done":
            return [(end, 0, 0, tid, THREAD_END, 0)]
        if operation == b"realloc" and values[1]:
            # Without a time for each, one call still begins before it ends.
            later = max(end, start + (not self.reading.timed))
            return [(start, values[1], size, tid, REALLOC_BEGIN, 0), (later, pointer, size, tid, REALLOC_END, 0)]
        kind, alignment = MALLOC, 0
        if pointer == 0:
            kind, size = NOTHING, 0
        elif operation == b"free":
            end, kind, size = start, FREE, 0
        elif operation == b"calloc":
            kind, size = CALLOC, values[1] * values[2]
            if size > traceio.MOST:
                raise ValueError("a size")
        elif operation == b"memalign":
            kind, alignment = ALIGNED, max(values[1].bit_length() - 1, 0)
        return [(end, pointer, size, tid, kind, alignment)]

    def threads(self):
        """The thread's number and its rows, in the order in which threads come."""
        self.keep()
        rows = np.concatenate(self.parts)
        self.parts.clear()
        numbers, first, of_rows = np.unique(rows["stack"], return_index=True, return_inverse=True)
        rows = rows[np.argsort(of_rows, kind="stable")]
        ends = np.cumsum(np.bincount(of_rows, minlength=len(numbers)))
        for at in np.argsort(first).tolist():
            yield int(numbers[at]), rows[ends[at - 1] if at else 0 : ends[at]]


def read_text(build: Path, path: Path) -> Importer:
    importer, rest = Importer(build, path), b""
    for block in text_blocks(path):
        rest = importer.add(rest + block)
    if rest:
        importer.unusual_line(rest)
    if not importer.parts and not importer.reading.count:
        raise TraceError(f"{path}: has no line")
    return importer


def import_text(arguments: argparse.Namespace) -> int:
    traceio.spare(arguments.output, arguments.trace)
    if arguments.trace.is_file() and (text := heaptrack.opened(arguments.trace)) is not None:
        return heaptrack.import_file(text, arguments.trace, arguments.output)
    importer = read_text(arguments.build, arguments.trace)
    about = {"made_by": "jw trace import", "command": [str(arguments.trace)], "timed": bool(importer.reading.timed)}
    with whole(arguments.output) as place:
        writer = traceio.Writer(place, about, arguments.output)
        total, threads = write_imported(writer, importer, str(arguments.trace))
    say(f"{total} events, {threads} threads in {arguments.output}", "trace")
    return 0


def write_imported(writer: traceio.Writer, importer: Importer, command: str) -> tuple[int, int]:
    """How many events and threads these are."""
    writer.record("process", process=1, pid=0, parent_pid=0, parent=0, bits=0, time=0, command=command)
    total = thread = 0
    for thread, (tid, rows) in enumerate(importer.threads(), 1):
        ends = rows["time"][rows["kind"] == THREAD_END]
        events = rows[(rows["kind"] >= MALLOC) & (rows["kind"] <= FREE)]
        events["stack"] = 0
        if (events["time"][1:] < events["time"][:-1]).any():
            events = events[np.argsort(events["time"], kind="stable")]
        first = int(events["time"][0]) if len(events) else 0
        writer.record("thread", process=1, thread=thread, tid=tid, time=first, name=f"thread {tid}")
        for at in range(0, len(events), 1 << 16):
            writer.events(1, thread, events[at : at + (1 << 16)])
        if len(ends):
            writer.record("thread_end", process=1, thread=thread, time=int(ends[-1]), name=f"thread {tid}")
        total += len(events)
    writer.record("end", time=0, exit=0, lost=0, events=total)
    writer.close()
    return total, thread

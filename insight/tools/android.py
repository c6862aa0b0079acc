"""android.py - traces as the text that Android's memory_replay reads, with its times, and back; also in a zip.

    <thread>: malloc <pointer> <size> <start ns> <end ns>          and calloc (count size), memalign (alignment size)
    <thread>: realloc <new pointer> <old pointer or 0x0> <size> <start ns> <end ns>
    <thread>: free <pointer> <start ns> <end ns>                   and thread_done 0x0 <end ns>

The times may be missing, as they are in older traces: then each line is a microsecond."""

import argparse
import zipfile
import zlib
from pathlib import Path

import numpy as np

import events as analysis
import heaptrack
import traceio
from errors import TraceError, say, start_of
from traceio import ALIGNED, CALLOC, EVENT, FREE, MALLOC, REALLOC_BEGIN, REALLOC_END

MICROSECOND = 1000
LONGEST = 4096  # bytes of a line


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
    for at, (thread, kind, pointer, size, alignment, when, pair, quiet) in enumerate(
        zip(*(column.tolist() for column in columns), strict=True)
    ):
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
    trace = traceio.read(arguments.trace)
    process = chosen_process(trace, arguments.process)
    others = len(analysis.processes(trace)) - 1
    try:
        if arguments.output.suffix == ".zip":
            with (
                zipfile.ZipFile(arguments.output, "w", zipfile.ZIP_DEFLATED) as archive,
                archive.open(f"{arguments.output.stem}.txt", "w", force_zip64=True) as text,
            ):
                text.writelines(line.encode() for line in lines(trace, process))
        else:
            with arguments.output.open("w") as text:
                text.writelines(lines(trace, process))
    except OSError as error:
        raise TraceError(f"{arguments.output}: cannot be written: {error.strerror}") from error
    if others and arguments.process is None:
        say(f"process {process}; --process N takes one of the {others} others", "trace")
    return 0


def only_file(archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    files = [one for one in archive.infolist() if not one.is_dir()]
    if len(files) != 1:
        number = f"has {len(files)} files, not one" if files else "is empty"
        raise zipfile.BadZipFile(f"the archive {number}")
    return files[0]


def text_lines(path: Path):
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive, archive.open(only_file(archive)) as text:
                yield from iter(lambda: text.readline(LONGEST), b"")
        else:
            with path.open("rb") as text:
                yield from iter(lambda: text.readline(LONGEST), b"")
    except (OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise TraceError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error


class Importer:
    """Rows of events, a list for each thread: time, address, size, kind, alignment."""

    def __init__(self) -> None:
        self.rows: dict[int, list[tuple[int, int, int, int, int]]] = {}
        self.ends: dict[int, int] = {}
        self.timed = False

    def line(self, number: int, line: bytes) -> None:
        thread, operation, *words = line.split()
        values = [int(word, 0) for word in words]
        if not 0 <= min(values) <= max(values) <= traceio.MOST:
            raise ValueError("a number")
        tid = int(thread.rstrip(b":"))
        rows = self.rows.setdefault(tid, [])
        fields = {b"malloc": 2, b"calloc": 3, b"memalign": 3, b"realloc": 3, b"free": 1, b"thread_done": 1}[operation]
        times = values[fields : fields + 2] or [number * MICROSECOND]
        self.timed |= len(values) > fields
        start, end = times[0], times[-1]
        pointer = values[0]
        if operation == b"thread_done":
            self.ends[tid] = end
        elif operation == b"realloc" and values[1]:
            # Without a time for each, one call still begins before it ends.
            rows.append((start, values[1], values[2], REALLOC_BEGIN, 0))
            rows.append((max(end, start + (not self.timed)), pointer, values[2], REALLOC_END, 0))
        elif pointer == 0:
            pass
        elif operation == b"free":
            rows.append((start, pointer, 0, FREE, 0))
        elif operation == b"calloc":
            if values[1] * values[2] > traceio.MOST:
                raise ValueError("a size")
            rows.append((end, pointer, values[1] * values[2], CALLOC, 0))
        elif operation == b"memalign":
            rows.append((end, pointer, values[2], ALIGNED, max(values[1].bit_length() - 1, 0)))
        else:
            rows.append((end, pointer, values[fields - 1], MALLOC, 0))


def import_text(arguments: argparse.Namespace) -> int:
    if arguments.trace.is_file() and (text := heaptrack.opened(arguments.trace)) is not None:
        return heaptrack.import_file(text, arguments.trace, arguments.output)
    importer, number = Importer(), 0
    for number, line in enumerate(text_lines(arguments.trace), 1):
        try:
            if line.strip():
                importer.line(number, line)
        except (ValueError, KeyError, IndexError):
            said = f"not a line of memory_replay: {start_of(line)}"
            raise TraceError(f"{arguments.trace}:{number}: {said}") from None
    if not importer.rows:
        raise TraceError(f"{arguments.trace}: has no line")
    about = {"made_by": "jw trace import", "command": [str(arguments.trace)], "timed": importer.timed}
    writer = traceio.Writer(arguments.output, about)
    writer.record("process", process=1, pid=0, parent_pid=0, parent=0, bits=0, time=0, command=str(arguments.trace))
    total = 0
    for thread, (tid, rows) in enumerate(importer.rows.items(), 1):
        table = np.array(rows, np.uint64).reshape(-1, 5)
        events = np.zeros(len(rows), EVENT)
        for column, name in enumerate(("time", "address", "size", "kind", "alignment")):
            events[name] = table[:, column]
        if (events["time"][1:] < events["time"][:-1]).any():
            events = events[np.argsort(events["time"], kind="stable")]
        first = int(events["time"][0]) if len(events) else 0
        writer.record("thread", process=1, thread=thread, tid=tid, time=first, name=f"thread {tid}")
        for at in range(0, len(events), 1 << 16):
            writer.events(1, thread, events[at : at + (1 << 16)])
        if tid in importer.ends:
            writer.record("thread_end", process=1, thread=thread, time=importer.ends[tid], name=f"thread {tid}")
        total += len(events)
    writer.record("end", time=0, exit=0, lost=0, events=total)
    writer.close()
    say(f"{total} events, {len(importer.rows)} threads in {arguments.output}", "trace")
    return 0

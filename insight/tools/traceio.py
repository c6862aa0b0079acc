"""traceio.py - recorded traces as files: docs/formats.md says what is in them.

A trace is a header and chunks. A chunk of events belongs to one thread of one process; the other chunks are JSON. Each
is complete in itself, so that a file that was cut off is readable up to its last whole chunk."""

import contextlib
import json
import os
import struct
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import zstandard

import records
from errors import TraceError

MAGIC, VERSION = b"\x89JWT\r\n\x1a\n", 1
HEADER = struct.Struct("<8sII")
CHUNK = struct.Struct("<4sHHIIIIIQQ")
CHUNK_MAGIC = b"JWCK"
EVENTS, JSON, DEFINITIONS = 1, 2, 3
MOST, MOST_THREADS = 1 << 62, (1 << 31) - 1  # a foreign file may have any number
WIDE_TIMES, STACKS = 1, 2  # flags: deltas of 64 bits; a column of stacks

MALLOC, CALLOC, ALIGNED, REALLOC_BEGIN, REALLOC_END, FREE = range(1, 7)
PROCESS, THREAD_BEGIN, THREAD_AGAIN, THREAD_END, PROGRAM = range(16, 21)
MODULE, BIAS, PATH, STACK, FRAMES = range(21, 26)
EVENT = np.dtype(
    [
        ("time", "<u8"), ("address", "<u8"), ("size", "<u8"), ("stack", "<u4"), ("kind", "u1"), ("alignment", "u1"),
        ("spare", "<u2"),
    ]
)  # fmt: skip
DEFINITION = np.dtype([("address", "<u8"), ("size", "<u8"), ("stack", "<u4"), ("kind", "u1")])


@dataclass
class Trace:
    about: dict
    # (process, thread) -> its events in their order
    streams: dict[tuple[int, int], np.ndarray] = field(default_factory=dict)
    records: list[dict] = field(default_factory=list)
    # process -> what its threads said about stacks and modules, each thread's in its order
    definitions: dict[int, list[np.ndarray]] = field(default_factory=dict)
    cut: bool = False  # the end is missing

    def of(self, kind: str) -> list[dict]:
        return [record for record in self.records if record["what"] == kind]


class Writer:
    def __init__(self, path: Path | str, about: dict, called: Path | None = None) -> None:
        """`called`: what messages call it, if not by its path."""
        self.path = called or path
        try:
            self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise TraceError(f"{self.path}: cannot be written: {error.strerror}") from error
        self.size, self.packer = 0, zstandard.ZstdCompressor(level=1, write_checksum=True)
        text = json.dumps(about).encode()
        self.put(HEADER.pack(MAGIC, VERSION, len(text)) + text)

    def put(self, data: bytes) -> None:
        """All of it, or nothing and a TraceError."""
        done, view = 0, memoryview(data)
        try:
            while done < len(view):
                done += os.write(self.file, view[done:])
        except OSError as error:
            with contextlib.suppress(OSError):  # a device has no size
                os.ftruncate(self.file, self.size)
            raise TraceError(f"{self.path}: cannot be written: {error.strerror}") from error
        self.size += done

    def events(self, process: int, thread: int, events: np.ndarray) -> None:
        if not len(events):
            return
        times = events["time"]
        deltas = np.diff(times, prepend=times[:1])
        wide = int(deltas.max()) >> 32 != 0
        stacks = bool(events["stack"].any())
        columns = [deltas if wide else deltas.astype("<u4"), events["address"], events["size"]]
        columns += [events["stack"]] if stacks else []
        columns += [events["kind"], events["alignment"]]
        raw = b"".join(np.ascontiguousarray(column).tobytes() for column in columns)
        flags = (WIDE_TIMES if wide else 0) | (STACKS if stacks else 0)
        self.chunk(EVENTS, raw, (flags, process, thread, len(events), int(times[0]), int(times[-1])))

    def definitions(self, process: int, thread: int, events: np.ndarray) -> None:
        columns = [events[name] for name in DEFINITION.names]
        raw = b"".join(np.ascontiguousarray(column).tobytes() for column in columns)
        self.chunk(DEFINITIONS, raw, (0, process, thread, len(events), 0, 0))

    def record(self, what: str, **said: object) -> None:
        self.chunk(JSON, json.dumps({"what": what, **said}).encode(), (0, 0, 0, 1, 0, 0))

    def chunk(self, kind: int, raw: bytes, fields: tuple[int, ...]) -> None:
        flags, process, thread, count, first, last = fields
        packed = self.packer.compress(raw)
        head = CHUNK.pack(
            CHUNK_MAGIC, kind, flags, process, thread, count, len(raw), len(packed), first, last
        )  # fmt: skip
        self.put(head + packed)

    def close(self) -> None:
        os.close(self.file)


def unpacked_events(raw: bytes, flags: int, count: int, first: int) -> np.ndarray:
    if count > len(raw):
        raise ValueError("a count")
    events, at = np.zeros(count, EVENT), 0

    def column(kind: str) -> np.ndarray:
        nonlocal at
        values = np.frombuffer(raw, kind, count, at)
        at += values.nbytes
        return values

    deltas = column("<u8" if flags & WIDE_TIMES else "<u4")
    if first + deltas.sum(dtype=np.float64) > MOST:
        raise ValueError("a time")
    events["time"] = np.cumsum(deltas, dtype=np.uint64) + np.uint64(first)
    events["address"], events["size"] = column("<u8"), column("<u8")
    if flags & STACKS:
        events["stack"] = column("<u4")
    events["kind"], events["alignment"] = column("u1"), column("u1")
    if at != len(raw):
        raise ValueError("a length")
    check_events(events)
    return events


def check_events(events: np.ndarray) -> None:
    """Sizes of calls that failed may be any; a realloc says its size before it has failed."""
    kind, address = events["kind"], events["address"]
    began = kind == REALLOC_BEGIN
    wrong = (kind < MALLOC) | (kind > FREE) | (address > MOST) | (events["alignment"] > 62)
    wrong |= (events["size"] > MOST) & ~began & ((kind != REALLOC_END) | (address != 0))
    if wrong.any():
        raise ValueError("an event")


def unpacked_definitions(raw: bytes, count: int) -> np.ndarray:
    if count * DEFINITION.itemsize != len(raw):
        raise ValueError("a count")
    events, at = np.zeros(count, DEFINITION), 0
    for name in DEFINITION.names:
        events[name] = np.frombuffer(raw, DEFINITION[name], count, at)
        at += count * DEFINITION[name].itemsize
    return events


def chunks(data: memoryview, at: int):
    """Each whole chunk; None at the end if something is left."""
    unpacker = zstandard.ZstdDecompressor()
    while at < len(data):
        if at + CHUNK.size > len(data):
            yield None
            return
        magic, kind, flags, process, thread, count, raw_size, size, first, _ = CHUNK.unpack_from(data, at)
        body = data[at + CHUNK.size : at + CHUNK.size + size]
        if magic != CHUNK_MAGIC or len(body) != size or max(process, thread) > MOST_THREADS:
            yield None
            return
        try:
            raw = unpacker.decompress(body) if zstandard.frame_content_size(body) == raw_size else None
        except zstandard.ZstdError:
            raw = None
        if raw is None:
            yield None
            return
        yield at, (kind, flags, process, thread, count, first, raw)
        at += CHUNK.size + size


def spare(output: Path, *inputs: Path) -> None:
    """A recording is not written over by what is made of it."""
    for path in inputs:
        with contextlib.suppress(OSError):  # one is not there
            if path.is_file() and os.path.samefile(path, output):
                raise TraceError(f"{output}: is the file that is read")


def mapped(path: Path | str) -> memoryview:
    try:
        return memoryview(np.memmap(path, np.uint8, "r")) if os.path.getsize(path) else memoryview(b"")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise TraceError(f"{path}: cannot be read: {why}") from error


def read_header(data: memoryview, path: Path | str) -> tuple[Trace, int]:
    """An empty trace, and where the chunks begin."""
    if len(data) < HEADER.size or bytes(data[:8]) != MAGIC:
        raise TraceError(f"{path}: not a trace that record has written")
    _, version, length = HEADER.unpack_from(data)
    if version != VERSION:
        raise TraceError(f"{path}: a trace of version {version}; this program reads version {VERSION}")
    if HEADER.size + length > len(data):
        raise TraceError(f"{path}: cut off in its header")
    try:
        about = json.loads(bytes(data[HEADER.size : HEADER.size + length]))
        records.check(about, records.ABOUT, all_of_them=False)
    except (ValueError, RecursionError) as error:
        raise TraceError(f"{path}: damaged in its header: {error}") from None
    return Trace(about), HEADER.size + length


class Reading:
    """The chunks of each thread, until all are read."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.events: dict[tuple[int, int], list[np.ndarray]] = {}
        self.definitions: dict[tuple[int, int], list[np.ndarray]] = {}
        self.count = 0

    def add(self, parts: tuple) -> None:
        """A ValueError if the chunk is not as docs/formats.md says."""
        kind, flags, process, thread, count, first, raw = parts
        if kind == EVENTS:
            self.events.setdefault((process, thread), []).append(unpacked_events(raw, flags, count, first))
            self.count += count
        elif kind == JSON:
            self.trace.records.append(records.read(raw))
        elif kind == DEFINITIONS:
            self.definitions.setdefault((process, thread), []).append(unpacked_definitions(raw, count))

    def finish(self) -> None:
        for (process, _), pieces in self.definitions.items():
            self.trace.definitions.setdefault(process, []).append(np.concatenate(pieces))
        for key, pieces in self.events.items():
            self.trace.streams[key] = pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
            pieces.clear()


def read(path: Path | str, progress=None) -> Trace:
    data = mapped(path)
    trace, start = read_header(data, path)
    reading = Reading(trace)
    for chunk in chunks(data, start):
        if chunk is None:
            trace.cut = True
            break
        at, parts = chunk
        try:
            reading.add(parts)
        except (ValueError, RecursionError) as error:
            raise TraceError(f"{path}: damaged: the chunk at byte {at}: {error}") from None
        if progress:
            progress(reading.count)
    reading.finish()
    return trace

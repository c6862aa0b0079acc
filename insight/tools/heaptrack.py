"""heaptrack.py - reads the files of heaptrack (1.1 to 1.5, its format 2 and 3) as traces.

Such a file has stacks with names, sizes and the order of events; a time every ten milliseconds, no address and no
thread. So events are spread evenly between two times, a free is that of the youngest object of its size and stack, and
addresses are made up."""

import gzip
import io
import zlib
from itertools import pairwise
from pathlib import Path

import numpy as np
import zstandard

import traceio
from errors import TraceError, say, start_of
from traceio import DEFINITION, EVENT, FRAMES, FREE, MALLOC, STACK

MILLISECOND = 1_000_000
LONGEST = 1 << 20  # bytes of a line: a function of C++ has a long name
LATEST = 1 << 40  # in ms, of a time
DAMAGED = (EOFError, OSError, zlib.error, zstandard.ZstdError)
BASE = 0x10000


def opened(path: Path) -> io.BufferedIOBase | None:
    """Its text, if the file is heaptrack's."""
    with path.open("rb") as file:
        start = file.read(4)
    text: io.BufferedIOBase
    if start == b"\x28\xb5\x2f\xfd":
        text = io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(path.open("rb"), closefd=True))
    elif start[:2] == b"\x1f\x8b":
        text = io.BufferedReader(gzip.GzipFile(path))
    else:
        text = path.open("rb")
    try:
        words = text.readline(200).split()
    except DAMAGED as error:
        raise TraceError(f"{path}: cannot be read: {error}") from None
    if not words and start[:2] in (b"\x28\xb5", b"\x1f\x8b"):
        raise TraceError(f"{path}: cannot be read: cut off")
    if words[:1] != [b"v"] or len(words) != 3:
        return None
    if words[2] not in (b"2", b"3"):
        said = words[2].decode(errors="replace")
        raise TraceError(f"{path}: a file of heaptrack in its format {said}; this program reads 2 and 3")
    return text


def numbers(text: bytes) -> list[int]:
    """Hexadecimal, and as small as what heaptrack writes."""
    found = [int(word, 16) for word in text.split()]
    if not 0 <= min(found) <= max(found) <= traceio.MOST:
        raise ValueError("a number")
    return found


class Importer:
    def __init__(self) -> None:
        self.strings = [""]
        self.places: list[tuple[int, list[str]]] = []  # address, functions
        self.stacks: list[tuple[int, int]] = [(0, 0)]  # place, caller's stack
        self.kinds: list[tuple[int, int]] = []  # size, stack
        self.live: list[list[int]] = []  # addresses, for each kind
        self.free: list[list[int]] = []
        self.next = BASE
        self.rows: list[tuple[int, int, int, int]] = []  # address, size, stack, kind
        self.times = [(0, 0)]  # so many rows, by this time in ms
        self.samples: list[tuple[int, int]] = []
        self.command, self.page = "", 4096

    def line(self, line: bytes) -> None:
        kind, rest = line[:1], line[2:]
        if kind == b"+":
            self.allocation(numbers(rest)[0])
        elif kind == b"-":
            number = numbers(rest)[0]
            if self.live[number]:
                address = self.live[number].pop()
                self.free[number].append(address)
                self.rows.append((address, 0, 0, FREE))
        elif kind == b"a":
            self.kind(*numbers(rest))
        elif kind == b"t":
            self.stack(*numbers(rest))
        elif kind == b"i":
            self.place(numbers(rest))
        elif kind == b"s":
            self.strings.append(rest.split(b" ", 1)[1].rstrip(b"\n").decode(errors="replace"))
        elif kind == b"c":
            self.times.append((len(self.rows), min(numbers(rest)[0], LATEST)))
        elif kind == b"R":
            self.samples.append((self.times[-1][1], min(numbers(rest)[0], LATEST)))
        elif kind == b"X":
            self.command = rest.decode(errors="replace").strip()
        elif kind == b"I":
            self.page = min(numbers(rest)[0], 1 << 20)

    def kind(self, size: int, stack: int) -> None:
        if stack >= len(self.stacks):
            raise ValueError("a stack")
        self.kinds.append((size, stack))
        self.live.append([])
        self.free.append([])

    def stack(self, place: int, caller: int) -> None:
        """A caller's stack stands before its own, so that there is no circle."""
        if place > len(self.places) or caller >= len(self.stacks):
            raise ValueError("a place")
        self.stacks.append((place, caller))

    def allocation(self, number: int) -> None:
        size, stack = self.kinds[number]
        if self.free[number]:
            address = self.free[number].pop()
        else:
            address, self.next = self.next, self.next + max(size + 15 & ~15, 16)
        self.live[number].append(address)
        self.rows.append((address, size, stack, MALLOC))

    def place(self, words: list[int]) -> None:
        address, module, *frames = words
        names = []
        for at in range(0, len(frames) - len(frames) % 3, 3):
            function, file, line = frames[at : at + 3]
            where = f" ({self.strings[file].rsplit('/', 1)[-1]}:{line})" if file else ""
            names.append(self.strings[function] + where)
        self.places.append((address, names or [f"{self.strings[module].rsplit('/', 1)[-1]}+{address:#x}"]))

    def events(self) -> np.ndarray:
        events = np.zeros(len(self.rows), EVENT)
        table = np.array(self.rows, np.uint64).reshape(-1, 4)
        for column, name in enumerate(("address", "size", "stack", "kind")):
            events[name] = table[:, column]
        last = self.times[-1][1] + 10
        for (first, begin), (end, until) in pairwise([*self.times, (len(self.rows), last)]):
            span = max(until - begin, 0) * MILLISECOND
            events["time"][first:end] = begin * MILLISECOND + np.arange(end - first) * span // max(end - first, 1)
        # A loaded machine writes one time twice. The events between these two keep their order: each is 1 ns later.
        index = np.arange(len(events), dtype=np.int64)
        events["time"] = np.maximum.accumulate(events["time"].astype(np.int64) - index) + index
        return events

    def definitions(self) -> np.ndarray:
        lines = []
        for number in sorted({stack for _, stack in self.kinds if stack}):
            addresses, at = [], number
            while at:
                place, at = self.stacks[at]
                addresses.append(place)  # a place's number serves as its address: it has a name
            lines.append((len(addresses), 0, number, STACK))
            padded = [*addresses, 0]
            lines += [(padded[i], padded[i + 1], number, FRAMES) for i in range(0, len(addresses), 2)]
        return np.array(lines, DEFINITION)


def read_lines(text: io.BufferedIOBase, path: Path) -> Importer:
    """Of a file that is cut off, what it has: a killed program leaves such a one."""
    importer, number, line = Importer(), 1, b"\n"
    try:
        for line in iter(lambda: text.readline(LONGEST), b""):
            number += 1
            if line.endswith(b"\n"):
                importer.line(line)
    except (ValueError, IndexError, TypeError):  # TypeError: too few or too many numbers
        raise TraceError(f"{path}:{number}: not a line of heaptrack: {start_of(line)}") from None
    except DAMAGED:
        line = b""
    if not line.endswith(b"\n"):
        say(f"{path}: cut off in or after line {number}; what is before that is used", "trace")
    return importer


def import_file(text: io.BufferedIOBase, path: Path, output: Path) -> int:
    importer = read_lines(text, path)
    events = importer.events()
    if not len(events):
        raise TraceError(f"{path}: has no event")
    about = {"made_by": "jw trace import", "command": importer.command.split(), "stacks": True, "addresses": False}
    writer = traceio.Writer(output, about | {"page_size": importer.page})
    writer.record("process", process=1, pid=0, parent_pid=0, parent=0, bits=0, time=0, command=importer.command)
    writer.record("thread", process=1, thread=1, tid=1, time=0, name="")
    writer.record("names", names={at: names for at, (_, names) in enumerate(importer.places, 1)})
    writer.definitions(1, 1, importer.definitions())
    for at in range(0, len(events), 1 << 16):
        writer.events(1, 1, events[at : at + (1 << 16)])
    samples = [(1, when * MILLISECOND, pages * importer.page) for when, pages in importer.samples]
    writer.record("memory", samples=samples)
    writer.record("end", time=0, exit=0, lost=0, events=len(events))
    writer.close()
    say(f"{len(events)} events of heaptrack in {output}", "trace")
    return 0

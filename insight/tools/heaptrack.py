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
from whole import whole

MILLISECOND = 1_000_000
LONGEST = 1 << 20  # bytes of a line: a function of C++ has a long name
LATEST = 1 << 40  # in ms, of a time
DAMAGED = (EOFError, OSError, zlib.error, zstandard.ZstdError)
BASE = 0x10000
BLOCK, PIECE = 1 << 20, 1 << 13  # bytes of text that are parsed, and read, at a time
MOST_DIGITS = 7  # of a usual number; it is below 2^31
NEWLINE, SPACE, PLUS, MINUS = b"\n +-"
NO_DIGIT = 255
DIGITS = np.full(256, NO_DIGIT, np.int64)
DIGITS[list(b"0123456789abcdef")] = DIGITS[list(b"0123456789ABCDEF")] = np.arange(16)


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


def usual_events(text: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of each line +1 for an allocation, -1 for a free, 0 for another line; and the number that it has."""
    digits = ends - starts - 2
    usual = np.flatnonzero((digits > 0) & (digits <= MOST_DIGITS))
    usual = usual[text[starts[usual] + 1] == SPACE]
    first = text[starts[usual]]
    change, number = np.zeros(len(starts), np.int8), np.zeros(len(starts), np.int64)
    change[usual[first == PLUS]], change[usual[first == MINUS]] = 1, -1
    usual = usual[change[usual] != 0]
    for at in range(MOST_DIGITS):
        usual = usual[digits[usual] > at]
        digit = DIGITS[text[starts[usual] + 2 + at]]
        number[usual] = number[usual] * 16 + digit
        change[usual[digit == NO_DIGIT]] = 0
    return change, number


class Importer:
    def __init__(self) -> None:
        self.strings = [""]
        self.places: list[tuple[int, list[str]]] = []  # address, functions
        self.stacks: list[tuple[int, int]] = [(0, 0)]  # place, caller's stack
        self.kinds: list[tuple[int, int, int]] = []  # size, stack, line
        self.changes: list[np.ndarray] = []  # of the events: +1 or -1, the kind, the line
        self.numbers: list[np.ndarray] = []
        self.lines: list[np.ndarray] = []
        self.count = self.now = 1  # of lines before this block; of lines before the one that is being read
        self.times = [(0, 0)]  # what is behind this line is not before this time in ms
        self.samples: list[tuple[int, int]] = []
        self.command, self.page = "", 4096

    def add(self, text: bytes) -> None:
        """Whole lines. Most are events, and these are read together. A ValueError, IndexError or TypeError (too few or
        too many numbers) if one is wrong; `now` says which."""
        data = np.frombuffer(text, np.uint8)
        ends = np.flatnonzero(data == NEWLINE)
        starts = np.concatenate([[0], ends[:-1] + 1])
        change, number = usual_events(data, starts, ends)
        for at in np.flatnonzero(change == 0).tolist():
            self.now = self.count + at
            change[at], number[at] = self.line(text[starts[at] : ends[at] + 1])
        events = np.flatnonzero(change)
        self.check(number[events], events + self.count)
        self.changes.append(change[events])
        self.numbers.append(number[events].astype(np.int32))
        self.lines.append(events + self.count)
        self.count += len(ends)

    def check(self, number: np.ndarray, line: np.ndarray) -> None:
        """A kind stands before its events."""
        known = np.array([where for _, _, where in self.kinds], np.int64)
        wrong = number >= len(known)
        wrong[~wrong] = known[number[~wrong]] > line[~wrong]
        if wrong.any():
            self.now = int(line[wrong][0])
            raise ValueError("a kind")

    def line(self, line: bytes) -> tuple[int, int]:
        """The change and the kind of an event that is written in an unusual way; of another line, zeros."""
        kind, rest = line[:1], line[2:]
        if kind in (b"+", b"-"):
            return (1 if kind == b"+" else -1), numbers(rest)[0]
        if kind == b"a":
            self.kind(*numbers(rest))
        elif kind == b"t":
            self.stack(*numbers(rest))
        elif kind == b"i":
            self.place(numbers(rest))
        elif kind == b"s":
            self.strings.append(rest.split(b" ", 1)[1].rstrip(b"\n").decode(errors="replace"))
        elif kind == b"c":
            self.times.append((self.now, min(numbers(rest)[0], LATEST)))
        elif kind == b"R":
            self.samples.append((self.times[-1][1], min(numbers(rest)[0], LATEST)))
        elif kind == b"X":
            self.command = rest.decode(errors="replace").strip()
        elif kind == b"I":
            self.page = min(numbers(rest)[0], 1 << 20)
        return 0, 0

    def kind(self, size: int, stack: int) -> None:
        if stack >= len(self.stacks):
            raise ValueError("a stack")
        self.kinds.append((size, stack, self.now))

    def stack(self, place: int, caller: int) -> None:
        """A caller's stack stands before its own, so that there is no circle."""
        if place > len(self.places) or caller >= len(self.stacks):
            raise ValueError("a place")
        self.stacks.append((place, caller))

    def place(self, words: list[int]) -> None:
        address, module, *frames = words
        names = []
        for at in range(0, len(frames) - len(frames) % 3, 3):
            function, file, line = frames[at : at + 3]
            where = f" ({self.strings[file].rsplit('/', 1)[-1]}:{line})" if file else ""
            names.append(self.strings[function] + where)
        self.places.append((address, names or [f"{self.strings[module].rsplit('/', 1)[-1]}+{address:#x}"]))

    def objects(self) -> tuple[np.ndarray, np.ndarray]:
        """The address of each event's object, 0 for a free of none; and its kind. Objects of a kind are a pile: a free
        takes the youngest, and the next allocation gets its address again."""
        number, change = np.concatenate(self.numbers), np.concatenate(self.changes)
        order = np.argsort(number, kind="stable")
        begin = np.flatnonzero(np.diff(number[order], prepend=-1))  # of each kind
        length = np.diff(begin, append=len(order))
        change = change[order].astype(np.int64)
        apart = np.repeat(np.arange(len(begin)) * (len(order) + 1), length)  # so that kinds do not meet

        height = np.cumsum(change)
        height -= np.repeat(height[begin] - change[begin], length)
        lowest = np.minimum.accumulate(np.minimum(height, 0) - apart) + apart  # below 0: frees of none
        height -= lowest
        none = np.diff(lowest, prepend=0) < 0
        none[begin] = lowest[begin] < 0
        del lowest
        highest = np.maximum.accumulate(height + apart) - apart
        first = np.diff(highest, prepend=0) > 0  # of its place in the pile
        first[begin] = highest[begin] > 0
        del highest, apart

        sizes = np.array([size for size, _, _ in self.kinds], np.int64)[number[order[first]]]
        addresses, by_time = np.zeros(len(sizes), np.int64), np.argsort(order[first])
        steps = np.maximum(sizes + 15 & ~15, 16)[by_time]
        if steps.sum(dtype=np.float64) + BASE > traceio.MOST:
            raise TraceError("objects of more bytes than there are addresses")
        addresses[by_time] = BASE + np.cumsum(steps) - steps
        place = np.repeat(np.cumsum(first)[begin] - first[begin], length) + height - (change > 0)
        found = np.zeros(len(order), np.int64)
        found[order] = np.where(none, 0, addresses[np.where(none, 0, place)] if len(addresses) else 0)
        return found, number

    def events(self) -> np.ndarray:
        if not self.count_of_events():
            return np.zeros(0, EVENT)
        address, number = self.objects()
        keep = address > 0
        events = np.zeros(int(keep.sum()), EVENT)
        events["address"] = address[keep]
        del address
        born = np.concatenate(self.changes)[keep] > 0
        sizes, stacks, _ = np.array(self.kinds, np.int64).T
        events["kind"] = np.where(born, MALLOC, FREE)
        events["size"] = sizes[number[keep]] * born
        events["stack"] = stacks[number[keep]] * born
        lines = np.concatenate(self.lines)[keep]
        last = self.times[-1][1] + 10
        marks = [(int(np.searchsorted(lines, line)), when) for line, when in self.times]
        for (first, begin), (end, until) in pairwise([*marks, (len(events), last)]):
            span = max(until - begin, 0) * MILLISECOND
            events["time"][first:end] = begin * MILLISECOND + np.arange(end - first) * span // max(end - first, 1)
        # A loaded machine writes one time twice. The events between these two keep their order: each is 1 ns later.
        index = np.arange(len(events), dtype=np.int64)
        events["time"] = np.maximum.accumulate(events["time"].astype(np.int64) - index) + index
        return events

    def count_of_events(self) -> int:
        return sum(map(len, self.numbers))

    def definitions(self) -> np.ndarray:
        lines = []
        for number in sorted({stack for _, stack, _ in self.kinds if stack}):
            addresses, at = [], number
            while at:
                place, at = self.stacks[at]
                addresses.append(place)  # a place's number serves as its address: it has a name
            lines.append((len(addresses), 0, number, STACK))
            padded = [*addresses, 0]
            lines += [(padded[i], padded[i + 1], number, FRAMES) for i in range(0, len(addresses), 2)]
        return np.array(lines, DEFINITION)


def blocks_of(text: io.BufferedIOBase, ends: list[bool]):
    """Of whole lines. Notes whether the file ends with one; what a killed program leaves does not. Pieces are small,
    because what is unpacked together with the damage is lost."""
    rest, piece, damaged = bytearray(), b"-", False
    while piece:
        try:
            piece = text.read1(PIECE)
        except DAMAGED:
            piece, damaged = b"", True
        rest += piece
        if len(rest) < BLOCK and piece:
            continue
        if end := rest.rfind(b"\n") + 1:
            yield bytes(rest[:end])
            del rest[:end]
        if len(rest) > LONGEST:
            yield bytes(rest) + b"\n"  # a wrong line
            return
    ends.append(not rest and not damaged)


def read_lines(text: io.BufferedIOBase, path: Path) -> Importer:
    """Of a file that is cut off, what it has."""
    importer, ends, block = Importer(), [], b""
    try:
        for block in blocks_of(text, ends):
            importer.add(block)
    except (ValueError, IndexError, TypeError):
        line = block.split(b"\n")[importer.now - importer.count]
        raise TraceError(f"{path}:{importer.now + 1}: not a line of heaptrack: {start_of(line)}") from None
    if not all(ends):
        say(f"{path}: cut off in or after line {importer.count + 1}; what is before that is used", "trace")
    return importer


def import_file(text: io.BufferedIOBase, path: Path, output: Path) -> int:
    with text:
        importer = read_lines(text, path)
    events = importer.events()
    if not len(events):
        raise TraceError(f"{path}: has no event")
    about = {"made_by": "jw trace import", "command": importer.command.split(), "stacks": True, "addresses": False}
    with whole(output) as place:
        write(traceio.Writer(place, about | {"page_size": importer.page}, output), importer, events)
    say(f"{len(events)} events of heaptrack in {output}", "trace")
    return 0


def write(writer: traceio.Writer, importer: Importer, events: np.ndarray) -> None:
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

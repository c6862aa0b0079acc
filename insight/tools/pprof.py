"""pprof.py - reads a process's file of samples (profile/profile.h), and writes pprof's profile.proto, gzipped.

A sample of an object of s bytes stands for 1 / (1 - exp(-s / rate)) objects: the inverse of its probability to be a
sample (profile/sampler.h). This is the only place that scales. So each sum has the right mean, whatever it is over."""

import gzip
import math
import struct
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import stacks
from errors import TraceError
from whole import whole

MAGIC, TAG, UNIT, HEAD = 0x3130464F5250574A, 0x4A57B5A1, 64, 384
ROW, MODULE = 1, 2
TYPES = ("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"), ("inuse_space", "bytes")


@dataclass(frozen=True)
class Module:
    start: int
    end: int
    offset: int
    bias: int
    build_id: str
    path: str


@dataclass
class Process:
    """The samples of one process."""

    pid: int
    parent_pid: int
    began: int
    program: str
    dropped: dict[str, int]
    unwound: int = 0
    read: int = field(default_factory=time.time_ns)
    modules: list[Module] = field(default_factory=list)
    # (size, ((address, module), ...)) -> allocated, freed, inherited
    rows: dict[tuple, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0, 0]))


def text_of(data: bytes) -> str:
    return data.split(b"\0")[0].decode(errors="replace")


def add_module(process: Process, data: bytes) -> None:
    start, end, offset, bias, length = struct.unpack_from("<5Q", data, 8)
    path = text_of(data[80:]) or process.program
    process.modules.append(Module(start, end, offset, bias, data[48 : 48 + min(length, 32)].hex(), path))


def add_row(process: Process, data: bytes) -> None:
    size, allocated, freed, inherited, count = struct.unpack_from("<5Q", data, 8)
    frames = []
    for address in struct.unpack_from(f"<{count}Q", data, 48):
        inside = (m for m in reversed(process.modules) if m.start < address <= m.end)  # the last one is there now
        frames.append((address - 1, next(inside, None)))  # a return address is behind its call
    row = process.rows[size, tuple(frames)]
    for i, more in enumerate((allocated, freed, inherited)):
        row[i] += more


def read(path: Path) -> Process:
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
            if len(head) < HEAD or struct.unpack_from("<Q", head)[0] != MAGIC:
                raise TraceError(f"{path}: not a file of samples")
            data = head + file.read(struct.unpack_from("<Q", head, 24)[0] - HEAD)
    except OSError as error:
        raise TraceError(f"{path}: cannot be read: {error.strerror}") from error
    pid, parent_pid, began = struct.unpack_from("<2IQ", head, 8)
    dropped = dict(zip(("busy", "full", "unknown"), struct.unpack_from("<3Q", head, 40), strict=True))
    process = Process(pid, parent_pid, began, text_of(head[128:]), dropped, *struct.unpack_from("<Q", head, 64))
    at = HEAD
    while at + UNIT <= len(data):
        (tag,) = struct.unpack_from("<Q", data, at)
        units = tag & 0xFFFFFF if tag >> 32 == TAG else 0
        record = data[at : at + units * UNIT]
        if tag >> 24 == TAG << 8 | ROW:
            add_row(process, record)
        elif tag >> 24 == TAG << 8 | MODULE:
            add_module(process, record)
        at += max(units, 1) * UNIT  # without a tag: its thread was killed
    return process


def scale(size: int, rate: int) -> float:
    return -1 / math.expm1(-size / rate)


def values(process: Process, rate: int) -> dict[tuple, tuple[int, int, int, int]]:
    """The four values of each row."""
    found = {}
    for key, (allocated, freed, inherited) in process.rows.items():
        live = max(inherited + allocated - freed, 0)
        each = scale(key[0], rate)
        if allocated or live:
            found[key] = tuple(round(n * each * unit) for n in (allocated, live) for unit in (1, key[0]))
    return found


def varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def number(tag: int, value: int) -> bytes:
    return varint(tag << 3) + varint(value) if value else b""


def message(tag: int, contents: bytes) -> bytes:
    return varint(tag << 3 | 2) + varint(len(contents)) + contents


def packed(tag: int, numbers) -> bytes:
    return message(tag, b"".join(map(varint, numbers)))


class Encoder:
    """Strings, mappings, locations and functions have numbers, which samples use."""

    def __init__(self, names: dict[tuple[Module, int], list[tuple[str, str, int]]]) -> None:
        self.names = names
        self.strings: dict[str, int] = {"": 0}
        self.mappings: dict[Module, int] = {}
        self.locations: dict[tuple, int] = {}
        self.functions: dict[tuple[str, str], int] = {}
        self.parts: list[bytes] = []

    def text(self, text: str) -> int:
        return self.strings.setdefault(text, len(self.strings))

    def pair(self, kind: str, unit: str) -> bytes:
        return number(1, self.text(kind)) + number(2, self.text(unit))

    def mapping(self, module: Module | None, named: bool) -> int:
        if module is None:
            return 0
        if module not in self.mappings:
            self.mappings[module] = len(self.mappings) + 1
            contents = number(1, self.mappings[module]) + number(2, module.start) + number(3, module.end)
            contents += number(4, module.offset) + number(5, self.text(module.path))
            contents += number(6, self.text(module.build_id)) + number(7, named)
            self.parts.append(message(3, contents))
        return self.mappings[module]

    def function(self, name: str, file: str) -> int:
        if (name, file) not in self.functions:
            self.functions[name, file] = len(self.functions) + 1
            contents = number(1, self.functions[name, file]) + number(2, self.text(name)) + number(3, self.text(name))
            self.parts.append(message(5, contents + number(4, self.text(file))))
        return self.functions[name, file]

    def location(self, frame: tuple[int, Module | None]) -> int:
        if frame not in self.locations:
            self.locations[frame] = len(self.locations) + 1
            address, module = frame
            contents = number(1, self.locations[frame]) + number(2, self.mapping(module, bool(self.names)))
            contents += number(3, address)
            for name, file, line in self.names.get((module, address), []):
                contents += message(4, number(1, self.function(name, file)) + number(2, line))
            self.parts.append(message(4, contents))
        return self.locations[frame]

    def sample(self, key: tuple, four: tuple[int, int, int, int]) -> None:
        size, frames = key
        label = number(1, self.text("bytes")) + number(3, size) + number(4, self.text("bytes"))
        self.parts.append(message(2, packed(1, map(self.location, frames)) + packed(2, four) + message(3, label)))


def encode(process: Process, rate: int, names: dict, lost: int = 0) -> bytes:
    encoder = Encoder(names)
    if process.program and all(module.path != process.program for module in process.modules):
        encoder.mapping(Module(0, 0, 0, 0, "", process.program), False)  # java, whose work is in a library's threads
    types = b"".join(message(1, encoder.pair(*kind)) for kind in TYPES)
    for module in sorted(process.modules, key=lambda module: module.path != process.program):
        encoder.mapping(module, bool(names))  # pprof takes the first one for the program's
    for key, four in values(process, rate).items():
        encoder.sample(key, four)
    said = [f"{process.unwound} stacks by the unwinder"]
    said += [f"{count} samples dropped: {why}" for why, count in process.dropped.items() if count]
    said += [f"{lost} samples of this run had no file"] if lost else []
    tail = (
        number(9, process.began)
        + number(10, process.read - process.began)
        + message(11, encoder.pair("space", "bytes"))
    )
    tail += number(12, rate) + packed(13, map(encoder.text, said)) + number(14, encoder.text("inuse_space"))
    strings = b"".join(message(6, text.encode()) for text in encoder.strings)
    return types + b"".join(encoder.parts) + strings + tail


def names_of(process: Process) -> dict[tuple[Module, int], list[tuple[str, str, int]]]:
    """Functions, the innermost first, from files that are not newer than the process."""
    found, inside, command = {}, defaultdict(set), stacks.symbolizer()
    for _, frames in process.rows:
        for address, module in frames:
            if module is not None:
                inside[module].add(address)
    for module, addresses in inside.items():
        path = Path(module.path)
        if command is None or not path.is_file() or path.stat().st_mtime_ns > process.began:
            continue
        known = stacks.places_of(command, module.path, [address - module.bias for address in sorted(addresses)])
        found |= {(module, place + module.bias): names for place, names in known.items()}
    return found


def write(path: Path, process: Process, rate: int, symbolize: bool = False, lost: int = 0) -> None:
    data = gzip.compress(encode(process, rate, names_of(process) if symbolize else {}, lost), mtime=0)
    with whole(path) as place:
        place.write_bytes(data)

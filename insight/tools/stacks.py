"""stacks.py - call stacks of a recorded process: return addresses, the files they lie in, and their names.

Names are looked up when a report is made, by llvm-symbolizer, or else by addr2line. A heaptrack file has its own."""

import datetime
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from traceio import BIAS, FRAMES, MODULE, PATH, STACK, Trace

OURS = "libjwrecord.so"
UNKNOWN = "(not known)"
DEEPEST, DEEPER = 64, "(more than 64 calls)"  # shared/unwind.h: the outer calls of a deeper stack are not recorded


@dataclass
class Module:
    start: int
    end: int
    bias: int
    path: str


@dataclass
class Stacks:
    frames: dict[int, np.ndarray] = field(default_factory=dict)  # number -> return addresses, the innermost first
    modules: list[Module] = field(default_factory=list)
    names: dict[int, list[str]] = field(default_factory=dict)  # address -> functions, the innermost first
    said: list[str] = field(default_factory=list)  # what a reader of the names should know
    limited: bool = False  # to DEEPEST calls


def text_of(parts: np.ndarray) -> str:
    columns = np.stack([parts["address"], parts["size"]], axis=1)
    return columns.tobytes().split(b"\0")[0].decode(errors="replace")


def add_definitions(stacks: Stacks, said: np.ndarray, program: str) -> None:
    """Of one thread. What is cut off at its end is left out."""
    kind = said["kind"]
    for at in np.flatnonzero(kind == STACK):
        count = int(said["address"][at])
        lines = said[at + 1 : at + 1 + (count + 1) // 2]
        if len(lines) == (count + 1) // 2 and (lines["kind"] == FRAMES).all():
            both = np.stack([lines["address"], lines["size"]], axis=1).ravel()
            stacks.frames.setdefault(int(said["stack"][at]), both[:count])
    for at in np.flatnonzero(kind == MODULE):
        if at + 2 < len(said) and kind[at + 1] == BIAS:
            path = text_of(said[at + 2 :][np.cumprod(kind[at + 2 :] == PATH).astype(bool)]) or program
            stacks.modules.append(
                Module(int(said["address"][at]), int(said["size"][at]), int(said["address"][at + 1]), path)
            )


def of_process(trace: Trace, process: int) -> Stacks:
    """Its own definitions, then those that a fork left it: a number means the nearest one."""
    stacks = Stacks(limited=trace.about.get("made_by") == "jw record")
    parents = {record["process"]: record["parent"] for record in trace.of("process")}
    programs = {record["process"]: record["path"] for record in trace.of("program")}
    for record in trace.of("names"):
        stacks.names.update({int(address): names for address, names in record["names"].items()})
    while process:
        for said in trace.definitions.get(process, []):
            add_definitions(stacks, said, programs.get(process, ""))
        process = parents.get(process, 0)
    return stacks


def symbolizer() -> list[str] | None:
    """A command that takes addresses and prints each again, with lines of a function and a place after it."""
    for name, style in (("llvm-symbolizer", ["--output-style=GNU"]), ("addr2line", [])):
        if shutil.which(name):
            return [name, *style, "-a", "-i", "-f", "-C", "-e"]
    return None


def places_of(command: list[str], path: str, addresses: list[int]) -> dict[int, list[tuple[str, str, int]]]:
    """Functions of each address, the innermost first, with file ("": not known) and line."""
    text = "".join(f"{address:#x}\n" for address in addresses)
    done = subprocess.run([*command, path], input=text, capture_output=True, text=True, errors="replace")
    found: dict[int, list[tuple[str, str, int]]] = {}
    names: list[tuple[str, str, int]] = []
    name = ""  # every second line after an address is its place
    for line in done.stdout.splitlines():
        if line.startswith("0x") and not name:
            names = found.setdefault(int(line, 16), [])
        elif not name:
            name = line
        else:
            file, _, at = line.split(" ")[0].rpartition(":")
            if not name.startswith("??"):
                names.append((name, "" if file.startswith("?") else file, int(at) if at.isdigit() else 0))
            name = ""
    return {address: names for address, names in found.items() if names}


def symbols_of(command: list[str], path: str, addresses: list[int]) -> dict[int, list[str]]:
    def text(name: str, file: str, line: int) -> str:
        return f"{name} ({file.rsplit('/', 1)[-1]}:{line or '?'})" if file else name

    return {address: [text(*name) for name in names] for address, names in places_of(command, path, addresses).items()}


def changed_since(trace: Trace, path: str) -> bool:
    try:
        recorded = datetime.datetime.strptime(trace.about.get("date", ""), "%Y-%m-%dT%H:%M:%S%z").timestamp()
        return Path(path).stat().st_mtime > recorded + 1
    except (OSError, ValueError):
        return False


def add_names(stacks: Stacks, trace: Trace, used: np.ndarray) -> None:
    """Names for all addresses of the stacks that are used."""
    frames = [stacks.frames[number] for number in used.tolist() if number in stacks.frames]
    addresses = np.unique(np.concatenate(frames)) if frames else np.zeros(0, np.uint64)
    command = symbolizer()
    if command is None and len(frames):
        stacks.said.append("There is neither llvm-symbolizer nor addr2line, so functions have no names.")
    for module in stacks.modules:
        inside = addresses[(addresses > module.start) & (addresses <= module.end)]
        inside = [address for address in inside.tolist() if address not in stacks.names]
        if not inside:
            continue
        found: dict[int, list[str]] = {}
        if changed_since(trace, module.path):
            stacks.said.append(f"{module.path} is newer than the recording, so its functions have no names.")
        elif command is not None and Path(module.path).is_file():  # a return address is behind its call
            found = symbols_of(command, module.path, [address - 1 - module.bias for address in inside])
        short = module.path.rsplit("/", 1)[-1]
        for address in inside:
            place = address - 1 - module.bias
            stacks.names[address] = found.get(place) or [f"{short}+{place:#x}"]
            if short == OURS:
                stacks.names[address] = []


def names_of(stacks: Stacks, number: int) -> list[str]:
    """A stack's functions, the outermost first."""
    frames = stacks.frames.get(number)
    if frames is None:
        return [UNKNOWN]
    names = [name for address in frames.tolist() for name in stacks.names.get(address, [f"{address:#x}"])]
    return [DEEPER] * begins_inside(stacks, frames) + names[::-1] or [UNKNOWN]


def begins_inside(stacks: Stacks, frames: np.ndarray) -> bool:
    """Without its outer calls."""
    return stacks.limited and len(frames) >= DEEPEST

"""Exact counts of instructions: of single calls by stepping through them, of whole benchmarks by callgrind."""

import re
from array import array
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import asm
from bench_peers import SYSTEM, Allocator
from bench_run import OUTPUT, finish, start

CONDITIONAL = 1 << 63
QUICK_BATCH = 256
SYSTEM_NAMES = {"malloc", "calloc", "realloc", "free", "aligned_alloc", "memalign", "posix_memalign"}
Call = tuple[int, int]


def calls_in(words: Iterable[int], places: dict[str, list[int]], batches: list[str]) -> list[list[Call]]:
    """Instructions and conditional branches of each call, per batch; words are those that step.c writes."""
    first, last = places["program"]
    mark = places["mark"][0]
    entries = [places[name][0] for name in batches]
    result: list[list[Call]] = []
    entry, length, branches = 0, 0, 0
    for word in words:
        address = word & ~CONDITIONAL
        if first <= address < last:
            if length:
                result[-1].append((length, branches))
                length = branches = 0
            if address == mark:
                entry = entries[len(result)] if len(result) < len(entries) else 0
                result.append([])
        elif length or address == entry:
            length += 1
            branches += word >> 63
    return result[:-1]


def summarize(calls: list[Call]) -> dict[str, tuple]:
    """The path that most calls took, and the mean, which has refills and flushes in it."""
    (length, branches), times = Counter(calls).most_common(1)[0]
    return {
        "instructions": (length, "instructions"),
        "branches": (branches, "conditional branches"),
        "share": (times / len(calls), "of calls", "higher"),
        "mean": (sum(call[0] for call in calls) / len(calls), "instructions"),
    }


def per_call(allocator: Allocator, quick: bool = False) -> dict[str, dict[str, tuple]]:
    """By case: malloc, free of an own object, free of another thread's, in batches of 64 and of 4,096 (quick: 256)."""
    trace = OUTPUT / "steps"
    process = start(allocator, [OUTPUT / "step", trace, OUTPUT / ("calls-quick" if quick else "calls"), "stop"])
    printed = finish(process)
    words = array("Q")
    with trace.open("rb") as file:
        words.frombytes(file.read())
    places = {name: [int(value, 16) for value in values] for name, *values in map(str.split, printed.splitlines())}
    trace.unlink()
    sizes = [QUICK_BATCH if quick and count > QUICK_BATCH else count for _, _, count in asm.BATCHES]
    batches = calls_in(words, places, [name for _, name, _ in asm.BATCHES])
    if [len(batch) for batch in batches] != sizes:
        raise RuntimeError(f"calls are missing: {[len(batch) for batch in batches]}")
    cases = [f"{case} x {size}" for (case, _, _), size in zip(asm.BATCHES, sizes, strict=True)]
    return {case: summarize(batch) for case, batch in zip(cases, batches, strict=True)}


class Profile:
    """Costs of a callgrind file: of each object itself, and of calls from one object to another with all below.

    A cost is an event's count: Ir instructions, Bcm mispredicted conditional branches, by a simple predictor.
    """

    def __init__(self, text: str, event: str = "Ir") -> None:
        self.text = text
        events = re.search(r"^events: (.+)", text, re.MULTILINE)
        column = 1 + (events[1].split().index(event) if events else 0)
        self.own: Counter[str] = Counter()
        self.calls: Counter[tuple[str, str, str]] = Counter()
        self.names: dict[tuple[str, str], str] = {}
        caller = callee = function = ""
        called = False
        for line in text.splitlines():
            key, equals, value = line.partition("=")
            if equals and key in ("ob", "cob", "cfn", "calls"):
                if key == "ob":
                    caller = callee = self.name("ob", value)
                elif key == "cob":
                    callee = self.name("ob", value)
                elif key == "cfn":
                    function = self.name("fn", value)
                called = key == "calls"
            elif equals and key == "fn":
                self.name("fn", value)
            elif re.match(r"[+*\d-]", line):
                words = line.split()  # zeros at the end are left out
                cost = int(words[column]) if len(words) > column else 0
                if called:
                    self.calls[caller, callee, function] += cost
                    callee, called = caller, False
                else:
                    self.own[caller] += cost

    def name(self, kind: str, text: str) -> str:
        """`(number) name` the first time, `(number)` later."""
        number, _, name = text.partition(" ")
        return self.names.setdefault((kind, number), name) if name else self.names[kind, number]

    def of_libraries(self, program: str, *libraries: str) -> int:
        """Instructions in the libraries, and in what they call elsewhere: also in threads of their own.

        What they call in the program is the program's: a library that wraps pthread_create calls each thread's start.
        """
        outward = [pair for pair in self.calls if pair[0] in libraries and pair[1] not in {program, *libraries}]
        return sum(self.own[library] for library in libraries) + sum(self.calls[pair] for pair in outward)

    def of_calls(self, program: str, functions: set[str]) -> int:
        """Instructions of the program's calls of these functions."""
        return sum(cost for (caller, _, name), cost in self.calls.items() if caller == program and name in functions)


def profile(allocator: Allocator, program: str, *options: str | Path) -> tuple[Profile, str]:
    """The profile of a driver's run on an allocator, and what it printed."""
    file = OUTPUT / "callgrind.out"
    tool = ["valgrind", "--tool=callgrind", "--branch-sim=yes", f"--callgrind-out-file={file}", "--max-threads=2000"]
    process = start(allocator, [*tool, OUTPUT / program, *options])
    printed = finish(process)
    return Profile(file.read_text()), printed


def allocator_side(found: Profile, allocator: Allocator, program: str) -> int:
    if allocator.name == SYSTEM or allocator.library is None:
        return found.of_calls(str(OUTPUT / program), SYSTEM_NAMES)
    library = str(allocator.library.resolve())
    folder = allocator.library.resolve().parent
    # A library may be split in two, as TBB's is.
    names = {name for kind, name in found.names.items() if kind[0] == "ob" and Path(name).parent == folder}
    related = {name for name in names if Path(name).name.split("_")[0] == Path(library).name.split("_")[0]}
    # tcmalloc's hit paths are in a section that valgrind knows nothing of.
    return found.of_libraries(str(OUTPUT / program), *related | {library, "???"})

"""How ./jw bench compiles its programs and runs them: interleaved, repeated, watched."""

import ctypes
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import flavours
from bench_peers import Allocator
from bench_stats import Result

SOURCES = flavours.ROOT / "bench"
OUTPUT = flavours.BUILD / "bench"
FLAGS = ["-O2", "-g", "-Wall", "-Wextra", "-Werror", "-fno-plt", "-pthread"]
FLAGS += [f"-fno-builtin-{name}" for name in ("malloc", "calloc", "realloc", "aligned_alloc", "free")]
PROGRAMS = {
    "whose": ["whose.c"],
    "empty": ["empty.c"],
    "rptest": ["rptest.c"],
    "xmalloc": ["xmalloc.c"],
    "mstress": ["mstress.c"],
    "mstress-latency": ["mstress.c", "-DBENCH_LATENCY"],
    "mleak": ["mleak.c"],
    "scale": ["scale.c"],
    "large": ["large.c"],
    "wide": ["wide.c", "containers.cpp", "-fplt", "-lstdc++"],
    "spawn": ["spawn.c"],
    "zygote": ["zygote.c"],
    "replay": ["replay.c", "trace.c"],
    "calls": ["../tools/hitpath/calls.c"],
    "calls-quick": ["../tools/hitpath/calls.c", "-DLARGE_BATCH=256"],
    "step": ["../tools/hitpath/step.c"],
}
HANGS = 3
Measure = Callable[[Allocator], dict[str, tuple]]
PR_SET_THP_DISABLE = 41


class TimeLimit:
    """How long a program may take; a driver's work takes seconds."""

    seconds = 180.0


class HungError(RuntimeError):
    """A program that took longer."""


def compile_programs(output: Path = OUTPUT) -> None:
    output.mkdir(parents=True, exist_ok=True)
    newest = max(path.stat().st_mtime for path in [*SOURCES.glob("*.[ch]*"), *SOURCES.parent.glob("tools/hitpath/*.c")])
    for name, (source, *others) in PROGRAMS.items():
        program = output / name
        if program.exists() and program.stat().st_mtime > newest:
            continue
        rest = [word if word.startswith("-") else SOURCES / word for word in others]
        flavours.quietly("gcc", *FLAGS, "-o", program, SOURCES / source, *rest)


def without_huge_pages() -> None:
    ctypes.CDLL(None).prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)


def start(allocator: Allocator, command: list[object], **pipes: object) -> subprocess.Popen:
    """Runs a program on an allocator; what it prints can be read from the result."""
    return subprocess.Popen(
        [str(word) for word in command],
        env=allocator.preloaded(),
        preexec_fn=None if allocator.huge_pages else without_huge_pages,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        **pipes,
    )


def finish(process: subprocess.Popen) -> str:
    """What the program printed; RuntimeError when it failed or took too long. It does not outlive us."""
    try:
        printed, errors = process.communicate(timeout=TimeLimit.seconds)
    except subprocess.TimeoutExpired:
        raise HungError(f"not done after {TimeLimit.seconds:.0f} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            process.communicate()
    if process.returncode:
        # What the program says, rather than what valgrind says of it.
        lines = [line for line in errors.splitlines() if line.strip() and not line.startswith("==")]
        raise RuntimeError(f"status {process.returncode}: {lines[-1][:200] if lines else 'no message'}")
    return printed


def driver(allocator: Allocator, program: str, *options: str | Path) -> list[dict]:
    """The lines of results that one of our drivers prints."""
    return results(finish(start(allocator, [OUTPUT / program, *options])))


def results(printed: str) -> list[dict]:
    """Lines of JSON; RuntimeError for anything else, which an allocator may have printed."""
    try:
        lines = [json.loads(line) for line in printed.splitlines()]
    except ValueError:
        raise RuntimeError(f"what it printed is no result: {printed.splitlines()[0][:80]}") from None
    if not lines or not all(isinstance(line, dict) for line in lines):
        raise RuntimeError("it printed no result")
    return lines


@dataclass
class Session:
    """What a run of ./jw bench is about, and what it has found so far."""

    allocators: list[Allocator]
    rounds: int
    quick: bool
    deadline: float
    traces: dict[str, Path]
    results: dict[tuple, Result] = field(default_factory=dict)
    curves: list[dict] = field(default_factory=list)
    failures: list[dict] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    begun: float = field(default_factory=time.monotonic)
    benchmark: str = ""
    shown: tuple[str, str] = "", ""

    @property
    def cores(self) -> int:
        return len(os.sched_getaffinity(0))

    def note(self, case: str, allocator: str, values: dict[str, tuple], number: int = 0) -> None:
        """Adds one round's values: metric to (value, unit) or (value, unit, "higher"); None for rounds that failed."""
        for metric, (value, unit, *better) in values.items():
            key = self.benchmark, case, metric, allocator
            made = Result(self.benchmark, case, metric, unit, allocator, *better)
            known = self.results.setdefault(key, made).values
            known += [None] * (number - len(known)) + [value]

    def progress(self, case: str, where: str) -> None:
        """On a terminal one line that changes; elsewhere a line for each case."""
        elapsed = time.monotonic() - self.begun
        line = f"[{elapsed // 60:3.0f}:{elapsed % 60:02.0f}] {self.benchmark}: {case}"
        if sys.stderr.isatty():
            print(f"\r\033[K{line}  {where}"[:110], end="", file=sys.stderr, flush=True)
        elif self.shown != (self.benchmark, case):
            print(line, file=sys.stderr, flush=True)
        self.shown = self.benchmark, case

    def counted(self) -> list[Allocator]:
        """Those whose instructions are worth counting: huge pages change none."""
        return [one for one in self.allocators if one.huge_pages or one.library not in self.libraries()]

    def libraries(self) -> list[Path | None]:
        return [one.library for one in self.allocators if one.huge_pages]

    def interleave(
        self, cases: dict[str, Measure], rounds: int | None = None, chosen: list[Allocator] | None = None
    ) -> None:
        """Round by round all cases, each on all allocators in turn, of which each round begins with another one.

        So what disturbs the machine for a while disturbs one round of many cases rather than all rounds of one. Where
        time is short, there are as many rounds as fit: a case begins again only if it will be done in time.
        """
        taken: dict[str, float] = {}
        hung: list[tuple[str, str]] = []
        for number in range(rounds or self.rounds):
            allocators = chosen or self.allocators
            first = number % len(allocators)
            for case, measure in cases.items():
                begun = time.monotonic()
                if number and begun + taken.get(case, math.inf) > self.deadline:
                    continue
                for allocator in allocators[first:] + allocators[:first]:
                    if number == 0 and self.over(case):
                        break
                    # Not again where it hung; and no more after it hung in a few cases.
                    often = sum(name == allocator.name for _, name in hung) >= HANGS
                    if not often and (case, allocator.name) not in hung and self.once(case, allocator, measure, number):
                        hung.append((case, allocator.name))
                else:
                    taken[case] = time.monotonic() - begun

    def once(self, case: str, allocator: Allocator, measure: Measure, number: int) -> bool:
        """One round's values or failure; whether it hung, which once is enough to see."""
        self.progress(case, f"round {number + 1}: {allocator.name}")
        try:
            self.note(case, allocator.name, measure(allocator), number)
        except (RuntimeError, OSError, LookupError, ValueError) as error:
            # A peer may do anything; hours of results are not to be lost by it.
            self.fail(case, allocator.name, str(error) or type(error).__name__)
            return isinstance(error, HungError)
        return False

    def over(self, case: str) -> bool:
        """Whether the benchmark's time is up, which is written down."""
        late = time.monotonic() > self.deadline
        text = f"{self.benchmark} {case}"
        if late and text not in self.skipped:
            self.skipped.append(text)
        return late

    def fail(self, case: str, allocator: str, error: str) -> None:
        """A round without values; the same failure is said once."""
        failure = {"benchmark": self.benchmark, "case": case, "allocator": allocator, "error": error}
        if failure not in self.failures:
            self.failures.append(failure)

    def of(self, benchmark: str, metric: str) -> Iterable[Result]:
        return (result for key, result in self.results.items() if key[0] == benchmark and key[2] == metric)

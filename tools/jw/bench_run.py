"""How ./jw bench compiles its programs and runs them: interleaved, repeated, watched."""

import ctypes
import json
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
FLAGS = ["-std=gnu11", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-fno-plt", "-pthread"]
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
    "replay": ["replay.c", "trace.c"],
    "calls": ["../tools/hitpath/calls.c"],
    "calls-quick": ["../tools/hitpath/calls.c", "-DLARGE_BATCH=256"],
    "step": ["../tools/hitpath/step.c"],
}
PATIENCE = 300
Measure = Callable[[Allocator], dict[str, tuple]]
PR_SET_THP_DISABLE = 41


def compile_programs(output: Path = OUTPUT) -> None:
    output.mkdir(parents=True, exist_ok=True)
    newest = max(path.stat().st_mtime for path in [*SOURCES.glob("*.[ch]"), *SOURCES.parent.glob("tools/hitpath/*.c")])
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
        **pipes,
    )


def finish(process: subprocess.Popen) -> str:
    """What the program printed; RuntimeError when it failed or took too long. It does not outlive us."""
    try:
        printed, errors = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"not done after {PATIENCE} s") from None
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
    printed = finish(start(allocator, [OUTPUT / program, *options]))
    return [json.loads(line) for line in printed.splitlines()]


@dataclass
class Session:
    """What a run of ./jw bench is about, and what it has found so far."""

    allocators: list[Allocator]
    rounds: int
    quick: bool
    deadline: float
    traces: list[Path]
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

    def interleave(
        self, case: str, measure: Callable[[Allocator], dict[str, tuple]], rounds: int | None = None
    ) -> None:
        """Measures all allocators in turn, round by round, each round beginning with another one."""
        for number in range(rounds or self.rounds):
            first = number % len(self.allocators)
            for allocator in self.allocators[first:] + self.allocators[:first]:
                if self.over(case):
                    return
                self.progress(case, f"round {number + 1}: {allocator.name}")
                try:
                    self.note(case, allocator.name, measure(allocator), number)
                except RuntimeError as error:
                    self.fail(case, allocator.name, str(error))

    def over(self, case: str) -> bool:
        """Whether the benchmark's time is up, which is written down."""
        late = time.monotonic() > self.deadline
        text = f"{self.benchmark} {case}"
        if late and text not in self.skipped:
            self.skipped.append(text)
        return late

    def fail(self, case: str, allocator: str, error: str) -> None:
        """A round without values."""
        self.failures.append({"benchmark": self.benchmark, "case": case, "allocator": allocator, "error": error})

    def of(self, benchmark: str, metric: str) -> Iterable[Result]:
        return (result for key, result in self.results.items() if key[0] == benchmark and key[2] == metric)

"""harness.py - builds test programs on the checker and runs them."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tools/jw"))

import checker  # noqa: E402

BUILD = ROOT / "build/verify/tests"
COMPLETE, FAILED, USAGE, INCOMPLETE = range(4)
COMPILERS = ("gcc", "clang-16")
CROSS = "aarch64-linux-gnu-gcc"
LEVELS = ("-O0", "-O1", "-O2")
AT_ONCE = 2


@dataclass
class Result:
    """What one run of a program came to."""

    status: int
    report: dict
    output: str

    @property
    def outcomes(self) -> set[tuple[int, ...]]:
        return {tuple(values) for values in self.report.get("outcomes", [])}

    @property
    def kind(self) -> str | None:
        return self.report.get("kind")


@dataclass(frozen=True)
class Target:
    """A compiler and its level; programs for another processor run on an emulator."""

    compiler: str
    level: str

    def __str__(self) -> str:
        return f"{self.compiler}{self.level}"

    @property
    def has_weak(self) -> bool:
        """Clang's objects cannot tell a weak compare-and-swap from a strong one."""
        return "clang" not in self.compiler


TARGETS = [Target(compiler, level) for compiler in COMPILERS for level in LEVELS]
EMULATED = Target(CROSS, "-O1")


def build(source: Path, target: Target, name: str, defines: Iterable[str] = ()) -> Path:
    """A program of one source file; `name` tells it from others of the same file."""
    warnings = ["-Wno-tsan"] if target.has_weak else []  # gcc's, about fences, which its own run time cannot see
    options = [f"-I{ROOT}", *warnings, *(f"-D{define}" for define in defines)]
    program = BUILD / str(target) / name
    checker.program(program, [source], target.compiler, target.level, options)
    return program


def run(program: Path, target: Target, *options: object, timeout: float = 120, **variables: object) -> Result:
    """Runs a program of build(), with these variables in its environment."""
    command = [*checker.command(program, target.compiler), "--save", os.devnull, *options]
    environment = os.environ | {name: str(value) for name, value in variables.items()}
    with TemporaryDirectory(dir=BUILD) as folder:
        report = Path(folder) / "report.json"
        done = subprocess.run(
            [*map(str, command), "--json", str(report)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=environment,
            timeout=timeout,
        )
        found = json.loads(report.read_text()) if report.exists() else {}
    return Result(done.returncode, found, done.stdout)


def all_of(function: Callable, items: Iterable) -> list:
    """Both processors work: items are builds and runs of programs, which threads wait for."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(function, items))

"""The whole programs that judge random mutants: tests of the release flavour that preload the library, over one that
has the mutant in it. They meet the checked build of it where they pass on that, so that its invariants judge, too."""

import hashlib
import json
import os
import re
import resource
import subprocess
import time
from dataclasses import dataclass, replace
from pathlib import Path

from edits import Edit, edits_of
from flavours import ROOT, quietly
from mutants import Mutant
from unit_programs import FLAVOUR, UnitPrograms, UnitTest, library_that_ships, unit_test

TARGETS = ("libjwmalloc.so", "plugin", "waiting_plugin")
LONGEST = 2  # seconds of processor time, its children's too; a longer program is no judge
LONGEST_WALL = 6  # seconds; longer than LONGEST, since others use the machine, too
TRIES = 2  # a program that is to judge passes so often
SKIPPED = 77
HARDENED = "secure."


@dataclass(frozen=True)
class Program:
    name: str
    command: list[str]
    environment: dict[str, str]
    checked: bool = False
    seconds: float = 0

    def key(self) -> str:
        program = self.command[-1 if self.name.startswith(HARDENED) else 0]
        return f"{self.name}-{hashlib.sha256(Path(program).read_bytes()).hexdigest()[:8]}"


def edits_that_ship(library: dict[Path, list[str]]) -> list[Edit]:
    """Of each source, as it is compiled for the library."""
    found: set[Edit] = set()
    for path, words in library.items():
        found |= edits_of(path, [word for word in words if word[:2] in ("-D", "-I")], ROOT / "src")
    return sorted(found)


def tests_of_ctest() -> list[dict]:
    command = ["ctest", "--test-dir", FLAVOUR.place, "--show-only=json-v1"]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)["tests"]


def build_programs() -> None:
    """Those that are preloaded; the static ones of which there is no other."""
    printed = subprocess.run(
        ["ninja", "-C", FLAVOUR.place, "-t", "targets", "all"], stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    found = re.findall(r"^(tests/[\w-]+)-(control|static): C(?:XX)?_EXECUTABLE", printed, re.M)
    preloaded = {name for name, mode in found if mode == "control"}
    names = [f"{name}-{mode}" for name, mode in found if mode == "control" or name not in preloaded]
    quietly("ninja", "-C", FLAVOUR.place, *names, *TARGETS)


def environment_of(test: dict) -> dict[str, str]:
    found = [row["value"] for row in test["properties"] if row["name"] == "ENVIRONMENT"]
    return dict(word.split("=", 1) for word in (found[0] if found else []))


def processor_time() -> float:
    """Of all processes that this one has started and waited for: their time does not depend on the machine's load."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def is_judge(name: str) -> bool:
    """Of the hardened build those that are about its interface: with its promises they are more than enough."""
    return FLAVOUR.preset != "secure" or name.startswith(("api.", "death"))


def cases_of_hardened() -> list[Program]:
    """Each promise of the hardened build is a program; over the build that ships, since a checked one has no AES."""
    if FLAVOUR.preset != "secure":
        return []
    script, found = ROOT / "tests/secure/promises.py", []
    promised = set(re.findall(r'"(\w+)"', script.read_text()))
    for name in ("hardened", "misuses"):
        program = FLAVOUR.place / f"tests/{name}-control"
        text = (script.parent / f"{name}.c").read_text()
        cases = [case for case in re.findall(r"^static void (\w+)\(void\)", text, re.M) if case in promised]
        command = ["python3", "-B", str(script), "caught"]
        found += [Program(f"{HARDENED}{name}.{case}", [*command, case, str(program)], {}) for case in cases]
    return found


class WholePrograms:
    def __init__(self, place: Path, units: UnitPrograms):
        self.units, self.place = units, place
        release = library_that_ships()
        self.release = replace(release, name="release")
        checked = {
            path: ["-DJW_CHECKED=1" if word == "-DJW_CHECKED=0" else word for word in words]
            for path, words in release.compile.items()
        }
        self.checked = replace(release, name="checked", compile=checked)
        self.programs = {program.name: program for program in self.known()}

    def library(self, checked: bool) -> UnitTest:
        return self.checked if checked else self.release

    def original(self, checked: bool) -> Path:
        test = self.library(checked)
        path = self.place / test.name
        if not path.exists():
            test.link(list(self.units.objects(test).values()), path)
        return path

    def mutated(self, checked: bool, mutant: Mutant, stems: set[str], place: Path) -> Path:
        """Under a name without a colon, which would end it in LD_PRELOAD."""
        test = self.library(checked)
        path = place / test.name
        link = self.place / "loaded" / hashlib.sha256(str(path).encode()).hexdigest()[:16]
        if not path.exists():
            self.units.mutated(test, mutant, stems, place)
            link.parent.mkdir(exist_ok=True)
            link.unlink(missing_ok=True)
            link.symlink_to(path)
        return link

    def known(self) -> list[Program]:
        """Those that pass in a short time, measured once for a state of the sources."""
        kept = self.place / "whole.json"
        rows = json.loads(kept.read_text()) if kept.exists() else {}
        build_programs()
        tests = [test for test in tests_of_ctest() if is_judge(test["name"])]
        names = {test["name"] for test in tests}
        programs = [
            Program(test["name"], command, environment_of(test))
            for test in tests
            if (command := self.command(test, names))
        ] + cases_of_hardened()
        for checked in (False, True):
            self.original(checked)
        fresh = [program for program in programs if program.name not in rows]
        rows |= {program.name: self.measure(program) for program in fresh}  # one by one: see processor_time
        kept.write_text(json.dumps(rows))
        return [replace(program, **rows[program.name]) for program in programs if rows[program.name]]

    def command(self, test: dict, preloaded: set[str]) -> list[str]:
        """Of a static program whose names no preloaded one has the form that is linked with the shared library."""
        name, _, mode = test["name"].rpartition(".")
        first, *others = test.get("command", [""])
        if mode == "preload" and first.endswith("-control"):
            return [first, *others]
        if mode != "static" or f"{name}.preload" in preloaded or not name.startswith(("api", "process")):
            return []
        static = unit_test(f"tests/{Path(first).name}")
        objects = [path for source, path in self.units.objects(static).items() if source in static.own_sources()]
        program = self.place / objects[0].stem
        if not program.exists():
            words = [word for word in static.linker if not word.endswith((".a", ".o"))]
            static = UnitTest(program.name, {}, [*words, str(FLAVOUR.place / "libjwmalloc.so")], static.compiler)
            static.link(objects, program)
        return [str(program), *others]

    def measure(self, program: Program) -> dict:
        """Empty: it is no judge."""
        for checked in (False,) if program.name.startswith(HARDENED) else (True, False):
            start, used = time.monotonic(), processor_time()
            if not any(self.fails(program, self.original(checked), LONGEST_WALL) for _ in range(TRIES)):
                seconds = round((time.monotonic() - start) / TRIES, 2)
                print(f"{program.name}: {seconds} s{' checked' if checked else ''}", flush=True)
                is_short = processor_time() - used <= TRIES * LONGEST
                return {"checked": checked, "seconds": seconds} if is_short else {}
        return {}

    def fails(self, program: Program, library: Path, limit: float = 0) -> str:
        environment = os.environ | program.environment | {"LD_PRELOAD": str(library)}
        limit = limit or 10 + 5 * program.seconds
        try:
            done = subprocess.run(
                program.command,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                timeout=limit,
                text=True,
                errors="replace",
                cwd=FLAVOUR.place / "tests",
            )
        except subprocess.TimeoutExpired:
            return f"it takes more than {limit:.0f} s"
        if done.returncode in (0, SKIPPED):
            return ""
        wrong = [line for line in done.stdout.splitlines() if re.search("ERROR|FAILED|failed|WRONG|jwmalloc:", line)]
        return (wrong or [f"status {done.returncode}"])[0].strip()

    def judge(self, name: str, mutant: Mutant, stems: set[str], place: Path) -> str:
        """What it says. The original has to pass afterwards: a busy machine kills nothing."""
        program = self.programs[name]
        library = self.mutated(program.checked, mutant, stems, place)
        found = self.fails(program, library) and self.fails(program, library)
        return "" if found and self.fails(program, self.original(program.checked)) else found

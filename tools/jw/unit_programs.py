"""The unit tests' programs, over the source as it is or over a mutant. How to compile and link them, CMake has said:
./jw verify --random takes the commands from ninja."""

import hashlib
import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

import flavours
from clients import inner
from flavours import BUILD, ROOT
from mutants import Mutant

OTHER_GRANULES = re.compile(r"-(14|16)$|^unit-(knit|weights)-\d+-\d+$")  # the same code, with other constants
LARGEST = "-1024-12"
WRITES = re.compile(r"^-(MD|MT|MF|o|c)$")


UNITS = BUILD / "verify/unit"  # the release flavour has all unit tests


@dataclass
class Flavour:
    """Of what ships: release, or the hardened build."""

    preset: str = "release"
    place: Path = UNITS


FLAVOUR = Flavour()


def choose_hardened() -> None:
    FLAVOUR.preset, FLAVOUR.place = "secure", BUILD / "verify/unit-secure"


@dataclass(frozen=True)
class UnitTest:
    name: str
    compile: dict[Path, list[str]]  # of each source: the command, without what it writes
    linker: list[str]  # options and libraries
    compiler: str

    def own_sources(self) -> list[Path]:
        return [source for source in self.compile if is_own(source)]

    def link(self, objects: list[Path], program: Path, *options: str) -> Path:
        subprocess.run([self.compiler, *options, *objects, "-o", program, *self.linker], check=True)
        return program


def without_output(command: str) -> tuple[Path, list[str]]:
    """The source, and the words that do not say what is written."""
    words, kept, source = shlex.split(command), [], Path()
    while words:
        word = words.pop(0)
        if word == "-c":
            source = Path(words.pop(0))
        elif not WRITES.match(word):
            kept.append(word)
        elif word != "-MD":
            words.pop(0)
    return source, kept


def unit_test(name: str, place: Path | None = None) -> UnitTest:
    command = ["ninja", "-C", place or FLAVOUR.place, "-t", "commands", name]
    printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    *compiled, linked = [line for line in printed.splitlines() if " -o " in line]
    commands = dict(without_output(line) for line in compiled if " -c " in line)
    words = [word for word in shlex.split(linked) if word not in (":", "&&")]
    at = words.index("-o")
    options = [word for word in words[1:at] if not word.endswith(".o")] + words[at + 2 :]
    return UnitTest(name, commands, options, words[0])


def library_that_ships() -> UnitTest:
    """Without link-time optimisation: a mutant changes some objects only."""
    built = unit_test("libjwmalloc.so")
    commands = {path: [word for word in words if "lto" not in word] for path, words in built.compile.items()}
    linker = [word for word in built.linker if "lto" not in word and not word.endswith(".o")]
    return UnitTest("libjwmalloc.so", commands, linker, built.compiler)


def unit_tests() -> list[UnitTest]:
    """Those that have C sources. Of tests for several sizes of granule the one of 4 KB."""
    flavours.setup("build", "tests")
    for preset, place in {"release": UNITS, FLAVOUR.preset: FLAVOUR.place}.items():
        flavours.quietly("cmake", "--preset", preset, "-DJW_TESTS=ON", "-B", place)
    targets = subprocess.run(["ninja", "-C", UNITS, "-t", "targets", "all"], stdout=subprocess.PIPE, text=True)
    names = sorted(set(re.findall(r"^tests/unit/(unit-[\w-]+): C_EXECUTABLE_LINKER", targets.stdout, re.M)))
    return [unit_test(name, UNITS) for name in names if name.endswith(LARGEST) or not OTHER_GRANULES.search(name)]


class UnitPrograms:
    """Objects are shared by the tests that compile them the same way."""

    def __init__(self, place: Path):
        self.tests = {test.name: test for test in unit_tests()}
        self.place = place
        self.lock = Lock()

    def objects(self, test: UnitTest, *options: str) -> dict[Path, Path]:
        """Of each source, compiled where it is not there yet."""
        found = {}
        for source, words in test.compile.items():
            found[source] = self.place / "".join(options) / named(source, words)
            with self.lock:
                if not found[source].exists():
                    compile_object(source, [*words, *options], found[source])
        return found

    def mutated(self, test: UnitTest, mutant: Mutant, stems: set[str], place: Path) -> Path:
        """The program with the mutant in it. `stems`: the sources of src/ whose objects the mutant changes."""
        objects, first = self.objects(test), place / "source"
        for source, object_ in objects.items():
            if source.stem not in stems and not (is_own(source) and reads(object_, mutant.path)):
                continue
            objects[source] = place / object_.name
            if not objects[source].exists():
                words = [test.compile[source][0], f"-I{first}", *test.compile[source][1:]]
                compile_object(first / inner(source) if source == mutant.path else source, words, objects[source])
        return test.link(list(objects.values()), place / test.name)


def compile_object(source: Path, words: list[str], target: Path) -> None:
    """Beside it stands what the compiler read (.d)."""
    target.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([*words, "-w", "-MMD", "-c", source, "-o", target], check=True, stderr=subprocess.DEVNULL)


def is_own(source: Path) -> bool:
    """Of a test, not of the allocator."""
    return ROOT / "src" not in source.parents


def reads(object_: Path, header: Path) -> bool:
    return str(header) in object_.with_suffix(".d").read_text()


def own_headers(sources: list[Path]) -> list[Path]:
    """Of the tests, which these include, also by way of each other: a test keeps its key while others change."""
    found: dict[Path, None] = {}
    left = list(sources)
    while left:
        for name in re.findall(r'^#include "([^"]+)"', left.pop().read_text(), re.M):
            for header in (ROOT / "tests" / name, ROOT / "tests/unit" / name):
                if header.exists() and header not in found:
                    found[header] = None
                    left.append(header)
    return sorted(found)


def named(source: Path, words: list[str]) -> str:
    """The folder is of a state of src/, so a test's own sources and headers are told apart here."""
    own = [source, *own_headers([source])] if is_own(source) else []
    contents = b"".join(path.read_bytes() for path in own)
    digest = hashlib.sha256(" ".join([*words, str(source)]).encode() + contents).hexdigest()[:10]
    return f"{source.stem}-{digest}.o"

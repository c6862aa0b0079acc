"""The model checker's clients (verify/clients) and their programs: production objects with small constants."""

import hashlib
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

import checker
from flavours import BUILD, ROOT
from mutants import Mutant

CLIENTS = ROOT / "verify/clients"

# Small enough to explore all executions, large enough to have every state: the reasons are in docs/verification.md.
CONSTANTS = {
    "JW_GRANULE_SHIFT": 8,
    "JW_ROOT_SHIFT": 11,
    "JW_WINDOW_SHIFT": 13,
    "JW_DIRECTORY_SHIFT": 13,
    "JW_DIRECTORY_MIDDLE_SHIFT": 18,
    "JW_ADDRESS_BITS": 27,
    "JW_NEST_SLOTS": 2,
    "JW_WAITING_MAPPINGS": 0,
    "JW_BACKEND_MIN_SHIFT": 10,
    "JW_MIDEND_UNIT_SHIFT": 4,
    "JW_HEAPS_PER_CHUNK": 2,
    "JW_OBJECT_CACHE": 0,
    "JW_COARSE_SLABS": 0,
    "JW_CHECKED": 1,
    "JW_FILL": 0,
}
INCLUDES = [ROOT / "verify/config", ROOT / "src", ROOT / "include", ROOT]
HEADERS = ["src/**/*.h", "src/**/*.def", "verify/**/*.h", "include/**/*.h"]


def production() -> list[Path]:
    """The sources under test. Not the OS layer, which the model replaces, nor the entry points around the tiers."""
    layers = ("config", "sync", "backend", "midend", "frontend", "core")
    tiers = [source for layer in layers for source in (ROOT / "src" / layer).glob("*.c")]
    others = ("src/base/print.c", "src/platform/deferred_unmap.c", "src/platform/random.c", "verify/platform/model.c")
    others += ("src/hardened/zero_size.c",)
    return sorted([*tiers, *(ROOT / path for path in others)])


@dataclass(frozen=True)
class Client:
    name: str
    path: Path
    bound: str
    claim: str
    defines: tuple[str, ...]
    slow: bool

    @property
    def constants(self) -> list[str]:
        own = {define.removeprefix("-D").split("=")[0] for define in self.defines}
        return [f"-D{name}={value}" for name, value in CONSTANTS.items() if name not in own] + list(self.defines)


def read_client(path: Path) -> Client:
    header = path.read_text().split("*/", 1)[0]
    fields = {}
    for line in re.sub(r"\n \*\s{4,}(?=\S)", " ", header).splitlines():
        if found := re.match(r" \* (bound|property|defines|slow)\b:?\s*(.*)", line):
            fields[found.group(1)] = found.group(2).strip()
    if not fields.get("bound") or not fields.get("property"):
        raise SystemExit(f"{path}: its header states no bound or no property")
    defines = tuple(fields.get("defines", "").split())
    return Client(path.stem, path, fields["bound"], fields["property"], defines, "slow" in fields)


def clients() -> list[Client]:
    return [read_client(path) for path in sorted(CLIENTS.glob("*.c"))]


class Programs:
    """Builds client programs with one compiler and level; the objects are shared by clients with the same constants."""

    def __init__(self, compiler: str, level: str, *options: str):
        self.compiler, self.level, self.options = compiler, level, options
        self.engine = checker.engine(compiler)
        sources = [path for pattern in HEADERS for path in ROOT.glob(pattern)] + production()
        text = b"".join(path.read_bytes() for path in sorted(sources))
        self.state = hashlib.sha256(text + Path(checker.__file__).read_bytes()).hexdigest()
        self.locks: dict[Path, Lock] = {}
        self.lock = Lock()

    def compile(self, source: Path, target: Path, constants: list[str], first: Path | None = None) -> None:
        paths = [first, *INCLUDES] if first else INCLUDES
        options = [*constants, *(f"-I{path}" for path in paths), "-MMD", *self.options]
        checker.compile(source, target, self.compiler, self.level, options)

    def archive(self, constants: list[str]) -> Path:
        """The directory of the production objects with these constants and of the library of them."""
        key = " ".join([self.compiler, self.level, *self.options, self.state, *constants])
        place = BUILD / "verify/objects" / hashlib.sha256(key.encode()).hexdigest()[:12]
        with self.lock:
            lock = self.locks.setdefault(place, Lock())
        with lock:
            if not (place / "complete").exists():
                place.mkdir(parents=True, exist_ok=True)
                for source in production():
                    self.compile(source, place / f"{source.stem}.o", constants)
                pack(place / "library.a", sorted(place.glob("*.o")))
                (place / "complete").touch()
        return place

    def client(self, client: Client, mutant: Mutant | None = None) -> Path:
        """The program of a client, over the source as it is or over a mutant."""
        base = self.archive(client.constants)
        build = "".join([self.compiler, self.level, *self.options])
        place = BUILD / "verify/programs" / build / (mutant.name if mutant else "source")
        place.mkdir(parents=True, exist_ok=True)
        program, object_, library = place / client.name, place / f"{client.name}.o", base / "library.a"
        first = None
        if mutant:
            first, library = place / f"{client.name}_source", place / f"{client.name}.a"
            self.mutated_library(mutant, client.constants, base, first, library)
        self.compile(client.path, object_, client.constants, first)
        checker.link([object_, library], program, self.compiler)
        return program

    def mutated_library(self, mutant: Mutant, constants: list[str], base: Path, first: Path, library: Path) -> None:
        shutil.copy(base / "library.a", library)
        shutil.rmtree(first, ignore_errors=True)  # a mutant of that name may have been in another file
        changed = first / mutant.path.relative_to(ROOT / "src" if "src" in mutant.path.parts else ROOT)
        changed.parent.mkdir(parents=True, exist_ok=True)
        changed.write_text(mutant.text)
        if mutant.path.suffix == ".c":
            affected = [(changed, mutant.path.stem)] if mutant.path in production() else []
        else:
            affected = [(source, source.stem) for source in production() if includes(base, source, mutant.path)]
        objects = []
        for source, stem in affected:
            objects.append(library.parent / f"{library.stem}_objects" / f"{stem}.o")
            objects[-1].parent.mkdir(exist_ok=True)
            self.compile(source, objects[-1], constants, first)
        if objects:
            pack(library, objects)


def pack(library: Path, objects: list[Path]) -> None:
    subprocess.run(["ar", "rcs", library, *objects], check=True)


def includes(base: Path, source: Path, header: Path) -> bool:
    """Whether the source read the header, by what the compiler noted beside the object."""
    return str(header) in (base / f"{source.stem}.d").read_text()

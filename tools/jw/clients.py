"""The model checker's clients (verify/clients) and their programs: production objects with small constants."""

import functools
import hashlib
import re
import shutil
import subprocess
from collections.abc import Iterable
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
    "JW_CACHED_MAPPINGS": 0,
    "JW_BACKEND_MIN_SHIFT": 10,
    "JW_MIDEND_UNIT_SHIFT": 4,
    "JW_HEAPS_PER_CHUNK": 2,
    "JW_OBJECT_CACHE_ENTRIES": 0,
    "JW_COARSE_SLABS": 0,
    "JW_MID_KEPT_BYTES": 0,
    "JW_CHECKED": 1,
    "JW_FILL": 0,
}
INCLUDES = [ROOT / "verify/config", ROOT / "src", ROOT / "include", ROOT]
HEADERS = ["src/**/*.h", "src/**/*.def", "verify/**/*.h", "include/**/*.h"]


def production(hardened: bool = False) -> list[Path]:
    """The sources under test. Not the OS layer, which the model replaces, nor the entry points around the tiers. Those
    of the hardened build compile in that build only, but for two."""
    layers = ("config", "sync", "backend", "midend", "frontend", "core")
    tiers = [source for layer in layers for source in (ROOT / "src" / layer).glob("*.c")]
    others = ("src/base/print.c", "src/platform/deferred_unmap.c", "src/platform/random.c", "verify/platform/model.c")
    others += ("src/hardened/zero_size.c",)
    if hardened:
        tiers += (ROOT / "src/hardened").glob("*.c")
    return sorted({*tiers, *(ROOT / path for path in others)})


def usual_constants(hardened: bool) -> list[str]:
    return [*(f"-D{name}={value}" for name, value in CONSTANTS.items()), *(["-DJW_SECURE=1"] if hardened else [])]


@dataclass(frozen=True)
class Client:
    name: str
    path: Path
    bound: str
    claim: str
    defines: tuple[str, ...]
    slow: bool
    few: str = ""  # why its threads have so few executions

    @property
    def hardened(self) -> bool:
        return "-DJW_SECURE=1" in self.defines

    @property
    def constants(self) -> list[str]:
        own = {define.removeprefix("-D").split("=")[0] for define in self.defines}
        return [f"-D{name}={value}" for name, value in CONSTANTS.items() if name not in own] + list(self.defines)


@functools.cache
def asked_for() -> set[str]:
    """The words of all sources: a constant that is not among them has no effect."""
    paths = [path for pattern in [*HEADERS, "src/**/*.c", "verify/platform/*.c"] for path in ROOT.glob(pattern)]
    return set(re.findall(r"\w+", "\n".join(path.read_text() for path in paths)))


def read_client(path: Path) -> Client:
    header, _, body = path.read_text().partition("*/")
    fields = {}
    for line in re.sub(r"\n \*\s{4,}(?=\S)", " ", header).splitlines():
        if found := re.match(r" \* (bound|property|defines|slow|few)\b\s*(.*)", line):
            fields[found.group(1)] = found.group(2).strip()
    if not fields.get("bound") or not fields.get("property"):
        raise SystemExit(f"{path}: its header states no bound or no property")
    defines = tuple(fields.get("defines", "").split())
    for name in [define.removeprefix("-D").split("=")[0] for define in defines]:
        if name not in asked_for() and not re.search(rf"\b{name}\b", body):
            raise SystemExit(f"{path}: sets {name}, which no source asks for")
    few = fields.get("few", "")
    return Client(path.stem, path, fields["bound"], fields["property"], defines, "slow" in fields, few)


def clients() -> list[Client]:
    return [read_client(path) for path in sorted(CLIENTS.glob("*.c"))]


class Programs:
    """Builds client programs with one compiler and level. Only what a client needs is compiled, and once for all
    clients with the same constants. What it needs follows from the symbols of the objects with the usual constants."""

    def __init__(self, compiler: str, level: str, *options: str):
        self.compiler, self.level, self.options = compiler, level, options
        self.engine = checker.engine(compiler)
        self.sources = {source.stem: source for source in production(hardened=True)}
        paths = [path for pattern in HEADERS for path in ROOT.glob(pattern)] + list(self.sources.values())
        text = b"".join(path.read_bytes() for path in sorted(paths))
        self.state = hashlib.sha256(text + Path(checker.__file__).read_bytes()).hexdigest()
        self.locks: dict[Path, Lock] = {}
        self.lock = Lock()
        self.symbols: dict[bool, dict[str, Symbols]] = {}  # of the plain build and of the hardened one
        # where the symbols come from: the same functions for each processor, and these objects are there in most cases
        self.native = Programs("gcc", level) if checker.is_cross(compiler) else self

    def compile(self, source: Path, target: Path, constants: list[str], first: Path | None = None) -> None:
        paths = [first, *INCLUDES] if first else INCLUDES
        options = [*constants, *(f"-I{path}" for path in paths), "-MMD", *self.options]
        checker.compile(source, target, self.compiler, self.level, options)

    def objects(self, constants: list[str], stems: Iterable[str]) -> dict[str, Path]:
        """The production objects of these names with these constants."""
        key = " ".join([self.compiler, self.level, *self.options, self.state, *constants])
        place = BUILD / "verify/objects" / hashlib.sha256(key.encode()).hexdigest()[:12]
        place.mkdir(parents=True, exist_ok=True)
        targets = {stem: place / f"{stem}.o" for stem in stems}
        for wait in (False, True):  # first those that no other thread is compiling
            for stem, target in targets.items():
                self.compile_once(self.sources[stem], target, constants, wait)
        return targets

    def compile_once(self, source: Path, target: Path, constants: list[str], wait: bool) -> None:
        with self.lock:
            lock = self.locks.setdefault(target, Lock())
        if not lock.acquire(blocking=wait):
            return
        try:
            complete = target.with_suffix(".complete")
            if not complete.exists():
                self.compile(source, target, constants)
                complete.touch()
        finally:
            lock.release()

    def needed(self, client: Path, hardened: bool) -> list[str]:
        """The names of the production objects that a client's object needs, directly and through others."""
        usual = self.native.objects(usual_constants(hardened), [source.stem for source in production(hardened)])
        with self.lock:
            if hardened not in self.symbols:
                self.symbols[hardened] = {stem: read_symbols(path) for stem, path in usual.items()}
        known = self.symbols[hardened]
        places = {name: stem for stem, symbols in known.items() for name in symbols.defined}
        own = read_symbols(client)
        found, ahead = set(), own.used
        while ahead:
            stems = {places[name] for name in ahead - own.defined if name in places} - found
            found |= stems
            ahead = {name for stem in stems for name in known[stem].used}
        return sorted(found)

    def client(self, client: Client, mutant: Mutant | None = None) -> Path:
        """The program of a client, over the source as it is or over a mutant."""
        build = "".join([self.compiler, self.level, *self.options])
        place = BUILD / "verify/programs" / build / (mutant.name if mutant else "source")
        place.mkdir(parents=True, exist_ok=True)
        program, object_ = place / client.name, place / f"{client.name}.o"
        first = write_mutant(mutant, place / f"{client.name}_source") if mutant else None
        self.compile(client.path, object_, client.constants, first)
        needed = self.needed(object_, client.hardened)
        every = [source.stem for source in production(client.hardened)]
        for stems in (needed, every):  # a mutant, or odd constants, may need another object
            objects = self.objects(client.constants, stems)
            if mutant:
                objects |= self.mutated(mutant, client, objects, first)
            library = pack(program.with_suffix(".a"), objects.values())
            try:
                return checker.link([object_, library], program, self.compiler, quiet=stems is needed)
            except subprocess.CalledProcessError:
                if stems is not needed:
                    raise
        raise AssertionError

    def mutated(self, mutant: Mutant, client: Client, objects: dict[str, Path], first: Path) -> dict[str, Path]:
        """Those of the objects that a mutant changes, compiled anew."""
        changed = {}
        place = first.with_name(f"{client.name}_objects")
        place.mkdir(exist_ok=True)
        for stem, path in objects.items():
            source = self.sources[stem]
            if mutant.path == source:
                source = first / inner(mutant.path)
            elif str(mutant.path) not in path.with_suffix(".d").read_text():  # what the compiler read
                continue
            changed[stem] = place / path.name
            self.compile(source, changed[stem], client.constants, first)
        return changed


def inner(path: Path) -> Path:
    """A source's path as #include names it."""
    return path.relative_to(ROOT / "src" if "src" in path.parts else ROOT)


def write_mutant(mutant: Mutant, first: Path) -> Path:
    """Writes the changed file where #include finds it first."""
    shutil.rmtree(first, ignore_errors=True)  # a mutant of that name may have been in another file
    changed = first / inner(mutant.path)
    changed.parent.mkdir(parents=True)
    changed.write_text(mutant.text)
    return first


def pack(library: Path, objects: Iterable[Path]) -> Path:
    """A library that names the objects where they are."""
    library.unlink(missing_ok=True)
    subprocess.run(["ar", "rcsT", library, *objects], check=True)
    return library


@dataclass(frozen=True)
class Symbols:
    """Those that an object defines for others, and those that it uses of others."""

    defined: frozenset[str]
    used: frozenset[str]


def read_symbols(path: Path) -> Symbols:
    printed = subprocess.run(["nm", "--extern-only", path], capture_output=True, text=True, check=True).stdout
    words = [line.split() for line in printed.splitlines()]
    used = frozenset(name for *_, kind, name in words if kind in "Uw")
    return Symbols(frozenset(name for *_, _, name in words) - used, used)

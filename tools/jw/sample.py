"""./jw verify --random N --seed S: mutants drawn from all that edits.py can make, and how many of them are killed.

Drawn from: the functions that ship and that a quick client executes. A mutant whose objects are those that ship, at the
level that ships, is equal and does not count. Nor does one of which the library cannot be built. Each other one meets
the unit tests and clients that execute its function, the fastest first, until one fails. verify/survivors.toml excuses
those that none can kill.

--whole: drawn from all that ships. Whole programs judge, too, and of the clients those that are about the file.
"""

import functools
import hashlib
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import checker
import reach
import sample_table
from clients import CONSTANTS, INCLUDES, Client, Programs, Symbols, clients, inner, production, write_mutant
from edits import Edit, edits, read
from flavours import BUILD, ROOT
from mutants import Mutant, all_mutants, tomllib
from unit_programs import FLAVOUR, UnitPrograms, UnitTest, choose_hardened, library_that_ships
from verify_table import DOCUMENT
from whole_programs import WholePrograms, edits_that_ship

LIMIT = 300  # seconds of a mutant, after which it meets no further program
OWN_OBJECTS = 1  # seconds
WHOLE_CLIENT = 5  # seconds of a client whose row does not tell them; a longer one comes last
ATOMIC, LINE, FUNCTION, ABOUT, WHOLE, LAST = range(6)  # see Sample.judges
SLACK = 10  # seconds that a program may always take; beyond them four times what it takes
TRANSCRIPTS = "unit-transcript"  # they look at all that a script changes
SURVIVORS = ROOT / "verify/survivors.toml"
COUNTED = ("killed", "survived", "excused")
NOT_BUILT = "not built"
FAILED, SKIPPED = 1, 77
GOLDEN = (5**0.5 - 1) / 2
MOST_DRAWN = 1000
PLAIN = ("-g0", "-w", "-fno-lto")  # code alone, without what tells lines and columns


@dataclass(frozen=True)
class Judge:
    """A client, a unit test or a whole program, and what it takes."""

    name: str
    key: str  # with a digest of its text
    seconds: float
    is_client: bool = False
    is_whole: bool = False


class NotBuiltError(Exception):
    """The library that ships cannot be linked with the mutant in it."""


class MutatedPrograms(Programs):
    """Clients over one mutant. Those with the same constants share its objects."""

    stems: set[str]

    def mutated(self, mutant: Mutant, client: Client, objects: dict[str, Path], first: Path) -> dict[str, Path]:
        place = first.parent / hashlib.sha256(" ".join(client.constants).encode()).hexdigest()[:8]
        place.mkdir(exist_ok=True)
        changed = {stem: place / path.name for stem, path in objects.items() if stem in self.stems}
        for stem, target in changed.items():
            source = self.sources[stem]
            if not target.exists():
                self.compile(
                    first / inner(source) if source == mutant.path else source, target, client.constants, first
                )
        return changed


@dataclass(eq=False)
class Sample:
    compiler: str
    run_program: Callable  # of a client, see verify.py
    library: UnitTest  # what ships
    units: UnitPrograms | None
    of_units: dict[str, dict]  # what each unit test executes, see reach.py
    of_clients: dict[str, dict]
    place: Path
    excuses: dict[str, str] = field(default_factory=dict)
    whole: WholePrograms | None = None
    limit: float = LIMIT
    known_code: dict[Path, tuple[bytes, frozenset[str]]] = field(default_factory=dict)
    symbols: dict[bool, dict[str, Symbols]] = field(default_factory=dict)  # of the production objects
    known: dict[str, Client] = field(default_factory=lambda: {client.name: client for client in clients()})

    def population(self, only: str) -> dict[str, Edit]:
        """By name. With whole programs: of all that ships."""
        executed = {(file, line) for row in self.of_clients.values() for file, s in row["lines"].items() for line in s}
        found: dict[str, Edit] = {}
        seen: Counter = Counter()
        for edit in self.all_edits():
            file = str(edit.path.relative_to(ROOT))
            lines = range(edit.first, edit.last + 1)
            if only in file and (self.whole or any((file, line) in executed for line in lines)):
                name = name_of(edit)
                found[f"{name}+{seen[name]}" if seen[name] else name] = edit
                seen[name] += 1
        return found

    def all_edits(self) -> list[Edit]:
        """Of the sources that ship and that clients have. They are kept, since it takes a while to find them."""
        file = self.place / ("edits-whole.json" if self.whole else "edits.json")
        if not file.exists():
            found = edits_that_ship(self.library.compile) if self.whole else self.edits_of_clients()
            file.write_text(json.dumps([vars(edit) | {"path": str(edit.path)} for edit in found]))
        return [Edit(**row | {"path": Path(row["path"])}) for row in json.loads(file.read_text())]

    def edits_of_clients(self) -> list[Edit]:
        options = [f"-D{name}={value}" for name, value in CONSTANTS.items()]
        options += ["-D_GNU_SOURCE", "-DJW_CHECKER=1", *(f"-I{path}" for path in [*INCLUDES, checker.SOURCES])]
        return edits([path for path in production() if path in self.library.compile], options, ROOT / "src")

    def judges(self, edit: Edit) -> list[Judge]:
        """In this order: what executes the line, of optimised code lines are not exact; what executes the function;
        quick clients about the file, which come before all others where the edit is of an atomic operation; whole
        programs, which seldom look; the other clients. Of each first those that are about the file, and transcripts;
        then the fastest."""
        file, found = str(edit.path.relative_to(ROOT)), []
        files = [edit.path, *users_of(edit.path)]  # a header's code is that of the files that include it
        about = about_the_file(edit.path)
        for name, row in (self.of_units | self.of_clients).items():
            lines = row["lines"].get(file, ())
            if row["complete"] and any(edit.first <= line <= edit.last for line in lines):
                judge = Judge(name, row["key"], row["seconds"], name in self.known)
                is_about = name in about or is_named_after(name, edit.path) or name.startswith(TRANSCRIPTS)
                rank = LINE if edit.line in lines else FUNCTION
                found.append((rank, not is_about, judge.seconds + self.compiling(judge), judge))
        if self.whole:
            found += self.seen_in_children(files) if not any(entry[0] == LINE for entry in found) else []
            for name, row in self.whole.programs.items():
                found.append((WHOLE, True, row.seconds, Judge(name, row.key(), row.seconds, is_whole=True)))
            quick = ATOMIC if "atomic_" in edit.old else ABOUT
            found += self.clients_about(about, set().union(*map(about_the_file, files)), quick)
        return list(dict.fromkeys(judge for *_, judge in sorted(found, key=lambda entry: entry[:3])))

    def clients_about(self, about: set[str], about_users: set[str], quick: int) -> list[tuple]:
        """Those of the file, and of the files that include a header. None of them was measured here. `quick`: the rank
        of those of the file that take little time."""
        found = []
        for name in sorted(name for name in about_users if not self.known[name].slow):
            seconds = told_seconds().get(name, WHOLE_CLIENT)
            rank = quick if name in about and seconds <= WHOLE_CLIENT else LAST
            judge = Judge(name, f"{name}-0", seconds, is_client=True)
            found.append((rank, name not in about, seconds + self.compiling(judge), judge))
        return found

    def seen_in_children(self, files: list[Path]) -> list[tuple]:
        """Unit tests about the files, for a line that none seems to execute: a child of a test that ends by a signal or
        by _exit leaves no counts."""
        names = [name for name in self.units.tests if any(is_named_after(name, path) for path in files)]
        rows = [(name, self.of_units[name]) for name in names]
        return [(LINE, False, row["seconds"], Judge(name, row["key"], row["seconds"])) for name, row in rows]

    def compiling(self, judge: Judge) -> float:
        """Clients with constants of their own need objects of their own, too."""
        return OWN_OBJECTS if judge.is_client and self.known[judge.name].defines else 0

    def shipped(self, source: Path) -> tuple[bytes, frozenset[str]]:
        """What the compiler makes of it, and our files that it reads."""
        if source in self.known_code:
            return self.known_code[source]
        words = [*self.library.compile[source], *PLAIN]
        made = compiled(words, source)
        if made is None:
            sys.exit(f"jw verify: {source} does not compile")
        listed = subprocess.run([*words, "-MM", source], stdout=subprocess.PIPE, text=True, check=True).stdout
        self.known_code[source] = made, frozenset(word for word in listed.split() if str(ROOT) in word)
        return self.known_code[source]

    def changed(self, mutant: Mutant, first: Path) -> set[str] | None:
        """The sources whose objects differ from those that ship; None: one does not compile."""
        found = set()
        for source, words in self.library.compile.items():
            made, files = self.shipped(source)
            if str(mutant.path) not in files:
                continue
            place = first / inner(source) if source == mutant.path else source
            mutated = compiled([words[0], f"-I{first}", *words[1:], *PLAIN], place)
            if mutated is None:
                return None
            if mutated != made:
                found.add(source.stem)
        return found

    def judge(self, name: str, edit: Edit, before: dict) -> dict:
        """`before`: what an earlier run came to; what has met the mutant then need not meet it again."""
        known = self.judges(edit)
        judges = [judge for judge in known if judge.key not in before.get("met", ())]
        row = {"name": name, "file": str(edit.path.relative_to(ROOT)), "line": edit.line, "function": edit.function}
        row |= {"kind": edit.kind, "old": edit.old, "new": edit.new, "met": before.get("met", [])}
        if name in self.excuses:
            return row | {"state": "excused", "why": self.excuses[name]}
        if before.get("state") in ("killed", "equal", NOT_BUILT) or (before.get("met") and not judges):
            return before
        place = self.place / "mutants" / name
        shutil.rmtree(place, ignore_errors=True)
        mutant = Mutant(f"random/{name}", edit.path, edit.text().encode("latin-1").decode())
        place.mkdir(parents=True)
        start = time.monotonic()
        first = write_mutant(mutant, place / "source")
        stems = self.changed(mutant, first)
        if stems:
            row |= self.meet(mutant, judges, stems, place)
            row |= {"met": before.get("met", []) + row["met"], "of": len(known)}
        else:
            row["state"] = NOT_BUILT if stems is None else "equal"
        shutil.rmtree(place, ignore_errors=True)
        return row | {"seconds": round(time.monotonic() - start, 1)}

    def meet(self, mutant: Mutant, judges: list[Judge], stems: set[str], place: Path) -> dict:
        programs = MutatedPrograms(self.compiler, "-O1")
        programs.stems, programs.symbols = stems, self.symbols
        start, met = time.monotonic(), []
        try:
            for judge in judges:
                if time.monotonic() - start > self.limit:
                    break
                met.append(judge.key)
                if by := self.fails(programs, mutant, judge, SLACK + round(4 * judge.seconds), place):
                    return {"state": "killed", "killed": judge.name, "by": by, "met": met}
        except NotBuiltError:
            return {"state": NOT_BUILT, "met": met}
        finally:
            self.symbols = programs.symbols
            shutil.rmtree(BUILD / "verify/programs" / f"{self.compiler}-O1" / mutant.name, ignore_errors=True)
        return {"state": "survived", "met": met}

    def fails(self, programs: Programs, mutant: Mutant, judge: Judge, limit: int, place: Path) -> str:
        """What it says; empty if it notices nothing, or cannot be built with a mutant that ships well."""
        try:
            if judge.is_client:
                return self.client_fails(programs, mutant, judge.name, limit)
            if judge.is_whole:
                return self.whole.judge(judge.name, mutant, programs.stems, place)
            program = self.units.mutated(self.units.tests[judge.name], mutant, programs.stems, place)
            return unit_fails(program, limit) and unit_fails(program, limit)  # twice: no chance of a busy machine
        except subprocess.CalledProcessError:
            if not self.is_built(mutant, programs.stems, place):
                raise NotBuiltError from None
            return ""

    def is_built(self, mutant: Mutant, stems: set[str], place: Path) -> bool:
        try:
            self.units.mutated(self.library, mutant, stems, place)
        except subprocess.CalledProcessError:
            return False
        return True

    def client_fails(self, programs: Programs, mutant: Mutant, name: str, limit: int) -> str:
        result = self.run_program(programs.client(self.known[name], mutant), self.compiler, "--budget", limit)
        if result.status < 0:
            return f"signal {-result.status}"
        return result.report.get("message", "") or "it fails" if result.status == FAILED else ""


@functools.cache
def told_seconds() -> dict[str, float]:
    """What each client took when its row of docs/clients.md was made."""
    rows = re.findall(r"^- \*\*(\w+)\*\*:[^;]*?([\d.]+)\s+s,", DOCUMENT.read_text(), re.M)
    return {name: float(seconds) for name, seconds in rows}


@functools.cache
def about_the_file(path: Path) -> set[str]:
    """The clients that must reject the file's other mutants."""
    return {client for mutant in all_mutants() if mutant.path == path for client in mutant.clients}


@functools.cache
def users_of(path: Path) -> tuple[Path, ...]:
    """The sources that include a header, directly or by way of other headers."""
    found: dict[Path, None] = {}
    left = [path] if path.suffix == ".h" else []
    while left:
        name = f'#include "{left.pop().relative_to(ROOT / "src")}"'
        for user, text in texts().items():
            if user not in found and name in text:
                found[user] = None
                left.append(user) if user.suffix == ".h" else None
    return tuple(sorted(user for user in found if user.suffix == ".c"))


@functools.cache
def texts() -> dict[Path, str]:
    return {path: path.read_text() for path in sorted((ROOT / "src").rglob("*.[ch]"))}


def compiled(words: list[str], source: Path) -> bytes | None:
    """The object; None: it does not compile. The assembler's text would differ where only the compiler's labels do."""
    with tempfile.NamedTemporaryFile(suffix=".o") as made:
        done = subprocess.run([*words, "-c", source, "-o", made.name], stderr=subprocess.DEVNULL)
        return Path(made.name).read_bytes() if done.returncode == 0 else None


def is_named_after(judge: str, path: Path) -> bool:
    """unit-heap-end-12 is about heap_end.c, and unit-midend about mid_slab.c."""
    word = re.match(r"(?:unit-)?([a-z]+)", judge)[1]
    return any(word.startswith(part) or part.startswith(word) for part in path.stem.split("_"))


def unit_fails(program: Path, limit: int) -> str:
    """The limit is of processor time: a busy machine kills nothing. A test that sleeps has ten times as long."""
    command = ["prlimit", f"--cpu={limit}", program]
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=10 * limit, text=True, errors="replace"
        )
    except subprocess.TimeoutExpired:
        return f"it sleeps for more than {10 * limit} s"
    if done.returncode in (0, SKIPPED):
        return ""
    wrong = [line for line in done.stdout.splitlines() if "ERROR" in line or "FAILED" in line or "invariant" in line]
    return (wrong or [f"status {done.returncode}"])[0].strip()


def name_of(edit: Edit) -> str:
    """The same while the line stays as it is, wherever it moves in its function."""
    whole = read(edit.path)
    begin = whole.rfind("\n", 0, edit.begin) + 1
    line = whole[begin : whole.index("\n", edit.begin)].strip()
    told = "\0".join([line, str(edit.begin - begin), edit.old, edit.new])
    digest = hashlib.sha256(told.encode()).hexdigest()[:6]
    return f"{edit.path.name}:{edit.function}:{edit.kind.replace(' ', '-')}:{digest}"


def shown(edit: Edit) -> str:
    """The line as the edit leaves it, or the lines that it writes."""
    whole = edit.text()
    begin = whole.rfind("\n", 0, edit.begin) + 1
    end = whole.index("\n", edit.begin + len(edit.new))
    return " ".join((edit.new if "\n" in edit.new or edit.new == "{}" else whole[begin:end]).split())


def excuses(whole: bool = True) -> dict[str, str]:
    """`whole`: also those that only --whole may draw; those of the hardened build where it is drawn from."""
    if not SURVIVORS.exists():
        return {}
    entries = tomllib.loads(SURVIVORS.read_text()).get("survivor", [])
    hardened = FLAVOUR.preset != "release"
    kept = [entry for entry in entries if (whole or not entry.get("whole")) and (hardened or not entry.get("hardened"))]
    return {entry["name"]: " ".join(entry["excused"].split()) for entry in kept}


def told(row: dict) -> str:
    end = {"killed": f"killed by {row.get('killed')}: {row.get('by')}", "survived": "SURVIVED"}.get(
        row["state"], row["state"]
    )
    return f"{row['name']} ({row['file']}:{row['line']}): {end}"


def draw(sample: Sample, names: list[str], population: dict[str, Edit], arguments) -> list[dict]:
    """Judges them in the order of the draw until so many count. What an earlier run said of one stands."""
    kept = sample.place / ("rows-whole" if sample.whole else "rows")
    kept.mkdir(parents=True, exist_ok=True)

    def judged(name: str) -> dict:
        file = kept / f"{hashlib.sha256(name.encode()).hexdigest()[:16]}.json"
        row = sample.judge(name, population[name], json.loads(file.read_text()) if file.exists() else {})
        if row["state"] != "excused":
            file.write_text(json.dumps(row))
        return row

    rows: list[dict] = []
    with ThreadPoolExecutor(arguments.jobs) as pool:
        while names and (wanted := arguments.random - sum(row["state"] in COUNTED for row in rows)) > 0:
            drawn, names = names[:wanted], names[wanted:]
            for row in pool.map(judged, drawn):
                rows.append(row)
                counts = Counter(row["state"] for row in rows)
                print(f"[{sum(counts[state] for state in COUNTED)}/{arguments.random}] {told(row)}", flush=True)
    return rows


def shuffled(names: list[str], seed: int) -> list[str]:
    random.Random(seed).shuffle(names)
    return names


def spread(names: list[str], seed: int) -> list[str]:
    """In steps of the golden section: the first N are spread evenly over the list, so over all files, for each N. By a
    random part of a hundredth beside each step: else two seeds whose places are some steps apart draw the same."""
    chance, places = random.Random(seed), {}
    at = chance.random()
    while len(places) < min(len(names), MOST_DRAWN):
        at = (at + GOLDEN) % 1
        places[int((at + chance.random() / 100) % 1 * len(names))] = True
    return [names[place] for place in places]


def suffix() -> str:
    """Of what is kept about another flavour than release."""
    return "" if FLAVOUR.preset == "release" else f"-{FLAVOUR.preset}"


def measured(compiler: str, run_program: Callable, jobs: int, whole: bool) -> Sample:
    """What the programs execute is measured unless it is known for this state of the sources."""
    place = BUILD / "verify/random" / f"{Programs(compiler, '-O1').state[:12]}{suffix()}"
    units = UnitPrograms(place / "objects")
    quick = [client for client in clients() if not client.slow and not whole]
    of_clients = reach.reach_of_clients(place, quick, compiler, run_program, jobs)
    of_units = reach.reach_of_units(place, units)
    programs = WholePrograms(place, units) if whole else None
    library = library_that_ships()
    return Sample(compiler, run_program, library, units, of_units, of_clients, place, excuses(), programs)


def run(arguments, run_program: Callable) -> int:
    if arguments.hardened:
        choose_hardened()
    sample = measured(arguments.compiler, run_program, arguments.jobs, arguments.whole)
    sample.limit = min(LIMIT, arguments.budget)
    population = sample.population(arguments.only or "")
    partly = arguments.only or arguments.hardened
    if unknown := sorted(excuses(arguments.whole).keys() - population.keys()) if not partly else []:
        sys.exit(f"jw verify: {SURVIVORS.relative_to(ROOT)} excuses what is no mutant: {' '.join(unknown)}")
    names = sorted(population, key=population.get) if arguments.whole else sorted(population)
    names = spread(names, arguments.seed) if arguments.whole else shuffled(names, arguments.seed)
    rows = [row | {"shown": shown(population[row["name"]])} for row in draw(sample, names, population, arguments)]
    results = {"seed": arguments.seed, "population": len(population), "only": arguments.only or "", "rows": rows}
    place = BUILD / "verify/random" / f"seed-{arguments.seed}{suffix()}.json"
    place.write_text(json.dumps(results, indent=1) + "\n")
    if arguments.table:
        sample_table.write(results)
    survived = [row for row in rows if row["state"] == "survived"]
    print(*(f"{told(row)}\n    {row['old']}  ->  {row['shown']}" for row in survived), sep="\n")
    print(sample_table.summary(results))
    return 1 if survived else 0

"""Which rows of docs/clients.md are older than the sources that their clients execute.

A row names the commit of its run. That commit's files are compared with today's, without comments and white space: the
client and the headers that it includes, all production sources with theirs, the checker's engine, the constants. So a
change of a tier makes each row old: which functions a client executes only a run can tell. A header that only moved to
another folder is the same. The row of a slow client also needs a transcript in docs/notes, because no change runs these
clients.
"""

import ast
import io
import re
import subprocess
import tarfile
from collections import defaultdict
from functools import cache
from pathlib import PurePosixPath as Name

import verify_table
from clients import INCLUDES, clients, production
from flavours import ROOT
from mutants import tomllib

Sources = dict[Name, str]
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.M)
STRING = r'"(?:\\.|[^"\\\n])*"' + r"|'(?:\\.|[^'\\\n])*'"
COMMENT = re.compile(STRING + r"|//[^\n]*|/\*.*?\*/", re.S)
TOKEN = re.compile(STRING + r"|^[ \t]*#[^\n]*|\w+|\S", re.M)
FOLDERS, ENDINGS = ("src/", "include/", "verify/", "tools/jw/"), (".c", ".h", ".def", ".py", ".toml")
TOOLS = (Name("tools/jw/checker.py"), Name("tools/jw/clients.py"))  # with the compiler's options, and the constants
FILES_SHOWN, NAMES_SHOWN = 3, 20  # changed files, and clients, that a line names


@cache
def tokens(text: str) -> tuple[str, ...]:
    """Those of C. A directive is one, since its end of line has a meaning."""
    bare = COMMENT.sub(lambda found: " " if found[0][0] == "/" else found[0], text).replace("\\\n", " ")
    return tuple(" ".join(token.split()) if token.lstrip()[0] == "#" else token for token in TOKEN.findall(bare))


@cache
def settings(text: str) -> tuple[str, ...]:
    """What a Python file assigns to names of its own, in capitals."""
    tree = ast.parse(text)
    return tuple(ast.dump(step) for step in tree.body if isinstance(step, ast.Assign) and step.targets[0].id.isupper())


def meaning(name: Name, sources: Sources) -> tuple[str, ...] | None:
    text = sources.get(name)
    return None if text is None else settings(text) if name.suffix == ".py" else without_folders(tokens(text))


def without_folders(listed: tuple[str, ...]) -> tuple[str, ...]:
    """Includes of our headers first, sorted and without folders: clang-format sorts them by folder."""
    ours = [token for token in listed if token.startswith('#include "')]
    names = sorted(token.rpartition("/")[2] for token in ours)
    return (*names, *(token for token in listed if not token.startswith('#include "')))


def is_same(name: Name, now: Sources, then: Sources) -> bool:
    """The file as it was, there or, if it moved, in another folder."""
    places = [name] if name in then else [place for place in then if place.name == name.name]
    return any(meaning(name, now) == meaning(place, then) for place in places)


def git(*command: str) -> bytes | None:
    """What git prints; None: it fails."""
    try:
        return subprocess.run(["git", "-C", ROOT, *command], capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None


def is_source(name: str) -> bool:
    return name.startswith(FOLDERS) and name.endswith(ENDINGS)


@cache
def today() -> Sources:
    names = {path.relative_to(ROOT).as_posix() for folder in FOLDERS for path in (ROOT / folder).rglob("*.*")}
    return {Name(name): (ROOT / name).read_text() for name in sorted(filter(is_source, names))}


def of_commit(commit: str) -> Sources | None:
    """None: the commit is not in the history of this clone."""
    if git("merge-base", "--is-ancestor", commit, "HEAD") is None:
        return None
    with tarfile.open(fileobj=io.BytesIO(git("archive", "--format=tar", commit) or b"")) as packed:
        return {Name(file.name): packed.extractfile(file).read().decode() for file in packed if is_source(file.name)}


def included(first: Name, sources: Sources) -> set[Name]:
    """The file and the headers that it includes, directly or through others."""
    found, ahead = set(), [first]
    while ahead:
        name = ahead.pop()
        if name not in found:
            found.add(name)
            places = [name.parent, *(Name(path.relative_to(ROOT)) for path in INCLUDES)]
            for header in INCLUDE.findall(sources[name]):
                ahead += [place / header for place in places if place / header in sources][:1]
    return found


@cache
def needs() -> dict[str, set[Name]]:
    """Of each client: the files that its row is about, as they are today."""
    sources = today()
    shared = {name for name in sources if name.parts[:2] == ("verify", "checker")} | set(TOOLS)
    read = {
        hardened: set().union(*(included(Name(path.relative_to(ROOT)), sources) for path in production(hardened)))
        for hardened in (False, True)
    }
    return {
        client.name: shared | read[client.hardened] | included(Name(client.path.relative_to(ROOT)), sources)
        for client in clients()
    }


def mutants(sources: Sources) -> dict[str, set]:
    """Of each client: the logic mutants that it may have to reject. Order mutants follow from tags in comments."""
    found = defaultdict(set)
    for name, text in sources.items():
        if name.parts[:2] == ("verify", "mutants"):
            for entry in tomllib.loads(text)["mutant"]:
                for client in entry.get("clients") or [entry.get("client", "")]:
                    found[client].add((entry["file"], tokens(entry["old"]), tokens(entry["new"])))
    return found


def changed(rows: dict[str, str], commit: str) -> dict[str, list[str]]:
    """Of each row of this commit: what differs today. The empty name: the row cannot be compared."""
    now, then = today(), of_commit(commit)
    if then is None:
        return {row: [""] for row in rows}
    mutants_now, mutants_then, files = mutants(now), mutants(then), needs()
    differ = {name for name in set().union(*files.values()) if not is_same(name, now, then)}
    return {
        row: sorted(map(str, files[row] & differ)) + (["its mutants"] if mutants_now[row] != mutants_then[row] else [])
        for row in rows
    }


def without_transcript(told: dict[str, str]) -> list[str]:
    """The slow clients whose row no note in docs/notes bears out."""
    notes = "".join(path.read_text() for path in (ROOT / "docs/notes").glob("*.md"))
    counts = {name: re.search(r"\d+ executions", row)[0] for name, row in told.items()}
    slow = [client.name for client in clients() if client.slow]
    return [name for name in slow if f"{name}: complete, {counts.get(name)}" not in notes]


def some(words: list[str], most: int, between: str) -> str:
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return between.join(words[:most]) + more


def advice(old: set[str]) -> None:
    slow = {client.name for client in clients() if client.slow} & old
    quick = sorted(old - slow)
    if quick:
        names = quick if len(quick) <= NAMES_SHOWN else []
        print(f"{' '.join(['./jw verify', *names, '--table'])} runs {'these' if names else 'all'} again;")
        print("with --quick without mutants, whose numbers then stay, in three minutes at most")
    if slow:
        print(f"./jw verify {' '.join(sorted(slow))} --table takes a quarter of an hour; its output goes to docs/notes")


def check() -> bool:
    told = verify_table.rows()
    commits = defaultdict(dict)
    for name, row in told.items():
        found = verify_table.DATED.search(row.split("\n")[0])
        commits[found[1] if found else "no commit"][name] = row
    shallow = git("rev-parse", "--is-shallow-repository") != b"false\n"
    old = set()
    for commit, rows in sorted(commits.items()):
        groups = defaultdict(list)
        for name, files in changed(rows, commit).items():
            groups[tuple(files)].append(name)
        for files, names in groups.items():
            place = f"{len(names)} row{'s' if len(names) > 1 else ''} of {commit}"
            if not files:
                print(f"{place}: of today's sources")
            elif files == ("",) and shallow and commit != "no commit" and "+" not in commit:
                print(f"{place}: NOT LOOKED AT, because this clone is shallow or without history")
            else:
                older = f"older than {some(list(files), FILES_SHOWN, ', ')}"
                why = "no commit of this history" if files == ("",) else older
                print(f"{place}: {why}: {some(names, NAMES_SHOWN, ' ')}")
                old |= set(names)
    missing = without_transcript(told)
    if missing:
        print(f"slow, and no note in docs/notes has the row's number of executions: {' '.join(missing)}")
    advice(old | set(missing))
    return not old and not missing

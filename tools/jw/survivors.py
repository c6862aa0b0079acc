"""./jw check survivors: each excuse of verify/survivors.toml names a mutant that edits.py makes today.

Only the functions are parsed that the excuses name. ./jw verify --random says the same of all mutants, but seldom runs.
"""

import functools
import os
import re
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import flavours
import sample
from edits import edits_of
from flavours import ROOT
from mutants import tomllib

OPTIONS = ("-DJW_LINK_CHECK=1", "-DJW_OVERRIDE=1", "-DJW_SEAL=1", f"-I{ROOT / 'src'}", f"-I{ROOT / 'include'}")
NAME = re.compile(r"(?P<file>[\w.]+):(?P<function>\w+):[\w-]+:[0-9a-f]{6}(?:\+(?P<earlier>\d+))?$")


def entries() -> list[dict]:
    return tomllib.loads(sample.SURVIVORS.read_text())["survivor"]


@functools.cache
def mutants_of(file: str, function: str, hardened: bool) -> Counter:
    """How many mutants have each name. A function of a header is looked for in the files that include it."""
    options = [*OPTIONS, "-DJW_CHECKED=0", f"-DJW_SECURE={int(hardened)}"]
    found: set = set()
    for path in (path for path in sample.texts() if path.name == file):
        for source in [path] if path.suffix == ".c" else sample.users_of(path):
            of_file = {edit for edit in edits_of(source, options, ROOT / "src", function) if edit.path == path}
            found |= {edit for edit in of_file if edit.function == function}
            if of_file:
                break
    return Counter(map(sample.name_of, found))


def is_mutant(entry: dict) -> bool:
    told = NAME.match(entry["name"])
    if not told:
        return False
    made = mutants_of(told["file"], told["function"], bool(entry.get("hardened")))
    return made[entry["name"].split("+")[0]] > int(told["earlier"] or 0)


def stale(excused: Iterable[dict]) -> list[str]:
    excused = list(excused)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [entry["name"] for entry, good in zip(excused, pool.map(is_mutant, excused), strict=True) if not good]


def check() -> bool:
    flavours.setup("verify")
    names = Counter(entry["name"] for entry in entries())
    wrong = [f"{name}: excused twice" for name, times in names.items() if times > 1]
    wrong += [f"{name}: no mutant has this name any more" for name in stale(entries())]
    for line in wrong:
        print(f"{sample.SURVIVORS.relative_to(ROOT)}: {line}")
    return not wrong

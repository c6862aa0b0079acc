"""tests/schedule.toml: when a flavour runs which tests, as options of ctest."""

import fnmatch
import re
from functools import cache

import tomllib

from flavours import ROOT

PARTS = ("now", "long", "nightly", "never")  # of a test that several lists name, the last list counts


@cache
def schedule() -> dict[str, dict]:
    return tomllib.loads((ROOT / "tests/schedule.toml").read_text())


def quick_flavours() -> list[str]:
    return [name for name, told in schedule().items() if "quick" in told]


def expression(names: list[str]) -> str:
    """The regular expression of names with wildcards, without what ctest does not know: (?s: and \\Z."""
    return "^(" + "|".join(fnmatch.translate(name)[4:-3] for name in names) + ")$"


def selection(flavour: str, part: str, quick: bool = False) -> list[str]:
    """ctest's options for the tests that a flavour runs at one time; empty if there are none."""
    told = schedule()[flavour]
    is_rest = part == told["rest"]
    if not (is_rest or told.get(part)):
        return []
    labels = told["quick"]["labels"] if quick else told["labels"]
    chosen = [] if is_rest else ["-R", expression(told[part])]
    others = PARTS if is_rest else PARTS[PARTS.index(part) + 1 :]
    without = [name for other in others if other != part for name in told.get(other, [])]
    without += told["quick"]["without"] if quick else []
    return ["-L", f"^({'|'.join(labels)})$", *chosen, *(["-E", expression(without)] if without else [])]


def part_of(flavour: str, name: str, labels: list[str]) -> str:
    """When a flavour runs the test."""
    told = schedule()[flavour]
    if not set(labels) & set(told["labels"]):
        return "never"
    naming = [part for part in PARTS if told.get(part) and re.match(expression(told[part]), name)]
    return naming[-1] if naming else told["rest"]

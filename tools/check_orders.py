#!/usr/bin/env python3
"""Checks that every atomic operation stronger than relaxed says with which it pairs.

An operation carries a tag such as [KN1] in the comment on its lines or just above it, and after the word "pairs" the
tags of its partners, each of which must name it in turn (anchors for the verification's clients and mutants).
"""

import re
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src"
ORDER = re.compile(r"memory_order_(acquire|release|acq_rel|seq_cst)")
TAG = re.compile(r"\[([A-Z]{2}\d+)\]")
LINES_ABOVE = 5


def tagged_comment(lines: list[str], number: int) -> str | None:
    """The text of the comment that tags the operation whose order stands on this line, from its tag on."""
    first = max(0, number - LINES_ABOVE)
    text = "\n".join(lines[first : number + 1])
    comments = [c for c in re.findall(r"/\*.*?\*/", text, re.DOTALL) if TAG.search(c)]
    return comments[-1] if comments else None


def main() -> None:
    partners: dict[str, set[str]] = {}
    places: dict[str, str] = {}
    operations: dict[str, int] = {}
    problems = []
    for path in sorted(SOURCE.rglob("*.[ch]")):
        lines = path.read_text().splitlines()
        for number, line in enumerate(lines):
            if not ORDER.search(line):
                continue
            place = f"{path.relative_to(SOURCE.parent)}:{number + 1}"
            comment = tagged_comment(lines, number)
            if not comment or "pairs" not in comment:
                problems.append(f"{place}: no [tag] and partner for {ORDER.search(line).group()}")
                continue
            tag, pairs = TAG.search(comment).group(1), TAG.findall(comment.split("pairs")[-1])
            if tag in places and partners[tag] != set(pairs):
                problems.append(f"{place}: [{tag}] stands at {places[tag]}, too")
            places.setdefault(tag, place)
            partners[tag] = set(pairs)
            operations[tag] = operations.get(tag, 0) + 1
    for tag, pairs in partners.items():
        problems += [
            f"{places[tag]}: [{tag}] pairs [{other}], which does not exist" for other in pairs - partners.keys()
        ]
        problems += [
            f"{places[tag]}: [{tag}] pairs [{other}], but not the other way round"
            for other in pairs & partners.keys()
            if tag not in partners[other]
        ]
    if problems:
        sys.exit("\n".join(problems))
    print(f"{len(places)} ordered operations, all tagged and paired")


if __name__ == "__main__":
    main()

"""check_words.py - only a word's own header names its bits, and only its owner's files write it.

A word is a struct with one member, `raw`, or an atomic integer whose bits have names. No other file masks, shifts or
stores the raw word. A mask of several bits that its header defines is not typed as a number elsewhere, and only
page_map.h and page_map.c name the tables of the words. What is read by a shift or a mask of a size (a root's first
granule, a free object's link) has a function too. The words of a shared struct change only in the files that have the
struct's transitions.
"""

import re
from pathlib import Path

HEADERS = {
    "sync/cell.h",
    "backend/leaf_word.h",
    "backend/range_link.h",
    "backend/node_word.h",
    "midend/mid_word.h",
    "frontend/cross_list.h",
    "hardened/quarantine_entry.h",
}
# Names of bits, and what else only this file may write. Each stands there: a name that was changed no longer guards.
BITS = {
    "frontend/cross_list.h": [r"\bCROSS_[A-Z]+\b"],
    "frontend/heap_key.h": [r"\bKEY_NUMBER_MASK\b", r"\bKEY_NEVER_ZERO\b", r"<< KEY_NUMBER_BITS\) - 1"],
    "backend/leaf_word.h": [
        r"\bLEAF_SLAB\b",
        r"\bLEAF_(?:KIND|HIGH)_SHIFT\b",
        r"\bLEAF_(?:UNMAPPED|NOT_ACQUIRED)\b",
        r"\bLEAF_TRACE_[A-Z]+\b",
    ],
    "backend/range_link.h": [r"\bLINK_IN_LIST\b", r"\bPOSITION_[A-Z]+_SHIFT\b"],
    "backend/node_word.h": [r"\bCODE_(?:BITS|MASK)\b", r"\bALL_CODES\b"],
    "midend/mid_word.h": [r"\bMID_(?:HELD|LISTED|GIVEN_BACK|SEEN)\b"],
    "backend/slot_word.h": [r"\bSLOT_GONE\b", r"\bSLOT_DISOWNED\b"],
    "backend/directory.h": [r"\bHUGE_GONE\b"],
    "backend/range_cache.h": [r"\bRANGE_CACHE_OLD\b"],
    "hardened/quarantine_entry.h": [r"\bENTRY_SHIFT\b", r"\bENTRY_UNIT_SHIFT\b"],
    "backend/granule_id.h": [r"~\(ROOT_GRANULES - 1\)"],
    "sync/free_link.h": [r"\*\((?:const )?link_word \*\)", r"\*\((?:const )?link_any \*\)"],
}
NAMED = {header: re.compile("|".join(bits)) for header, bits in BITS.items()}
ACCESS = "backend/page_map.h"  # loads and stores the words of the tables as a whole
TABLES = {ACCESS, "backend/page_map.c"}
# Each shared struct, as its words are named, and its owner's files.
OWNERS = {
    "reclaimer->": {"backend/reclaimer.c", "backend/reclaimer_words.c"},
    "ownership.": {"backend/ownership.c"},
    "thrift_counters.": {"backend/thrift_counters.h"},
}
BELOW = {"base", "sync", "platform", "config", "api", "insight"}  # they have words of their own, if any

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
RAW = re.compile(r"(?:\.|->)raw\b")
TABLE = re.compile(r"\bpage_map\.(?:leaf|link|node)\b")
OWNED = "|".join(map(re.escape, OWNERS))
CHANGE = re.compile(
    rf"\b(?:atomic_(?:store|fetch|exchange|compare)|id_stack_(?:push|take|last))\w*\(\s*&({OWNED})"
    rf"|\b({OWNED})\w+(?:\[\w+\])?\s*(?:\+\+|--|[-+^|&]?=(?!=))"
)
NUMBER = re.compile(r"\b0x[0-9a-fA-F]+(?=[uUlL]*\b)")


def masks(source: Path) -> dict[int, str]:
    """The masks of several bits that the headers define, with their names."""
    found = {}
    for path in (source / header for header in sorted(HEADERS) if (source / header).exists()):
        for name, value in re.findall(r"#define (\w+) (0x[0-9a-fA-F]+)u", path.read_text()):
            if bin(int(value, 16)).count("1") > 1:
                found[int(value, 16)] = name
    return found


def code(path: Path) -> str:
    """The file without its comments, on the same lines."""
    return COMMENT.sub(lambda comment: "\n" * comment.group().count("\n"), path.read_text())


def stale(source: Path) -> list[str]:
    """What the tables above guard that the source does not have: it was renamed, or it is gone."""
    guarded = {header: list(bits) for header, bits in BITS.items()}
    for header in HEADERS:
        guarded.setdefault(header, []).append(RAW.pattern)
    for table in ("leaf", "link", "node"):
        guarded.setdefault(ACCESS, []).append(rf"\bpage_map\.{table}\b")
    for words, files in OWNERS.items():
        for file in files:
            guarded.setdefault(file, []).append(re.escape(words))
    found = []
    for name, patterns in sorted(guarded.items()):
        text = code(source / name) if (source / name).exists() else ""
        found += [
            f"src/{name}: has no {pattern}, which this check guards"
            for pattern in patterns
            if not re.search(pattern, text)
        ]
    return found


def complaints(source: Path) -> list[str]:
    known, found = masks(source), []
    for path in sorted(source.rglob("*.[ch]")):
        name = path.relative_to(source).as_posix()
        text = code(path)
        for number, line in enumerate(text.splitlines(), 1):
            place = f"src/{name}:{number}"
            if RAW.search(line) and name not in HEADERS | {ACCESS}:
                found.append(f"{place}: names the raw word, which is for the word's header only")
            for header, bits in NAMED.items():
                if name != header and bits.search(line):
                    found.append(f"{place}: names bits of a word, which are for {header} only")
            if TABLE.search(line) and name not in TABLES:
                found.append(f"{place}: names a table of words, which is for page_map.h only")
            if name.split("/")[0] in BELOW or name in HEADERS:
                continue
            for literal in NUMBER.findall(line):
                if int(literal, 16) in known:
                    found.append(f"{place}: types {known[int(literal, 16)]} as a number")
        for change in CHANGE.finditer(text):
            if name not in OWNERS[change[1] or change[2]]:
                place = f"src/{name}:{text.count(chr(10), 0, change.start()) + 1}"
                found.append(f"{place}: changes a word of {change[1] or change[2]}, which is for its owner only")
    return found

"""check_words.py - only a word's own header and source name its bits, and only its owner's files write it.

A word is a struct with one member, `raw`, or an atomic integer whose bits have names. No other file masks, shifts or
stores the raw word. A mask of several bits that its header defines is not typed as a number elsewhere, and only
page_map.h and page_map.c name the tables of the words. What is read by a shift or a mask of a size (a root's first
granule, a free object's link) has a function too. The words of a shared struct change only in the files that have the
struct's transitions.

Above config/ a line has a bit operation only if it shifts by a named SHIFT, masks an address by a granule or an
alignment, or stands in BIT_SETS: so a word cannot be masked by a copy, a cast or a number either. A word that is
written by its position, `(struct X){...}`, is made in its header.
"""

import re
from pathlib import Path

HEADERS = {
    "sync/cell.h",
    "backend/leaf_word.h",
    "backend/range_link.h",
    "backend/node_word.h",
    "midend/mid_hold.h",
    "midend/mid_word.h",
    "frontend/cross_list.h",
    "hardened/quarantine_entry.h",
}
# Transitions of such words that are no part of a hit path: sources that know the bits as their header does.
SOURCES = {"frontend/cross_list.c": "frontend/cross_list.h", "midend/mid_word.c": "midend/mid_word.h"}
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
    "midend/mid_hold.h": [r"\bHOLD_BUSY\b"],
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
    "thrift_counters.": {"backend/thrift_counters.c", "backend/thrift_counters.h"},
}
BELOW = {"base", "sync", "platform", "config"}  # they have words of their own, if any

# Where a line may have a bit operation: what such a line names. These are numbers, addresses, bit sets and random
# values of that file, not words that other files share; an empty pattern: the header of such a word.
BIT_SETS = {
    "api/glibc.c": r"\bflags & JW_STATS_JSON\b",
    "api/malloc.c": r"\bnumber & \(number - 1\)",
    "backend/backend.c": r"\blists_locked\b",
    "backend/directory.c": r"1 << \(|address >> shift",
    "backend/directory.h": "",
    "backend/first_range.c": r"\brandom\b",
    "backend/granule_id.h": "",
    "backend/knit.c": r"\bunit\b|\bsides & ON_THE_",
    "backend/nest.c": r"\bLOCKED\w*|\bID_MASK\b|\bALL_SLOTS\b|\b(?:summary|slot|free|filled|locked|list)\b|\bHINTS_",
    "backend/ownership.c": r"\bsides\b",
    "backend/page_map.c": r"\bWINDOW_MOST\b|\blow\b|1 << \(shift|root & ~|granules & ~|\bfrom\b|\bto\b|\(~mask\)",
    "backend/page_map.h": r"\bmask_get\(|\bpage_map_mask\(",
    "backend/page_map_slots.c": r"slot & \(low - 1\)|platform_random_place\(\) >> 1|\bPART_SHIFT\b",
    "backend/page_map_tables.h": r"\bmask\b",
    "backend/range_cache.c": r"\bfilled\b|\bclasses\b",
    "backend/range_cache.h": "",
    "backend/root.c": r"& HAS_SLABS\b|& WALKER_MASK\b",
    "backend/root.h": r"& ROOT_USE\b|& HAS_\w+",
    "backend/shortage.c": r"\bsigns\b",
    "backend/slot_word.h": "",
    "backend/thrift_rounds.c": r"more \| unmap_deferred|\(\) << quiet|<< shift >> JW|>> patience <",
    "backend/weights.h": "",
    "core/hit_path.h": r"size & -\(size_t\)",
    "core/iterate.c": r"\b1u << (?:offset|i)\b|\bfree \|= cached_bits\(|\bJW_ADDRESS_BITS\b",
    "core/sealed.c": r"\bbit\b|\bROOT_SIZE - 1\b|\bdistance\b",
    "core/sized.c": r"\balignment\b",
    "core/tagging.c": r"\bEXCLUDED_OF_|\bALL_EXCLUDED\b|\brules \|= TAGS_UNUSUAL\b",
    "core/tagging.h": "",
    "frontend/heap_fork.c": r"heap_derived\(",
    "frontend/heap_key.c": r"\bnumber << 8\b|\bkey_made\(",
    "frontend/heap_key.h": "",
    "frontend/heap_lifecycle.c": r"\bwaiting_stack\)",
    "frontend/heap_rounds.c": r"more \| soon",
    "frontend/heap_shortage.c": r"\bsigns\b",
    "frontend/object_cache.c": r"\bcache_states\b",
    "frontend/object_cache.h": r"\bcache_states\b|\bcache_halved\(|\(uint64_t\)1 << class\b",
    "frontend/slab.h": r"\bid->low\b|\bid->high\b|\bfrontend_key\b",
    "frontend/slab_free.h": r"link_base\(",
    "frontend/slab_links.c": r"link_base\(",
    "frontend/slab_lists.c": r"\*state >> \d+|\*state \* limit|\bslab_scatter_secret\b|& INT16_MAX",
    "hardened/entry.c": r"\balignment\b",
    "hardened/entry_realloc.c": r"marks & MARK_GUARDED\b",
    "hardened/entry_slow.c": r"new_tag\(|& MARK_GUARDED\b",
    "hardened/entry_steps.h": r"last >> ",
    "hardened/fill_words.h": "",
    "hardened/large.c": r"waiting\.untouched &=",
    "hardened/open.h": r"trailer\.payload >> |\bslack &= |told >> bits\b",
    "hardened/quarantine_ring.h": "",
    "hardened/quarantine.c": r"\b2u << \(31|\brandom\b|& (?:old|quarantine)->mask\b|& ~?mask\b",
    "hardened/regions.c": r"fresh(?:_age\(\), idle = fresh)? \^ 1|guard_round\(\) \| more",
    "hardened/retag.h": "",
    "hardened/seal.h": r"slack_bits\(|marks >> ",
    "hardened/secret.c": r"platform_random\(\) \| 1",
    "hardened/secret.h": "",
    "hardened/trailer.h": "",
    "hardened/zero_size.c": r"\bbit\b",
    "statistics/statistics.c": r"kilobytes << 10|\*text \| 0x20",
    "midend/mid_cache.c": r"\bmisses [&|] mark\b",
    "midend/mid_cache.h": r"JW_MIDEND_UNIT_SHIFT|\* reciprocal >> 32|\b1u << index\b",
    "midend/mid_shapes.c": r"1 << 32\) \+ size",
    "midend/mid_shapes.h": r"MID_FREE_BITS >> ",
    "midend/mid_slab.c": r"\bbits & mid_free_bits\(",
    "midend/midend.c": r"\b1u << index\b|\bmid_lists_locked\b",
    "midend/midend_round.c": r"\b(?:run|free|first)\b",
}
HARMLESS = re.compile(
    r"^_Static_assert.*|(?:<<|>>)=? [A-Z_]*SHIFT\b|& \((?:GRANULE_SIZE|alignment) - 1\)"
    r"|\b(?:more|soon|left|kept|given|used) [|&]= "
)
# As clang-format writes it, between blanks.
OPERATION = re.compile(r"[\w)\]] (?:<<|>>|[&|^])=?(?: (?=\S)|$)|~[\w(]")
MADE = re.compile(r"\(?struct (\w+)(?:\)| \w+ =)\s*\{\s*[^.}\s]")
WORD = re.compile(r"\bstruct (\w+) \{\s*(?:\w+ )*raw;\s*\}")

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
RAW = re.compile(r"(?:\.|->)\s*raw\b")
TABLE = re.compile(r"\bpage_map\.(?:leaf|link|node)\b")
OWNED = "|".join(map(re.escape, OWNERS))
CHANGE = re.compile(
    rf"\b(?:atomic_(?:store|fetch|exchange|compare)|id_stack_(?:push|take|last))\w*\(\s*&({OWNED})"
    rf"|\b({OWNED})\w[\w.]*(?:\[[^]]*\][\w.]*)*\s*(?:\+\+|--|[-+^|&]?=(?!=))"
)
NUMBER = re.compile(r"\b0[xX][0-9a-fA-F]+(?=[uUlL]*\b)")


def masks(source: Path) -> dict[int, str]:
    """The masks of several bits that the headers define, with their names."""
    found = {}
    for path in (source / header for header in sorted(HEADERS) if (source / header).exists()):
        for name, value in re.findall(r"#define (\w+) (0x[0-9a-fA-F]+)u", path.read_text()):
            if bin(int(value, 16)).count("1") > 1:
                found[int(value, 16)] = name
    return found


def words(source: Path) -> set[str]:
    """The structs that are one raw word."""
    return {word for path in source.rglob("*.h") for word in WORD.findall(path.read_text())}


def has_own_operation(name: str, line: str) -> bool:
    if (
        SOURCES.get(name, name) in HEADERS
        or name.split("/")[0] in BELOW
        or not OPERATION.search(HARMLESS.sub("", line))
    ):
        return False
    known = BIT_SETS.get(name)
    return known is None or not re.search(known, line)


def code(path: Path) -> str:
    """The file without its comments, on the same lines."""
    return COMMENT.sub(lambda comment: "\n" * comment.group().count("\n"), path.read_text())


def stale(source: Path) -> list[str]:
    """What the tables above guard that the source does not have: it was renamed, or it is gone."""
    guarded = {header: list(bits) for header, bits in BITS.items()}
    for file in HEADERS | SOURCES.keys():
        guarded.setdefault(file, []).append(RAW.pattern)
    for table in ("leaf", "link", "node"):
        guarded.setdefault(ACCESS, []).append(rf"\bpage_map\.{table}\b")
    for file, pattern in BIT_SETS.items():
        lines = code(source / file).splitlines() if (source / file).exists() else []
        if not any(OPERATION.search(HARMLESS.sub("", line)) and re.search(pattern, line) for line in lines):
            guarded.setdefault(file, []).append(pattern + "(?!)")
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


def about_line(name: str, line: str, known: dict[int, str], made: set[str]) -> list[str]:
    found = []
    name = SOURCES.get(name, name)
    if RAW.search(line) and name not in HEADERS | {ACCESS}:
        found.append("names the raw word, which is for the word's header only")
    for header, bits in NAMED.items():
        if name != header and bits.search(line):
            found.append(f"names bits of a word, which are for {header} only")
    if name not in HEADERS | {ACCESS} and any(word in made for word in MADE.findall(line)):
        found.append("makes a word by position, which is for the word's header only")
    if has_own_operation(name, line):
        found.append("has a bit operation that BIT_SETS of tools/check_words.py does not know")
    if TABLE.search(line) and name not in TABLES:
        found.append("names a table of words, which is for page_map.h only")
    if name.split("/")[0] not in BELOW | {"api", "statistics"} and name not in HEADERS:
        literals = [int(literal, 16) for literal in NUMBER.findall(line)]
        found += [f"types {known[literal]} as a number" for literal in literals if literal in known]
    return found


def complaints(source: Path, only: str = "*.[ch]") -> list[str]:
    known, made, found = masks(source), words(source), []
    for path in sorted(source.rglob(only)):
        name = path.relative_to(source).as_posix()
        text = code(path)
        for number, line in enumerate(text.splitlines(), 1):
            found += [f"src/{name}:{number}: {complaint}" for complaint in about_line(name, line, known, made)]
        for change in CHANGE.finditer(text):
            if name not in OWNERS[change[1] or change[2]]:
                place = f"src/{name}:{text.count(chr(10), 0, change.start()) + 1}"
                found.append(f"{place}: changes a word of {change[1] or change[2]}, which is for its owner only")
    return found

"""check_names.py - no two files have a name of their own in common: a name says one thing in the whole source.

A file's own names are its static functions and variables, its enumerators and its macros. The platform's files of one
processor each (arch_*.h) are alternatives, so they count as one file. Two kinds of names may stand in several files:
a macro that the file undefines again, as a list of X-macros needs, and a name that begins with an underscore, because
the system has defined what it means (_GNU_SOURCE). A source's static function names its object: at least two words.
"""

import re
from collections.abc import Iterator
from pathlib import Path

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
WITH_PARENTHESES = re.compile(r"__attribute__\(\(.*?\)\)+|_Atomic\([^()]*\)|_Alignas\([^()]*\)")
POINTER = re.compile(r"\(\*[\w ]*?(\w+(?:\[\w*\])?)\)\([^()]*\)")  # to a function
# The words in capitals are static, too (platform/host.h).
LOCAL = r"(?:[A-Z_]+ |(?:__)?inline(?:__)? )*(?:static|CALLED_AT_START|CALLED_AT_EXIT|OF_FORKING_THREAD)\b"
FUNCTION = re.compile(rf"^ ?{LOCAL}" r"[^;={}()]*\b(\w+)\([^;{]*\)\s*\{", re.MULTILINE)
VARIABLES = re.compile(rf"^ ?{LOCAL}" r"([^;={}()]*)(?:=([^;{}()]*))?", re.MULTILINE)
STRUCT = re.compile(rf"^ ?{LOCAL}" r"[^;={}()]*\{.*?^\}\s*(\w+)", re.MULTILINE | re.DOTALL)
LAST_WORD = re.compile(r"(\w+)\s*(?:\[[^\]]*\]\s*)*$")
ENUMERATION = re.compile(r"\benum\b[^;={}()]*\{([^{}]*)\}")
ENUMERATOR = re.compile(r"(?:^|,)\s*(\w+)")
MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
UNDEFINED = re.compile(r"^[ \t]*#[ \t]*undef[ \t]+(\w+)", re.MULTILINE)


def own_names(text: str) -> Iterator[tuple[int, str]]:
    """Each name that the file alone has, with the place of its definition."""
    for form in (FUNCTION, STRUCT):
        yield from ((found.start(), found[1]) for found in form.finditer(text))
    undefined = set(UNDEFINED.findall(text))
    yield from ((found.start(), found[1]) for found in MACRO.finditer(text) if found[1] not in undefined)
    for found in ENUMERATION.finditer(text):
        yield from ((found.start(1) + word.start(1), word[1]) for word in ENUMERATOR.finditer(found[1]))
    for found in VARIABLES.finditer(text):
        if text[found.end() : found.end() + 1] in ("(", "{") and found[2] is None:
            continue  # a function or a structure
        # "a, *b = &c, d": a stands before the first "=", and each other name before a "," or the next "="
        declared = found[1].split(",") + [part.split("=")[0] for part in (found[2] or "").split(",")[1:]]
        yield from ((found.start(), word[1]) for word in map(LAST_WORD.search, declared) if word)


def complaints(source: Path) -> list[str]:
    first: dict[str, str] = {}
    found = []
    for path in sorted(source.rglob("*.[ch]")):
        name = path.relative_to(source).as_posix()
        idea = re.sub(r"/arch_\w+\.h$", "/arch_*.h", name)
        text = COMMENT.sub(lambda comment: "\n" * comment.group().count("\n"), path.read_text())
        text = POINTER.sub(r"\1", WITH_PARENTHESES.sub("", text))
        if path.suffix == ".c":
            single = [match for match in FUNCTION.finditer(text) if "_" not in match[1]]
            lines = [(text[: match.start()].count("\n") + 1, match[1]) for match in single]
            found += [f"src/{name}:{line}: {word}() does not name its object" for line, word in lines]
        for place, word in sorted(own_names(text)):
            other = first.setdefault(word, idea)
            if other != idea and not word.startswith("_"):
                line = text[:place].count("\n") + 1
                found.append(f"src/{name}:{line}: {word} is a name of src/{other}, too")
    return found

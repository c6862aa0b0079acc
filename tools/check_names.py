"""check_names.py - no two files have a file-local function of the same name: a name says one thing in the whole source.

The platform's files of one processor each (arch_*.h) are alternatives, so they count as one file.
"""

import re
from pathlib import Path

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
WITH_PARENTHESES = re.compile(r"__attribute__\(\(.*?\)\)+|_Atomic\([^()]*\)")
LOCAL = r"(?:[A-Z_]+ )*(?:static|CALLED_AT_START|CALLED_AT_EXIT)\b"  # the last two are static too (platform/host.h)
DEFINITION = re.compile(rf"^ ?{LOCAL}" r"[^;={}()]*\b(\w+)\([^;{]*\)\s*\{", re.MULTILINE)


def complaints(source: Path) -> list[str]:
    first: dict[str, str] = {}
    found = []
    for path in sorted(source.rglob("*.[ch]")):
        name = path.relative_to(source).as_posix()
        idea = re.sub(r"/arch_\w+\.h$", "/arch_*.h", name)
        text = COMMENT.sub(lambda comment: "\n" * comment.group().count("\n"), path.read_text())
        text = WITH_PARENTHESES.sub("", text)
        for match in DEFINITION.finditer(text):
            function = match.group(1)
            other = first.setdefault(function, idea)
            if other != idea:
                line = text[: match.start()].count("\n") + 1
                found.append(f"src/{name}:{line}: {function} is a function of src/{other}, too")
    return found

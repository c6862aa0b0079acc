"""check_lines.py - files stay readable: 500 lines of 120 columns, and functions of C and C++ of 50 lines.

clang-tidy measures functions of src only; ruff measures Python's. Documents and tables of mutants have lines of 120
columns too. Tables of mutants and docs/clients.md, which is generated, may be longer than 500 lines. Two pages for
every reader are shorter. The sentences with which the header of a model checker's client begins have 25 words at most.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ["src", "include", "tests", "tools", "bench", "insight", "cmake", "docs", "verify"]
ENDINGS = {".c", ".h", ".cc", ".cpp", ".hpp", ".py", ".sh", ".cmake", ".def", ".md", ".toml"}
LINES, COLUMNS, FUNCTION_LINES = 500, 120, 50
MOST_LINES = {ROOT / "docs/clients.md": sys.maxsize, ROOT / "README.md": 130, ROOT / "docs/design.md": 300}
SOURCES = {".c", ".h", ".cc", ".cpp", ".hpp"}
CLIENTS, WORDS = ROOT / "verify/clients", 25


def long_functions(lines: list[str]) -> list[str]:
    """By clang-format's layout: a function begins at the margin with parameters and an opening brace."""
    found, begin = [], 0
    for number, line in enumerate(lines, 1):
        if line[:1].isalpha() and line.endswith("{") and ")" in line:
            begin = number
        elif line == "}" and begin:
            if number - begin > FUNCTION_LINES:
                found.append(f":{begin}: a function of {number - begin} lines")
            begin = 0
    return found


def long_sentences(lines: list[str]) -> list[str]:
    """Of a client's header, before its bound. A colon and a semicolon end a sentence, too."""
    header = "\n".join(lines).partition("*/")[0].partition("\n * bound")[0].partition(" - ")[2]
    sentences = re.split(r"[.:;]\s", re.sub(r"\n \*", " ", header))
    counts = [(len(sentence.split()), sentence.split()) for sentence in sentences]
    return [f": a sentence of {count} words: {' '.join(words[:5])} ..." for count, words in counts if count > WORDS]


def complaints(path: Path) -> list[str]:
    lines = path.read_text(encoding="utf-8").split("\n")
    long = [f":{number}: {len(line)} columns" for number, line in enumerate(lines, 1) if len(line) > COLUMNS]
    too_many = path.suffix != ".toml" and len(lines) > MOST_LINES.get(path, LINES) + 1
    functions = long_functions(lines) if path.suffix in SOURCES else []
    functions += long_sentences(lines) if path.parent == CLIENTS else []
    return long + functions + ([f": {len(lines) - 1} lines"] if too_many else [])


def main() -> int:
    files = (path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*")))
    paths = [path for path in files if path.suffix in ENDINGS or path.name == "CMakeLists.txt"]
    paths += sorted(ROOT.glob("*.md"))
    found = [f"{path.relative_to(ROOT)}{complaint}" for path in paths for complaint in complaints(path)]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


sys.exit(main())

"""check_lines.py - files stay readable: 500 lines of 120 columns. Functions are clang-tidy's and ruff's to measure."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ["src", "include", "tests", "tools", "bench", "cmake", "docs"]
ENDINGS = {".c", ".h", ".cc", ".cpp", ".hpp", ".py", ".sh", ".cmake", ".def"}
LINES, COLUMNS = 500, 120


def complaints(path: Path) -> list[str]:
    lines = path.read_text(encoding="utf-8").split("\n")
    long = [f":{number}: {len(line)} columns" for number, line in enumerate(lines, 1) if len(line) > COLUMNS]
    return long + ([f": {len(lines) - 1} lines"] if len(lines) > LINES + 1 else [])


def main() -> int:
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*")) if path.suffix in ENDINGS]
    found = [f"{path.relative_to(ROOT)}{complaint}" for path in paths for complaint in complaints(path)]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


sys.exit(main())

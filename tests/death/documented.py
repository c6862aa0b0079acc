#!/usr/bin/env python3
"""documented.py BUILD PROGRAM - docs/misuse.md says word for word what the cases of tests/death end in."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GRAMMAR = re.compile(
    r"jwmalloc: (double free|invalid free|invalid pointer|wrong size|wrong alignment|write after free|overflow): "
    r"address 0x\.\.\., tier (none|small|mid|large|huge), size class (none|\d+ B), owner thread (none|ended|ID) "
    r"\((not allocated here|in use|inside an object|between objects|free already|in free memory|"
    r"in memory given back to the system|given size \d+|given alignment \d+|changed at byte \d+)\)"
)


def said(build: str, program: str, case: str, size: str) -> str:
    done = subprocess.run([program, build, case], stdout=subprocess.PIPE, text=True, check=False)
    found = re.search(rf"^{case} +{size} .*said: (.*)$", done.stdout, re.M)
    line = found.group(1) if found else f"{case} {size} has not run"
    return re.sub(r"owner thread \d+", "owner thread ID", re.sub(r"0x[0-9a-f]+", "0x...", line))


def main() -> int:
    build, program = sys.argv[1:]
    text = re.sub(r"\n {8}(?=\()", " ", (ROOT / "docs/misuse.md").read_text())  # a line that is broken there
    examples = re.findall(r"^    (\w+) (\d+)\n    (jwmalloc: .*)$", text, re.M)
    wrong = 0
    for case, size, line in examples:
        if case.startswith("write_") != (build == "checked"):
            continue
        right = GRAMMAR.fullmatch(line) and said(build, program, case, size) == line
        print(f"{case} {size}: {'ok' if right else 'WRONG: ' + said(build, program, case, size)}")
        wrong += not right
    return int(wrong > 0 or len(examples) < 20)


sys.exit(main())

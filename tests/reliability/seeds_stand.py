#!/usr/bin/env python3
"""seeds_stand.py - the text of each mistake that a test of the tests makes on purpose stands once in its source.

Most of these tests run at night only. So a change of the source must not leave a mistake behind that changes nothing.
"""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]


def module(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.replace("/", "_"), ROOT / "tests" / path)
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = loaded
    spec.loader.exec_module(loaded)
    return loaded


def mistakes() -> list[tuple[str, Path, str]]:
    """Name, file and text of each."""
    found = [
        (name, ROOT / "src" / m.file, m.old) for name, m in module("reliability/seeded.py").MISTAKES.items() if m.file
    ]
    found += [(name, ROOT / "src" / m.file, m.old) for name, (m, _) in module("secure/seeded.py").MISTAKES.items()]
    found += [(name, ROOT / m.file, m.old) for name, m in module("fuzz/seeded.py").MISTAKES.items()]
    return found


def main() -> int:
    found = mistakes()
    wrong = [(name, path) for name, path, old in found if path.read_text().count(old) != 1]
    for name, path in wrong:
        print(f"{path.relative_to(ROOT)}: the text of the mistake '{name}' does not stand there once")
    print(f"{len(found) - len(wrong)} of {len(found)} texts stand once")
    return 1 if wrong or not found else 0


if __name__ == "__main__":
    sys.exit(main())

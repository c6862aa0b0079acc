#!/usr/bin/env python3
"""symbols.py NM KIND BUILD LIBRARY - the symbols that a library defines are those of symbols.txt, no more and no fewer.

KIND is override (libjwmalloc.so and .a) or prefixed (libjwmalloc-prefixed.a).
"""

import pathlib
import subprocess
import sys


def wanted(kind, size_letter, shared, hardened):
    names = set()
    for line in (pathlib.Path(__file__).parent / "symbols.txt").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        group, name = line.split()
        if group in ("C", "jw") or (group == "hardened" and hardened):
            names.add("jw_" + name)
        if kind == "override" and group not in ("jw", "hardened") and (shared or group != "shared"):
            names.add(name.replace("%z", size_letter))
    return names


def main():
    nm, kind, build, library = sys.argv[1:]
    shared = ".so" in pathlib.Path(library).name
    dynamic = ["-D"] if shared else []
    out = subprocess.run(
        [nm, *dynamic, "-g", "--defined-only", "-P", library], check=True, capture_output=True, text=True
    )
    lines = [line.split() for line in out.stdout.splitlines() if len(line.split()) >= 3]
    found = {name for name, *_ in lines} - {"_init", "_fini"}  # of musl's start files
    is_64_bit = any(len(address) > 8 or int(address, 16) >> 32 for _, _, address, *_ in lines) or "_Znwm" in found
    expected = wanted(kind, "m" if is_64_bit else "j", shared, build == "secure")
    missing, surplus = sorted(expected - found), sorted(found - expected)
    print(f"{library}: {len(found)} symbols, missing {missing}, surplus {surplus}")
    sys.exit(bool(missing or surplus))


main()

#!/usr/bin/env python3
"""pressure.py PROGRAM LIBRARY - the option pressure in a control group with a limit, beside other allocators.

PROGRAM is pressure.c. The kernel must kill it with glibc's malloc, with jemalloc if that is installed, and not with
LIBRARY and `pressure:true`. What it does with LIBRARY alone is printed.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

SKIPPED = 77
LIMIT = 160  # MB
program, library = sys.argv[1:3]
jemalloc = next(Path("/usr/lib").glob("*/libjemalloc.so.2"), None)


def make_group():
    root = Path("/sys/fs/cgroup")
    old = (root / "memory/memory.limit_in_bytes").exists()
    group = (root / "memory" if old else root) / f"jwmalloc-pressure-{os.getpid()}"
    try:
        group.mkdir()
        (group / ("memory.limit_in_bytes" if old else "memory.max")).write_text(f"{LIMIT}M")
    except OSError as error:
        if group.exists():
            group.rmdir()
        print(f"skipped: no control group with a limit can be made ({error}); unit-linux reads a folder like one")
        sys.exit(SKIPPED)
    return group


def run(group, preload, conf):
    environment = {name: value for name, value in os.environ.items() if name not in ("JWMALLOC_CONF", "LD_PRELOAD")}
    if conf:
        environment["JWMALLOC_CONF"] = conf
    command = (
        f'echo $$ >{group}/cgroup.procs && exec env {f"LD_PRELOAD={preload}" if preload else ""} {program} {LIMIT}'
    )
    return subprocess.run(["sh", "-c", command], env=environment, capture_output=True, text=True, timeout=50)


def lives(group, name, preload=None, conf=None):
    result = run(group, preload, conf)
    print(f"{name}: exit {result.returncode} {result.stdout.strip()}{result.stderr.strip()}", flush=True)
    if result.returncode not in (0, -signal.SIGKILL):
        sys.exit(1)
    return result.returncode == 0


def main():
    group = make_group()
    try:
        others_die = not lives(group, "glibc")
        jemalloc_lives = others_die and jemalloc is not None and lives(group, "jemalloc", jemalloc)
        lives(group, "without the option", library)
        ours_lives = lives(group, "pressure:true", library, "pressure:true")
    finally:
        time.sleep(0.1)
        group.rmdir()
    if not others_die:
        print("skipped: the group's limit does not kill")
        sys.exit(SKIPPED if ours_lives else 1)
    sys.exit(0 if ours_lives and not jemalloc_lives else 1)


main()

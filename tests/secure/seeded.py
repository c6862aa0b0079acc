#!/usr/bin/env python3
"""seeded.py COMPILER PROGRAM [MISTAKE...] - tests of the hardened build's tests: with a mistake in, its case must fail.

PROGRAM is hardened.c on the system's malloc; the library that is built with the mistake is preloaded.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "reliability"))

import seeded  # noqa: E402


def seed(file: str, text: str, instead: str, case: str) -> tuple[seeded.Mistake, str]:
    return seeded.Mistake(file, text, instead, f"{case} ", secure=True), case


ENTRY, QUARANTINE = "hardened/entry.c", "hardened/quarantine.c"
MISTAKES = {
    "trailer": seed(
        ENTRY, "state == BROKEN || slack > slot - TRAILER_SIZE", "state == LIVE && !slot", "overflow_small"
    ),
    "fill": seed(ENTRY, "left != filled(slack)", "left > filled(slack)", "overflow_small_slack"),
    "neighbour": seed(
        ENTRY, "    if (small) check_neighbour(object, slot);\n", "    (void)small;\n", "overflow_into_next"
    ),
    "guard": seed(
        "hardened/guard.c",
        "platform_protect(slab + ((size_t)weight << JW_GRANULE_SHIFT), rest_of(granule_of(slab), weight), false);",
        "",
        "overflow_into_guard",
    ),
    "quarantine": seed(QUARANTINE, "slot > quarantine->limit / QUARANTINE_PART", "slot > 0", "quarantine_delays"),
    "written": seed(QUARANTINE, "left != checked(slot)", "left > slot", "write_after_free_small"),
    "link": seed("frontend/slab.c", "UNLIKELY(!may_lead(object, distance))", "!object", "forged_link"),
    "order": seed("frontend/slab.c", "unsigned other = random_less(i + 1);", "unsigned other = i;", "order_small"),
    "mid order": seed("midend/mid_cache.h", "random_less((uint32_t)__builtin_popcount(word))", "0", "order_mid"),
    "seed": seed("platform/random.c", "return platform_random() | 1;", "return 1;", "order_small"),
    "children": seed("core/fork.c", "if (JW_SECURE) random_forget();", "", "order_of_children"),
    "cleared": seed(QUARANTINE, "if (clears && (waits || slot <= BACKEND_MAX))", "if (slot == 64)", "zero_on_free"),
    "waiting": seed(QUARANTINE, "(waits || slot <= BACKEND_MAX)", "slot <= BACKEND_MAX", "contents_go"),
    "waiting accused": seed(QUARANTINE, "(waits || slot <= BACKEND_MAX)", "slot <= BACKEND_MAX", "correct_work"),
    "clear": seed(ENTRY, "if (clear) memset", "if (clear && size > 999) memset", "zero_on_allocation"),
    "delivery": seed(
        ENTRY,
        "if (small) misuse(WRITE_AFTER_FREE",
        "if (!object) misuse(WRITE_AFTER_FREE",
        "free_end_written",
    ),
}


def is_found(name: str, compiler: str, program: str) -> bool:
    mistake, case = MISTAKES[name]
    with tempfile.TemporaryDirectory() as directory:
        library = seeded.build(mistake, compiler, directory)
        command = [HERE / "promises.py", "caught", case, "env", f"LD_PRELOAD={library}", program]
        done = subprocess.run([sys.executable, "-B", *command], stdout=subprocess.PIPE, text=True, errors="replace")
    found = done.returncode == 1 and mistake.finding in done.stdout and "WRONG" in done.stdout
    print(f"{name}: {'found' if found else 'NOT FOUND'}: {done.stdout.strip()}", flush=True)
    return found


def main() -> int:
    compiler, program, *chosen = sys.argv[1:]
    names = chosen or list(MISTAKES)
    return 0 if sum(is_found(name, compiler, program) for name in names) == len(names) else 1


sys.exit(main())

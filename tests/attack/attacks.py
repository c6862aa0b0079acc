#!/usr/bin/env python3
"""attacks.py verified|unverified PROGRAM... - runs the cases of attack.c and looks at how they end.

verified: each must end in one line of misuse and SIGABRT. unverified (-DJW_LINK_CHECK=OFF): each must gain what it is
after, or end in a fault, except for those on mid objects, whose links are verified in each build, and for those that
find nothing to begin with.
"""

import signal
import subprocess
import sys

GAINED = 40  # the program's exit code
NOTHING = ["old_links_and_overflow"]  # there are no old links in any build, and the program says so by ending well
LINE = "jwmalloc: write after free: "


def end_of(program: list[str], case: str) -> str:
    done = subprocess.run([*program, case], stderr=subprocess.PIPE, text=True, errors="replace", timeout=60)
    code = done.returncode if done.returncode <= 128 else 128 - done.returncode  # an emulator's own death
    if code == -signal.SIGABRT and done.stderr.startswith(LINE):
        return "seen"
    return {0: "nothing", GAINED: "gained", -signal.SIGSEGV: "fault", -signal.SIGBUS: "fault"}.get(
        code, f"{code}: {done.stderr}"
    )


def main() -> int:
    build, *program = sys.argv[1:]
    cases = subprocess.run(program, stdout=subprocess.PIPE, text=True).stdout.split()
    right = bool(cases)
    for case in cases:
        seen = build == "verified" or case.endswith("_mid")
        end = end_of(program, case)
        kept = end == "nothing" if case in NOTHING else end == "seen" if seen else end in ("gained", "fault")
        print(f"{case:28}{end}{'' if kept else '  WRONG'}")
        right &= kept
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())

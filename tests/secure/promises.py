#!/usr/bin/env python3
"""promises.py caught|unnoticed CASE,...|all PROGRAM... - runs the cases of hardened.c and looks at how they end.

caught: on the hardened build each must be. unnoticed: on the plain build none may be, but for what it sees as well.
"""

import os
import re
import signal
import subprocess
import sys
from typing import NamedTuple

PROPERTY = 40  # the program's exit code
TIMES = 4  # processes whose order is compared


class Promise(NamedTuple):
    ends: str  # the kind of misuse that the line names; or fault, property, order, well
    options: str | list[str] = ""  # several: with each of them
    seen_by_all: bool = False


QUARANTINES = ["0", "256", "64K", "16M", "17M", "64M", "1G"]
CLEARING = [f"quarantine:{size},zero_on_free:true" for size in QUARANTINES]
OVERFLOW, WRITTEN = Promise("overflow"), Promise("write after free")
PROMISES = {
    "overflow_small": OVERFLOW,
    "overflow_small_by_zero": OVERFLOW,
    "overflow_small_slack": OVERFLOW,
    "overflow_mid": OVERFLOW,
    "overflow_large": OVERFLOW,
    "overflow_grown": OVERFLOW,
    "overflow_huge": OVERFLOW,
    "overflow_aligned": OVERFLOW,
    "overflow_resized": OVERFLOW,
    "overflow_found_by_realloc": OVERFLOW,
    "overflow_into_next": OVERFLOW,
    "overflow_into_guard": Promise("fault", "guard_rate:1"),
    "overflow_into_guard_mid": Promise("fault", "guard_rate:1"),
    "write_after_free_small": WRITTEN,
    "write_after_free_start": Promise("write after free", seen_by_all=True),
    "write_after_free_start_many": WRITTEN,
    "write_after_free_end": WRITTEN,
    "write_after_free_mid": WRITTEN,
    "forged_link": Promise("write after free", "quarantine:0", seen_by_all=True),
    "forged_link_in_heap": Promise("write after free", "quarantine:0", seen_by_all=True),
    "free_end_written": Promise("write after free", "quarantine:0"),
    "double_free": Promise("double free", seen_by_all=True),
    "double_free_late": Promise("double free", seen_by_all=True),
    "double_free_elsewhere": Promise("double free", seen_by_all=True),
    "realloc_after_free": Promise("invalid pointer", seen_by_all=True),
    "quarantine_delays": Promise("property"),
    "quarantine_ends": Promise("property"),
    "order_small": Promise("order"),
    "order_mid": Promise("order", seen_by_all=True),  # the plain one places the first slabs at random
    # without that option: on the plain build, too
    "order_of_children": Promise("property", "fresh_after_fork:false", seen_by_all=True),
    "zero_on_free": Promise("property"),
    "zero_on_allocation": Promise("property"),
    "contents_go": Promise("property", CLEARING),
    "large_is_kept": Promise("property"),
    "large_grows": Promise("property", ["", "quarantine:0"], seen_by_all=True),
    "correct_work": Promise(
        "well",
        [
            "quarantine:17M,zero_on_free:false",
            "quarantine:0,zero_on_free:false",
            *CLEARING,
            "guard_rate:1,quarantine:17M,zero_on_free:true",
        ],
    ),
    "size_is_exact": Promise("property"),
    "records_are_fenced": Promise("property", seen_by_all=True),
}
# Of misuses.c.
FAULT, PROPERTY_KEPT = Promise("fault"), Promise("property")
INVALID = Promise("invalid free|invalid pointer|double free", seen_by_all=True)
DOUBLE = Promise("double free", seen_by_all=True)
MISUSES = {
    **dict.fromkeys(["double_free_small", "double_free_small_delayed", "double_free_large"], DOUBLE),
    **dict.fromkeys(["double_free_large_delayed", "double_free_huge", "double_free_zero_size"], DOUBLE),
    **dict.fromkeys(["eight_byte_overflow_small", "eight_byte_overflow_large"], OVERFLOW),
    **dict.fromkeys(["overflow_far_large", "overflow_far_large_again", "read_after_free_large_late"], FAULT),
    **dict.fromkeys(["invalid_free_protected", "invalid_free_unprotected", "invalid_free_near"], INVALID),
    **dict.fromkeys(["invalid_free_far", "unaligned_free_small", "unaligned_free_large"], INVALID),
    **dict.fromkeys(["unaligned_usable_size", "usable_size_after_free", "usable_size_of_reused"], INVALID),
    **dict.fromkeys(["uninitialized_free", "uninitialized_realloc", "uninitialized_usable_size"], INVALID),
    "wrong_size": Promise("wrong size", seen_by_all=True),
    **dict.fromkeys(["read_after_free_small", "read_after_free_mid", "read_after_free_kept"], PROPERTY_KEPT),
    **dict.fromkeys(["read_after_free_large", "write_after_free_large", "write_after_free_large_reuse"], FAULT),
    **dict.fromkeys(["uninitialized_read_small", "uninitialized_read_mid"], PROPERTY_KEPT),
    "uninitialized_read_large": PROPERTY_KEPT,
    "uninitialized_read_resized": Promise("property", seen_by_all=True),
    "uninitialized_read_grown": Promise("property", seen_by_all=True),
    "uninitialized_read_cut": PROPERTY_KEPT,
    **dict.fromkeys(["read_zero_size", "write_zero_size", "write_zero_size_resized"], FAULT),
    "write_zero_size_aligned": FAULT,
    "string_overflow": PROPERTY_KEPT,
    **dict.fromkeys(["write_after_free_small_end", "write_after_free_mid_end", "write_after_free_kept"], WRITTEN),
    "write_after_free_kept_mid": WRITTEN,
    "write_after_free_unkept": Promise("fault", "quarantine:0"),
    **dict.fromkeys(["write_after_free_empty_slab", "write_after_free_before_fork"], WRITTEN),
    "write_after_free_small": Promise("write after free", seen_by_all=True),
    # the plain build unmaps the object
    **dict.fromkeys(
        ["overflow_far_huge", "read_after_free_huge", "write_after_free_huge"], Promise("fault", seen_by_all=True)
    ),
    **dict.fromkeys(["write_after_free_small_reuse", "quarantine_is_deep"], PROPERTY_KEPT),
    **dict.fromkeys(["quarantine_is_random", "quarantine_delays_large", "types_stay_apart"], PROPERTY_KEPT),
    "types_stay_apart_in_pool": PROPERTY_KEPT,
}
ALL: dict[str, Promise] = {}


def run(program: list[str], case: str, options: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "JWMALLOC_CONF": options}
    return subprocess.run([*program, case], env=environment, capture_output=True, text=True, errors="replace")


def is_kept(promise: Promise, done: subprocess.CompletedProcess[str]) -> bool:
    if promise.ends == "fault":
        return -done.returncode == signal.SIGSEGV
    if promise.ends == "property":
        return done.returncode == PROPERTY
    if promise.ends == "well":
        return done.returncode == 0 and not done.stderr
    line = f"jwmalloc: ({promise.ends})[^\n]*\n"
    return -done.returncode == signal.SIGABRT and re.match(line, done.stderr) is not None


def check(program: list[str], case: str, hardened: bool) -> bool:
    options = ALL[case].options if hardened else ""
    return all(
        check_with(program, case, hardened, each) for each in ([options] if isinstance(options, str) else options)
    )


def check_with(program: list[str], case: str, hardened: bool, options: str) -> bool:
    promise = ALL[case]
    done = run(program, case, options)
    if promise.ends == "order":
        orders = {done.stdout} | {run(program, case, options).stdout for _ in range(TIMES - 1)}
        right = done.returncode == 0 and len(orders) == (TIMES if hardened else 1)
    else:
        right = is_kept(promise, done) if hardened else done.returncode == 0
    said = f"{done.returncode}, {(done.stderr or done.stdout).strip()}"
    print(f"{case:28} {'ok' if right else 'WRONG'}: {f'{options}: ' if hardened and options else ''}{said}")
    return right


def main() -> int:
    hardened, chosen, program = sys.argv[1] == "caught", sys.argv[2], sys.argv[3:]
    table = MISUSES if "misuses" in os.path.basename(program[-1]) else PROMISES
    ALL.update(table)
    cases = [case for case in table if chosen == "all" or case in chosen.split(",")]
    if not hardened:
        cases = [case for case in cases if not table[case].seen_by_all]
    if run(program, cases[0], "").returncode == 77:
        return 77
    right = sum(check(program, case, hardened) for case in cases)
    return 0 if right == len(cases) else 1


sys.exit(main())

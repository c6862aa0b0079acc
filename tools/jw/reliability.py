"""./jw reliability: the long forms of tests/reliability, for the night; the short ones are in ./jw test."""

import os
import subprocess
import time
from pathlib import Path

import flavours

SHORT = "reclaim_interval:10"
LOW = f"{SHORT},cache_percent:0,cache_min:2M"
# Name, program, arguments, options. `faults calls 1` refuses each single call in turn.
RUNS = [
    ("frozen-threads", "frozen", ["threads", "paths"], SHORT),
    ("frozen-fork", "frozen", ["fork", "paths"], SHORT),
    ("frozen-watermark", "frozen", ["watermark", "4"], LOW),
    ("faults-sites", "faults", ["sites"], LOW),
    ("faults-calls", "faults", ["calls", "1"], LOW),
    ("faults-random", "faults", ["random", "200"], LOW),
    ("conformance", "conformance", [], ""),
]


def report(name: str, command: list[object], options: str, preload: Path | None) -> bool:
    environment = os.environ | ({"JWMALLOC_CONF": options} if options else {})
    environment |= {"LD_PRELOAD": str(preload)} if preload else {}
    print(f"\n== {name}: {' '.join(map(str, command[1:]))}", flush=True)
    start = time.monotonic()
    passed = subprocess.run([str(word) for word in command], env=environment, check=False).returncode in (0, 77)
    print(f"{name}: {'passed' if passed else 'FAILED'}, {time.monotonic() - start:.0f} s", flush=True)
    return passed


def run(arguments) -> int:
    wanted = [*(name for name, *_ in RUNS), "soak"]
    if arguments.only:
        wanted = [name for name in wanted if arguments.only in name]
    failed = []
    if "soak" in wanted:
        soak = flavours.build("checked", target="all", tests=True) / "tests/soak-static"
        if not report("soak", [soak, arguments.minutes * 60], "", None):
            failed.append("soak")
    build = flavours.build("release", target="all", tests=True)
    for name, program, words, options in RUNS:
        command = [build / f"tests/{program}-control", *words]
        if name in wanted and not report(name, command, options, build / "libjwmalloc.so"):
            failed.append(name)
    print(f"\n{len(wanted) - len(failed)} of {len(wanted)} passed{': not ' + ', '.join(failed) if failed else ''}")
    return 1 if failed or not wanted else 0


def add_command(commands) -> None:
    command = commands.add_parser(
        "reliability",
        help="run the long reliability tests; takes hours",
        description="Runs the long tests: threads stopped at every instruction on every path, forks and refused "
        "system calls at every place, the soak of a checked build, the conformance cases. Takes hours. "
        "docs/reliability.md has the figures.",
    )
    command.add_argument("--only", metavar="TEXT", help="only runs with this text in the name")
    command.add_argument("--minutes", type=int, default=20, help="let the soak last so long; default: %(default)s")
    command.set_defaults(run=run)

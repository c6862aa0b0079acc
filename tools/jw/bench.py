"""./jw bench: the paper's evaluation, against other allocators, on this machine."""

import argparse
import os
import shutil
import signal
import sys
import time
from pathlib import Path

import bench_peers
import flavours

VENV = flavours.BUILD / "bench-venv"
REQUIREMENTS = flavours.ROOT / "bench/requirements.txt"
NAMES = {
    "instructions": "instructions and conditional branches of one call, single-stepped (Table 2)",
    "micro": "speed of rptest, xmalloc, mstress, mleak (Figure 12, upper half)",
    "load": "allocator-side instructions of the same, by callgrind (Figure 12, lower half)",
    "replay": "allocation traces of real programs: time, instructions, memory",
    "footprint": "memory of mstress over time, busy and with sleeps (Figure 13)",
    "latency": "how long single calls take, P50 to P99.99 and max (Figure 14)",
    "size": "text size; an empty program's instructions and memory",
    "scale": "cost of an operation with 1 MB to 8 GB alive, and with 1 to 742 threads",
}
QUICK_SECONDS = 150
EPILOG = """benchmarks (all when none is named):
{listing}

peers ({quick} with --quick):
{peers}
  and only when named: {hardened}

  jw+jemalloc is our frontend on jemalloc's backend. Those whose name ends in -small get no transparent huge pages,
  which mimalloc asks for by itself.

The first run installs Debian packages, and fetches and builds peers from crates (five minutes or so). A full run takes
three hours or so; quiet machines only. Results: report.html, results.json, results.csv. How to read them:
docs/benchmarks.md"""


def enter_environment() -> None:
    """Runs this command again under a Python that has what bench/requirements.txt pins."""
    if Path(sys.prefix).resolve() == VENV.resolve():
        return
    flavours.setup("build", "report")
    installed = VENV / "requirements.txt"
    if not installed.exists() or installed.read_text() != REQUIREMENTS.read_text():
        print("  installing what draws the plots ...", file=sys.stderr)
        flavours.quietly(sys.executable, "-m", "venv", "--clear", VENV)
        flavours.quietly(VENV / "bin/pip", "install", "--quiet", "-r", REQUIREMENTS)
        shutil.copy(REQUIREMENTS, installed)
    os.execv(VENV / "bin/python", [VENV / "bin/python", "-B", flavours.ROOT / "tools/jw", *sys.argv[1:]])


def run(arguments: argparse.Namespace) -> int:
    for kind, given, known in (
        ("benchmark", arguments.benchmark, NAMES),
        ("peer", arguments.peers or [], bench_peers.NAMES + bench_peers.HARDENED),
    ):
        if unknown := [name for name in given if name not in known]:
            raise SystemExit(f"jw bench: no such {kind}: {', '.join(unknown)}; see ./jw bench --help")
    traces = [Path(trace).resolve() for trace in arguments.trace or []]
    for trace in traces:
        if not trace.is_file():
            raise SystemExit(f"jw bench: no such trace: {trace}")
    enter_environment()
    return measure(arguments, traces)


def measure(arguments: argparse.Namespace, traces: list[Path]) -> int:
    # These need the environment.
    import bench_cases
    import bench_report
    import bench_run

    begun = time.monotonic()
    print("  building the drivers and the peers ...", file=sys.stderr)
    bench_run.compile_programs()
    names = arguments.peers or (bench_peers.QUICK if arguments.quick else bench_peers.NAMES)
    ordered = [bench_peers.OURS, *(name for name in names if name != bench_peers.OURS)]
    allocators = bench_peers.collect(ordered, arguments.peer or [], bench_run.OUTPUT / "whose")
    # Building does not count, where it takes long.
    end = max(begun + QUICK_SECONDS, time.monotonic() + QUICK_SECONDS // 2) if arguments.quick else float("inf")
    session = bench_run.Session(
        allocators,
        arguments.rounds or (2 if arguments.quick else 5),
        arguments.quick,
        end,
        traces or bench_cases.default_traces(),
    )
    about = bench_report.machine()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)  # in the background as well
    if os.getloadavg()[0] > 0.5:
        print(f"  this machine is busy (load {os.getloadavg()[0]:.1f}): times will spread", file=sys.stderr)
    try:
        chosen = arguments.benchmark or list(bench_cases.BENCHMARKS)
        for number, name in enumerate(chosen):
            session.benchmark = name
            # What one benchmark does not need of its share of the time goes to those after it.
            session.deadline = time.monotonic() + (end - time.monotonic()) / (len(chosen) - number)
            bench_cases.BENCHMARKS[name](session)
    except KeyboardInterrupt:
        session.skipped.append("what came after the interruption")
    print(file=sys.stderr)
    bench_report.write(session, about, arguments.output.resolve())
    return 1 if any(failure["allocator"] == bench_peers.OURS for failure in session.failures) else 0


def add_command(commands) -> None:
    command = commands.add_parser(
        "bench",
        help="measure it against other allocators: speed, instructions, memory, latency",
        description="Repeats the paper's evaluation on this machine, against other allocators in the same run: each "
        "is preloaded into the same programs, in turn, several times over.",
        epilog=EPILOG.format(
            listing="\n".join(f"  {name:14}{text}" for name, text in NAMES.items()),
            peers="  " + " ".join(bench_peers.NAMES),
            quick=", ".join(bench_peers.QUICK),
            hardened=" ".join(bench_peers.HARDENED),
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("benchmark", nargs="*", metavar="BENCHMARK", help="see below")
    command.add_argument("--quick", action="store_true", help="less of everything: within three minutes, once built")
    command.add_argument("--rounds", type=int, help="how often each measurement is repeated (5; 2 with --quick)")
    command.add_argument("--peers", type=lambda text: text.split(","), metavar="A,B", help="only these of the peers")
    command.add_argument("--peer", action="append", metavar="NAME=LIB.so", help="one more allocator; repeatable")
    command.add_argument("--trace", action="append", metavar="FILE", help="replay this trace instead; repeatable")
    command.add_argument("--output", type=Path, default=flavours.BUILD / "bench-results", metavar="FOLDER",
                         help="where results go (build/bench-results)")  # fmt: skip
    command.set_defaults(run=run)

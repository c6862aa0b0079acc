"""./jw bench: the paper's evaluation, against other allocators, on this machine."""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import bench_peers
import flavours

VENV = flavours.BUILD / "bench-venv"
REQUIREMENTS = flavours.ROOT / "bench/requirements.txt"
ROUNDS = 5
NAMES = {
    "instructions": "instructions and conditional branches of one call, single-stepped (Table 2)",
    "micro": "speed of rptest, xmalloc, mstress, mleak (Figure 12, upper half)",
    "large": "speed from 4 KB to 64 MB: pairs, random sizes, calloc, realloc, vectors, alignments",
    "wide": "programs of many kinds: larson, tables, containers; Python, SQLite, g++, Redis",
    "load": "allocator-side instructions of the same, by callgrind (Figure 12, lower half)",
    "replay": "allocation traces of real programs: time, instructions, memory",
    "footprint": "memory of mstress over time, busy and with sleeps (Figure 13)",
    "latency": "duration of single calls, P50 to P99.99 and maximum (Figure 14)",
    "size": "text size; an empty program's instructions and memory",
    "scale": "cost of an operation with 1 MB to 8 GB of live objects, and with 1 to 742 threads",
    "zygote": "memory that 50 children of a fork share with their parent, with and without jw_seal",
    "security": "attacks that are stopped, varying bits of addresses, and what that costs",
}
# With --quick: how long measuring may take, a single program at most, and how the benchmarks share the time.
QUICK_SECONDS = 145
QUICK_TIME_LIMIT = 10
QUICK_ROUNDS = 7
QUICK_SHARES = {
    name: {"micro": 5, "large": 2, "wide": 4, "load": 4, "replay": 4, "footprint": 3, "latency": 1, "size": 1}.get(
        name, 2
    )
    for name in NAMES
}
EPILOG = """benchmarks (all when none is named):
{listing}

peers:
{peers}
peers with --quick:
{quick}
peers only when named, or for security alone:
{hardened}

  jw+jemalloc is jwmalloc's frontend and midend on jemalloc's backend. mimalloc asks for
  transparent huge pages by default; peers with names in -small get none. jw-huge is jwmalloc
  with transparent huge pages.

The first run says which packages it installs, then fetches and builds peers from crates: five to
seven minutes, with --quick one to two. A full run takes about four hours and needs a quiet machine.
Results: report.html, results.json, results.csv. docs/benchmarks.md explains them."""


def enter_environment() -> None:
    """Runs this command again under a Python that has what bench/requirements.txt pins."""
    if Path(sys.prefix).resolve() == VENV.resolve():
        return
    flavours.setup("build", "report")
    installed = VENV / "requirements.txt"
    if not installed.exists() or installed.read_text() != REQUIREMENTS.read_text():
        packages = " ".join(REQUIREMENTS.read_text().split())
        if not flavours.may_install():
            raise SystemExit(f"jw bench: missing in {VENV}, not installed because of --no-install: {packages}")
        print(f"jw bench: about to install these Python packages in {VENV}: {packages}", file=sys.stderr)
        try:
            flavours.quietly(sys.executable, "-m", "venv", "--clear", VENV)
            flavours.quietly(VENV / "bin/pip", "install", "--quiet", "-r", REQUIREMENTS)
        except subprocess.CalledProcessError:
            raise SystemExit(
                "jw bench: what bench/requirements.txt names could not be installed, see above; is there a network?"
            ) from None
        shutil.copy(REQUIREMENTS, installed)
    os.execv(VENV / "bin/python", [VENV / "bin/python", "-B", flavours.ROOT / "tools/jw", *sys.argv[1:]])


def lines_of(names: list[str]) -> str:
    """The names in indented lines of at most 100 columns."""
    return textwrap.fill(" ".join(names), 100, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)


def refuse(text: str) -> None:
    raise SystemExit(f"jw bench: {text}")


def run(arguments: argparse.Namespace) -> int:
    """All that can be wrong with the options is said before anything is installed or built."""
    for kind, given, known in (
        ("benchmark", arguments.benchmark, NAMES),
        ("peer", arguments.peers or [], bench_peers.NAMES + bench_peers.HARDENED),
    ):
        if unknown := [name for name in given if name not in known]:
            refuse(f"no such {kind}: {', '.join(unknown)}; see ./jw bench --help")
    if arguments.table and "security" not in arguments.benchmark:
        refuse("--table is of the benchmark security")
    if arguments.rounds is not None and arguments.rounds < 1:
        refuse("--rounds wants one at least")
    for trace in arguments.trace or []:
        if not Path(trace).is_file():
            refuse(f"no such trace: {trace}")
    bench_peers.added(arguments.peer or [])
    try:
        arguments.output = arguments.output.resolve()
        arguments.output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        refuse(f"--output: {error}")
    enter_environment()
    return measure(arguments)


def prepare(arguments: argparse.Namespace):
    """The session: programs built, traces read, peers there."""
    import bench_run
    import traces

    print("  building the drivers and the peers ...", file=sys.stderr)
    bench_run.compile_programs()
    chosen = [Path(trace).resolve() for trace in arguments.trace or []]
    if not chosen:
        chosen = traces.defaults()[-1:] if arguments.quick else traces.defaults()
    replayed = traces.prepared(chosen, bench_run.OUTPUT)
    usual = bench_peers.QUICK if arguments.quick else bench_peers.NAMES
    names = arguments.peers or (bench_peers.SECURITY if arguments.benchmark == ["security"] else usual)
    ordered = list(dict.fromkeys([bench_peers.OURS, *names]))
    allocators, left_out = bench_peers.collect(ordered, arguments.peer or [], bench_run.OUTPUT / "whose")
    end = float("inf")
    if arguments.quick:
        end = time.monotonic() + QUICK_SECONDS
        bench_run.TimeLimit.seconds = QUICK_TIME_LIMIT
    rounds = arguments.rounds or (QUICK_ROUNDS if arguments.quick else ROUNDS)
    return bench_run.Session(allocators, rounds, arguments.quick, end, replayed, skipped=left_out)


def measure(arguments: argparse.Namespace) -> int:
    # These need the environment.
    import bench_cases
    import bench_report
    import bench_security

    session = prepare(arguments)
    end = session.deadline
    about = bench_report.machine()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)  # in the background as well
    if os.getloadavg()[0] > 0.5:
        print(f"  this machine is busy (load {os.getloadavg()[0]:.1f}): times will spread", file=sys.stderr)
    interrupted = False
    try:
        chosen = [name for name in bench_cases.BENCHMARKS if name in arguments.benchmark or not arguments.benchmark]
        for number, name in enumerate(chosen):
            session.benchmark = name
            # What one benchmark does not need of its share of the time goes to those after it.
            share = QUICK_SHARES[name] / sum(QUICK_SHARES[later] for later in chosen[number:])
            session.deadline = time.monotonic() + (end - time.monotonic()) * share
            bench_cases.BENCHMARKS[name](session)
            bench_report.save(session, about, arguments.output)
    except KeyboardInterrupt:
        interrupted = True
        session.skipped.append(f"{session.benchmark} and what comes after it: interrupted")
    print(file=sys.stderr)
    bench_report.write(session, about, arguments.output)
    if arguments.table and not interrupted:
        bench_security.write_table(session)
    if interrupted:
        return 130
    return 1 if any(failure["allocator"] == bench_peers.OURS for failure in session.failures) else 0


def add_command(commands) -> None:
    command = commands.add_parser(
        "bench",
        help="measure it against other allocators: speed, instructions, memory, latency",
        description="Repeats the paper's evaluation on this machine and compares jwmalloc with other allocators.\n"
        "Each allocator is preloaded into the same programs, in turn, several times.",
        epilog=EPILOG.format(
            listing="\n".join(f"  {name:14}{text}" for name, text in NAMES.items()),
            peers=lines_of(bench_peers.NAMES),
            quick=lines_of(bench_peers.QUICK),
            hardened=lines_of(bench_peers.HARDENED),
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("benchmark", nargs="*", metavar="BENCHMARK", help="see below")
    command.add_argument(
        "--quick", action="store_true", help="fewer cases and rounds; three minutes at most, after the builds"
    )
    command.add_argument("--rounds", type=int, help="how often each measurement is repeated (5; with --quick "
                         "as often as there is time for)")  # fmt: skip
    command.add_argument("--peers", type=lambda text: text.split(","), metavar="A,B", help="compare only with these")
    command.add_argument("--peer", action="append", metavar="NAME=LIB.so", help="compare with this library too")
    command.add_argument("--trace", action="append", metavar="FILE", help="replay this trace, and not those there are")
    command.add_argument("--table", action="store_true", help="security: write the table into docs/hardening.md")
    command.add_argument("--output", type=Path, default=flavours.BUILD / "bench-results", metavar="FOLDER",
                         help="folder for the results (build/bench-results)")  # fmt: skip
    command.set_defaults(run=run)

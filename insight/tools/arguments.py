"""The arguments of the commands about recorded programs. Parsing them, and --help, need none of the packages."""

import argparse
import importlib
import sys
from collections.abc import Callable
from pathlib import Path

import errors

BUILD = Path(__file__).resolve().parents[2] / "build"
COMMANDS = {
    "record": "record every allocation of a program",
    "profile": "sample what a program allocates and keeps; for pprof",
    "guard": "put some of a program's objects between inaccessible pages, and name its mistakes",
    "report": "make a page about a recorded program, or about two to compare them",
    "replay": "make a recorded program's calls again, on several allocators",
    "stat": "show the heap of a running process (watch:true), as text, JSON or OpenMetrics",
    "top": "draw the heap of a running process live in the terminal",
    "map": "draw the addresses of a running process's heap: roots, slabs, ranges, holes",
    "trace": "write recorded traces as the text of Android's memory_replay, and read them back",
}


def whole(least: int) -> Callable[[str], int]:
    """An argument that is a number, not below that."""

    def parsed(text: str) -> int:
        if not text.isascii() or not text.isdigit() or not least <= int(text) < 1 << 31:
            raise argparse.ArgumentTypeError(f"'{text}' is not a number from {least} to 2^31 - 1")
        return int(text)

    return parsed


def runs(module: str, function: str) -> Callable[[argparse.Namespace], int]:
    """What runs a command; imports the module only then, because it needs the packages."""
    return lambda arguments: getattr(importlib.import_module(module), function)(arguments)


def add_command(commands, name: str, description: str):
    return commands.add_parser(
        name,
        help=COMMANDS[name],
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def add_program(command) -> None:
    """The arguments of a command that runs a program beside one of our libraries."""
    command.add_argument("--lib", action="append", default=[], type=Path, help="preload this allocator, too")
    command.add_argument("program", nargs=argparse.REMAINDER, metavar="-- PROGRAM ARGUMENTS")


def add_record(commands) -> None:
    command = add_command(
        commands,
        "record",
        "Runs PROGRAM and writes each allocation and free of it and of its children into a file.\n"
        "Returns the program's exit status; 1 if the file could not be written.",
    )
    command.add_argument(
        "-o", "--output", type=Path, default=Path("app.jwt"), help="write this file; default: %(default)s"
    )
    command.add_argument("--stacks", action="store_true", help="write the call stack of each allocation, too")
    command.add_argument(
        "--sample",
        type=whole(1),
        default=100,
        metavar="MS",
        help="read resident memory each MS ms; default: %(default)s",
    )
    add_program(command)
    command.set_defaults(run=runs("recorder", "record"))


def add_profile(commands) -> None:
    command = add_command(
        commands,
        "profile",
        "Runs PROGRAM and writes which call stacks allocate how much, and keep how much, by samples; each\n"
        "further process has a file of its own. While it runs, --on, --off and --dump act on it from outside.\n"
        "Returns the program's exit status; 1 if the file could not be written.",
    )
    command.add_argument(
        "-o", "--output", type=Path, default=Path("app.pb.gz"), help="write this file; default: %(default)s"
    )
    command.add_argument(
        "--rate",
        type=int,
        default=512 << 10,
        metavar="BYTES",
        help="sample one byte in so many, on average; default: %(default)s",
    )
    command.add_argument("--seed", type=int, default=0, help="choose the same bytes each time")
    command.add_argument("--begin-off", action="store_true", help="take no samples until --on")
    command.add_argument("--symbolize", action="store_true", help="write functions' names, too")
    command.add_argument("--on", type=whole(1), metavar="PID", help="take samples in this process's run from now on")
    command.add_argument("--off", type=whole(1), metavar="PID", help="take no more")
    command.add_argument("--dump", type=whole(1), metavar="PID", help="write what this process has until now")
    add_program(command)
    command.set_defaults(run=runs("profiler", "profile"))


def add_guard(commands) -> None:
    command = add_command(
        commands,
        "guard",
        "Runs PROGRAM with one allocation in so many between inaccessible pages. An overflow, a use after\n"
        "free, a double or invalid free of these is named with its stacks, and ends the process.\n"
        "Returns the program's exit status.",
    )
    command.add_argument(
        "--rate", type=int, default=5000, metavar="N", help="guard one allocation in so many; default: %(default)s"
    )
    command.add_argument(
        "--slots", type=int, default=256, metavar="N", help="guard at most so many at one time; default: %(default)s"
    )
    command.add_argument("-o", "--output", type=Path, help="add what is found to this file; default: standard error")
    command.add_argument("--symbolize", action="store_true", help="write functions' names, after the program has ended")
    add_program(command)
    command.set_defaults(run=runs("guard", "guard"))


def add_trace(commands) -> None:
    command = add_command(
        commands, "trace", "Writes a recorded trace as the text of Android's memory_replay, or makes one of it."
    )
    kinds = command.add_subparsers(metavar="export|import", required=True)
    for name, does, function in (
        ("export", "writes one process of a trace as text, or as a zip if OUTPUT is called so", "export"),
        ("import", "makes a trace of such a text or zip, or of a file of heaptrack", "import_text"),
    ):
        kind = kinds.add_parser(name, help=does, description=does)
        kind.add_argument("trace", type=Path)
        kind.add_argument("-o", "--output", type=Path, required=True)
        if name == "export":
            kind.add_argument("--process", type=int, help="take this process; default: the one with the most events")
        kind.set_defaults(run=runs("android", function))


def add_report(commands) -> None:
    command = add_command(
        commands,
        "report",
        "Makes one page, without links to anything else, of a trace; or of two, to compare them.",
    )
    command.add_argument("traces", nargs="+", type=Path, metavar="TRACE")
    command.add_argument(
        "-o", "--output", type=Path, default=Path("report.html"), help="write this file; default: %(default)s"
    )
    command.add_argument("--process", type=int, help="take this process; default: the one with the most events")
    command.add_argument("--json", action="store_true", help="print the numbers instead")
    command.set_defaults(run=runs("report", "report"))


def add_replay(commands) -> None:
    command = add_command(
        commands,
        "replay",
        "Makes the calls of a recorded process again, by as many threads in the same order, with\n"
        "the system's malloc, with jwmalloc, and with each LIBRARY. Objects are written, and verified when\n"
        "they end. Time is that of the threads' turns, without what they wait. Memory is the growth of the\n"
        "resident size: at most, in the middle of all samples, and some time (--rest) after the last call.",
    )
    command.add_argument("trace", type=Path)
    command.add_argument(
        "--lib", action="append", default=[], type=Path, metavar="LIBRARY", help="measure this allocator, too"
    )
    command.add_argument("--process", type=int, help="take this process; default: the one with the most events")
    command.add_argument(
        "--timing",
        choices=("compressed", "kept"),
        default="compressed",
        help="keep pauses or not; default: %(default)s",
    )
    command.add_argument(
        "--runs", type=whole(1), default=1, help="run so often, and take the best time; default: %(default)s"
    )
    command.add_argument(
        "--rest",
        type=whole(0),
        default=1500,
        metavar="MS",
        help="rest before the last reading; default: %(default)s",
    )
    command.add_argument(
        "--step",
        type=whole(1),
        default=100000,
        help="note live bytes each so many calls; default: %(default)s",
    )
    command.add_argument("-o", "--output", type=Path, help="write a page with the table and a plot")
    command.add_argument("--json", action="store_true", help="print JSON instead of a table")
    command.set_defaults(run=runs("replay", "replay"))


def add_stat(commands) -> None:
    command = add_command(
        commands,
        "stat",
        "Reads the heap of a process that runs jwmalloc with JWMALLOC_CONF=watch:true. The process is not\n"
        "stopped, and does nothing for it.",
    )
    command.add_argument("pid", type=whole(1), metavar="PID")
    form = command.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print all numbers as JSON")
    form.add_argument("--openmetrics", action="store_true", help="print all numbers for Prometheus")
    command.set_defaults(run=runs("watch_stat", "stat"))


def add_top(commands) -> None:
    command = add_command(
        commands,
        "top",
        "Draws the heap of a process that runs jwmalloc with JWMALLOC_CONF=watch:true, until the process\n"
        "ends or Ctrl-C comes.",
    )
    command.add_argument("pid", type=whole(1), metavar="PID")
    command.add_argument(
        "--interval", type=int, default=1000, metavar="MS", help="draw so often; default: %(default)s ms"
    )
    command.add_argument("--once", action="store_true", help="draw one picture")
    command.set_defaults(run=runs("watch_top", "top"))


def add_map(commands) -> None:
    command = add_command(
        commands,
        "map",
        "Draws where a process that runs jwmalloc with JWMALLOC_CONF=watch:true has roots, slabs, ranges,\n"
        "and holes.",
    )
    command.add_argument("pid", type=whole(1), metavar="PID")
    command.add_argument("--json", action="store_true", help="print all runs of granules as JSON")
    command.set_defaults(run=runs("watch_map", "picture"))


def parse(words: list[str] | None = None) -> argparse.Namespace:
    """Of the words, or of this program's arguments. Ends the program after --help, and if an argument is wrong."""
    words = sys.argv[1:] if words is None else words
    if words[:1] == ["--called"]:
        errors.called, words = words[1], words[2:]
    parser = argparse.ArgumentParser(prog=errors.called)
    parser.add_argument("--build", type=Path, default=BUILD, help="where the libraries are")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    add_record(commands)
    add_profile(commands)
    add_guard(commands)
    add_trace(commands)
    add_report(commands)
    add_replay(commands)
    add_stat(commands)
    add_top(commands)
    add_map(commands)
    arguments = parser.parse_args(words)
    if "program" in arguments:
        arguments.program = arguments.program[arguments.program[:1] == ["--"] :]
        outside = {getattr(arguments, name, None) for name in ("on", "off", "dump")} != {None}
        if not arguments.program and not outside:
            parser.error("which program?")
    if "interval" in arguments and not 10 <= arguments.interval <= 60000:
        parser.error("--interval is from 10 to 60000")
    return arguments

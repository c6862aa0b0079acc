"""The commands of ./jw about recorded programs: tools/jw/insight.py starts this with the packages that it needs."""

import argparse
import sys
from pathlib import Path

import recorder
from traceio import TraceError

BUILD = Path(__file__).resolve().parents[2] / "build"


def add_record(commands) -> None:
    command = commands.add_parser(
        "record",
        help="record every allocation of a program",
        description="Runs PROGRAM and writes each allocation and free of it and of its children into a file.\n"
        "Returns the program's exit status; 1 if the file could not be written.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("-o", "--output", type=Path, default=Path("app.jwt"), help="default: app.jwt")
    command.add_argument("--lib", action="append", default=[], type=Path, help="an allocator to preload")
    command.add_argument("--sample", type=int, default=100, metavar="MS", help="resident memory is read so often")
    command.add_argument("program", nargs=argparse.REMAINDER, metavar="-- PROGRAM ARGUMENTS")
    command.set_defaults(run=recorder.record)


def main() -> int:
    parser = argparse.ArgumentParser(prog="jw")
    parser.add_argument("--build", type=Path, default=BUILD, help="where the libraries are")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    add_record(commands)
    arguments = parser.parse_args()
    if "program" in arguments:
        arguments.program = arguments.program[arguments.program[:1] == ["--"] :]
        if not arguments.program:
            parser.error("which program?")
    try:
        return arguments.run(arguments)
    except TraceError as error:
        print(f"jw: {error}", file=sys.stderr)
        return 1


sys.exit(main())

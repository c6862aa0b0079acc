"""guard.py - ./jw guard: runs a program with libjwguard.so, and gives names to what that has written if asked."""

import argparse
import os
import re
import sys
import tempfile
from pathlib import Path

import program
from errors import TraceError
from preload import preload

FRAME = re.compile(r"( +#\d+ )(/.*)\+(0x[0-9a-f]+)$")


def with_names(text: str) -> str:
    """The report with functions before its frames."""
    import stacks  # needs the packages, and some of a second

    command = stacks.symbolizer()
    offsets: dict[str, set[int]] = {}
    lines = text.splitlines()
    for line in lines:
        if frame := FRAME.match(line):
            offsets.setdefault(frame[2], set()).add(int(frame[3], 16))
    names = {}
    for path, addresses in offsets.items():
        if command and Path(path).is_file():
            for address, functions in stacks.symbols_of(command, path, sorted(addresses)).items():
                names[path, address] = " < ".join(functions) + " "

    def named(frame: re.Match) -> str:
        return f"{frame[1]}{names.get((frame[2], int(frame[3], 16)), '')}{frame[2]}+{frame[3]}"

    return "".join(FRAME.sub(named, line) + "\n" for line in lines)


def run(arguments: argparse.Namespace, output: Path | None) -> int:
    environment = {
        **os.environ,
        "LD_PRELOAD": preload(arguments.build / "libjwguard.so", arguments.lib),
        "JW_GUARD_RATE": str(arguments.rate),
        "JW_GUARD_SLOTS": str(arguments.slots),
    }
    if output is not None:
        environment["JW_GUARD_OUTPUT"] = str(output.resolve())
    running = program.start(arguments.program, environment)
    running.wait()
    return program.status_of(running)


def add_to(output: Path, text: str) -> None:
    """What was found may not come again: where it cannot be written it is shown."""
    try:
        with output.open("a") as file:
            file.write(text)
    except OSError as error:
        sys.stderr.write(text)
        raise TraceError(f"{output}: cannot be written: {error.strerror}") from error


def guard(arguments: argparse.Namespace) -> int:
    if not (1 <= arguments.rate < 1 << 31 and 1 <= arguments.slots <= 16384):
        raise TraceError("--rate is from 1 to 2^31 - 1, --slots from 1 to 16384")
    if arguments.output is not None:
        program.check_place(arguments.output)
    if not arguments.symbolize:
        return run(arguments, arguments.output)
    with tempfile.TemporaryDirectory(prefix="jw-guard-") as folder:
        found = Path(folder) / "found"
        code = run(arguments, found)
        text = with_names(found.read_text(errors="replace")) if found.exists() else ""
    if arguments.output is None:
        sys.stderr.write(text)
    else:
        add_to(arguments.output, text)
    return code

"""The Python half of ./jw: one argparse command per module of this directory."""

import argparse
import subprocess
import sys

import asm
import bench
import check
import demo
import docs
import entropy
import flavours
import fuzz
import insight
import options
import reliability
import suite
import verify

DESCRIPTION = """jwmalloc, a memory allocator for phones.

  ./jw demo                 try it: run a real program on the system's malloc and on jwmalloc, and compare
  ./jw run -- PROGRAM ...   use it: run any program on jwmalloc (./jw run --help)
  ./jw setup                install the Debian packages that all commands need (./jw setup --help)

Each command installs the packages that it needs and that are missing: Debian's as root or through sudo, Python's in
build. It first says which packages these are. With --no-install no command installs anything; it says what is missing,
and stops where it cannot go on without."""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="./jw", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(title="other commands", metavar="COMMAND", required=True)
    modules = (demo, bench, flavours, suite, fuzz, reliability, verify, options, asm, entropy, check, docs, insight)
    for module in modules:
        module.add_command(commands)
    for command in commands.choices.values():  # ./jw has taken it from the arguments
        if command.prefix_chars == "-":
            command.add_argument("--no-install", action="store_true", help="install no package; say what is missing")
    arguments = parser.parse_args(sys.argv[1:] or ["--help"])
    try:
        return arguments.run(arguments)
    except subprocess.CalledProcessError as error:
        print(f"jw: failed ({error.returncode}): {' '.join(map(str, error.cmd))}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


sys.exit(main())

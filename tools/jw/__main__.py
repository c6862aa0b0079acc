"""The Python half of ./jw: one argparse command per module of this directory."""

import argparse
import subprocess
import sys

import asm
import bench
import check
import demo
import flavours
import fuzz
import options
import reliability
import suite
import verify

DESCRIPTION = """jwmalloc, a memory allocator for phones.

  ./jw demo                 see it: a real program on the system's malloc and on jwmalloc, side by side
  ./jw run -- PROGRAM ...   use it: run any program on jwmalloc (./jw run --help)
  ./jw setup                install the Debian packages that anything here needs (./jw setup --help)

What a command needs and is missing gets installed by itself, as root or through sudo."""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="./jw", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(title="other commands", metavar="COMMAND", required=True)
    for module in (demo, bench, flavours, suite, fuzz, reliability, verify, options, asm, check):
        module.add_command(commands)
    arguments = parser.parse_args(sys.argv[1:] or ["--help"])
    try:
        return arguments.run(arguments)
    except subprocess.CalledProcessError as error:
        print(f"jw: failed ({error.returncode}): {' '.join(map(str, error.cmd))}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


sys.exit(main())

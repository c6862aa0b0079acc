"""The commands of ./jw about recorded programs: tools/jw/insight.py starts this with the packages that it needs."""

import sys

import arguments
from errors import TraceError


def main() -> int:
    parsed = arguments.parse()
    try:
        return parsed.run(parsed)
    except TraceError as error:
        print(f"jw: {error}", file=sys.stderr)
        return 1


sys.exit(main())

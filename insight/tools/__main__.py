"""The commands of ./jw about recorded programs: tools/jw/insight.py starts this with the packages that it needs."""

import sys

import arguments


def main() -> int:
    parsed = arguments.parse()
    from traceio import TraceError  # needs the packages

    try:
        return parsed.run(parsed)
    except TraceError as error:
        print(f"jw: {error}", file=sys.stderr)
        return 1


sys.exit(main())

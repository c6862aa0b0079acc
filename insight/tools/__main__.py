"""The commands of ./jw about recorded programs: tools/jw/insight.py starts this with the packages that it needs."""

import contextlib
import os
import sys

import arguments
from errors import TraceError, say


def open_closed_streams() -> None:
    """Else the next file that is opened gets that number, and what is printed goes into it. The program that is run
    still has it closed."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            with contextlib.suppress(OSError):
                if (opened := os.open(os.devnull, os.O_RDWR)) != number:
                    os.dup2(opened, number, inheritable=False)
                setattr(sys, name, open(number, "r" if number == 0 else "w"))  # noqa: SIM115


def main() -> int:
    open_closed_streams()
    parsed = arguments.parse()
    try:
        status = parsed.run(parsed)
        sys.stdout.flush()
    except TraceError as error:
        say(str(error))
    except KeyboardInterrupt:
        return 130
    except MemoryError:
        say("there is not enough memory for this")
    except OSError as error:  # files that were named have a TraceError
        if not isinstance(error, BrokenPipeError):  # `| head` has what it wants
            said = f"{error.filename or 'the output'}: {error.strerror}" if error.strerror else error  # the loader's
            say(str(said))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python's end writes the rest
    else:
        return status
    return 1


sys.exit(main())

"""The commands of ./jw about recorded programs: tools/jw/insight.py starts this with the packages that it needs."""

import os
import sys

import arguments
from errors import TraceError, say


def main() -> int:
    parsed = arguments.parse()
    try:
        status = parsed.run(parsed)
        sys.stdout.flush()
    except TraceError as error:
        say(str(error))
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

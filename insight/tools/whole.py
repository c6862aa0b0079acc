"""whole.py - a file that is made of a recording is whole, or is not there."""

import contextlib
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

from errors import TraceError


@contextlib.contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Where to write: beside `path`, whose file is replaced at the end. A device or a pipe stays what it is, and a file
    in a folder where none can be made is written itself."""
    target = path.resolve()
    itself = path.exists() and not (path.is_file() and os.access(target.parent, os.W_OK))
    place = path if itself else target.with_name(f".jw-{os.getpid()}")
    ended = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) == signal.SIG_DFL]
    for number in ended:  # as an exception, so that nothing is left
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        yield place
        if not itself:
            if target.exists():
                shutil.copymode(target, place)
            place.replace(target)
    except BaseException as error:
        if not itself:
            with contextlib.suppress(OSError):  # it was never made
                place.unlink()
        if isinstance(error, OSError):
            raise TraceError(f"{path}: cannot be written: {error.strerror}") from error
        raise
    finally:
        for number in ended:
            signal.signal(number, signal.SIG_DFL)


def write_text(path: Path, text: str) -> None:
    with whole(path) as place:
        place.write_text(text, "utf-8", "replace")  # a path of the recording may be any bytes

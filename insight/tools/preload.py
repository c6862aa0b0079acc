"""preload.py - what stands in LD_PRELOAD of a program that is recorded, profiled, guarded or replayed."""

import os
import subprocess
from pathlib import Path

from errors import TraceError


def found(library: Path) -> str:
    """A file, by its whole path: the program may be in another folder. Or a name that the loader knows."""
    if library.exists():
        return str(library.resolve())
    if "/" in str(library):
        raise TraceError(f"{library}: there is no such library")
    environment = os.environ | {"LD_PRELOAD": str(library)}
    done = subprocess.run(["true"], env=environment, capture_output=True, text=True)
    if "cannot be preloaded" in done.stderr:
        raise TraceError(f"{library}: there is no such library, here or where the loader looks")
    return str(library)


def preload(own: Path, others: list[Path]) -> str:
    """Our library, then the allocators that were asked for, then what is there already."""
    if not own.exists():
        raise TraceError(f"{own}: not there; build the target insight")
    return ":".join(filter(None, [str(own.resolve()), *map(found, others), os.environ.get("LD_PRELOAD", "")]))

"""preload.py - what stands in LD_PRELOAD of a program that is recorded, profiled, guarded or replayed."""

import os
import subprocess
from pathlib import Path

from errors import TraceError


def found(library: Path) -> str:
    """A file, by its whole path: the program may be in another folder. Or a name that the loader knows.

    The loader passes over what it cannot load, and another allocator would then be looked at in its place."""
    name = str(library.resolve() if library.exists() else library)
    if not library.exists() and "/" in name:
        raise TraceError(f"{library}: there is no such library")
    done = subprocess.run(["true"], env=os.environ | {"LD_PRELOAD": name}, capture_output=True, text=True)
    if "cannot be preloaded" in done.stderr and "wrong ELF class" not in done.stderr:  # for a program of this class
        why = "cannot be preloaded" if library.exists() else "there is no such library, here or where the loader looks"
        raise TraceError(f"{library}: {why}")
    return name


def preload(own: Path, others: list[Path]) -> str:
    """Our library, then the allocators that were asked for, then what is there already."""
    if not own.exists():
        raise TraceError(f"{own}: not there; build the target insight")
    return ":".join(filter(None, [str(own.resolve()), *map(found, others), os.environ.get("LD_PRELOAD", "")]))

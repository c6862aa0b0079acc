"""traces.py - allocation traces as files; bench/trace.h says what is in them."""

import shutil
import zipfile
import zlib
from pathlib import Path

BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, IndexError, RuntimeError)


def unpacked(trace: Path, folder: Path) -> Path:
    """The trace as text; out of its archive, where it is the first file, into the folder if it is in one."""
    if trace.suffix != ".zip":
        return trace
    target = folder / f"{trace.stem}.txt"
    if target.exists() and target.stat().st_mtime >= trace.stat().st_mtime:
        return target
    try:
        with (
            zipfile.ZipFile(trace) as archive,
            archive.open(archive.namelist()[0]) as packed,
            target.open("wb") as text,
        ):
            shutil.copyfileobj(packed, text)
    except BROKEN as error:  # whatever a damaged archive makes zipfile say
        target.unlink(missing_ok=True)
        raise SystemExit(f"jw bench: {trace} is no archive of a trace: {' '.join(str(error).split())}") from error
    return target

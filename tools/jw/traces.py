"""traces.py - allocation traces as files; bench/trace.h says what is in them."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import zipfile
import zlib
from pathlib import Path

import flavours
import insight

BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, IndexError, RuntimeError)


def is_recorded(trace: Path) -> bool:
    try:
        with trace.open("rb") as file:
            return file.read(8) == b"\x89JWT\r\n\x1a\n"
    except OSError:
        return False


def unpacked(trace: Path, folder: Path) -> Path:
    """The trace as text: out of its archive, where it is the first file, or out of a recording of ./jw record."""
    recorded = is_recorded(trace)
    if not recorded and trace.suffix.lower() != ".zip" and not zipfile.is_zipfile(trace):
        return trace
    # Archives of one name may lie in several folders.
    about = trace.stat()
    key = hashlib.sha256(f"{trace.resolve()} {about.st_mtime_ns} {about.st_size}".encode()).hexdigest()[:12]
    target = folder / f"{trace.stem}-{key}.txt"
    if target.exists():
        return target
    partial = target.with_suffix(".part")
    if recorded:
        if insight.call("trace", "export", trace, "-o", partial):
            partial.unlink(missing_ok=True)
            raise SystemExit(f"jw bench: {trace} could not be read")
        partial.replace(target)
        return target
    try:
        with zipfile.ZipFile(trace) as archive:
            first = next((entry for entry in archive.infolist() if not entry.is_dir()), None)
            if first is None:
                raise EOFError("it has no file")
            with archive.open(first) as packed, partial.open("wb") as text:
                shutil.copyfileobj(packed, text)
        partial.replace(target)
    except BROKEN as error:  # whatever a damaged archive makes zipfile say
        partial.unlink(missing_ok=True)
        raise SystemExit(f"jw bench: {trace} is no archive of a trace: {' '.join(str(error).split())}") from error
    return target


def prepared(chosen: list[Path], folder: Path) -> dict[str, Path]:
    """Their texts by name. What cannot be replayed is refused now, not after hours."""
    result: dict[str, Path] = {}
    available = int(re.search(r"MemAvailable:\s+(\d+)", Path("/proc/meminfo").read_text())[1])
    for trace in chosen:
        text = unpacked(trace, folder)
        done = subprocess.run([folder / "replay", text, "check=1"], capture_output=True, text=True)
        if done.returncode:
            said = (done.stderr.strip() or f"status {done.returncode}").removeprefix(f"{text}:")
            raise SystemExit(f"jw bench: {trace}: line {said}" if said[0].isdigit() else f"jw bench: {trace}: {said}")
        needed = json.loads(done.stdout)["live_kb"]
        if needed > available:
            raise SystemExit(
                f"jw bench: {trace}: has {needed >> 10} MB alive at a time, {available >> 10} MB of memory are free"
            )
        name = trace.stem
        while name in result:
            name += "+"
        result[name] = text
    return result


def defaults() -> list[Path]:
    """Those that are committed, and those in the folder that JW_TRACES names."""
    folder = os.environ.get("JW_TRACES")
    found = [path for path in sorted(Path(folder).glob("*")) if path.suffix in (".zip", ".txt")] if folder else []
    tests = flavours.ROOT / "tests/trace"
    return [tests / "synthetic.txt", tests / "git.zip", *found]

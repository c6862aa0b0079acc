"""watched.py - what the reader says of a process that runs jwmalloc with watch:true, as Python objects."""

import argparse
import contextlib
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from errors import TraceError

READER = "jwwatch-reader"
TIERS = {"small": "frontend", "mid": "midend", "ranges": "backend"}  # of a list of classes
STATES = ("in_use", "cached_mapped", "cached_unmapped")
HELD = ("reserved", "out", "pooled", "cached_mid", "cached_ranges")  # by a heap


def command(arguments: argparse.Namespace, *options: object) -> list[str]:
    reader = arguments.build / READER
    if not reader.exists():
        raise TraceError(f"{reader}: not there; build the target insight")
    return [str(word) for word in (reader, arguments.pid, *options)]


def program_of(pid: int) -> str:
    """Its file; by the name under which it was started, where a link beside the file has that: a Debian redis-server
    is a link to redis-check-rdb."""
    file = Path(os.readlink(f"/proc/{pid}/exe"))
    started = file.parent / Path(f"/proc/{pid}/comm").read_text(errors="replace").rstrip("\n").replace("/", "_")
    return str(started if started.resolve() == file else file)


def read(text: str, pid: int) -> dict:
    """A look. The reader does not know the program's name: its own platform is a simulated one."""
    look = json.loads(text)
    with contextlib.suppress(OSError):
        look["statistics"]["program"] = program_of(pid)
    look["tiers"] = tiers(look)
    return look


def tiers(look: dict) -> dict[str, dict[str, int]]:
    """Of each tier, bytes: of objects, free with memory behind it, free without, and what was ever given back."""
    statistics = look["statistics"]
    frontend, midend, backend, huge = (statistics[name] for name in ("frontend", "midend", "backend", "huge"))
    slabs = frontend["reserved"] + midend["reserved"]
    return {
        "frontend": {
            "in_use": frontend["in_use"],
            "cached_mapped": max(0, frontend["reserved"] - frontend["in_use"]),
            "cached_unmapped": frontend["given_back"],
        },
        "midend": {
            "in_use": midend["in_use"],
            "cached_mapped": max(0, midend["reserved"] - midend["in_use"]),
            "cached_unmapped": 0,
        },
        "backend": {
            "in_use": max(0, backend["in_use"] - slabs),
            "cached_mapped": backend["cached_mapped"],
            "cached_unmapped": max(0, backend["cached_unmapped"] - frontend["given_back"]),
            "given_back": backend["given_back"],
        },
        "huge": {"in_use": huge["bytes"], "cached_mapped": 0, "cached_unmapped": 0},
    }


def look(arguments: argparse.Namespace, *options: object) -> dict:
    done = subprocess.run(command(arguments, *options), capture_output=True, text=True)
    if done.returncode != 0:
        raise TraceError(done.stderr.strip() or f"{READER} has ended: {done.returncode}")
    return read(done.stdout, arguments.pid)


def looks(arguments: argparse.Namespace, milliseconds: int) -> Iterator[dict]:
    """One look after the other, until the process ends; then an error that says so."""
    with subprocess.Popen(
        command(arguments, "--every", milliseconds), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as reader:
        try:
            for line in reader.stdout:
                yield read(line, arguments.pid)
            raise TraceError(reader.stderr.read().strip())
        finally:
            reader.terminate()


def percentile(times: list[int], share: float) -> int:
    """Nanoseconds that this share of the calls did not exceed: the end of a power of two. 0: no calls."""
    wanted, seen = share * sum(times), 0
    for bit, count in enumerate(times):
        seen += count
        if count and seen >= wanted:
            return 2 << bit
    return 0


def named(number: float, units: tuple[str, ...], step: int) -> str:
    power = 0
    while abs(number) >= step and power < len(units) - 1:
        number, power = number / step, power + 1
    return f"{number:.3g} {units[power]}" if number < 1000 else f"{number:.0f} {units[power]}"


def size(number: float) -> str:
    return named(number, ("B", "KB", "MB", "GB", "TB"), 1024)


def duration(nanoseconds: float) -> str:
    return named(nanoseconds, ("ns", "us", "ms", "s"), 1000) if nanoseconds else "-"


def title(look: dict) -> str:
    statistics = look["statistics"]
    return f"jwmalloc {look['library']} in {Path(statistics['program']).name}, process {statistics['pid']}"


def thread(heap: dict) -> str:
    return f"(heap {heap['heap']}, no thread)" if heap["abandoned"] else str(heap["thread"])

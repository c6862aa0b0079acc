"""Memory of a running program: its proportional and resident size, sampled over time."""

import re
import statistics
import subprocess
import threading
import time
from pathlib import Path

from bench_peers import Allocator
from bench_run import OUTPUT, HungError, TimeLimit, finish, results, start
from bench_stats import crossing

EVERY = 0.025
INTO_SLEEP = 1.5


def rollup(pid: int) -> dict[str, int] | None:
    """Fields of smaps_rollup in KB, which are exact; None once the process is gone."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return {name: int(value) for name, value in re.findall(r"^(\w+): +(\d+) kB", text, re.MULTILINE)} or None


def watch(process: subprocess.Popen) -> list[tuple[float, dict[str, int]]]:
    """Samples until the program ends, with the monotonic clock's time. It does not outlive us."""
    samples = []
    begun = time.monotonic()
    try:
        while process.poll() is None:
            now = time.monotonic()
            if now - begun > TimeLimit.seconds:
                raise HungError(f"not done after {TimeLimit.seconds:.0f} s")
            if (fields := rollup(process.pid)) and "Rss" in fields:
                samples.append((now, fields))
            time.sleep(max(0.0, EVERY - (time.monotonic() - now)))
    finally:
        if process.returncode is None:
            process.kill()
            process.communicate()
    return samples


def footprint(allocator: Allocator, curves: dict[str, list], *options: str) -> dict[str, tuple]:
    """One run of mstress; curves gets the first run's sizes over time."""
    process = start(allocator, [OUTPUT / "mstress", *options])
    samples = watch(process)
    lines = results(finish(process))
    if not samples:
        raise RuntimeError("it ended before it could be looked at")
    begun = samples[0][0]
    curves.setdefault("x", [round(at - begun, 3) for at, _ in samples])
    curves.setdefault("y", [round(fields["Pss"] / 1024, 2) for _, fields in samples])
    curves.setdefault("rss", [round(fields["Rss"] / 1024, 2) for _, fields in samples])
    rss = [(at, fields["Rss"]) for at, fields in samples]
    result = {
        "peak PSS": (max(fields["Pss"] for _, fields in samples) / 1024, "MB"),
        "steady PSS": (statistics.median(fields["Pss"] for _, fields in samples) / 1024, "MB"),
    }
    # The kernel's high-water mark does not miss a peak between two samples.
    result["peak RSS"] = lines[-1]["peak_kb"] / 1024, "MB"
    sleeps = [line for line in lines if "idle" in line]
    if sleeps:
        idle = [(crossing(rss, line["idle"] + INTO_SLEEP) or 0.0, line["live"] / 1024) for line in sleeps]
        resident, live = max(idle, key=lambda pair: pair[0] - 1.1 * pair[1])
        result["idle RSS"] = resident / 1024, "MB"
        result["idle live"] = live / 1024, "MB"
        result["idle RSS above 1.1 x live"] = (resident - 1.1 * live) / 1024, "MB"
    return result


def at_start(allocator: Allocator) -> dict[str, tuple]:
    """Memory of a program that allocates one object."""
    with start(allocator, [OUTPUT / "empty", "wait"], stdin=subprocess.PIPE) as process:
        watchdog = threading.Timer(TimeLimit.seconds, process.kill)
        watchdog.start()
        process.stdout.readline()
        fields = rollup(process.pid)
        process.stdin.close()
        process.wait()
        watchdog.cancel()
    if process.returncode or not fields:
        raise RuntimeError("the empty program failed")
    return {
        "RSS": (fields["Rss"], "KB"),
        "private dirty": (fields["Private_Dirty"], "KB"),
    }

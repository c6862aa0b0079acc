"""replay.py - ./jw replay: a recorded process again, on one allocator after the other (replay/replay.c)."""

import argparse
import json
import os
import re
import subprocess
import tempfile
from html import escape
from pathlib import Path

import numpy as np

import events as analysis
import plots
import traceio
from android import as_one_line, chosen_process
from errors import TraceError, say
from preload import found
from report import Progress, figure, page, table
from traceio import ALIGNED, CALLOC, FREE, REALLOC_BEGIN
from whole import write_text

CALL = np.dtype(
    [
        ("time", "<u8"), ("size", "<u8"), ("slot", "<u4"), ("old", "<u4"), ("thread", "<u4"), ("operation", "u1"),
        ("alignment", "u1"), ("unused", "<u2"),
    ]
)  # fmt: skip
MALLOC_CALL, CALLOC_CALL, REALLOC_CALL, ALIGNED_CALL, FREE_CALL, THREAD_DONE = range(6)
NO_SLOT = 0xFFFFFFFF
OURS = "libjwmalloc.so"
WORDS = """<p class="small">The same calls in the same order, with each allocator. Seconds: the threads' turns.
Memory: the growth of the resident size, at most, in the middle of all samples, and after a rest at the end. P99: 99 %
of the calls took so long or less.</p>"""


def calls_of(events: analysis.Events, ended: set[int]) -> tuple[np.ndarray, int, np.ndarray]:
    """What to do, how many slots it needs, and the event after which each call is over. An object's slot is the number
    of its address: an address has one object at a time, in the recording and in the order of the calls."""
    begins, ends, early = as_one_line(events)
    addresses, slot = np.unique(events.address, return_inverse=True)
    calls = np.zeros(len(events.time), CALL)
    calls["time"], calls["size"], calls["slot"], calls["old"] = events.time, events.size, slot, NO_SLOT
    calls["alignment"] = events.alignment
    operation = np.full(len(events.time), MALLOC_CALL, np.uint8)
    for kind, what in ((CALLOC, CALLOC_CALL), (ALIGNED, ALIGNED_CALL), (FREE, FREE_CALL), (REALLOC_BEGIN, FREE_CALL)):
        operation[events.kind == kind] = what
    place, other = np.where(early, begins, ends), np.where(early, ends, begins)
    operation[place] = REALLOC_CALL
    calls["old"][place], calls["slot"][place] = slot[begins], slot[ends]
    calls["size"][place] = events.size[ends]
    calls["operation"] = operation
    threads, calls["thread"] = np.unique(events.thread, return_inverse=True)
    keep = np.ones(len(calls), bool)
    keep[other] = False
    done = np.zeros(0, CALL)
    last = len(calls) - 1 - np.unique(calls["thread"][::-1], return_index=True)[1]
    over = last[[int(thread) in ended for thread in threads]]
    done = calls[over]
    done["operation"], done["old"] = THREAD_DONE, NO_SLOT
    position = np.concatenate([np.flatnonzero(keep) * 2, over * 2 + 1])
    order = np.argsort(position, kind="stable")
    return np.concatenate([calls[keep], done])[order], len(addresses), position[order] // 2


def write_plan(path: Path, calls: np.ndarray, slots: int) -> None:
    head = np.zeros(1, np.dtype([("magic", "S8"), ("count", "<u8"), ("slots", "<u4"), ("threads", "<u4")]))
    head[0] = (b"JWPLAN01", len(calls), slots, int(calls["thread"].max()) + 1)
    try:
        with path.open("wb") as file:
            head.tofile(file)
            calls.tofile(file)
    except OSError as error:
        raise TraceError(f"{path}: cannot be written: {error.strerror}") from error


def run(program: Path, plan: Path, library: Path | None, *words: str) -> dict:
    environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    environment |= {"LD_PRELOAD": str(library)} if library else {}
    done = subprocess.run([program, plan, *words], env=environment, capture_output=True, text=True)
    if "cannot be preloaded" in done.stderr:
        raise TraceError(f"{library}: cannot be preloaded")
    if done.returncode:
        name = library.name if library else "the system's malloc"
        raise TraceError(f"the replay on {name} failed ({done.returncode}): {done.stderr.strip()[-200:]}")
    return json.loads(done.stdout)


def measured(program: Path, plan: Path, library: Path | None, arguments: argparse.Namespace) -> dict:
    """Time of the best of the runs; memory and latency by a run of their own."""
    kept, step = f"kept={int(arguments.timing == 'kept')}", f"step={arguments.step}"
    runs = [run(program, plan, library, kept, step, "measure=0") for _ in range(arguments.runs)]
    best = min(runs, key=lambda one: one["seconds"])
    other = run(program, plan, library, kept, step, "measure=1", f"rest={arguments.rest}")
    resident = np.array(other["samples"], np.int64).reshape(-1, 3)
    growth = resident[:, 1:] - resident[0, 1:]
    return {
        **{key: best.get(key) for key in ("calls", "threads", "seconds", "user", "system", "instructions", "live")},
        **{key: other[key] for key in ("allocate_ns", "free_ns")},
        "peak_kb": max(int(growth[:, 0].max()), other["highest_kb"] - other["before_kb"]),
        "peak_pss_kb": int(growth[:, 1].max()),
        "steady_kb": int(np.median(growth[:-1, 0])), "rest_kb": int(growth[-1, 0]),
        "steady_pss_kb": int(np.median(growth[:-1, 1])), "rest_pss_kb": int(growth[-1, 1]),
        "seconds_of_samples": (resident[:, 0] / 1e9).round(4).tolist(), "resident_kb": growth[:, 0].tolist(),
        "proportional_kb": growth[:, 1].tolist(),
    }  # fmt: skip


def rows(results: dict[str, dict]) -> tuple[list[str], list[list[str]]]:
    """A column for each allocator, so that a narrow window shows some."""
    lines = [
        ["seconds", *(f"{one['seconds']:.3f}" for one in results.values())],
        ["processor time", *(f"{one['user'] + one['system']:.2f} s" for one in results.values())],
    ]
    if any(one["instructions"] for one in results.values()):
        lines.append(["instructions", *(plots.count(one["instructions"] or 0) for one in results.values())])
    for name, key in (("peak", "peak_kb"), ("middle", "steady_kb"), ("at rest", "rest_kb")):
        lines.append([f"memory, {name}", *(plots.amount(one[key] * 1024) for one in results.values())])
    for call, key in (("malloc", "allocate_ns"), ("free", "free_ns")):
        for at in ("p50", "p99", "p99.99", "max"):
            times = [plots.duration(one[key][at]) for one in results.values()]
            lines.append([f"{call}, {at.replace('p', 'P')}", *times])
    return ["", *results], lines


def print_table(heads: list[str], found: list[list[str]]) -> None:
    widths = [max(len(row[at]) for row in [heads, *found]) for at in range(len(heads))]
    for row in [heads, *found]:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        print("  ".join(cells))


def draw(results: dict[str, dict], axes) -> None:
    for name, one in results.items():
        axes.plot(one["seconds_of_samples"], np.array(one["resident_kb"]) * 1024.0, label=name)
    plots.byte_axis(axes)
    plots.time_axis(axes, max(one["seconds_of_samples"][-1] for one in results.values()))
    plots.legend_above(axes)


def write_page(path: Path, trace: Path, results: dict[str, dict]) -> None:
    picture = figure(
        plots.drawn(lambda axes: draw(results, axes), 3.2), "Resident memory", "Growth since the start of the replay."
    )
    text = page(f"{trace.name} replayed", f"<h1>{escape(trace.name)}</h1>", table(*rows(results)), WORDS, picture)
    write_text(path, text)


def allocators_by_name(ours: Path, others: list[Path]) -> dict[str, Path | None]:
    """A library whose name another one has, say an older build, is named by its path."""
    named: dict[str, Path | None] = {"system": None, "jwmalloc": ours}
    for library in others:
        name = library.name.removeprefix("lib").split(".so")[0]
        named[str(library) if name in named else name] = library
    return named


def replay(arguments: argparse.Namespace) -> int:
    tell = Progress()
    if arguments.output:
        traceio.spare(arguments.output, arguments.trace)
    others = [Path(found(library)) for library in arguments.lib]
    trace = traceio.read(arguments.trace, tell.events)
    process = chosen_process(trace, arguments.process)
    ended = {record["thread"] for record in trace.of("thread_end") if record["process"] == process}
    tell("ordering the calls")
    events = analysis.of_process(trace, process)
    peak = int(events.live().max())
    available = int(re.search(r"MemAvailable:\s+(\d+)", Path("/proc/meminfo").read_text())[1]) << 10
    if peak > available:
        said = f"{plots.amount(peak)} alive at a time, {plots.amount(available)} of memory are free"
        raise TraceError(f"{arguments.trace}: has {said}")
    calls, slots, _ = calls_of(events, ended)
    del events, trace
    ours = next((folder for folder in (arguments.build, arguments.build.parent) if (folder / OURS).exists()), None)
    if ours is None:  # where it is built, or installed
        raise TraceError(f"{arguments.build / OURS}: is missing")
    allocators = allocators_by_name(ours / OURS, others)
    results = {}
    with tempfile.TemporaryDirectory(prefix="jw-replay-") as folder:
        plan = Path(folder) / "plan"
        write_plan(plan, calls, slots)
        for name, library in allocators.items():
            tell(f"{len(calls) / 1e6:.1f} million calls on {name}")
            results[name] = measured(arguments.build / "jwreplay", plan, library, arguments)
    tell.done()
    if arguments.output:
        write_page(arguments.output, arguments.trace, results)
        say(str(arguments.output), "replay")
    if arguments.json:
        print(json.dumps(results, indent=1))
    else:
        print_table(*rows(results))
    return 0

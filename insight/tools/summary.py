"""summary.py - a recorded process in numbers: what --json prints, and what the report's words are made of."""

from dataclasses import dataclass

import numpy as np

import events as analysis
import figures
from figures import MS, NEVER
from traceio import Trace

INTERVAL = 500 * MS  # between two rounds of jwmalloc's reclamation
QUANTILES = (0.5, 0.9, 0.99)


@dataclass
class Process:
    """One process, with what every figure starts from."""

    trace: Trace
    number: int
    events: analysis.Events
    objects: figures.Objects
    pages: figures.Pages
    live: np.ndarray
    end: int  # ns
    resident: np.ndarray  # rows of time and bytes


def process_of(trace: Trace, number: int, tell=lambda text: None) -> Process:
    tell("pairing frees with allocations")
    events = analysis.of_process(trace, number)
    trace.streams.clear()  # the columns have it all
    tell("lives of objects and pages")
    objects = figures.objects_of(events)
    samples = [row for record in trace.of("memory") for row in record["samples"] if row[0] == number]
    resident = np.array(samples, np.int64).reshape(-1, 3)[:, 1:]
    resident[:, 0] -= events.start
    resident = resident[(resident[:, 0] >= 0) & (resident[:, 1] > 0)]  # 0: older recordings say it of the ended
    end = max(int(events.time[-1]), 1) if len(events.time) else 1
    if len(resident):
        end = max(end, int(resident[-1, 0]))
    return Process(trace, number, events, objects, figures.pages_of(objects), events.live(), end, resident)


def name_of(trace: Trace, number: int) -> str:
    """Its first thread's first name; a path may be that of another name's file."""
    threads = (record["name"] for record in trace.of("thread") if record["process"] == number)
    paths = (record["path"].rsplit("/", 1)[-1] for record in trace.of("program") if record["process"] == number)
    commands = (record["command"] for record in trace.of("process") if record["process"] == number)
    name = next(threads, "") if trace.of("program") else next(commands, "").rsplit("/", 1)[-1]
    return name or next(paths, "") or f"process {number}"


def names_of_threads(trace: Trace) -> dict[tuple[int, int], str]:
    """Later names win: a thread has its own mostly after its start."""
    names = {}
    for record in trace.records:
        if record["what"] in ("thread", "thread_name", "thread_end") and record.get("name"):
            names[record["process"], record["thread"]] = record["name"]
    return names


def totals(process: Process) -> dict:
    objects, live = process.objects, process.live
    at_peak = int(np.argmax(live)) if len(live) else 0
    freed, seconds = objects.freed, max(process.end, 1) / 1e9
    short = objects.lifetime < MS
    return {
        "seconds": process.end / 1e9,
        "allocations": len(objects.birth),
        "frees": int(freed.sum()),
        "allocated_bytes": int(objects.size.sum()),
        "allocations_per_second": len(objects.birth) / seconds,
        "busiest_operations_per_second": int(figures.rates(process.events, process.end)["busiest"]),
        "peak_bytes": int(live.max()) if len(live) else 0,
        "peak_seconds": float(process.events.time[at_peak] / 1e9) if len(live) else 0.0,
        "end_bytes": int(live[-1]) if len(live) else 0,
        "end_objects": int((~freed).sum()),
        "threads": len(np.unique(process.events.thread)),
        "cross_thread_frees": int(objects.crossing.sum()),
        "shorter_than_1ms": int(short.sum()),
        "older_frees": process.events.older,
        "doubtful": process.events.doubtful,
        "inherited": process.events.inherited,
        "peak_resident_bytes": int(process.resident[:, 1].max()) if len(process.resident) else None,
        "end_resident_bytes": int(process.resident[-1, 1]) if len(process.resident) else None,
    }


def lifetimes(process: Process) -> dict:
    objects, pages = process.objects, process.pages
    ones = np.ones(len(objects.birth), np.int64)
    result = {}
    for name, life, weight in (("objects", objects.lifetime, ones), ("pages", pages.lifetime, pages.weight)):
        quantiles = {f"p{share * 100:g}": figures.time_of_share(life, weight, share) for share in QUANTILES}
        within = float(figures.shares_by(life, weight, np.array([INTERVAL]))[0])
        never = int(weight[life == NEVER].sum()) / max(int(weight.sum()), 1)
        result[name] = {**quantiles, "count": int(weight.sum()), "within_500ms": within, "alive_at_end": never}
    return result


def threads(process: Process) -> list[dict]:
    """By activity, the most active first."""
    events, objects = process.events, process.objects
    numbers, of_events = np.unique(events.thread, return_inverse=True)
    of_objects, size = np.searchsorted(numbers, objects.thread), len(numbers)
    names = names_of_threads(process.trace)
    ended = {record["thread"]: record["time"] for record in process.trace.of("thread_end")
             if record["process"] == process.number}  # fmt: skip
    columns = {
        "events": np.bincount(of_events, minlength=size),
        "allocations": np.bincount(of_objects, minlength=size),
        "allocated_bytes": np.bincount(of_objects, objects.size, size),
        "freed_by_others": np.bincount(of_objects[objects.crossing], minlength=size),
        "end_bytes": np.bincount(of_objects[~objects.freed], objects.size[~objects.freed], size),
    }
    found = []
    for at in np.argsort(-columns["events"], kind="stable").tolist():
        thread = int(numbers[at])
        name = names.get((process.number, thread), "before the fork" if thread == 0 else "")
        row = {key: int(column[at]) for key, column in columns.items()}
        found.append({"thread": thread, "name": name, **row, "ended": thread in ended})
    return found


def trough_of(process: Process) -> tuple[int, int]:
    """The quietest moment after the peak, and the bytes in use: what is kept there is what fragmentation costs."""
    if not len(process.live):
        return 0, 0
    at_peak = int(np.argmax(process.live))
    at = at_peak + int(np.argmin(process.live[at_peak:]))
    return int(process.events.time[at]), int(process.live[at])


def summary_of(process: Process) -> dict:
    total = totals(process)
    peak, (trough, in_use) = int(total["peak_seconds"] * 1e9), trough_of(process)
    pinning, pages = figures.pinning_sizes(process.objects, trough)
    sizes, operations, amounts = figures.size_distribution(process.objects)
    at = [int(np.searchsorted(operations, share)) for share in QUANTILES] if len(sizes) else []
    steps = np.linspace(0, max(len(process.live) - 1, 0), 101).astype(np.int64)
    return {
        "program": name_of(process.trace, process.number),
        "command": process.trace.about.get("command"),
        "process": process.number,
        "cut": process.trace.cut,
        "totals": total,
        "sizes": {f"p{share * 100:g}": int(sizes[where]) for share, where in zip(QUANTILES, at, strict=False)},
        "small_operations": float(operations[sizes <= 4096][-1]) if len(sizes) and sizes[0] <= 4096 else 0.0,
        "small_bytes": float(amounts[sizes <= 4096][-1]) if len(sizes) and sizes[0] <= 4096 else 0.0,
        "lifetimes": lifetimes(process),
        "alive_at_peak": figures.sizes_alive(process.objects, peak),
        "trough": {"seconds": trough / 1e9, "bytes": in_use, **pages, "pinning": pinning},
        "threads": threads(process),
        # Live bytes after each hundredth part of the events.
        "live": [int(process.live[at]) for at in steps] if len(process.live) else [],
    }

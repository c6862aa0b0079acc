"""events.py - from the events of threads to objects: which free belongs to which allocation. All of it is vectorized.

Between two events of one address the memory is free, because a free is timed before its call and an allocation after
it (record/entry.c). So events sorted by address and time pair up."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from traceio import FREE, PROCESS, REALLOC_BEGIN, REALLOC_END, Trace

ALIVE = np.iinfo(np.uint64).max
NOBODY = -1


@dataclass
class Events:
    """Of one process, in the order of time. An event of an object that is older than the recording is left out."""

    time: np.ndarray  # ns since the first event
    size: np.ndarray  # the object's, for frees too
    partner: np.ndarray  # of a free its allocation, of an allocation its free or -1
    thread: np.ndarray
    address: np.ndarray
    kind: np.ndarray
    alignment: np.ndarray
    stack: np.ndarray  # of an allocation; 0: not known
    start: int  # CLOCK_MONOTONIC of time 0
    older: int  # frees of objects that no event allocated
    doubtful: int  # allocations at an address that no event freed before
    inherited: int = 0  # objects of the parent at the fork

    @property
    def allocates(self) -> np.ndarray:
        return (self.kind != FREE) & (self.kind != REALLOC_BEGIN)

    def live(self) -> np.ndarray:
        """Bytes asked for and not freed, after each event."""
        size = self.size.astype(np.int64)
        return np.cumsum(np.where(self.allocates, size, -size))


def without_failed_reallocs(events: np.ndarray) -> np.ndarray:
    """Of one thread, where a begin is followed by its end. realloc to 0 that gives NULL is a free."""
    kind = events["kind"]
    begins, ends = np.flatnonzero(kind == REALLOC_BEGIN), np.flatnonzero(kind == REALLOC_END)
    keep = kind < PROCESS
    keep[begins[len(ends) :]] = False  # the program ended inside the call
    failed = events["address"][ends] == 0
    keep[ends[failed]] = False
    keep[begins[: len(ends)][failed & (events["size"][ends] != 0)]] = False
    return events[keep]


def paired(address: np.ndarray, allocates: np.ndarray) -> np.ndarray:
    """For events in the order of time: the index of each one's partner, -1 if it has none."""
    order = np.argsort(address, kind="stable")
    ordered, first = address[order], allocates[order]
    match = np.flatnonzero((ordered[:-1] == ordered[1:]) & first[:-1] & ~first[1:])
    partner = np.full(len(address), NOBODY, np.int64)
    partner[order[match]] = order[match + 1]
    partner[order[match + 1]] = order[match]
    return partner


def merged(trace: Trace, process: int, older: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """All events of a process by time, and the thread of each."""
    parts, threads = [], []
    if older is not None:
        parts.append(older)
        threads.append(np.zeros(len(older), np.int32))
    for (owner, thread), events in trace.streams.items():
        if owner == process:
            parts.append(without_failed_reallocs(events))
            threads.append(np.full(len(parts[-1]), thread, np.int32))
    events, thread = np.concatenate(parts), np.concatenate(threads)
    allocates = (events["kind"] != FREE) & (events["kind"] != REALLOC_BEGIN)
    order = np.argsort(events["time"] * np.uint64(2) + allocates, kind="stable")
    return events[order], thread[order]


def of_process(trace: Trace, process: int) -> Events:
    """The events of one process, with what a fork left it of its parent's objects."""
    older = inherited(trace, process)
    events, thread = merged(trace, process, older)
    allocates = (events["kind"] != FREE) & (events["kind"] != REALLOC_BEGIN)
    partner = paired(events["address"], allocates)
    size = np.where(allocates, events["size"], events["size"][partner])
    keep = allocates | (partner != NOBODY)
    place = np.cumsum(keep) - 1
    partner = partner[keep]
    kept = allocates[keep]
    doubtful = doubtful_count(events["address"][keep], kept)
    start = int(events["time"][0]) if len(events) else 0
    return Events(
        time=(events["time"][keep] - np.uint64(start)).astype(np.int64),
        size=size[keep],
        partner=np.where(partner == NOBODY, NOBODY, place[partner]),
        thread=thread[keep],
        address=events["address"][keep],
        kind=events["kind"][keep],
        alignment=events["alignment"][keep],
        stack=events["stack"][keep],
        start=start,
        older=int((~keep).sum()),
        doubtful=doubtful,
        inherited=0 if older is None else len(older),
    )


def doubtful_count(address: np.ndarray, allocates: np.ndarray) -> int:
    order = np.argsort(address, kind="stable")
    same = address[order][:-1] == address[order][1:]
    return int((same & allocates[order][:-1] & allocates[order][1:]).sum())


def inherited(trace: Trace, process: int) -> np.ndarray | None:
    """What a forked child has of its parent: the objects that were alive at the fork, as events of that moment."""
    births = {record["process"]: record for record in trace.of("process")}
    owners = {owner for owner, _ in trace.streams}
    line = [process]  # of ancestors; each is older than its child
    while (parent := births.get(line[-1], {}).get("parent")) and parent in owners:
        line.append(parent)
    alive = None
    for child, parent in reversed(list(pairwise(line))):
        events, _ = merged(trace, parent, alive)
        events = events[events["time"] <= births[child]["time"]]
        allocates = (events["kind"] != FREE) & (events["kind"] != REALLOC_BEGIN)
        alive = events[allocates & (paired(events["address"], allocates) == NOBODY)].copy()
        alive["time"] = births[child]["time"]
    return alive


def processes(trace: Trace) -> list[int]:
    """Those with events, the most first."""
    count: dict[int, int] = {}
    for (process, _), events in trace.streams.items():
        count[process] = count.get(process, 0) + len(events)
    return sorted(count, key=lambda process: -count[process])

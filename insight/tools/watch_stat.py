"""watch_stat.py - ./jw stat: the state of a process that runs jwmalloc with watch:true; text, JSON or OpenMetrics."""

import argparse
import json
import sys
from collections.abc import Iterator

import watched
from watched import STATES, duration, size


def table(head: tuple[str, ...], rows: list[tuple]) -> Iterator[str]:
    """Lines with columns as wide as needed; the first one to the left, numbers to the right."""
    texts = [head, *[tuple(map(str, row)) for row in rows]]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    for row in texts:
        cells = [row[0].ljust(widths[0]), *(text.rjust(width) for text, width in zip(row[1:], widths[1:], strict=True))]
        yield "  " + "  ".join(cells).rstrip()


def text(look: dict) -> Iterator[str]:
    statistics, reclamation = look["statistics"], look["reclamation"]
    yield watched.title(look)
    yield (
        f"  {size(statistics['in_objects'])} in {statistics['objects']} objects and large ones; "
        f"{size(statistics['resident'])} resident, {size(statistics['peak'])} at most"
    )
    yield (
        f"  {reclamation['rounds']} rounds, {reclamation['wakeups']} wake-ups, {statistics['system_calls']} system "
        f"calls; {size(statistics['backend']['given_back'])} given back; reclamation thread: {reclamation['thread']}"
    )
    head = ("tier", "in use", "cached mapped", "cached unmapped")
    yield from table(head, [(name, *(size(tier[state]) for state in STATES)) for name, tier in look["tiers"].items()])
    rows = [
        (f"{tier} {size(entry['size'])}", *(size(entry[state]) for state in STATES))
        for tier in watched.TIERS
        for entry in look[tier]
        if any(entry[state] for state in STATES)
    ]
    yield from table(("class", *head[1:]), rows)
    rows = [
        (
            slow["path"],
            sum(slow["times"]),
            *(duration(watched.percentile(slow["times"], part)) for part in (0.5, 0.99, 1)),
        )
        for slow in look["slow"]
    ]
    yield from table(("slow path", "calls", "half below", "99 % below", "all below"), rows)
    rows = [
        (watched.thread(heap), heap["slow_paths"], *(size(heap[name]) for name in watched.HELD))
        for heap in look["heaps"]
    ]
    yield from table(("thread", "slow paths", "slabs", "objects", "pool", "mid cache", "range cache"), rows)


def families(look: dict) -> Iterator:
    """As Prometheus sees it: names, units and types of docs/insight/watch.md."""
    from prometheus_client import core

    statistics = look["statistics"]

    def gauge(name: str, about: str, labels: tuple[str, ...], rows: list[tuple]) -> core.GaugeMetricFamily:
        family = core.GaugeMetricFamily(f"jwmalloc_{name}", about, labels=labels)
        for *values, number in rows:
            family.add_metric([str(value) for value in values], number)
        return family

    info = core.InfoMetricFamily("jwmalloc", "The allocator and its process")
    known = {"version": look["library"], "pid": str(statistics["pid"]), "program": statistics["program"]}
    info.add_metric([], known)
    yield info
    rows = [(name, state, tier[state]) for name, tier in look["tiers"].items() for state in STATES]
    yield gauge("tier_bytes", "Memory of a tier", ("tier", "state"), rows)
    rows = [
        (tier, entry["size"], state, entry[state])
        for classes, tier in watched.TIERS.items()
        for entry in look[classes]
        for state in STATES
    ]
    yield gauge("class_bytes", "Memory of a size class", ("tier", "size", "state"), rows)
    held = ("reserved", "out", "pooled", "given_back", "cached_mid", "cached_ranges")
    rows = [(heap["heap"], heap["thread"], what, heap[what]) for heap in look["heaps"] for what in held]
    yield gauge("heap_bytes", "What a thread's heap holds", ("heap", "thread", "what"), rows)
    metadata = statistics["frontend"]["metadata"] + statistics["backend"]["metadata"]
    for name, about, number in (
        ("objects_bytes", "Bytes in objects", statistics["in_objects"]),
        ("resident_bytes", "Resident memory of the process", statistics["resident"]),
        ("metadata_bytes", "Tables and records", metadata),
    ):
        yield gauge(name, about, (), [(number,)])
    for name, about, number in (
        ("given_back_bytes", "Bytes given back to the system", statistics["backend"]["given_back"]),
        ("rounds", "Rounds of reclamation", look["reclamation"]["rounds"]),
        ("wakeups", "Wake-ups of the reclamation thread", look["reclamation"]["wakeups"]),
        ("system_calls", "System calls of the allocator", statistics["system_calls"]),
    ):
        yield core.CounterMetricFamily(f"jwmalloc_{name}", about, value=number)
    family = core.HistogramMetricFamily("jwmalloc_slow_path_seconds", "Times of slow paths", labels=["path"])
    for slow in look["slow"]:
        counts, seen = [], 0
        for bit, count in enumerate(slow["times"][:-1]):
            seen += count
            counts.append((repr((2 << bit) / 1e9), seen))
        counts.append(("+Inf", sum(slow["times"])))
        family.add_metric([slow["path"]], counts, slow["nanoseconds"] / 1e9)
    yield family


def openmetrics(look: dict) -> str:
    from prometheus_client import CollectorRegistry
    from prometheus_client.openmetrics.exposition import generate_latest

    class Collector:
        def collect(self) -> Iterator:
            return families(look)

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Collector())
    return generate_latest(registry).decode()


def stat(arguments: argparse.Namespace) -> int:
    look = watched.look(arguments)
    if arguments.json:
        json.dump(look, sys.stdout, indent=1)
        print()
    elif arguments.openmetrics:
        print(openmetrics(look), end="")
    else:
        print("\n".join(text(look)))
    return 0

"""watch_top.py - ./jw top: the state of a process that runs jwmalloc with watch:true, drawn again and again."""

import argparse

from rich import box
from rich.columns import Columns
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

import watched
from watched import STATES, duration, size

CLASSES, THREADS = 12, 8  # rows at most


def rate(new: float, old: float, seconds: float) -> str:
    return f"{(new - old) / seconds:,.0f}" if seconds > 0 else "-"


def table(*columns: str) -> Table:
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, name in enumerate(columns):
        made.add_column(name, justify="right" if number else "left", no_wrap=True)
    return made


def head(look: dict, before: dict, seconds: float) -> Text:
    statistics, reclamation = look["statistics"], look["reclamation"]

    def per_second(part: str, *names: str) -> str:
        new, old = look[part], before[part]
        for name in names:
            new, old = new[name], old[name]
        return rate(new, old, seconds)

    return Text(
        f"{watched.title(look)}\n"
        f"{size(statistics['in_objects'])} in {statistics['objects']:,} objects; "
        f"{size(statistics['resident'])} resident, {size(statistics['peak'])} at most\n"
        f"{reclamation['rounds']} rounds, "
        f"{reclamation['wakeups']} wake-ups ({per_second('reclamation', 'wakeups')}/s), "
        f"{statistics['system_calls']:,} system calls ({per_second('statistics', 'system_calls')}/s), "
        f"{size(statistics['backend']['given_back'])} given back; reclamation thread: {reclamation['thread']}"
    )


def tiers(look: dict) -> Table:
    made = table("tier", "in use", "cached mapped", "cached unmapped")
    for name, tier in look["tiers"].items():
        made.add_row(name, *(size(tier[state]) for state in STATES))
    return made


def classes(look: dict) -> Table:
    """Those with the most memory."""
    made = table("class", "in use", "cached mapped", "cached unmapped", "used")
    all_of_them = [(name, entry) for name in watched.TIERS for entry in look[name]]
    all_of_them.sort(key=lambda item: item[1]["in_use"] + item[1]["cached_mapped"], reverse=True)
    for name, entry in all_of_them[:CLASSES]:
        mapped = entry["in_use"] + entry["cached_mapped"]
        if mapped:
            share = f"{100 * entry['in_use'] / mapped:.0f} %"
            made.add_row(f"{name} {size(entry['size'])}", *(size(entry[state]) for state in STATES), share)
    return made


def slow_paths(look: dict, before: dict, seconds: float) -> Table:
    made = table("slow path", "calls", "a second", "half below", "99 % below", "all below")
    for new, old in zip(look["slow"], before["slow"], strict=True):
        calls = sum(new["times"])
        parts = (duration(watched.percentile(new["times"], part)) for part in (0.5, 0.99, 1))
        made.add_row(new["path"], f"{calls:,}", rate(calls, sum(old["times"]), seconds), *parts)
    return made


def threads(look: dict) -> Table:
    """Those with the most slabs."""
    made = table("thread", "slabs", "objects", "pool", "mid cache", "range cache")
    most = sorted(look["heaps"], key=lambda heap: heap["reserved"], reverse=True)
    for heap in most[:THREADS]:
        made.add_row(watched.thread(heap), *(size(heap[name]) for name in watched.HELD))
    if others := most[THREADS:]:
        made.add_row(f"{len(others)} more", *(size(sum(heap[name] for heap in others)) for name in watched.HELD))
    return made


def picture(look: dict, before: dict, seconds: float) -> Group:
    others = Group(tiers(look), slow_paths(look, before, seconds), threads(look))
    return Group(head(look, before, seconds), Columns([others, classes(look)]))


def top(arguments: argparse.Namespace) -> int:
    if arguments.once:
        look = watched.look(arguments)
        Console().print(picture(look, look, 0))
        return 0
    looks = watched.looks(arguments, arguments.interval)
    before = next(looks)
    seconds = arguments.interval / 1000
    try:
        with Live(picture(before, before, 0), screen=True, auto_refresh=False) as live:
            for look in looks:
                live.update(picture(look, before, seconds), refresh=True)
                before = look
    except KeyboardInterrupt:
        return 0
    return 0

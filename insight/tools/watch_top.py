"""watch_top.py - ./jw top: the state of a process that runs jwmalloc with watch:true, drawn again and again."""

import argparse
import contextlib

from rich import box
from rich.columns import Columns
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

import watched
from watched import STATES, duration, size

CLASSES, THREADS = 12, 8  # rows at most
WIDE = 136  # columns, where two tables stand side by side


def rate(new: float, old: float, seconds: float) -> str:
    return f"{(new - old) / seconds:,.0f}" if seconds > 0 else "-"


def table(*columns: str) -> Table:
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
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


def classes(look: dict, most: int) -> Table:
    """Those with the most memory."""
    made = table("class", "in use", "cached mapped", "cached unmapped", "used")
    all_of_them = [(name, entry) for name in watched.TIERS for entry in look[name]]
    all_of_them.sort(key=lambda item: item[1]["in_use"] + item[1]["cached_mapped"], reverse=True)
    for name, entry in all_of_them[:most]:
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


def threads(look: dict, number: int) -> Table:
    """Those with the most slabs."""
    made = table("thread", "slabs", "objects", "pool", "mid cache", "range cache")
    most = sorted(look["heaps"], key=lambda heap: heap["reserved"], reverse=True)
    for heap in most[:number]:
        made.add_row(watched.thread(heap), *(size(heap[name]) for name in watched.HELD))
    if others := most[number:]:
        made.add_row(f"{len(others)} more", *(size(sum(heap[name] for heap in others)) for name in watched.HELD))
    return made


def picture(look: dict, before: dict, seconds: float, console: Console, height: int = 100) -> Group:
    """So many lines at most, where that is possible: a terminal of 80 times 24 has a little of everything."""
    said, paths = head(look, before, seconds), slow_paths(look, before, seconds)
    lines = len(console.render_lines(said)) + 2 * 4 + len(look["tiers"]) + paths.row_count
    room = height - lines - 1  # the others' row
    number = max(1, min(THREADS, room // 3))
    parts = [tiers(look), paths, threads(look, number)]
    if console.width >= WIDE:
        left = Group(*apart(parts))
        return Group(said, "", Columns([left, classes(look, CLASSES)], padding=(0, 4)))
    parts.insert(1, classes(look, max(1, min(CLASSES, room - number))))
    return Group(*(apart([said, *parts]) if height - lines > CLASSES + THREADS + 4 else [said, *parts]))


def apart(parts: list) -> list:
    return [one for part in parts for one in (part, "")][:-1]


def top(arguments: argparse.Namespace) -> int:
    console = Console()
    if arguments.once:
        look = watched.look(arguments)
        console.print(picture(look, look, 0, console))
        return 0
    looks = watched.looks(arguments, arguments.interval)
    before = next(looks)
    seconds = arguments.interval / 1000
    with contextlib.suppress(KeyboardInterrupt):
        if not console.is_terminal or console.is_dumb_terminal:  # one picture after the other
            for look in looks:
                console.print(picture(look, before, seconds, console), "")
                before = look
            return 0
        with Live(console=console, screen=True, auto_refresh=False) as live:
            live.update(picture(before, before, 0, console, console.height), refresh=True)
            for look in looks:
                live.update(picture(look, before, seconds, console, console.height), refresh=True)
                before = look
    return 0

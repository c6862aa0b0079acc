"""watch_map.py - ./jw map: a picture of the addresses that jwmalloc has in a process with watch:true.

A root is a line or more; each place of it stands for some granules, and shows what most of these are."""

import argparse
import json
import sys
from collections import Counter, defaultdict

from rich.console import Console
from rich.text import Text

import watched
from watched import size

# kind: the character, colour and meaning; in the order of the legend
KINDS = {
    "small": ("s", "green", "slabs of small objects"),
    "mid": ("m", "cyan", "slabs of mid objects"),
    "large": ("L", "yellow", "large objects"),
    "held": ("c", "magenta", "cached by a thread"),
    "deferred": ("d", "magenta", "deferred"),
    "free": ("+", "blue", "free, with memory"),
    "unmapped": (".", "bright_black", "free, without memory"),
    "closed": (" ", "default", "not mapped"),
}
HALF_FULL = ("small", "mid")  # a capital where at least half is in use
NARROWEST, LINES = 16, 32  # places of a line; lines of all roots, if they are few


def cells(runs: list, root: int, root_size: int, count: int) -> list[tuple[str, bool]]:
    """Of each place: the kind that has most of its bytes, and whether at least half of these are used."""
    each = root_size // count
    places = [Counter() for _ in range(count)]
    used = [defaultdict(float) for _ in range(count)]
    for address, length, kind, _, _, used_bytes in runs:
        for place in range((address - root) // each, (address + length - root - 1) // each + 1):
            start = max(address, root + place * each)
            inside = min(address + length, root + (place + 1) * each) - start
            places[place][kind] += inside
            used[place][kind] += used_bytes * inside / length
    result = []
    for place, bytes_used in zip(places, used, strict=True):
        kind, length = place.most_common(1)[0] if place else ("closed", 1)
        result.append((kind, 2 * bytes_used[kind] >= length))
    return result


def draw(places: list[tuple[str, bool]]) -> Text:
    line = Text(no_wrap=True)
    for kind, full in places:
        letter, colour, _ = KINDS[kind]
        line.append(letter.upper() if full and kind in HALF_FULL else letter, style=colour)
    return line


def legend(look: dict) -> Text:
    total = Counter()
    for _, length, kind, *_ in look["runs"]:
        total[kind] += length
    text = Text()
    for kind, (letter, colour, about) in KINDS.items():
        if total[kind]:
            text.append(f"  {letter}", style=colour)
            text.append(f"  {about}: {size(total[kind])}")
            text.append(" (capital: at least half in use)\n" if kind in HALF_FULL else "\n")
    return text


def show(look: dict, console: Console) -> None:
    root_size = look["root_size"]
    runs = defaultdict(list)
    for run in look["runs"]:
        runs[run[0] // root_size * root_size].append(run)
    width = 1 << max(NARROWEST, console.width - 20).bit_length() - 1
    granules = root_size // look["granule_size"]
    lines = 1
    while 2 * lines * max(1, len(look["roots"])) <= LINES and 2 * lines * width <= granules:
        lines *= 2
    console.print(watched.title(look), highlight=False)
    place = size(root_size // (lines * width))
    console.print(f"{len(look['roots'])} roots of {size(root_size)}; a place is {place}", highlight=False)
    console.print(legend(look), end="")
    before = None
    for root in sorted(look["roots"] + look["spare_roots"]):
        if before is not None and root != before + root_size:
            console.print(f"{'':>16}  hole of {size(root - before - root_size)}", highlight=False)
        before = root
        if root in look["spare_roots"]:
            console.print(f"{root:>16x}  spare root, never used", highlight=False)
            continue
        places = cells(runs[root], root, root_size, lines * width)
        for start in range(0, lines * width, width):
            address = root + start * (root_size // (lines * width))
            console.print(Text(f"{address:>16x}  ", no_wrap=True).append_text(draw(places[start : start + width])))
    for address, length in sorted(look["huge"]):
        console.print(f"{address:>16x}  huge object of {size(length)}", highlight=False)


def picture(arguments: argparse.Namespace) -> int:
    look = watched.look(arguments, "--map")
    if arguments.json:
        json.dump(look, sys.stdout)
        print()
    else:
        show(look, Console())
    return 0

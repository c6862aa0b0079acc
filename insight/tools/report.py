"""report.py - ./jw report: one page about a recorded process, or about two; or the numbers alone."""

import argparse
import json
import sys
import time
from html import escape
from pathlib import Path

import events as analysis
import flames as allocators
import plots
import summary
import traceio
from android import chosen_process
from errors import TraceError, say
from plots import amount, count, duration
from summary import Process
from traceio import Trace
from whole import write_text

STYLE = """:root{color-scheme:light}*{box-sizing:border-box}
body{font:15px/1.5 system-ui,sans-serif;max-width:1240px;margin:0 auto;padding:12px;color:#222;background:#fff}
h1,p,li,figcaption{overflow-wrap:anywhere}h1{font-size:1.5em;margin:.3em 0}h2{font-size:1.15em;margin:1.6em 0 .4em}
.tiles{display:grid;grid-template-columns:repeat(auto-fill,minmax(150px,1fr));gap:8px;margin:12px 0}
.tile{border:1px solid #ddd;border-radius:6px;padding:8px 10px}.tile b{display:block;font-size:1.3em}
.tile span{color:#666;font-size:.85em}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,440px),1fr));gap:18px}
figure{margin:0;overflow:hidden}
figure img{width:100%;max-width:760px;height:auto;display:block}figcaption{font-size:.88em;color:#444;margin-top:2px}
figcaption b{color:#222}.wide{overflow-x:auto}table{border-collapse:collapse;font-size:13px}
td,th{padding:3px 10px;text-align:right;white-space:nowrap;border-bottom:1px solid #eee}th{background:#f5f5f5}
td:first-child,th:first-child{text-align:left}
.flame{margin-bottom:1em}.flame input{width:100%;display:block}.flame label{font-size:.88em}
@media(max-width:480px){table{font-size:12px}td,th{padding:3px 4px}ul{padding-left:20px}
th,td:first-child{white-space:normal}td:first-child{overflow-wrap:anywhere}}
li{margin:.35em 0}small,.small{color:#666;font-size:.85em}"""

SOME = 8  # other processes that are named
LONGEST = 300  # characters of a command
UNITS = '<p class="small">1 KB is 1,024 bytes, 1 us is a millionth of a second.</p>'
PAPER = """<p class="small">In brackets: the figure of the same kind in section 2.3 of Wang, Fu et al., "jwmalloc: A
Verified Memory Allocator for Mobile Devices".</p>"""


class Progress:
    """What is being done, on one line of a terminal."""

    def __init__(self) -> None:
        self.shown, self.live = 0.0, sys.stderr.isatty()

    def __call__(self, text: str) -> None:
        if self.live:
            print(f"\r\033[K{text} ...", end="", file=sys.stderr, flush=True)
        else:
            print(f"{text} ...", file=sys.stderr)

    def events(self, done: int) -> None:
        if time.monotonic() - self.shown > 0.3:
            self.shown = time.monotonic()
            self(f"reading: {done / 1e6:.1f} million events")

    def done(self) -> None:
        if self.live:
            print("\r\033[K", end="", file=sys.stderr)


def tile(value: str, meaning: str) -> str:
    return f'<div class="tile"><b>{escape(value)}</b><span>{escape(meaning)}</span></div>'


def tiles(about: dict) -> str:
    total = about["totals"]
    resident = total["peak_resident_bytes"]
    shown = [
        (f"{total['seconds']:.3g} s", "recorded"),
        (count(total["allocations"]), "allocations"),
        (count(total["allocations_per_second"]) + "/s", "mean rate of allocations"),
        (count(total["busiest_operations_per_second"]) + "/s", "calls in the busiest millisecond"),
        (amount(total["allocated_bytes"]), "allocated in all"),
        (amount(total["peak_bytes"]), f"in use at the peak, at {total['peak_seconds']:.3g} s"),
        (amount(resident) if resident else "-", "resident at most"),
        (amount(total["end_bytes"]), f"in {count(total['end_objects'])} objects alive at the end"),
        (count(total["threads"]), "threads that allocated or freed"),
        (share(total["cross_thread_frees"], total["frees"]), "of frees by another thread"),
        (share(total["shorter_than_1ms"], total["allocations"]), "of objects live less than 1 ms"),
        (amount(about["sizes"].get("p50", 0)), "or less, in half of the allocations"),
    ]
    return f'<div class="tiles">{"".join(tile(*one) for one in shown)}</div>'


def share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.3g} %" if whole else "-"


def figure(source: str, title: str, words: str) -> str:
    picture = f'<img src="{source}" alt="{escape(title)}" loading="lazy">'
    return f"<figure>{picture}<figcaption><b>{escape(title)}.</b> {escape(words)}</figcaption></figure>"


def pictures(process: Process, counts: dict[int, list[int]], tell) -> str:
    one = [
        (plots.memory, "Memory in use", "Bytes the program asked for, the pages of 4 KB these lie in, and all its "
         "resident memory. [Figure 2, top]"),
        (plots.heat, "Allocations by size and time", "The green line is 4 KB. [Figure 2, middle]"),
        (lambda of, axes: plots.heat(of, axes, frees=True), "Frees by size and time", "By the size of what is freed. "
         "[Figure 2, middle]"),
        (plots.rate, "Calls by time", "All sizes together. [Figure 2, bottom]"),
        (lambda of, axes: plots.sizes([of], axes), "Sizes", "Share of allocations, and of allocated bytes, up to each "
         "size. [Figure 3]"),
        (lambda _, axes: plots.thread_bars([*counts.values()], axes), "Threads by activity", "Calls of each thread of "
         "all processes, the most active first; the colour changes with the process. [Figure 4]"),
        (lambda of, axes: plots.lives([of], axes), "Life times", "Share of pages, and of objects, that were free again "
         "after a time. The red line is jwmalloc's interval between two rounds. [Figure 5]"),
        (plots.crossing, "Frees by another thread", "In each millisecond, which share of the frees were of "
         "another thread's objects. The colour says for how many milliseconds this holds. [Figure 6]"),
        (plots.fragmentation, "Fragmentation", "The share of pages with an object, and of resident memory, that holds "
         "nothing the program asked for."),
        (plots.addresses, "Addresses", "From low to high addresses, without those never used: how much of each stretch "
         "was alive. Dark stretches are full, light ones nearly empty."),
    ]  # fmt: skip
    shown = []
    for draw, title, words in one:
        tell(f"drawing: {title.lower()}")
        shown.append(figure(plots.drawn(lambda axes, draw=draw: draw(process, axes)), title, words))
    return f'<div class="plots">{"".join(shown)}</div>{PAPER}{UNITS}'


def flame_graphs(flames: allocators.Flames, tell) -> str:
    """With their own library, which draws them in the reader's browser."""
    if not flames.kinds:
        return ""
    parts = ["<h2>Who allocated</h2>"]
    if flames.said:
        parts.append(f'<p class="small">{escape(" ".join(flames.said))}</p>')

    def add(title: str, words: str, drawn: str) -> None:
        parts.append(f"<figure><figcaption><b>{title}.</b> {escape(words)}</figcaption>{drawn}</figure>")

    parts.append(
        "<p>A part is a function. It is below the one that called it, and as wide as what it and its callees "
        f"allocated. Tap it to look closer: {allocators.LEVELS} levels are seen at a time. The part at the top leads "
        "back.</p>"
    )
    for flame in flames.kinds.values():
        tell(f"drawing: {flame.title.lower()}")
        total = f"{amount(flame.whole.bytes)} in {count(flame.whole.objects)} objects"
        add(flame.title, f"{total}. {flame.words}", allocators.drawn(flame) if flame.whole.objects else "")
    tell("drawing: over time")
    words = f"Bytes alive at each of {allocators.MOMENTS} moments: move the knob."
    add("Over time", words, allocators.drawn_over_time(flames.moments))
    parts.append(allocators.library())
    return "".join(parts)


def table(heads: list[str], rows: list[list[str]]) -> str:
    def line(cells: list[str], kind: str) -> str:
        return "<tr>" + "".join(f"<{kind}>{escape(cell)}</{kind}>" for cell in cells) + "</tr>"

    body = "".join(line(row, "td") for row in rows)
    return f'<div class="wide"><table>{line(heads, "th")}{body}</table></div>'


def between(one: dict) -> str:
    return f"{one['from']} B" if one["from"] == one["to"] else f"{one['from']} to {one['to']} B"


def tables(about: dict) -> str:
    threads = [
        [label(one, about), count(one["events"]), amount(one["allocated_bytes"]),
         share(one["freed_by_others"], one["allocations"]), amount(one["end_bytes"])]
        for one in about["threads"][:12]
    ]  # fmt: skip
    held = [
        [between(one), count(one["objects"]), amount(one["bytes"]), share(one["bytes"], about["totals"]["peak_bytes"])]
        for one in about["alive_at_peak"]
    ]
    return (
        "<h2>The most active threads</h2>"
        + table(["thread", "events", "allocated", "freed by others", "alive at the end"], threads)
        + "<h2>What was alive at the peak</h2>"
        + table(["sizes", "objects", "bytes", "of the peak"], held)
    )


def advice(about: dict) -> list[str]:
    """What the numbers mean for an allocator's settings, in sentences."""
    total, pages, trough = about["totals"], about["lifetimes"]["pages"], about["trough"]
    said, quiet = [], duration(trough["seconds"] * 1e9)
    if pages["count"]:
        gone = pages["within_500ms"]
        knee = f" 90 % are free again within {duration(pages['p90'])}." if pages["p90"] is not None else ""
        late = f" 99 % within {duration(pages['p99'])}." if pages["p99"] is not None else ""
        said.append(
            f"Of all lives of pages, {share(gone, 1)} are over within 500 ms, which is the interval between two rounds "
            f"of reclamation (reclaim_interval).{knee}{late} "
            + (
                "The interval is beyond the knee: pages that are still free after it mostly stay free, and giving them "
                "back costs little."
                if pages["p90"] is not None and pages["p90"] < summary.INTERVAL
                else "Many pages live longer than the interval: a longer one would spare calls of madvise only where "
                "such pages are soon used again."
            )
        )
    if total["peak_bytes"] and total["peak_bytes"] > 2 * max(trough["bytes"], 1):
        said.append(
            f"Memory in use falls from {amount(total['peak_bytes'])} to {amount(trough['bytes'])} at "
            f"{quiet}. How much the process then holds depends on what its allocator keeps cached "
            "after such a fall (options cache_min and cache_percent)."
        )
    if trough["pages"]:
        pinned = ", ".join(f"{between(one)} ({count(one['pages'])})" for one in trough["pinning"][:3])
        said.append(
            f"At {quiet}, when the least was in use, small objects were in {count(trough['pages'])} "
            f"pages, and {count(trough['sparse_pages'])} of these were less than a quarter full."
            + (f" Sizes that keep such pages, with how many: {pinned}." if pinned else "")
        )
    return said + advice_on_threads(about)


def label(thread: dict, about: dict) -> str:
    """Its name, with its number where others have the same one."""
    same = sum(one["name"] == thread["name"] for one in about["threads"])
    number = f"thread {thread['thread']}"
    return number if not thread["name"] else thread["name"] if same == 1 else f"{thread['name']}, {number}"


def advice_on_threads(about: dict) -> list[str]:
    total, said = about["totals"], []
    if total["frees"] and total["cross_thread_frees"] > total["frees"] / 100:
        givers = sorted(about["threads"], key=lambda one: -one["freed_by_others"])[:3]
        givers = [one for one in givers if one["freed_by_others"]]
        names = ", ".join(f"{label(one, about)} ({count(one['freed_by_others'])})" for one in givers)
        part = share(total["cross_thread_frees"], total["frees"])
        said.append(f"{part} of frees are of another thread's object. Most of these objects come from {names}.")
    elif total["threads"] > 1:
        said.append(
            "Hardly any object is freed by another thread, so caches of threads can be large without stranding."
        )
    ended = [one for one in about["threads"] if one["ended"] and one["end_bytes"] > 65536]
    if ended:
        names = ", ".join(f"{label(one, about)} ({amount(one['end_bytes'])})" for one in ended[:3])
        said.append(f"Threads that have ended and whose objects are still alive: {names}.")
    if total["shorter_than_1ms"] > total["allocations"] / 2:
        part = share(total["shorter_than_1ms"], total["allocations"])
        said.append(f"{part} of objects live less than a millisecond: the thread's own free lists serve them.")
    return said


def notes(about: dict, trace: Trace) -> str:
    said = []
    if about["cut"]:
        said.append("The file is cut off; this is what it has.")
    elif not trace.of("end"):
        said.append("The recording was ended before the program; its last second may be missing.")
    if not trace.about.get("timed", True):
        said.append("The text that this was made of has no times: each of its lines counts as a microsecond.")
    if not trace.about.get("addresses", True):
        said.append("heaptrack writes no addresses and threads: what the page has of these is made up.")
    lost = sum(record.get("lost", 0) for record in trace.of("end"))
    for number, words in (
        (lost, "events were not recorded"),
        (about["totals"]["older_frees"], "frees of objects older than the recording are left out"),
        (about["totals"]["doubtful"], "allocations were given an address that no event had freed"),
        (about["totals"]["inherited"], "objects came from the parent at the fork"),
    ):
        if number:
            said.append(f"{count(number)} {words}.")
    return f'<p class="small">{escape(" ".join(said))}</p>' if said else ""


def page(title: str, *parts: str) -> str:
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    return (
        f"<!DOCTYPE html><html lang=\"en\"><head>{head}<title>{escape(title)}</title><style>{STYLE}</style></head>"
        f"<body>{''.join(parts)}</body></html>\n"
    )


def load(path: Path, wanted: int | None, tell: Progress) -> tuple[Process, dict[int, list[int]]]:
    """The process, and of each process how many events its threads have."""
    trace = traceio.read(path, tell.events)
    number = chosen_process(trace, wanted)
    counts = {
        one: sorted((len(events) for (owner, _), events in trace.streams.items() if owner == one), reverse=True)
        for one in analysis.processes(trace)
    }
    return summary.process_of(trace, number, tell), counts


def command_of(about: dict) -> str:
    """As much of it as a person reads."""
    command = " ".join(about["command"] or [])
    return command if len(command) <= LONGEST else f"{command[:LONGEST]} ... ({len(command)} characters)"


def others_of(process: Process, counts: dict[int, list[int]]) -> str:
    others = [one for one in counts if one != process.number]
    if not others:
        return ""
    named = ", ".join(f"{one} ({summary.name_of(process.trace, one)})" for one in others[:SOME])
    more = f" and {len(others) - SOME} more" if len(others) > SOME else ""
    return f" This is process {process.number}; --process N shows another one: {named}{more}."


def page_of_one(path: Path, process: Process, counts: dict[int, list[int]], tell: Progress) -> str:
    about = summary.summary_of(process)
    tell("names of functions")
    flames = allocators.flames_of(process)
    said = "".join(f"<li>{escape(one)}</li>" for one in advice(about))
    head = [command_of(about), path.name, process.trace.about.get("date", "")]
    return page(
        f"{about['program']} - allocations",
        f"<h1>{escape(about['program'])}</h1><p class=\"small\">{escape(', '.join(filter(None, head)))}."
        f"{escape(others_of(process, counts))}</p>",
        notes(about, process.trace), tiles(about), pictures(process, counts, tell),
        flame_graphs(flames, tell), tables(about),
        f"<h2>What this means for tuning</h2><ul>{said}</ul>",
    )  # fmt: skip


def compared(first: dict, second: dict) -> list[list[str]]:
    rows = []
    for key, name, shape in (
        ("seconds", "seconds", lambda value: f"{value:.3g}"), ("allocations", "allocations", count),
        ("allocated_bytes", "allocated", amount), ("peak_bytes", "in use at the peak", amount),
        ("peak_resident_bytes", "resident at most", amount), ("end_resident_bytes", "resident at the end", amount),
        ("end_bytes", "alive at the end", amount), ("end_objects", "objects alive at the end", count),
        ("threads", "threads", count), ("cross_thread_frees", "frees by another thread", count),
        ("shorter_than_1ms", "objects that live less than 1 ms", count),
    ):  # fmt: skip
        old, new = first["totals"][key], second["totals"][key]
        if old is not None and new is not None:
            rows.append([name, shape(old), shape(new), f"{new / old:.3g}" if old else "-"])
    return rows


def page_of_two(paths: list[Path], processes: list[Process], tell: Progress) -> str:
    abouts = [summary.summary_of(process) for process in processes]
    tell("drawing")
    shown = [
        figure(plots.drawn(lambda axes: plots.live_of_pair(processes, axes)), "Memory in use", "Resident: dashed."),
        figure(plots.drawn(lambda axes: plots.sizes(processes, axes)), "Sizes", "Dashed: the second recording."),
        figure(plots.drawn(lambda axes: plots.lives(processes, axes)), "Life times", "Dashed: the second recording."),
        *(figure(plots.drawn(lambda axes, one=one: plots.heat(one, axes)), f"Allocations by size and time, {place}",
                 "The green line is 4 KB.")
          for one, place in zip(processes, ("first", "second"), strict=True)),
    ]  # fmt: skip
    names = " and ".join(path.name for path in paths)
    heads = "".join(
        f'<p class="small">{place}: {escape(about["program"])}, {escape(path.name)}. {escape(command_of(about))}</p>'
        for place, path, about in zip(("First", "Second"), paths, abouts, strict=True)
    )
    return page(
        names, f"<h1>{escape(names)}</h1>", heads,
        table(["", "first", "second", "second / first"], compared(*abouts)),
        f'<div class="plots">{"".join(shown)}</div>{UNITS}',
    )  # fmt: skip


def report(arguments: argparse.Namespace) -> int:
    tell = Progress()
    if len(arguments.traces) > 2:
        raise TraceError("one trace, or two to compare")
    if not arguments.json:
        traceio.spare(arguments.output, *arguments.traces)
    loaded = [load(path, arguments.process, tell) for path in arguments.traces]
    processes = [process for process, _ in loaded]
    if arguments.json:
        abouts = [
            summary.summary_of(process) | {"callers": allocators.numbers_of(allocators.flames_of(process))}
            for process in processes
        ]
        tell.done()
        print(json.dumps(abouts[0] if len(abouts) == 1 else abouts, indent=1))
        return 0
    if len(loaded) == 1:
        text = page_of_one(arguments.traces[0], *loaded[0], tell)
    else:
        text = page_of_two(arguments.traces, processes, tell)
    tell.done()
    write_text(arguments.output, text)
    say(str(arguments.output), "report")
    return 0

"""flames.py - who allocated: the recorded objects by their call stacks, as trees for the report's flame graphs."""

from dataclasses import dataclass, field
from textwrap import wrap
from zlib import crc32

import numpy as np

import stacks as callers
from summary import Process

MS = 1_000_000
SMALLEST = 0.002  # of the whole: what has less is not drawn
COLORS = ("#fde2b8", "#fbd08f", "#f7c6a3", "#f3d9a0", "#f9dcc4", "#f5cba7")  # one for each name, as far as they go
MOMENTS = 12  # of the graph over time
SHOWN = 20  # stacks of each kind in the numbers


@dataclass
class Node:
    bytes: int = 0
    objects: int = 0
    below: dict[str, "Node"] = field(default_factory=dict)

    def add(self, names: list[str], size: int, objects: int) -> None:
        node = self
        node.bytes, node.objects = node.bytes + size, node.objects + objects
        for name in names:
            node = node.below.setdefault(name, Node())
            node.bytes, node.objects = node.bytes + size, node.objects + objects


@dataclass
class Flame:
    title: str
    words: str
    tree: Node
    by_objects: bool  # the width; else bytes
    top: list[dict]

    def weight(self, node: Node) -> int:
        return node.objects if self.by_objects else node.bytes


KINDS = (
    ("peak", "Alive at the peak", "Bytes in use when the most were, by the calls that led there.", False),
    ("leaked", "Alive at the end", "Bytes that were never freed. Much of this is no leak: a program may end without "
     "freeing.", False),
    ("short_lived", "Short-lived", "Objects that lived less than a millisecond: their count, not their bytes.", True),
)  # fmt: skip


def chosen(process: Process, kind: str) -> np.ndarray:
    objects = process.objects
    if kind == "leaked":
        return ~objects.freed
    if kind == "short_lived":
        return objects.lifetime < MS
    at_peak = process.events.time[int(np.argmax(process.live))]
    return (objects.birth <= at_peak) & (objects.death > at_peak)


def flame_of(process: Process, known: callers.Stacks, mask: np.ndarray, about: tuple[str, str, bool]) -> Flame:
    """`about`: its title, words, and whether its widths are objects."""
    title, words, by_objects = about
    numbers, place = np.unique(process.objects.stack[mask], return_inverse=True)
    objects = np.bincount(place, minlength=len(numbers))
    sizes = np.bincount(place, process.objects.size[mask], len(numbers)).astype(np.int64)
    tree, top = Node(), []
    for at in np.argsort(-(objects if by_objects else sizes), kind="stable").tolist():
        names = callers.names_of(known, int(numbers[at]))
        tree.add(names, int(sizes[at]), int(objects[at]))
        if len(top) < SHOWN:
            top.append({"bytes": int(sizes[at]), "objects": int(objects[at]), "frames": names[::-1]})
    return Flame(title, words, tree, by_objects, top)


@dataclass
class Flames:
    """Empty if no object has a stack."""

    kinds: dict[str, Flame] = field(default_factory=dict)
    moments: list[tuple[float, Flame]] = field(default_factory=list)  # seconds, and what was alive then
    said: list[str] = field(default_factory=list)  # what a reader should know


def flames_of(process: Process) -> Flames:
    objects, found = process.objects, Flames()
    if not objects.stack.any():
        return found
    known = callers.of_process(process.trace, process.number)
    callers.add_names(known, process.trace, np.unique(objects.stack))
    for kind, *about in KINDS:
        found.kinds[kind] = flame_of(process, known, chosen(process, kind), tuple(about))
    for moment in np.linspace(0, process.end, MOMENTS + 1)[1:].astype(np.int64).tolist():
        alive = (objects.birth <= moment) & (objects.death > moment)
        found.moments.append((moment / 1e9, flame_of(process, known, alive, ("", "", False))))
    found.said = known.said
    return found


def numbers_of(flames: Flames) -> dict:
    def numbers(flame: Flame) -> dict:
        return {"bytes": flame.tree.bytes, "objects": flame.tree.objects, "stacks": flame.top}

    if not flames.kinds:
        return {}
    return {
        **{kind: numbers(flame) for kind, flame in flames.kinds.items()},
        "over_time": [{"seconds": seconds, **numbers(flame)} for seconds, flame in flames.moments],
        "notes": flames.said,
    }


def rows_of(flame: Flame) -> list[tuple[str, str, str, Node]]:
    """Id, parent's id, name and node of each part that is wide enough, the root first."""
    least, rows = flame.weight(flame.tree) * SMALLEST, [("0", "", "all", flame.tree)]
    for number, _, _, node in rows:  # rows grows meanwhile
        for name, below in node.below.items():
            if flame.weight(below) > least:
                rows.append((str(len(rows)), number, name, below))
    return rows


def shortened(name: str) -> str:
    """A function without its arguments and place: a part whose name does not fit has none."""
    name = name.split(" (")[0].replace("(anonymous namespace)", "{}").split("(")[0]
    return name if len(name) <= 36 else "..." + name[-33:]


def icicle_of(flame: Flame, visible: bool = True):
    import plotly.graph_objects as plotly

    from plots import amount, count

    rows = rows_of(flame)
    return plotly.Icicle(
        visible=visible,
        ids=[row[0] for row in rows],
        parents=[row[1] for row in rows],
        labels=[shortened(row[2]) for row in rows],
        values=[flame.weight(row[3]) for row in rows],
        customdata=[("<br>".join(wrap(row[2], 60)), amount(row[3].bytes), count(row[3].objects)) for row in rows],
        hovertemplate="%{customdata[0]}<br>%{customdata[1]} in %{customdata[2]} objects, %{percentRoot:.1%} of all"
        "<extra></extra>",
        textinfo="label",
        textposition="middle left",
        branchvalues="total",
        sort=True,
        maxdepth=24,
        tiling={"orientation": "v"},
        marker={
            "colors": [COLORS[crc32(row[2].encode()) % len(COLORS)] for row in rows],
            "line": {"width": 1, "color": "#fff"},
        },
        pathbar={"visible": True, "thickness": 24},
    )


def html_of(figure, flames: list[Flame], below: int, with_library: bool) -> str:
    """A part of a page, as high as the highest flame and what is below. The library, 4.8 MB, is in the first one."""
    depth = min(max(4, *(len(deepest(flame.tree, flame)) for flame in flames)), 24)
    figure.update_layout(margin={"t": 4, "l": 0, "r": 0, "b": 0}, height=60 + 24 * depth + below, font={"size": 11},
                         uniformtext={"minsize": 9, "mode": "hide"})  # fmt: skip
    return figure.to_html(
        full_html=False, include_plotlyjs=with_library, config={"displayModeBar": False, "responsive": True}
    )


def drawn(flame: Flame, with_library: bool) -> str:
    import plotly.graph_objects as plotly

    return html_of(plotly.Figure(icicle_of(flame)), [flame], 0, with_library)


def drawn_over_time(moments: list[tuple[float, Flame]]) -> str:
    """The reader of the page moves from one moment to the next; the first one shown has the most memory."""
    import plotly.graph_objects as plotly

    from plots import amount

    flames = [flame for _, flame in moments]
    first = max(range(len(flames)), key=lambda at: flames[at].tree.bytes)
    figure = plotly.Figure([icicle_of(flame, at == first) for at, flame in enumerate(flames)])
    steps = [
        {"method": "restyle", "label": f"{seconds:.3g} s: {amount(flame.tree.bytes)}",
         "args": [{"visible": [other == at for other in range(len(flames))]}]}
        for at, (seconds, flame) in enumerate(moments)
    ]  # fmt: skip
    hidden, shown = {"color": "rgba(0,0,0,0)"}, {"color": "#222", "size": 12}  # labels would overlap on a phone
    slider = {"active": first, "steps": steps, "currentvalue": {"prefix": "alive at ", "font": shown}, "font": hidden,
              "ticklen": 0, "minorticklen": 0, "len": 0.92, "x": 0.04, "pad": {"t": 4, "b": 4}}  # fmt: skip
    figure.update_layout(sliders=[slider])
    return html_of(figure, flames, 70, False)


def deepest(node: Node, flame: Flame, least: float | None = None) -> list[str]:
    """The longest path of parts that are drawn."""
    least = flame.weight(flame.tree) * SMALLEST if least is None else least
    paths = [[name, *deepest(below, flame, least)] for name, below in node.below.items() if flame.weight(below) > least]
    return max(paths, key=len, default=[])

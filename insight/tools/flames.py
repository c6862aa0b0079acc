"""flames.py - who allocated: the recorded objects by their call stacks, as trees for the report's flame graphs."""

from dataclasses import dataclass, field
from html import escape
from json import dumps
from textwrap import wrap
from zlib import crc32

import numpy as np

import stacks as callers
from calls import Calls, calls_of
from summary import Process

MS = 1_000_000
SMALLEST = 0.002  # of the whole: what has less is not drawn
COLORS = ("#fde2b8", "#fbd08f", "#f7c6a3", "#f3d9a0", "#f9dcc4", "#f5cba7")  # one for each name, as far as they go
LEVELS = 24  # of a graph, that are seen at a time
MOMENTS = 12  # of the graph over time
SHOWN = 20  # stacks of each kind in the numbers

SCRIPT = """
function plot(box) {
  if (!window.Plotly) {
    const library = document.createElement("script");
    library.textContent = document.getElementById("plotly").textContent;
    document.head.append(library);
  }
  const graphs = JSON.parse(box.querySelector("script").textContent), knob = box.querySelector("input");
  const draw = () => {
    const graph = graphs[knob ? knob.value : 0];
    if (knob) box.querySelector("output").value = graph.said;
    const { data, layout } = graph.figure;
    Plotly.react(box.querySelector("div"), data, layout, { displayModeBar: false, responsive: true });
  };
  if (knob) knob.addEventListener("input", draw);
  draw();
}
const waiting = new Set(document.querySelectorAll(".flame"));
const take = box => { if (waiting.delete(box)) plot(box); };
const near = new IntersectionObserver(
  seen => seen.filter(one => one.isIntersecting).forEach(one => take(one.target)), { rootMargin: "400px" });
waiting.forEach(box => near.observe(box));
addEventListener("beforeprint", () => waiting.forEach(take));
"""


@dataclass
class Part:
    """Of a tree: a function, called from the part above."""

    number: int
    above: int
    name: str
    bytes: int
    objects: int


@dataclass
class Flame:
    title: str
    words: str
    parts: list[Part]  # those that are drawn; the first one is the whole
    depth: int  # of the parts
    by_objects: bool  # the width; else bytes
    top: list[dict]

    @property
    def whole(self) -> Part:
        return self.parts[0]


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


@dataclass
class Allocated:
    """The objects by their stacks."""

    size: np.ndarray
    known: callers.Stacks
    numbers: np.ndarray  # of the stacks
    place: np.ndarray  # of each object's stack there
    calls: Calls


def allocated_by(process: Process) -> Allocated:
    known = callers.of_process(process.trace, process.number)
    numbers, place = np.unique(process.objects.stack, return_inverse=True)
    callers.add_names(known, process.trace, numbers)
    return Allocated(process.objects.size, known, numbers, place, calls_of(known, numbers))


def flame_of(said: Allocated, mask: np.ndarray, about: tuple[str, str, bool]) -> Flame:
    """`about`: its title, words, and whether its widths are objects."""
    title, words, by_objects = about
    place = said.place[mask]
    objects = np.bincount(place, minlength=len(said.numbers))
    sizes = np.bincount(place, said.size[mask], len(said.numbers)).astype(np.int64)
    widths, top = objects if by_objects else sizes, []
    for at in np.lexsort((-widths, objects == 0))[:SHOWN].tolist():
        if objects[at]:
            frames = callers.names_of(said.known, int(said.numbers[at]))[::-1]
            top.append({"bytes": int(sizes[at]), "objects": int(objects[at]), "frames": frames})
    all_objects, all_bytes = said.calls.sums(objects), said.calls.sums(sizes)
    weights = all_objects if by_objects else all_bytes
    drawn = np.flatnonzero(weights > weights[0] * SMALLEST)
    drawn = drawn if len(drawn) else np.zeros(1, np.int64)
    columns = (drawn, said.calls.parent[drawn], all_bytes[drawn], all_objects[drawn])
    parts = [
        Part(number, above, said.calls.names[number], size, count)
        for number, above, size, count in zip(*(column.tolist() for column in columns), strict=True)
    ]
    return Flame(title, words, parts, int(said.calls.depth[drawn].max()), by_objects, top)


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
    said = allocated_by(process)
    for kind, *about in KINDS:
        found.kinds[kind] = flame_of(said, chosen(process, kind), tuple(about))
    for moment in np.linspace(0, process.end, MOMENTS + 1)[1:].astype(np.int64).tolist():
        alive = (objects.birth <= moment) & (objects.death > moment)
        found.moments.append((moment / 1e9, flame_of(said, alive, ("", "", False))))
    found.said = said.known.said
    return found


def numbers_of(flames: Flames) -> dict:
    def numbers(flame: Flame) -> dict:
        return {"bytes": flame.whole.bytes, "objects": flame.whole.objects, "stacks": flame.top}

    if not flames.kinds:
        return {}
    return {
        **{kind: numbers(flame) for kind, flame in flames.kinds.items()},
        "over_time": [{"seconds": seconds, **numbers(flame)} for seconds, flame in flames.moments],
        "notes": flames.said,
    }


def shortened(name: str) -> str:
    """A function without its arguments and place: a part whose name does not fit has none."""
    name = name.split(" (")[0].replace("(anonymous namespace)", "{}").split("(")[0] or name
    return name if len(name) <= 36 else "..." + name[-33:]


def icicle_of(flame: Flame):
    import plotly.graph_objects as plotly

    from plots import amount, count

    parts = flame.parts
    return plotly.Icicle(
        ids=[str(part.number) for part in parts],
        parents=["", *(str(part.above) for part in parts[1:])],
        labels=[escape(shortened(part.name)) for part in parts],  # plotly reads tags and entities
        values=[part.objects if flame.by_objects else part.bytes for part in parts],
        customdata=[
            ("<br>".join(escape(line) for line in wrap(part.name, 60)), amount(part.bytes), count(part.objects))
            for part in parts
        ],
        hovertemplate="%{customdata[0]}<br>%{customdata[1]} in %{customdata[2]} objects, %{percentRoot:.1%} of all"
        "<extra></extra>",
        textinfo="label",
        textposition="middle left",
        branchvalues="total",
        sort=True,
        maxdepth=LEVELS,
        tiling={"orientation": "v"},
        marker={
            "colors": [COLORS[crc32(part.name.encode()) % len(COLORS)] for part in parts],
            "line": {"width": 1, "color": "#fff"},
        },
        pathbar={"visible": True, "thickness": 24},
    )


def html_of(flames: list[tuple[str, Flame]], first: int) -> str:
    """Of a page: one flame graph; or several and a knob that moves from each to the next. Only SCRIPT draws it."""
    import plotly.graph_objects as plotly

    height = 60 + 24 * min(max(4, *(flame.depth for _, flame in flames)), LEVELS)
    layout = {"margin": {"t": 4, "l": 0, "r": 0, "b": 0}, "height": height, "font": {"size": 11},
              "uniformtext": {"minsize": 9, "mode": "hide"}, "template": "none"}  # fmt: skip
    said = ",".join(
        f'{{"said":{dumps(words)},"figure":{plotly.Figure(icicle_of(flame), layout).to_json()}}}'
        for words, flame in flames
    )
    knob = f'<label><output></output><input type="range" max="{len(flames) - 1}" value="{first}"></label>'
    return (
        f'<div class="flame">{knob if len(flames) > 1 else ""}<div style="height:{height}px"></div>'
        f'<script type="application/json">[{said}]</script></div>'
    )


def drawn(flame: Flame) -> str:
    return html_of([("", flame)], 0)


def drawn_over_time(moments: list[tuple[float, Flame]]) -> str:
    """The first one shown has the most memory."""
    from plots import amount

    most = max(range(len(moments)), key=lambda at: moments[at][1].whole.bytes)
    return html_of([(f"{seconds:.3g} s: {amount(one.whole.bytes)}", one) for seconds, one in moments], most)


def library() -> str:
    """What a page with flame graphs has once. The 4.8 MB of plotly are text until a graph is near the window: a phone
    needs seconds for them and for each graph."""
    from plotly.offline import get_plotlyjs

    return f'<script type="text/plain" id="plotly">{get_plotlyjs()}</script><script>{SCRIPT}</script>'

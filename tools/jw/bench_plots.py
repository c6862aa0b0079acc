"""The figures of ./jw bench, each as SVG and PNG."""

import math
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # before what follows
from matplotlib import pyplot

from bench_peers import OURS
from bench_run import Session
from bench_stats import Result

COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#999933", "#882255", "#888888", "#44aa99"]
WIDTH = 11
MOST = 20  # times ours, beyond which a bar is cut
pyplot.rcParams.update({"font.size": 9, "axes.grid": True, "grid.alpha": 0.3, "svg.hashsalt": "jwmalloc"})


def style(session: Session, name: str) -> dict:
    """A colour for each allocator, the same in all figures; ours is black and in front."""
    if name == OURS:
        return {"color": "black", "linewidth": 2.2, "zorder": 5}
    names = [allocator.name for allocator in session.allocators if allocator.name != OURS]
    number = names.index(name) if name in names else 0
    dashes = "-" if number < len(COLOURS) else "--"
    return {"color": COLOURS[number % len(COLOURS)], "linewidth": 1.2, "linestyle": dashes}


def save(figure, folder: Path, name: str) -> str:
    figure.tight_layout()
    for ending in ("svg", "png"):
        figure.savefig(folder / f"{name}.{ending}", dpi=110)
    pyplot.close(figure)
    return name


def bars(session: Session, folder: Path, benchmark: str, metric: str) -> str | None:
    """For each case, every allocator's value as a multiple of ours, with the spread."""
    found: dict[str, dict[str, Result]] = {}
    for result in session.of(benchmark, metric):
        if result.median():
            found.setdefault(result.case, {})[result.allocator] = result
    found = {case: results for case, results in found.items() if OURS in results and len(results) > 1}
    if not found:
        return None
    names = [
        allocator.name for allocator in session.allocators if any(allocator.name in each for each in found.values())
    ]
    figure, axes = pyplot.subplots(figsize=(WIDTH, 1.2 + 0.045 * len(names) * len(found) + 0.25 * len(found)))
    height = 0.85 / len(names)
    for number, name in enumerate(names):
        rows = [(row, results[name], results[OURS]) for row, results in enumerate(found.values()) if name in results]
        values = [result.median() / ours.median() for _, result, ours in rows]
        errors = [value * (result.spread() or 0) for value, (_, result, _) in zip(values, rows, strict=True)]
        places = [row + (number - len(names) / 2 + 0.5) * height for row, _, _ in rows]
        colour = style(session, name)["color"]
        axes.barh(places, [min(value, MOST) for value in values], height, xerr=errors, color=colour, label=name,
                  error_kw={"elinewidth": 0.6})  # fmt: skip
        for place, value in zip(places, values, strict=True):
            if value > MOST:
                axes.text(MOST, place, f" {value:.0f}", va="center", fontsize=7)
    axes.set_xlim(left=0)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_yticks(range(len(found)), found)
    axes.invert_yaxis()
    sample = next(iter(found.values()))[OURS]
    axes.set_xlabel(f"{metric} ({sample.unit}), multiple of {OURS}'s; {sample.better} is better")
    axes.legend(ncols=6, loc="lower center", bbox_to_anchor=(0.5, 1), fontsize=8)
    return save(figure, folder, f"{benchmark}-{metric}".replace(" ", "-"))


def curves(session: Session, folder: Path, benchmark: str) -> list[str]:
    """One figure for each case that has curves."""
    result = []
    for case in dict.fromkeys(curve["case"] for curve in session.curves if curve["benchmark"] == benchmark):
        figure, axes = pyplot.subplots(figsize=(WIDTH * 0.7, 4.2))
        for curve in session.curves:
            if (curve["benchmark"], curve["case"]) == (benchmark, case):
                axes.plot(curve["x"], curve["y"], label=curve["allocator"], **style(session, curve["allocator"]))
                axes.set_xlabel(curve["x_label"])
                axes.set_ylabel(curve["y_label"])
        axes.set_title(f"{benchmark}: {case}")
        if benchmark == "latency":
            axes.set(xscale="log", yscale="log")
            axes.invert_xaxis()
        elif benchmark == "scale":
            axes.set_xscale("log")
        axes.set_ylim(bottom=None if benchmark == "latency" else 0)
        axes.legend(fontsize=7, ncols=2)
        result.append(save(figure, folder, f"{benchmark}-{case}"))
    return result


BARS = {
    "micro": ["throughput", "cpu", "system", "peak"],
    "large": ["cpu", "system", "peak"],
    "wide": ["cpu", "program", "peak"],
    "load": ["allocator", "mispredicted"],
    "instructions": ["instructions", "branches", "mean"],
    "replay": ["time", "allocator", "peak RSS growth"],
    "footprint": ["peak RSS", "idle RSS"],
    "latency": ["P50", "P99.99", "own P99.99"],
    "size": ["text"],
    "scale": [],
}


def draw(session: Session, folder: Path) -> dict[str, list[str]]:
    """All figures; their names by benchmark."""
    folder.mkdir(parents=True, exist_ok=True)
    result = {}
    for benchmark, metrics in BARS.items():
        made = [bars(session, folder, benchmark, metric) for metric in metrics]
        result[benchmark] = [name for name in made if name] + curves(session, folder, benchmark)
    return result


def readable(value: float | None) -> str:
    """Three or four digits."""
    if value is None:
        return "-"
    if value == 0:
        return "0"
    digits = 3 - math.floor(math.log10(abs(value)))
    return f"{value:,.{min(max(digits - 1, 0), 3)}f}"

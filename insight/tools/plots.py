"""plots.py - the report's figures, by matplotlib. Each is small, so that its text can be read on a phone."""

import base64
import io
from collections.abc import Callable

import matplotlib as mpl
import numpy as np
from matplotlib.colors import LinearSegmentedColormap, LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, Locator, MaxNLocator, NullFormatter

import figures
from summary import INTERVAL, Process

mpl.use("agg")
mpl.rcParams.update(
    {
        "font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": "#888",
        "axes.grid": True, "grid.color": "#e4e4e4", "grid.linewidth": 0.6, "axes.axisbelow": True,
        "legend.edgecolor": "none", "legend.framealpha": 0.7, "legend.fontsize": 8,
        "lines.linewidth": 1.2, "figure.constrained_layout.use": True,
    }
)  # fmt: skip
WIDTH, DOTS = 4.6, 200
BLUE, ORANGE, GREEN, RED, GREY = "#2563a8", "#d9730d", "#2e8b57", "#b3261e", "#9aa0a6"
FEW_THREADS = 8  # places of bars, so that one thread's is not a wall
PALEST = 0.22  # the yellow before that cannot be seen on white
HEAT = LinearSegmentedColormap.from_list("heat", mpl.colormaps["plasma_r"](np.linspace(PALEST, 1, 64)))
FILL = "YlGnBu"
UNITS = ("B", "KB", "MB", "GB", "TB")
SECOND = 1e9


def amount(value: float, *_: object) -> str:
    """Bytes as people say them."""
    unit = 0
    while abs(value) >= 1023.5 and unit < len(UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{value:.0f} {UNITS[unit]}" if abs(value) >= 100 or value == int(value) else f"{value:.3g} {UNITS[unit]}"


def count(value: float, *_: object) -> str:
    for size, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size * 0.9995:  # what is rounded up to it
            return f"{value / size:.3g} {unit}"
    return f"{value:.3g}"


def duration(ns: float, *_: object) -> str:
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if abs(ns) >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.3g} ns"


class Doublings(Locator):
    """Three to six ticks, a power of two apart: round in KB, MB or GB."""

    def __call__(self) -> list[float]:
        return self.tick_values(*self.axis.get_view_interval())

    def tick_values(self, low: float, high: float) -> list[float]:
        step = 2 ** max(int(np.ceil(np.log2(max(high, 1) / 6))), 0)
        return (np.arange(0, max(high, 1) + 1, step)).tolist()


def byte_axis(axes) -> None:
    axes.yaxis.set_major_locator(Doublings())
    axes.yaxis.set_major_formatter(BYTES)


BYTES, COUNTS, TIMES = FuncFormatter(amount), FuncFormatter(count), FuncFormatter(duration)
PERCENT = FuncFormatter(lambda value, *_: f"{value * 100:g} %")


def drawn(draw: Callable, height: float = 2.7) -> str:
    """The figure as text for an image's source."""
    figure = Figure((WIDTH, height))
    draw(figure.add_subplot())
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=DOTS, pil_kwargs={"optimize": True})
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


def logarithmic(cells: np.ndarray) -> LogNorm:
    """Also where there is only one value, or none."""
    values = cells[np.isfinite(cells)]
    low, high = (float(values.min()), float(values.max())) if len(values) else (1.0, 10.0)
    return LogNorm(low, max(high, 2 * low))


def seconds(process: Process) -> np.ndarray:
    return (np.arange(figures.BINS) + 0.5) * process.end / figures.BINS / SECOND


def time_axis(axes, end: float) -> None:
    """To this second. Values begin at 0."""
    axes.set_ylim(bottom=0)
    axes.set_xlim(0, end)
    axes.set_xlabel("seconds")


def legend_above(axes, *entries: list) -> None:
    """Where it hides no line."""
    axes.legend(*entries, loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0.2)


def memory(process: Process, axes) -> None:
    live = figures.highest_in_bins(process.events.time, process.live, process.end)
    pages = figures.highest_in_bins(process.pages.time, process.pages.used, process.end) << figures.PAGE_SHIFT
    axes.plot(seconds(process), pages, color=GREEN, label="pages with an object", linewidth=2)
    axes.fill_between(seconds(process), live, color=BLUE, alpha=0.25, linewidth=0)
    axes.plot(seconds(process), live, color=BLUE, label="asked for and not freed", linewidth=0.8)
    if len(process.resident):
        axes.plot(
            process.resident[:, 0] / SECOND, process.resident[:, 1], color=ORANGE, label="resident, whole process"
        )
    byte_axis(axes)
    time_axis(axes, process.end / SECOND)
    legend_above(axes)


def heat(process: Process, axes, frees: bool = False) -> None:
    chosen = process.events.allocates != frees
    cells = figures.heat_map(process.events, process.end, chosen).astype(np.float32)
    cells *= figures.BINS / max(process.end, 1) * SECOND
    cells[cells == 0] = np.nan
    extent = (0, process.end / SECOND, figures.SMALLEST, figures.LARGEST)
    image = axes.imshow(cells, origin="lower", aspect="auto", extent=extent, cmap=HEAT, norm=logarithmic(cells))
    axes.axhline(12, color="#3a3", linewidth=0.8)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, *_: amount(2**value)))
    axes.set_yticks(range(figures.SMALLEST, figures.LARGEST + 1, 3))
    axes.set_xlabel("seconds")
    axes.grid(False)
    what = "frees per second" if frees else "allocations per second"
    axes.figure.colorbar(image, ax=axes, label=what, format=COUNTS).ax.yaxis.set_minor_formatter(NullFormatter())


def rate(process: Process, axes) -> None:
    found = figures.rates(process.events, process.end)
    axes.plot(seconds(process), found["allocations"], color=BLUE, label="allocations")
    axes.plot(seconds(process), found["frees"], color=ORANGE, label="frees", linewidth=0.8)
    axes.yaxis.set_major_formatter(COUNTS)
    axes.set_ylabel("per second")
    time_axis(axes, process.end / SECOND)
    legend_above(axes)


def sizes(processes: list[Process], axes) -> None:
    for process, style in zip(processes, ("-", "--"), strict=False):
        size, operations, amounts = figures.size_distribution(process.objects)
        size = np.maximum(size, 1)  # malloc(0) has a place on a logarithmic axis, too
        axes.step(size, operations, style, where="post", color=BLUE, label="operations")
        axes.step(size, amounts, style, where="post", color=ORANGE, label="bytes")
    axes.set_xscale("log", base=2)
    axes.set_xlim(left=1)
    axes.xaxis.set_major_formatter(BYTES)
    axes.yaxis.set_major_formatter(PERCENT)
    axes.set_ylim(0, 1.02)
    legend_above(axes, *legend_of_pair(axes, len(processes)))


def legend_of_pair(axes, processes: int) -> tuple[list, list[str]]:
    """In a comparison the second process has dashed lines."""
    handles, labels = axes.get_legend_handles_labels()
    half = len(labels) // processes
    return handles, [label + (", second" if at >= half else "") for at, label in enumerate(labels)]


def thread_bars(counts: list[list[int]], axes) -> None:
    """All processes: each one's threads by activity."""
    at = 0
    for number, events in enumerate(counts):
        axes.bar(np.arange(at, at + len(events)) + 1, events, width=0.9, color=(BLUE, GREEN)[number % 2])
        at += len(events)
        if len(counts) < 60:
            axes.axvline(at + 0.5, color=GREY, linewidth=0.6)
    axes.set_yscale("log")
    axes.set_ylim(bottom=1)
    axes.set_xlim(0.5, max(at, FEW_THREADS) + 0.5)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(False, axis="x")
    axes.yaxis.set_major_formatter(COUNTS)
    axes.set_ylabel("events")
    axes.set_xlabel("threads, process by process")


def lives(processes: list[Process], axes) -> None:
    longest = max([figures.MS * 2000, *(process.end for process in processes)])
    moments = np.logspace(2, np.log10(longest), 200)
    for process, style in zip(processes, ("-", "--"), strict=False):
        pages, objects = process.pages, process.objects
        page = figures.shares_by(pages.lifetime, pages.weight, moments)
        one = figures.shares_by(objects.lifetime, np.ones(len(objects.birth), np.int64), moments)
        axes.plot(moments, page, style, color=BLUE, label="pages")
        axes.plot(moments, one, style, color=ORANGE, label="objects")
    axes.axvline(INTERVAL, color=RED, linewidth=0.8)
    axes.text(INTERVAL * 1.2, 0.03, "500 ms", color=RED, fontsize=8)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(TIMES)
    axes.yaxis.set_major_formatter(PERCENT)
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("gone after")
    legend_above(axes, *legend_of_pair(axes, len(processes)))


def crossing(process: Process, axes) -> None:
    moments, share, counts = figures.crossing_by_ms(process.objects)
    cells, x, y = np.histogram2d(
        moments / 1000, share, bins=(300, 50), range=((0, max(process.end / SECOND, 1e-3)), (0, 1.0001)), weights=None
    )
    cells[cells == 0] = np.nan
    norm = logarithmic(cells)
    image = axes.pcolormesh(x, y, cells.T, cmap=HEAT, norm=norm, rasterized=True)
    ticks = [digit * 10**power for power in range(7) for digit in (1, 2, 5) if digit * 10**power <= norm.vmax]
    bar = axes.figure.colorbar(image, ax=axes, label="how many milliseconds", format=COUNTS, ticks=FixedLocator(ticks))
    bar.minorticks_off()
    axes.yaxis.set_major_formatter(PERCENT)
    axes.set_ylim(-0.02, 1.02)
    axes.set_ylabel("by another thread")
    axes.set_xlabel("seconds")


def fragmentation(process: Process, axes) -> None:
    live = figures.highest_in_bins(process.events.time, process.live, process.end).astype(np.float64)
    pages = figures.highest_in_bins(process.pages.time, process.pages.used, process.end) << figures.PAGE_SHIFT
    wasted = np.where(pages > 0, 1 - live / np.maximum(pages, 1), np.nan)
    axes.plot(seconds(process), np.clip(wasted, 0, 1), color=GREEN, label="of pages with an object")
    if len(process.resident):
        at = np.clip((process.resident[:, 0] / max(process.end, 1) * figures.BINS).astype(int), 0, figures.BINS - 1)
        share = 1 - live[at] / np.maximum(process.resident[:, 1], 1)
        axes.plot(process.resident[:, 0] / SECOND, np.clip(share, 0, 1), color=ORANGE, label="of resident memory")
    axes.yaxis.set_major_formatter(PERCENT)
    axes.set_ylabel("not the program's")
    time_axis(axes, process.end / SECOND)
    axes.set_ylim(0, 1.02)
    legend_above(axes)


def addresses(process: Process, axes) -> None:
    cells, row_bytes = figures.address_map(process.objects, process.end)
    extent = (0, process.end / SECOND, 0, len(cells) * row_bytes)
    image = axes.imshow(cells, origin="lower", aspect="auto", extent=extent, cmap=FILL, vmin=0, vmax=1)
    byte_axis(axes)
    axes.set_xlabel("seconds")
    axes.grid(False)
    axes.figure.colorbar(image, ax=axes, label="alive", format=PERCENT)


def live_of_pair(processes: list[Process], axes) -> None:
    for process, color, label in zip(processes, (BLUE, ORANGE), ("first", "second"), strict=False):
        axes.plot(
            seconds(process), figures.highest_in_bins(process.events.time, process.live, process.end),
            color=color, label=f"{label}: asked for",
        )  # fmt: skip
        if len(process.resident):
            axes.plot(
                process.resident[:, 0] / SECOND, process.resident[:, 1], "--", color=color, label=f"{label}: resident"
            )
    byte_axis(axes)
    time_axis(axes, max(process.end for process in processes) / SECOND)
    legend_above(axes)

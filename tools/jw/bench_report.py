"""What ./jw bench leaves behind: results.json, results.csv, report.html, and a summary on the terminal."""

import base64
import csv
import json
import os
import platform
import re
import shutil
from html import escape
from pathlib import Path

import bench_security
from bench_cases import BENCHMARKS
from bench_peers import ABLATION, OURS, OURS_HUGE
from bench_plots import draw, readable
from bench_run import Session
from bench_stats import Ratio, Result, advantage, geometric_mean

# What one number per peer can be made of.
SUMMARIES = [("micro", "throughput"), ("micro", "cpu"), ("large", "cpu"), ("wide", "cpu"), ("wide", "program"),
             ("wide", "peak"), ("load", "allocator"), ("replay", "time"),
             ("replay", "allocator"), ("replay", "peak RSS growth"), ("footprint", "peak RSS"),
             ("footprint", "idle RSS"), ("latency", "P50"), ("latency", "P99.99"), ("latency", "own P99.99"),
             ("scale", "cpu"), ("scale", "growth"), ("size", "text")]  # fmt: skip
STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:1250px;margin:2em auto;padding:0 1em;color:#222}
table{border-collapse:collapse;font-size:12.5px;margin:1em 0}td,th{padding:2px 8px;text-align:right;white-space:nowrap}
th{background:#f2f2f2}td:first-child,th:first-child{text-align:left}tr:nth-child(even) td{background:#fafafa}
.good{color:#00702c}.bad{color:#b00020}.same{color:#888}img{max-width:100%}.wide{overflow-x:auto}small{color:#666}"""


def machine() -> dict[str, str]:
    """What a reader must know of where this was measured."""
    model = re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text())
    huge = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    memory = re.search(r"MemTotal:\s+(\d+)", Path("/proc/meminfo").read_text())
    return {
        "processor": f"{model[1] if model else platform.machine()}, {len(os.sched_getaffinity(0))} cores",
        "memory": f"{int(memory[1]) >> 20} GB",
        "kernel": platform.release(),
        "C library": " ".join(platform.libc_ver()),
        "transparent huge pages": huge.read_text().strip() if huge.exists() else "-",
        "load before": f"{os.getloadavg()[0]:.1f}",
    }


def table_of(session: Session, benchmark: str, metric: str) -> dict[str, dict[str, Result]]:
    """By case and allocator."""
    result: dict[str, dict[str, Result]] = {}
    for one in session.of(benchmark, metric):
        result.setdefault(one.case, {})[one.allocator] = one
    return result


def against(session: Session, benchmark: str, metric: str, peer: str) -> list[tuple[str, Ratio]]:
    found = table_of(session, benchmark, metric)
    pairs = [
        (case, advantage(results[OURS], results[peer]))
        for case, results in found.items()
        if OURS in results and peer in results
    ]
    return [(case, ratio) for case, ratio in pairs if ratio and ratio.middle > 0]


def best_ratios(session: Session, benchmark: str, metric: str) -> list[tuple[str, float]]:
    """Ours against whichever peer is best in each case; none of them is our own in another form."""
    result = []
    for case, results in table_of(session, benchmark, metric).items():
        peers = [one for name, one in results.items() if name not in (OURS, OURS_HUGE, ABLATION)]
        ratios = [advantage(results[OURS], one) for one in peers if OURS in results]
        known = [ratio.middle for ratio in ratios if ratio and ratio.middle > 0]
        if known:
            result.append((case, min(known)))
    return result


def summary(session: Session) -> list[list[str]]:
    """A row for each peer, and one for the best peer of each case: how many times better we are, on geometric mean."""
    used = [(benchmark, metric) for benchmark, metric in SUMMARIES if table_of(session, benchmark, metric)]
    rows = [["ours is better by", *(f"{benchmark}: {metric}" for benchmark, metric in used)]]
    for peer in [allocator.name for allocator in session.allocators if allocator.name != OURS]:
        row = [peer]
        for benchmark, metric in used:
            ratios = [ratio for _, ratio in against(session, benchmark, metric, peer)]
            mean = geometric_mean(ratio.middle for ratio in ratios)
            ahead, behind = sum(ratio.ahead() for ratio in ratios), sum(ratio.behind() for ratio in ratios)
            row.append(f"{mean:.2f} (+{ahead} -{behind} of {len(ratios)})" if mean else "-")
        rows.append(row)
    last = ["best peer of each"]
    for benchmark, metric in used:
        ratios = best_ratios(session, benchmark, metric)
        mean = geometric_mean(ratio for _, ratio in ratios)
        last.append(f"{mean:.2f}, worst {min(ratio for _, ratio in ratios):.2f}" if mean else "-")
    return [*rows, last]


def print_table(rows: list[list[str]]) -> None:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [cell.ljust(width) if not column else cell.rjust(width)
                 for column, (cell, width) in enumerate(zip(row, widths, strict=True))]  # fmt: skip
        print("  " + "  ".join(cells))


def print_summary(session: Session) -> None:
    rows = summary(session)
    # A terminal has room for a few columns at a time.
    for first in range(1, len(rows[0]), 4):
        print()
        print_table([[row[0], *row[first : first + 4]] for row in rows])
    print("\n  Above 1: jwmalloc is better. (+ahead -behind): cases where the difference is larger than the spread.")
    for benchmark, metrics in {"instructions": ["instructions", "branches", "mean"]}.items():
        for metric in metrics:
            found = table_of(session, benchmark, metric)
            if found:
                print(f"\n  {metric}")
                names = [allocator.name for allocator in session.allocators]
                print_table([["", *found], *([name, *(readable(results[name].median()) if name in results else "-"
                                                      for results in found.values())] for name in names)])  # fmt: skip
    if len(bench_security.columns(session)):
        print("\n  security")
        print_table(bench_security.table(session))
    failed: dict[tuple[str, str, str], list[str]] = {}
    for one in session.failures:
        failed.setdefault((one["allocator"], one["benchmark"], one["error"]), []).append(one["case"])
    for (allocator, benchmark, error), cases in failed.items():
        more = f" and {len(cases) - 1} more" if len(cases) > 1 else ""
        print(f"  failed: {allocator} in {benchmark}, {cases[0]}{more}: {error}")
    for skipped in session.skipped:
        print(f"  not measured: {skipped}")


def cell(result: Result | None, ours: Result | None) -> str:
    """Median, spread, and the ratio to ours: coloured where it counts."""
    if result is None or result.median() is None:
        return "<td>-</td>"
    spread = result.spread()
    text = readable(result.median()) + (f" <small>±{spread:.0%}</small>" if spread else "")
    ratio = advantage(ours, result) if ours is not None and ours is not result else None
    if ratio is None:
        return f"<td>{text}</td>"
    kind = "good" if ratio.ahead() else "bad" if ratio.behind() else "same"
    span = f"{min(ratio.rounds):.2f} to {max(ratio.rounds):.2f} in {len(ratio.rounds)} rounds"
    return f'<td title="{span}">{text} <span class="{kind}">{ratio.middle:.2f}</span></td>'


def html_metric(session: Session, benchmark: str, metric: str) -> str:
    found = table_of(session, benchmark, metric)
    sample = next(iter(next(iter(found.values())).values()))
    names = [allocator.name for allocator in session.allocators]
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    rows = "".join(
        f"<tr><td>{escape(case)}</td>" + "".join(cell(results.get(name), results.get(OURS)) for name in names) + "</tr>"
        for case, results in found.items()
    )
    title = f"{escape(metric)}, {escape(sample.unit)} <small>({sample.better} is better)</small>"
    return f'<h3>{title}</h3><div class="wide"><table><tr><th></th>{head}</tr>{rows}</table></div>'


def html_rows(rows: list[list[str]]) -> str:
    head = "".join(f"<th>{escape(text)}</th>" for text in rows[0])
    body = "".join("<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>" for row in rows[1:])
    return f'<div class="wide"><table><tr>{head}</tr>{body}</table></div>'


def html(session: Session, about: dict[str, str], figures: dict[str, list[str]], folder: Path) -> str:
    parts = [f"<!doctype html><meta charset=utf-8><title>jwmalloc: measured</title><style>{STYLE}</style>"]
    parts.append("<h1>jwmalloc, measured</h1><p>Medians of interleaved rounds; ± is half the distance between the "
                 "quartiles. The coloured number is how many times better jwmalloc is than that allocator, compared "
                 "round by round: green or red where the difference is larger than the spread, grey where not, or "
                 "where fewer than three rounds were measured; point at it for the range. docs/benchmarks.md says "
                 "what each benchmark is.</p>")  # fmt: skip
    parts.append(html_rows([["where", ""], *([name, text] for name, text in about.items())]))
    parts.append(html_rows([["allocator", "version"], *([one.name, one.version] for one in session.allocators)]))
    parts.append("<h2>At a glance</h2>" + html_rows(summary(session)))
    for benchmark, function in BENCHMARKS.items():
        metrics = list(dict.fromkeys(key[2] for key in session.results if key[0] == benchmark))
        if not metrics:
            continue
        parts.append(f"<h2>{benchmark}</h2><p>{escape(function.__doc__)}</p>")
        for name in figures.get(benchmark, []):
            data = base64.b64encode((folder / f"{name}.svg").read_bytes()).decode()
            parts.append(f'<p><img alt="{escape(name)}" src="data:image/svg+xml;base64,{data}"></p>')
        parts += [html_metric(session, benchmark, metric) for metric in metrics]
    if session.failures or session.skipped:
        rows = [[f"{one['benchmark']} {one['case']}", one["allocator"], one["error"]] for one in session.failures]
        rows += [[text, "", "not measured"] for text in session.skipped]
        parts.append("<h2>What failed or was left out</h2>" + html_rows([["case", "allocator", "why"], *rows]))
    return "\n".join(parts)


def save(session: Session, about: dict[str, str], folder: Path) -> None:
    """The numbers, as far as there are any: after each benchmark, since hours may follow."""
    about["load after"] = f"{os.getloadavg()[0]:.1f}"
    results = list(session.results.values())
    versions = {allocator.name: allocator.version for allocator in session.allocators}
    whole = {
        "machine": about,
        "allocators": versions,
        "results": [result.summary() for result in results],
        "curves": session.curves,
        "failures": session.failures,
        "not measured": session.skipped,
    }
    (folder / "results.json").write_text(json.dumps(whole, indent=1))
    with (folder / "results.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["benchmark", "case", "metric", "unit", "better", "allocator", "median", "spread", "values"])
        for one in results:
            values = " ".join("-" if value is None else f"{value:.6g}" for value in one.values)
            writer.writerow([one.benchmark, one.case, one.metric, one.unit, one.better, one.allocator, one.median(),
                             one.spread(), values])  # fmt: skip


def write(session: Session, about: dict[str, str], folder: Path) -> None:
    save(session, about, folder)
    shutil.rmtree(folder / "figures", ignore_errors=True)  # of an earlier run, which may have had others
    figures = draw(session, folder / "figures")
    (folder / "report.html").write_text(html(session, about, figures, folder / "figures"))
    print_summary(session)
    print(f"\n  {folder / 'report.html'}  (and results.json, results.csv, figures/)")

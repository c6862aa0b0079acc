"""The benchmarks of ./jw bench: which programs run with which options, and what is taken from what they print."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import bench_count
import bench_latency
import bench_memory
import flavours
import traces
from bench_peers import SYSTEM, Allocator
from bench_run import OUTPUT, Session, driver

MICRO = ("rptest", "xmalloc", "mstress", "mleak")
# Octaves from 8 B up, and how much work takes a few tenths of a second.
SIZES = {"8B-128B": (4, 8_000_000), "8B-4KB": (9, 4_000_000), "8B-1MB": (17, 200_000)}
MANY_THREADS = 742  # as many as one process of the paper's phone has
MICRO_LIVE = 64 << 20
FOOTPRINT_OCTAVES = 13


def thread_counts(session: Session) -> dict[str, int]:
    return {"1": 1, "N": session.cores, "10N": 10 * session.cores}


def speed(lines: list[dict]) -> dict[str, tuple]:
    """Throughput and cost of an operation, of a driver's last line."""
    line = lines[-1]
    operations = line["operations"]
    processor = line["user"] + line["system"]
    return {
        "throughput": (operations / line["seconds"] / 1e6, "10^6/s", "higher"),
        "cpu": (processor / operations * 1e9, "ns/operation"),
        "user": (line["user"] / operations * 1e9, "ns/operation"),
        "system": (line["system"] / operations * 1e9, "ns/operation"),
        "peak": (line["peak_kb"] / 1024, "MB"),
    }


def micro(session: Session) -> None:
    """Speed of the four micro-benchmarks (the upper half of Figure 12)."""
    sizes = dict(list(SIZES.items())[:2]) if session.quick else SIZES
    counts = {"1": 1, "N": session.cores} if session.quick else thread_counts(session)
    for size, (octaves, work) in sizes.items():
        last = {} if session.quick or octaves != 4 else {str(MANY_THREADS): MANY_THREADS}
        for program in MICRO:
            # Threads take most of mleak's time.
            amount = work // (8 if session.quick else 1) // (4 if program == "mleak" else 1)
            for name, threads in (counts | last).items():
                options = [f"threads={threads}", f"octaves={octaves}", f"work={amount}", f"live={MICRO_LIVE}"]
                case = f"{program}-{size}-{name}"
                session.interleave(case, lambda one, p=program, o=options: speed(driver(one, p, *o)))


def load(session: Session) -> None:
    """Allocator-side instructions of the same benchmarks, counted by callgrind (the lower half of Figure 12)."""
    sizes = {"8B-4KB": SIZES["8B-4KB"]} if session.quick else SIZES
    counts = {"N": session.cores} if session.quick else thread_counts(session)
    for size, (octaves, work) in sizes.items():
        for program in MICRO:
            for name, threads in counts.items():
                options = [f"threads={threads}", f"octaves={octaves}", f"live={MICRO_LIVE}"]
                options.append(f"work={work // (20 if session.quick else 8)}")

                def measure(allocator: Allocator, program: str = program, options: list = options) -> dict:
                    profile, printed = bench_count.profile(allocator, program, *options)
                    operations = json.loads(printed.splitlines()[-1])["operations"]
                    own = bench_count.allocator_side(profile, allocator, program)
                    return {"allocator": (own / operations, "instructions/operation")}

                # Counts hardly differ from run to run.
                session.interleave(f"{program}-{size}-{name}", measure, 1)


def instructions(session: Session) -> None:
    """Instructions and conditional branches of one call, counted by single-stepping (Table 2)."""
    for allocator in session.allocators:
        if session.over(allocator.name):
            return
        session.progress("one call", allocator.name)
        try:
            for case, values in bench_count.per_call(allocator, session.quick).items():
                session.note(case, allocator.name, values)
        except RuntimeError as error:
            session.fail("calls", allocator.name, str(error))


def footprint(session: Session) -> None:
    """Memory of mstress over time, as it is and with 2 s of sleep after each round (Figure 13)."""
    live = (32 if session.quick else 256) << 20
    rounds = 1 if session.quick else 5
    work = rounds * 6 * live // (12 * ((1 << FOOTPRINT_OCTAVES) - 1) // FOOTPRINT_OCTAVES)
    counts = {"2": 2, "10N": 10 * session.cores}
    for name, threads in counts.items():
        for kind, sleep in (("", 0), ("-sleep", 2000)):
            if session.quick and (sleep == 0 or name != "2"):
                continue
            case = f"mstress{kind}-{name}"
            options = [f"threads={threads}", f"octaves={FOOTPRINT_OCTAVES}", f"work={work}", f"live={live}"]
            options += [f"rounds={rounds}", f"sleep={sleep}"]
            curves: dict[str, dict] = {allocator.name: {} for allocator in session.allocators}
            session.interleave(
                case,
                lambda one, c=curves, o=options: bench_memory.footprint(one, c[one.name], *o),
                1 if session.quick else min(3, session.rounds),
            )
            add_curves(session, case, "time, s", "PSS, MB", curves)


def add_curves(session: Session, case: str, x: str, y: str, curves: dict[str, dict]) -> None:
    for name, curve in curves.items():
        if curve:
            about = {"benchmark": session.benchmark, "case": case, "allocator": name}
            session.curves.append({**about, "x_label": x, "y_label": y, **curve})


def latency(session: Session) -> None:
    """How long single calls of mstress take (Figure 14)."""
    work = 400_000 if session.quick else 4_000_000
    counts = {"N": session.cores} if session.quick else thread_counts(session)
    for name, threads in counts.items():
        merged: dict[str, dict] = {allocator.name: {} for allocator in session.allocators}
        options = [f"threads={threads}", "octaves=9", f"work={work}", f"live={MICRO_LIVE}"]
        case = f"mstress-{name}"
        session.interleave(case, lambda one, m=merged, o=options: bench_latency.measure(one, m[one.name], *o))
        curves = {
            name: dict(zip("xy", bench_latency.curve(found), strict=True)) for name, found in merged.items() if found
        }
        add_curves(session, case, "share of calls that take longer", "ns", curves)


def replay(session: Session) -> None:
    """Real programs' allocation traces, in one thread and in theirs."""
    for trace in session.traces[-1:] if session.quick else session.traces:
        text = traces.unpacked(trace, OUTPUT)
        large = text.stat().st_size > 1 << 20
        for kind, threads in (("flat", 0), ("threads", 1)):
            case = f"{trace.stem}-{kind}"
            if not (session.quick and threads):
                session.interleave(case, lambda one, t=text, n=threads: replay_time(one, t, n))
                every = (8000 if session.quick else 250) if large else 20
                session.interleave(case, lambda one, t=text, n=threads, e=every: replay_memory(one, t, n, e), 1)
        if not session.quick:
            session.interleave(f"{trace.stem}-flat", lambda one, t=text: replay_load(one, t), 1)


def replay_time(allocator: Allocator, trace: Path, threads: int) -> dict[str, tuple]:
    line = driver(allocator, "replay", trace, f"threads={threads}")[-1]
    result = {"time": (line["seconds"] / line["operations"] * 1e9, "ns/operation")}
    if not threads:
        result["cpu"] = (line["user"] + line["system"]) / line["operations"] * 1e9, "ns/operation"
    return result


def replay_memory(allocator: Allocator, trace: Path, threads: int, every: int) -> dict[str, tuple]:
    line = driver(allocator, "replay", trace, f"threads={threads}", f"sample={every}")[0]
    return {
        "peak RSS growth": (line["growth_kb"], "KB"),
        "final RSS growth": (line["left_kb"], "KB"),
        "live at the peak": (line["live_kb"], "KB"),
    }


def replay_load(allocator: Allocator, trace: Path) -> dict[str, tuple]:
    profile, printed = bench_count.profile(allocator, "replay", trace)
    operations = json.loads(printed.splitlines()[-1])["operations"]
    own = bench_count.allocator_side(profile, allocator, "replay")
    return {"allocator": (own / operations, "instructions/operation")}


def size(session: Session) -> None:
    """What an allocator costs before it does anything: its text, and an empty program's instructions and memory."""
    baseline: dict[str, float] = {}
    system = Allocator(SYSTEM, "")
    for allocator in [system, *session.allocators]:
        session.progress("empty program", allocator.name)
        values = {}
        try:
            values |= bench_memory.at_start(allocator)
            profile, _ = bench_count.profile(allocator, "empty")
            values["start"] = sum(profile.own.values()), "instructions"
        except RuntimeError as error:
            session.fail("empty program", allocator.name, str(error))
        if allocator is system:
            baseline = {metric: value[0] for metric, value in values.items()}
            continue
        more = {
            f"{metric} more than {SYSTEM}": (value - baseline[metric], unit) for metric, (value, unit) in values.items()
        }
        if allocator.library:
            more["text"] = text_size(allocator.library.resolve()), "KB"
        session.note("empty program", allocator.name, more)


def text_size(library: Path) -> float:
    """KB of code and constants; of a proxy, with the library that it stands for."""
    total = 0
    for path in {library, library.with_name(library.name.replace("_proxy", ""))}:
        printed = subprocess.run(["size", path], stdout=subprocess.PIPE, text=True, check=True).stdout
        total += int(printed.splitlines()[1].split()[0])
    return total / 1024


def scale(session: Session) -> None:
    """How the cost of an operation grows with the live heap and with threads."""
    available = int(re.search(r"MemAvailable:\s+(\d+)", Path("/proc/meminfo").read_text())[1])
    lives = [1, 16, 128] if session.quick else [1, 8, 64, 512, 4096, 8192]
    work = 200_000 if session.quick else 2_000_000
    for live in lives:
        # Half as much again for what is lost to fragmentation, and the rest of the machine.
        if live * 1024 * 3 // 2 > available:
            session.skipped.append(f"scale live-{live}MB: not enough memory")
            continue
        options = ["threads=1", "octaves=9", f"work={work}", f"live={live << 20}"]
        rounds = min(2, session.rounds) if live > 512 else session.rounds
        session.interleave(f"live-{live}MB", lambda one, o=options: speed(driver(one, "scale", *o)), rounds)
    for threads in [1, 8, MANY_THREADS] if session.quick else [1, 2, 8, 64, 256, MANY_THREADS]:
        options = [f"threads={threads}", "octaves=9", f"work={work}", f"live={MICRO_LIVE}"]
        session.interleave(f"threads-{threads}", lambda one, o=options: speed(driver(one, "scale", *o)))
    grow(session, "live", "live heap, MB")
    grow(session, "threads", "threads")


def grow(session: Session, kind: str, label: str) -> None:
    """The cost of an operation as a curve; and as a multiple of the smallest case's, which peers' caches share."""
    curves: dict[str, dict] = {}
    for result in list(session.of("scale", "cpu")):
        if result.case.startswith(kind) and result.median():
            points = curves.setdefault(result.allocator, {"x": [], "y": []})
            points["x"].append(float(result.case.split("-")[1].removesuffix("MB")))
            points["y"].append(result.median())
            session.note(result.case, result.allocator, {"growth": (result.median() / points["y"][0], "times")})
    add_curves(session, kind, label, "ns/operation", curves)


BENCHMARKS: dict[str, Callable[[Session], None]] = {
    "instructions": instructions,
    "micro": micro,
    "load": load,
    "replay": replay,
    "footprint": footprint,
    "latency": latency,
    "size": size,
    "scale": scale,
}


def default_traces() -> list[Path]:
    """The one that is committed, and those that lie beside the repository."""
    beside = flavours.ROOT.parent / "shared/data/traces"
    found = [path for path in sorted(beside.glob("*")) if path.suffix in (".zip", ".txt")] if beside.is_dir() else []
    return [flavours.ROOT / "tests/trace/synthetic.txt", *found]

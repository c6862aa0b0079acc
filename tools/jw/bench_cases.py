"""The benchmarks of ./jw bench: which programs run with which options, and what is taken from what they print."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import bench_count
import bench_latency
import bench_memory
import bench_security
import bench_wide
from bench_peers import SYSTEM, Allocator
from bench_run import SOURCES, Measure, Session, driver, results
from bench_stats import growth, speed

MICRO = ("rptest", "xmalloc", "mstress", "mleak")
# Octaves from 8 B up, and how much work takes a few tenths of a second.
SIZES = {"8B-128B": (4, 8_000_000), "8B-4KB": (9, 4_000_000), "8B-1MB": (17, 200_000)}
MANY_THREADS = 742  # as many as one process of the paper's phone has
MICRO_LIVE = 64 << 20
FOOTPRINT_OCTAVES = 13
SAMPLED_OPERATIONS = 8


def thread_counts(session: Session) -> dict[str, int]:
    return {"1": 1, "N": session.cores, "10N": 10 * session.cores}


def micro(session: Session) -> None:
    """Speed of the four micro-benchmarks (the upper half of Figure 12)."""
    sizes = dict(list(SIZES.items())[:2]) if session.quick else SIZES
    counts = {"1": 1, "N": session.cores} if session.quick else thread_counts(session) | {"742": MANY_THREADS}
    cases: dict[str, Measure] = {}
    for size, (octaves, work) in sizes.items():
        for program in MICRO:
            # Threads take most of mleak's time.
            amount = work // (8 if session.quick else 1) // (4 if program == "mleak" else 1)
            for name, threads in counts.items():
                options = [f"threads={threads}", f"octaves={octaves}", f"work={amount}", f"live={MICRO_LIVE}"]
                cases[f"{program}-{size}-{name}"] = lambda one, p=program, o=options: speed(driver(one, p, *o))
    session.interleave(cases)


def large_cells() -> list[str]:
    """The names in the driver's table."""
    return re.findall(r'^ {4}\{"([^"]+)", ', (SOURCES / "large.c").read_text(), re.MULTILINE)


def large(session: Session) -> None:
    """Objects from 4 KB up, in one thread: the cells of bench/large.c."""
    part = 8 if session.quick else 1
    session.interleave({cell: lambda one, c=cell: speed(driver(one, "large", c, str(part))) for cell in large_cells()})


def load(session: Session) -> None:
    """Allocator-side instructions of the same benchmarks, counted by callgrind (the lower half of Figure 12)."""
    sizes = {"8B-4KB": SIZES["8B-4KB"]} if session.quick else SIZES
    counts = {"N": session.cores} if session.quick else thread_counts(session)
    cases: dict[str, Measure] = {}
    for size, (octaves, work) in sizes.items():
        for program in MICRO:
            for name, threads in counts.items():
                options = [f"threads={threads}", f"octaves={octaves}", f"live={MICRO_LIVE}"]
                options.append(f"work={work // (80 if session.quick else 8)}")
                cases[f"{program}-{size}-{name}"] = lambda one, p=program, o=options: counted(one, p, *o)
    # Counts hardly differ from run to run.
    session.interleave(cases, 1, session.counted())


def counted(allocator: Allocator, program: str, *options: str | Path) -> dict[str, tuple]:
    profile, printed = bench_count.profile(allocator, program, *options)
    operations = results(printed)[-1]["operations"]
    missed = bench_count.Profile(profile.text, "Bcm")
    return {
        "allocator": (bench_count.allocator_side(profile, allocator, program) / operations, "instructions/operation"),
        "mispredicted": (bench_count.allocator_side(missed, allocator, program) / operations, "branches/operation"),
    }


def instructions(session: Session) -> None:
    """Instructions and conditional branches of one call, counted by single-stepping (Table 2)."""
    for allocator in session.counted():
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
    counts = {"2": 2} if session.quick else {"2": 2, "10N": 10 * session.cores}
    curves: dict[str, dict[str, dict]] = {}
    cases: dict[str, Measure] = {}
    for name, threads in counts.items():
        for kind, sleep in (("", 0), ("-sleep", 2000)):
            case = f"mstress{kind}-{name}"
            options = [f"threads={threads}", f"octaves={FOOTPRINT_OCTAVES}", f"work={work}", f"live={live}"]
            options += [f"rounds={rounds}", f"sleep={sleep}"]
            found = curves[case] = {allocator.name: {} for allocator in session.allocators}
            cases[case] = lambda one, f=found, o=options: bench_memory.footprint(one, f[one.name], *o)
    session.interleave(cases, min(3, session.rounds))
    for case, found in curves.items():
        add_curves(session, case, "time, s", "PSS, MB", found)


def add_curves(session: Session, case: str, x: str, y: str, curves: dict[str, dict]) -> None:
    for name, curve in curves.items():
        if curve:
            about = {"benchmark": session.benchmark, "case": case, "allocator": name}
            session.curves.append({**about, "x_label": x, "y_label": y, **curve})


def latency(session: Session) -> None:
    """How long single calls of mstress take (Figure 14)."""
    work = 400_000 if session.quick else 4_000_000
    counts = {"N": session.cores} if session.quick else thread_counts(session)
    merged: dict[str, dict[str, dict]] = {}
    cases: dict[str, Measure] = {}
    for name, threads in counts.items():
        options = [f"threads={threads}", "octaves=9", f"work={work}", f"live={MICRO_LIVE}"]
        found = merged[f"mstress-{name}"] = {allocator.name: {} for allocator in session.allocators}
        cases[f"mstress-{name}"] = lambda one, f=found, o=options: bench_latency.measure(one, f[one.name], *o)
    session.interleave(cases)
    for case, found in merged.items():
        curves = {name: bench_latency.curve(histograms) for name, histograms in found.items() if histograms}
        add_curves(session, case, "share of calls that take longer", "ns", curves)


def replay(session: Session) -> None:
    """Real programs' allocation traces, in one thread and in theirs."""
    cases, loads = {}, {}
    for trace, text in session.traces.items():
        cases[f"{trace}-flat"] = lambda one, t=text: replay_time(one, t, 0) | replay_memory(one, t, 0)
        if not session.quick:
            cases[f"{trace}-threads"] = lambda one, t=text: replay_time(one, t, 1) | replay_memory(one, t, 1)
            loads[f"{trace}-flat"] = lambda one, t=text: counted(one, "replay", t)
    session.interleave(cases)
    session.interleave(loads, 1, session.counted())


def replay_time(allocator: Allocator, trace: Path, threads: int) -> dict[str, tuple]:
    line = driver(allocator, "replay", trace, f"threads={threads}")[-1]
    result = {"time": (line["seconds"] / line["operations"] * 1e9, "ns/operation")}
    if not threads:
        # With threads most of it would be the waiting for turns.
        result |= {name: value for name, value in speed([line]).items() if name in ("cpu", "user", "system")}
    return result


def replay_memory(allocator: Allocator, trace: Path, threads: int) -> dict[str, tuple]:
    line = driver(allocator, "replay", trace, f"threads={threads}", f"sample={SAMPLED_OPERATIONS}")[0]
    return {
        "peak RSS growth": (line["growth_kb"], "KB"),
        "final RSS growth": (line["left_kb"], "KB"),
        "live at the peak": (line["live_kb"], "KB"),
    }


def size(session: Session) -> None:
    """What an allocator costs before it does anything: its text, and an empty program's instructions and memory."""
    system = Allocator(SYSTEM, "")
    baseline = at_start(system) | bench_memory.at_start(system)

    def more(values: dict[str, tuple]) -> dict[str, tuple]:
        return {f"{name} more than {SYSTEM}": (value - baseline[name][0], unit)
                for name, (value, unit) in values.items()}  # fmt: skip

    libraries = [allocator for allocator in session.allocators if allocator.library]
    for allocator in libraries:
        session.note("empty program", allocator.name, {"text": (text_size(allocator.library.resolve()), "KB of text")})
    session.interleave({"empty program": lambda one: more(at_start(one))}, 1, session.counted())
    session.interleave({"empty program": lambda one: more(bench_memory.at_start(one))})


def at_start(allocator: Allocator) -> dict[str, tuple]:
    profile, _ = bench_count.profile(allocator, "empty")
    return {"start": (sum(profile.own.values()), "instructions")}


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
    work = 1_000_000 if session.quick else 4_000_000
    large: dict[str, Measure] = {}
    cases: dict[str, Measure] = {}
    for live in lives:
        # Half as much again for what is lost to fragmentation, and the rest of the machine.
        if live * 1024 * 3 // 2 > available:
            session.skipped.append(f"scale live-{live}MB: not enough memory")
            continue
        options = ["threads=1", "octaves=9", f"work={work}", f"live={live << 20}"]
        chosen = large if live > 512 else cases
        chosen[f"live-{live}MB"] = lambda one, o=options: speed(driver(one, "scale", *o))
    for threads in [1, 8, 64] if session.quick else [1, 2, 8, 64, 256, MANY_THREADS]:
        options = [f"threads={threads}", "octaves=9", f"work={work}", f"live={MICRO_LIVE}"]
        cases[f"threads-{threads}"] = lambda one, o=options: speed(driver(one, "scale", *o))
    session.interleave(cases)
    session.interleave(large, min(3, session.rounds))
    grow(session, "live", "live heap, MB")
    grow(session, "threads", "threads")


def grow(session: Session, kind: str, label: str) -> None:
    """The cost of an operation as a curve; and as a multiple of the smallest case's, which peers' caches share."""
    curves: dict[str, dict] = {}
    for allocator in session.allocators:
        found = {
            float(one.case.split("-")[1].removesuffix("MB")): one
            for one in session.of("scale", "cpu")
            if one.allocator == allocator.name and one.case.startswith(kind) and one.median()
        }
        curves[allocator.name] = {"x": sorted(found), "y": [found[at].median() for at in sorted(found)]}
        for at, multiples in growth(found).items():
            for number, value in enumerate(multiples):
                session.note(found[at].case, allocator.name, {"growth": (value, "times")}, number)
    add_curves(session, kind, label, "ns/operation", curves)


def zygote(session: Session) -> None:
    """What children of a fork share with their parent; -sealed: after jw_seal, which only our libraries have."""
    acts = ("frees",) if session.quick else ("reads", "allocates", "frees")
    cases: dict[str, Measure] = {}
    for act in acts:
        cases[act] = lambda one, a=act: shared(one, a)
        cases[f"{act}-sealed"] = lambda one, a=act: shared(one, a, "seal")
    session.interleave(cases, min(3, session.rounds))


def shared(allocator: Allocator, *options: str) -> dict[str, tuple]:
    line = driver(allocator, "zygote", *options)[-1]
    return {
        "private dirty": (line["private_kb"] / 1024, "MB/child"),
        "shared": (line["shared_kb"] / 1024, "MB/child", "higher"),
    }


BENCHMARKS: dict[str, Callable[[Session], None]] = {
    "instructions": instructions,
    "micro": micro,
    "large": large,
    "wide": bench_wide.wide,
    "load": load,
    "replay": replay,
    "footprint": footprint,
    "latency": latency,
    "size": size,
    "scale": scale,
    "zygote": zygote,
    "security": bench_security.security,
}

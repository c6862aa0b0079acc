"""./jw bench security: which attacks an allocator stops, how many bits of its addresses vary, and what it costs.

The attacks are the programs of tests/secure/misuses.c, and those of tests/attack/attack.c that need to know nothing of
an allocator's own formats. An attack is stopped if the process ends by a signal, or if it finds nothing that it could
use. So a crash by chance counts as stopped.
"""

import datetime
import platform
import re
import signal
import subprocess
from pathlib import Path

import asm
import bench_count
import bench_run
import entropy
import flavours
from bench_peers import OURS, OURS_SECURE, Allocator
from bench_run import Session

TESTS = flavours.ROOT / "tests"
DOCUMENT = flavours.ROOT / "docs/hardening.md"
BEGIN, END = "<!-- security: ./jw bench security --table -->\n", "<!-- end of generated text -->\n"
FLAGS = ["-std=gnu11", "-O1", "-g", "-w", "-D_GNU_SOURCE", "-DANY_MALLOC", "-DUNVERIFIED_LINKS=0", "-fno-builtin"]
# Of attack.c: blind writes to freed objects.
BLIND = ["lowest_byte", "copied_link_small", "copied_link_mid", "same_object_twice_small", "same_object_twice_mid"]
HAS_PROPERTY = GAINED = 40  # exit codes of misuses.c and of attack.c
SECONDS = 30
ENTROPY = "x86-64"
OBJECTS = {"16 B": "object-16B", "3,000 B": "object-3000B", "100 KB": "object-102400B"}
Key = tuple[str, str, str]  # a column of the table: its name, the result's case and metric
TABLE_CASE = "all attacks"


def misuses() -> list[str]:
    return re.findall(r"^    CASE\((\w+)\),", (TESTS / "secure/misuses.c").read_text(), re.MULTILINE)


def compile_attacks() -> dict[str, Path]:
    """The program of each attack."""
    bench_run.OUTPUT.mkdir(parents=True, exist_ok=True)
    programs = {}
    for source, cases in {"secure/misuses.c": misuses(), "attack/attack.c": BLIND}.items():
        program = bench_run.OUTPUT / Path(source).stem
        flavours.quietly("gcc", *FLAGS, "-pthread", f"-I{TESTS}", "-o", program, TESTS / source)
        programs |= dict.fromkeys(cases, program)
    return programs


def is_stopped(allocator: Allocator, program: Path, case: str) -> bool:
    """RuntimeError if the program could not do what it is about."""
    process = bench_run.start(allocator, [program, case])
    try:
        _, errors = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise bench_run.HungError(f"not done after {SECONDS} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            process.communicate()
    code = process.returncode
    if code < 0 and -code != signal.SIGKILL:
        return True
    if code in (0, GAINED):
        return (code == HAS_PROPERTY) == (program.name == "misuses")
    raise RuntimeError(f"status {code}: {errors[-200:]}")


def attacks(session: Session) -> None:
    programs = compile_attacks()
    for allocator in session.allocators:
        stopped = tried = 0
        for case, program in programs.items():
            session.progress(case, allocator.name)
            try:
                result = is_stopped(allocator, program, case)
            except RuntimeError as error:
                session.fail(case, allocator.name, str(error))
                continue
            tried += 1
            stopped += result
            session.note(case, allocator.name, {"stopped": (int(result), "1: stopped", "higher")})
        if tried:
            session.note(TABLE_CASE, allocator.name, {"share stopped": (100 * stopped / tried, "%", "higher")})
            session.note(TABLE_CASE, allocator.name, {"attacks": (tried, "tried", "higher")})


def bits(session: Session) -> None:
    """As ./jw entropy."""
    if platform.machine() != "x86_64":
        return
    for allocator in session.allocators:
        session.progress("bits of addresses", allocator.name)
        try:
            found = entropy.measure(ENTROPY, allocator.library, 30 if session.quick else 200, bench_run.OUTPUT)
        except (subprocess.CalledProcessError, KeyError) as error:
            session.fail("bits", allocator.name, str(error))
            continue
        for case, place in OBJECTS.items():
            session.note(case, allocator.name, {"bits": (found[place]["bits"], "bits of the page", "higher")})


def costs(session: Session) -> None:
    """Instructions of one call, by short batches, and the memory that a trace takes at its peak."""
    for allocator in session.counted():
        session.progress("instructions of one call", allocator.name)
        try:
            for case, values in bench_count.per_call(allocator, quick=True).items():
                session.note(case, allocator.name, {"mean": values["mean"]})
        except RuntimeError as error:
            session.fail("calls", allocator.name, str(error))
    session.interleave({trace: lambda one, t=text: peak(one, t) for trace, text in session.traces.items()}, 3)


def peak(allocator: Allocator, trace: Path) -> dict[str, tuple]:
    line = bench_run.driver(allocator, "replay", trace, "threads=0", "sample=8")[0]
    return {"peak": (line["growth_kb"], "KB")}


def columns(session: Session) -> list[Key]:
    """What the table has, of what was measured."""
    wanted = [("attacks stopped, %", TABLE_CASE, "share stopped")]
    wanted += [(f"bits of the page, {case}", case, "bits") for case in OBJECTS]
    found = dict.fromkeys(key[1] for key in session.results if key[0] == "security" and key[2] == "mean")
    longest = {case.split(" x ")[0]: case for case in sorted(found, key=lambda case: int(case.split(" x ")[1]))}
    wanted += [(f"instructions, {asm.CASES[name]}", case, "mean") for name, case in longest.items()]
    wanted += [(f"peak of {trace}, KB", trace, "peak") for trace in session.traces]
    return [one for one in wanted if any(True for _ in results_of(session, one))]


def results_of(session: Session, column: Key):
    return (result for result in session.of("security", column[2]) if result.case == column[1])


def table(session: Session) -> list[list[str]]:
    """A row for each column of numbers, a column for each allocator: there are more numbers than allocators."""
    names = [allocator.name for allocator in session.allocators]
    rows = [["", *names]]
    for column in columns(session):
        values = {result.allocator: result.median() for result in results_of(session, column)}
        rows.append([column[0], *("-" if values.get(name) is None else f"{values[name]:,.0f}" for name in names)])
    return rows


def not_stopped(session: Session, name: str) -> list[str]:
    return [one.case for one in session.of("security", "stopped") if one.allocator == name and not one.median()]


def markdown(session: Session) -> str:
    rows = table(session)
    tried = max((one.median() for one in session.of("security", "attacks")), default=0)
    ours = (OURS, OURS_SECURE)
    versions = [f"{one.name} {one.version}" for one in session.allocators if one.name not in ours]
    commit = next(one.version for one in session.allocators if one.name in ours)
    when = f"{datetime.date.today():%d %B %Y}, commit {commit}"
    lines = [f"{platform.machine()}, {when}; {tried:.0f} attacks. Versions:"]
    lines += [f"{', '.join(versions)}.", ""]
    lines += ["| " + " | ".join(rows[0]) + " |", "| --- |" + " ---: |" * (len(rows[0]) - 1)]
    lines += ["| " + " | ".join(row) + " |" for row in rows[1:]]
    missed = ", ".join(f"`{case}`" for case in not_stopped(session, OURS_SECURE))
    lines += ["", f"Not stopped by {OURS_SECURE}: {missed or 'none'}."]
    return "\n".join(lines) + "\n"


def write_table(session: Session) -> None:
    """Into the document, between its marks."""
    text = DOCUMENT.read_text()
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise SystemExit(f"jw bench: {DOCUMENT} has no place for the table")
    DOCUMENT.write_text(before + begin + markdown(session) + end + after)


def security(session: Session) -> None:
    """Attacks of our own that are stopped, varying bits of addresses, and what a call and a trace cost."""
    attacks(session)
    bits(session)
    costs(session)

"""./jw asm --longest: the calls of malloc and free that take most instructions, and in which functions.

Programs of several threads and many sizes run in qemu-user. A plugin (tools/hitpath/longest.c) counts the instructions
of each call by itself. Calls with the same system calls and the same costliest functions have one cause.
"""

import bisect
import os
import re
import subprocess
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

import flavours

SOURCES = flavours.ROOT / "tools/hitpath"
OUTPUT = flavours.BUILD / "hitpath"
# Threads, smallest and largest size, pairs of malloc and free a thread, pattern.
PROGRAMS = {
    "small": (1, 8, 2048, 200_000, "churn"),
    "small, waves": (1, 8, 2048, 200_000, "waves"),
    "to 64 KB": (4, 8, 65536, 60_000, "churn"),
    "to 64 KB, waves": (4, 8, 65536, 60_000, "waves"),
    "to 64 KB, 20 threads": (20, 8, 65536, 20_000, "churn"),
    "mid": (2, 2049, 14336, 60_000, "waves"),
    "large": (4, 14337, 1 << 20, 10_000, "churn"),
    "to 1 MB, waves": (4, 8, 1 << 20, 20_000, "waves"),
    "huge": (2, 4 << 20, 16 << 20, 2_000, "churn"),
}
LIMIT = 3000  # instructions of one call; a new root may take more
NOBODY = 65534
FEW = 3  # functions that name a cause
SYSTEM_CALLS = {9: "mmap", 10: "mprotect", 11: "munmap", 25: "mremap", 28: "madvise", 56: "clone", 202: "futex",
                228: "clock_gettime", 14: "rt_sigprocmask", 318: "getrandom", 39: "getpid", 157: "prctl"}  # fmt: skip


@dataclass
class Call:
    instructions: int
    number: int
    systems: Counter[str]
    functions: Counter[str]

    def cause(self) -> tuple[str, ...]:
        return (*sorted(self.systems), *(name for name, _ in self.functions.most_common(FEW)))

    def makes_root(self) -> bool:
        return "mmap" in self.systems

    def text(self) -> str:
        calls = ", ".join(f"{count} {name}" for name, count in self.systems.items())
        parts = ", ".join(f"{name} {count}" for name, count in self.functions.most_common(2 * FEW))
        return f"{self.instructions:,}: {parts}" + (f"; system calls: {calls}" if calls else "")


class Symbols:
    """The functions of the library."""

    def __init__(self, library: Path) -> None:
        text = subprocess.run(["nm", "-n", library], stdout=subprocess.PIPE, text=True, check=True).stdout
        found = re.findall(r"^([0-9a-f]+) [tTwW] (\S+)$", text, re.MULTILINE)
        self.starts = [int(start, 16) for start, _ in found]
        self.names = [re.sub(r"\.(constprop|part|isra|cold)[.\d]*|@.*", "", name) for _, name in found]

    def name(self, offset: int) -> str:
        place = bisect.bisect_right(self.starts, offset) - 1
        return self.names[place] if place >= 0 and 0 <= offset < 1 << 20 else "libc"


def build_tools() -> tuple[Path, Path]:
    OUTPUT.mkdir(parents=True, exist_ok=True)
    plugin, program = OUTPUT / "liblongest.so", OUTPUT / "mixed"
    flavours.quietly("gcc", "-O2", "-fPIC", "-shared", "-o", plugin, SOURCES / "longest.c")
    flavours.quietly("gcc", "-O2", "-no-pie", "-fno-builtin", "-o", program, SOURCES / "mixed.c", "-pthread")
    return plugin, program


def give_rights_up() -> None:
    """QEMU knows no seccomp, without which the reclamation thread does not start in a process with more rights."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)


def run_counted(plugin: Path, program: Path, library: Path, arguments: tuple) -> tuple[int, list[str]]:
    symbols = subprocess.run(["nm", program], stdout=subprocess.PIPE, text=True, check=True).stdout
    places = {name: int(place, 16) for place, name in re.findall(r"^([0-9a-f]+) \w (\w+)$", symbols, re.MULTILINE)}
    result = OUTPUT / "longest"
    names = {"malloc": "begin_malloc", "free": "begin_free", "end": "end_call", "low": "__executable_start",
             "high": "etext"}  # fmt: skip
    options = ",".join(f"{option}={places[name]:x}" for option, name in names.items())
    command = ["qemu-x86_64", "-E", f"LD_PRELOAD={library}", "-plugin", f"{plugin},{options},out={result}", program]
    command += map(str, arguments)
    result.write_text("")
    result.chmod(0o666)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, preexec_fn=give_rights_up)
    return int(done.stdout.split()[1], 16), result.read_text().splitlines()


def parse_call(words: list[str], base: int, symbols: Symbols) -> Call:
    systems = Counter(SYSTEM_CALLS.get(int(number), number) for number in words[2].split(",")[1:])
    functions: Counter[str] = Counter()
    for word in words[3:]:
        address, length = word.split("*")
        functions[symbols.name(int(address, 16) - base)] += int(length)
    return Call(int(words[0]), int(words[1]), systems, functions)


def quantile(buckets: list[int], share: float) -> int:
    """The number of instructions that this share of the calls stays below: a power of two."""
    least, calls = share * sum(buckets), 0
    for bucket, count in enumerate(buckets):
        calls += count
        if calls >= least:
            return 1 << bucket
    return 1 << len(buckets)


def show(name: str, base: int, lines: list[str], symbols: Symbols) -> bool:
    kept = True
    print(f"\n{name}")
    for kind in ("malloc", "free"):
        words = [line.split()[1:] for line in lines if line.split()[0] == kind]
        buckets = [int(word) for word in words[0][1:]]
        calls = sorted((parse_call(line, base, symbols) for line in words[1:]), key=lambda call: -call.instructions)
        below = ", ".join(f"P{100 * share:g} < {quantile(buckets, share)}" for share in (0.5, 0.99, 0.999, 0.9999))
        print(f"  {kind}: {sum(buckets):,} calls; {below}")
        causes = defaultdict(list)
        for call in calls:
            causes["first" if call.number == 1 else call.cause()].append(call)
        for cause, same in causes.items():
            over = same[0].instructions > LIMIT and not same[0].makes_root() and cause != "first"
            kept = kept and not over
            note = "first call of a thread" if cause == "first" else f"{len(same)} of the longest {len(calls)}"
            print(f"    {'! ' if over else '  '}{same[0].text()} ({note})")
    return kept


def show_all(library: Path) -> bool:
    """Prints the longest calls of each program; true when all keep to the limit."""
    flavours.setup("aarch64")  # its QEMU
    plugin, program = build_tools()
    symbols = Symbols(library)
    kept = [
        show(name, *run_counted(plugin, program, library, arguments), symbols) for name, arguments in PROGRAMS.items()
    ]
    return all(kept)

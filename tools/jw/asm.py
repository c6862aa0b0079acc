"""./jw asm: the instructions that malloc and free really execute on their hit paths.

x86-64: tools/hitpath/step single-steps tools/hitpath/calls on the processor. AArch64 and RISC-V: qemu-user runs it one
instruction at a time and logs them. A case's hit path is the path that most of its calls took.
"""

import itertools
import os
import platform
import re
import struct
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import flavours
import longest

SOURCES = flavours.ROOT / "tools/hitpath"
OUTPUT = flavours.BUILD / "hitpath"
# The tables are bytes of the file; no page of them is read unless something unwinds.
TEXT_LIMIT, TABLES_LIMIT = 80 * 1024, {"x86-64": 25 * 1024, "aarch64": 23 * 1024, "riscv64": 28 * 1024}
SMALL, LARGE = 64, 4096

# The order of the batches in calls.c: what is called, and how often.
BATCHES = [("malloc", "malloc", SMALL), ("own", "free", SMALL), ("malloc", "malloc", LARGE), ("own", "free", LARGE),
           ("other", "free", SMALL), ("other", "free", LARGE)]  # fmt: skip
OPERATORS = [("new", "new", SMALL), ("sized", "delete", SMALL), ("new", "new", LARGE), ("sized", "delete", LARGE)]
CASES = {
    "malloc": "malloc(64)",
    "own": "free of an own object",
    "other": "free of another thread's object",
    "new": "operator new(64)",
    "sized": "operator delete(object, 64) of an own object",
}
# Instructions and conditional branches allowed, on x86-64.
LIMITS = {"malloc": (18, 1), "own": (24, 3), "other": (32, 5), "new": (18, 1), "sized": (29, 3)}
UNVERIFIED = "x86-64-unverified"
# A step takes microseconds. A round that came in the middle of a case would take the empty slabs that the next case
# begins with: then its mean was 48 or 20, as it happened.
CALM = {"JWMALLOC_CONF": "reclaim_interval:60000"}

# Names of conditional branches.
CONDITIONAL = {"x86-64": r"(j(?!mp)|loop)", "aarch64": r"(b\.|cbn?z|tbn?z)", "riscv64": r"b(eq|ne|lt|gt|le|ge)"}
CONDITIONAL[UNVERIFIED], TABLES_LIMIT[UNVERIFIED] = CONDITIONAL["x86-64"], TABLES_LIMIT["x86-64"]


@dataclass
class Machine:
    name: str
    flavour: str
    tools: str
    how: str

    def is_conditional(self, instruction: str) -> bool:
        return re.match(CONDITIONAL[self.name], instruction) is not None

    def emulator(self) -> str:
        return f"qemu-{self.name}"


def machines(wanted: str) -> list[Machine]:
    """Those of this computer that we can look at: itself, and others by emulation."""
    native = {"x86_64": "x86-64", "aarch64": "aarch64"}[platform.machine()]
    result = [Machine(native, "release", "", "single-stepped on the processor")]
    if native == "x86-64":  # -DJW_LINK_CHECK=OFF: what the verification of links costs
        result.append(Machine(UNVERIFIED, "unverified", "", "single-stepped on the processor"))
    for name, flavour in ("aarch64", "aarch64-4k"), ("riscv64", "riscv64"):
        if native != name:
            result.append(Machine(name, flavour, f"{name}-linux-gnu-", "executed one by one by qemu-user"))
    return [machine for machine in result if wanted in ("all", machine.name)]


def compile_program(machine: Machine, library: Path) -> Path:
    OUTPUT.mkdir(parents=True, exist_ok=True)
    program = OUTPUT / f"calls-{machine.name}"
    compiler = f"{machine.tools}gcc"
    links = ["-Wl,--no-as-needed", library.resolve(), f"-Wl,-rpath,{library.parent}"]
    flavours.quietly(
        compiler, "-O2", "-fno-builtin", "-DOPERATORS=1", "-o", program, SOURCES / "calls.c", *links, "-pthread"
    )
    if not machine.tools:
        flavours.quietly(compiler, "-O2", "-o", OUTPUT / "step", SOURCES / "step.c")
    return program


def stepped(program: Path) -> tuple[str, Iterator[int]]:
    """What the program prints, and the addresses that it executes."""
    trace = OUTPUT / "trace"
    command = [OUTPUT / "step", trace, program, "stop"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=os.environ | CALM)
    # Bit 63 says what this command finds out by itself: that the instruction is a conditional branch.
    addresses = (word[0] & ~(1 << 63) for word in struct.iter_unpack("<Q", trace.read_bytes()))
    return done.stdout, addresses


def emulated(machine: Machine, program: Path) -> tuple[str, Iterator[int]]:
    """The same by emulation."""
    help_text = subprocess.run([machine.emulator(), "-h"], stdout=subprocess.PIPE, text=True).stdout
    singly = "-one-insn-per-tb" if "one-insn-per-tb" in help_text else "-singlestep"
    command = [machine.emulator(), "-L", f"/usr/{machine.tools}".rstrip("-"), singly, "-d", "exec,nochain", program]
    printed = OUTPUT / "printed"
    with printed.open("w") as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.PIPE, text=True, env=os.environ | CALM)
    addresses = (int(line.split("/", 2)[1], 16) for line in process.stderr if line.startswith("Trace "))
    # The program prints before its first case, and what it does before printing is of no interest.
    first = next(addresses)
    while not printed.stat().st_size:
        first = next(addresses)
    return printed.read_text(), itertools.chain([first], addresses)


def paths_of(printed: str, addresses: Iterator[int]) -> list[list[tuple[int, ...]]]:
    """Per batch, the path of each call: offsets in the library, from the function's entry to its return."""
    places = {name: [int(value, 16) for value in values] for name, *values in map(str.split, printed.splitlines())}
    first, last = places["program"]
    mark, base = places["mark"][0], places["base"][0]
    batches: list[list[tuple[int, ...]]] = []
    calls = BATCHES + OPERATORS
    path: list[int] = []
    for address in addresses:
        if address == mark:
            batches.append([])
        elif not first <= address < last:
            name = calls[len(batches) - 1][1] if 0 < len(batches) <= len(calls) else None
            if path or (name and address == places[name][0]):
                path.append(address - base)
        elif path:
            batches[-1].append(tuple(path))
            path = []
    return batches[:-1]


def disassemble(machine: Machine, library: Path) -> dict[int, tuple[str, str]]:
    """Function and instruction at each offset."""
    command = [f"{machine.tools}objdump", "-d", "--no-show-raw-insn", library]
    text = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    result, function = {}, ""
    for line in text.splitlines():
        if label := re.match(r"[0-9a-f]+ <(.+)>:$", line):
            function = label[1]
        elif instruction := re.match(r" *([0-9a-f]+):\t(.*)", line):
            result[int(instruction[1], 16)] = (function, instruction[2].expandtabs(8))
    return result


def show_path(path: tuple[int, ...], code: dict[int, tuple[str, str]]) -> None:
    offsets = list(code)
    follows = dict(zip(offsets, offsets[1:], strict=False))
    function, expected = "", None
    for offset in path:
        where, instruction = code.get(offset, ("outside the library", "?"))
        if where != function:
            print(f"    <{where}>")
        elif offset != expected:
            print("            ...")
        function, expected = where, follows.get(offset)
        print(f"    {offset:6x}  {instruction}")


def show_case(machine: Machine, case: str, batches: dict, code: dict) -> bool:
    """Prints one case; true when it keeps to its limits."""

    def conditional(path: tuple[int, ...]) -> int:
        return sum(machine.is_conditional(code[offset][1]) for offset in path if offset in code)

    hit, times = Counter(batches[case, LARGE]).most_common(1)[0]
    found = len(hit), conditional(hit)
    means = [
        f"{sum(map(len, paths)) / size:.1f} and {sum(map(conditional, paths)) / size:.1f} over {size}"
        for size in (SMALL, LARGE)
        if (paths := batches[case, size])
    ]
    limit = LIMITS[case] if machine.name.startswith("x86-64") else None
    kept = limit is None or (found[0] <= limit[0] and found[1] <= limit[1])
    allowed = "" if limit is None else f"; allowed {limit[0]} and {limit[1]}: {'kept' if kept else 'EXCEEDED'}"
    print(f"\n  {CASES[case]}: {found[0]} instructions, {found[1]} conditional branches{allowed}")
    print(f"  {times / LARGE:.1%} of {LARGE} calls took this path; means: {', '.join(means)}\n")
    show_path(hit, code)
    return kept


def show_machine(machine: Machine) -> bool:
    if machine.tools:
        flavours.setup(machine.name)
    library = flavours.build(machine.flavour) / "libjwmalloc.so"
    program = compile_program(machine, library)
    printed, addresses = emulated(machine, program) if machine.tools else stepped(program)
    paths = paths_of(printed, addresses)
    complete = [len(batch) for batch in paths] == [count for _, _, count in BATCHES + OPERATORS]
    if not complete:
        raise SystemExit(f"jw asm: calls are missing in the trace: {[len(batch) for batch in paths]}")
    print(f"{machine.name}: {library.relative_to(flavours.ROOT)}, {machine.how}")
    batches = {(case, count): paths[number] for number, (case, _, count) in enumerate(BATCHES + OPERATORS)}
    code = disassemble(machine, library)
    kept = [show_case(machine, case, batches, code) for case in CASES]
    return show_text(machine, library) and all(kept)


def show_text(machine: Machine, library: Path) -> bool:
    """The size of a stripped library's code, of its whole segment of code and constants, and of its unwind tables."""
    stripped = OUTPUT / f"stripped-{machine.name}.so"
    flavours.quietly(f"{machine.tools}strip", "-o", stripped, library)

    def size(*options: str) -> list[str]:
        command = [f"{machine.tools}size", *options, stripped]
        return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()

    sections = dict(line.split()[:2] for line in size("-A") if line.startswith("."))
    text = int(sections[".text"])
    tables = int(sections[".eh_frame"]) + int(sections[".eh_frame_hdr"])
    whole = int(size()[1].split()[0]) - tables
    kept = text <= TEXT_LIMIT and tables <= TABLES_LIMIT[machine.name]
    print(f"\n  text of the library: {text} B; allowed {TEXT_LIMIT} B; with constants and symbols {whole} B;")
    print(
        f"  its unwind tables, which only unwinders read: {tables} B; allowed {TABLES_LIMIT[machine.name]} B: ", end=""
    )
    print("both kept\n" if kept else "EXCEEDED\n")
    return kept


def run(arguments) -> int:
    if arguments.longest:
        return 0 if longest.show_all(flavours.build("release") / "libjwmalloc.so") or not arguments.check else 1
    kept = [show_machine(machine) for machine in machines(arguments.machine)]
    return 1 if arguments.check and not all(kept) else 0


def add_command(commands) -> None:
    command = commands.add_parser(
        "asm",
        help="count the instructions of the hit paths of malloc and free, by executing them",
        description="Executes malloc and free one instruction at a time. Shows the path that most calls took, with its "
        "number of instructions and of conditional branches, from the function's entry to its return.",
    )
    command.add_argument("--check", action="store_true", help="fail when a path or the library's text is too long")
    command.add_argument(
        "--longest", action="store_true", help="instead: the calls with most instructions in programs of many sizes"
    )
    command.add_argument("--machine", choices=["all", *CONDITIONAL], default="all", help="default: all")
    command.set_defaults(run=run)

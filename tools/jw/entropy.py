"""Measures how far the places of objects and tables vary from start to start of a program.

A place has at most as many random bits as its address has bits that vary. "bits of the page" counts
those from bit 12 on. "distances to libc" counts the different distances in pages to the C library:
1 means that one pointer into that library tells the place.
"""

import argparse
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import flavours

SOURCE = flavours.ROOT / "tools/entropy/places.c"
OUTPUT = flavours.BUILD / "entropy"
PAGE_SHIFT = 12
OBJECTS = ["object-16B", "object-64B", "object-3000B", "object-102400B", "object-8388608B"]
APART = 6  # writable mappings of our own in this program: three tables, owners, heaps, a root; more where they split
# Flavour, compiler, what runs the program, and how it gets the library.
MACHINES = {
    "x86-64": ("release", ["gcc"], [], "LD_PRELOAD={}"),
    "i386": ("i386", ["gcc", "-m32"], [], "LD_PRELOAD={}"),
    "aarch64": ("aarch64-4k", ["aarch64-linux-gnu-gcc"], ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", "-E"],
                "LD_PRELOAD={}"),
}  # fmt: skip


def compile_program(machine: str, output: Path) -> Path:
    output.mkdir(parents=True, exist_ok=True)
    program = output / f"places-{machine}"
    flavours.quietly(*MACHINES[machine][1], "-O1", "-fno-builtin", "-o", program, SOURCE)
    return program


def starts(machine: str, library: Path | None, count: int, output: Path = OUTPUT) -> dict[str, list[int]]:
    """The addresses of each name, of those that are there in each start."""
    program = compile_program(machine, output)
    preload = MACHINES[machine][3].format(library.resolve()) if library else ""
    emulator = MACHINES[machine][2]
    command, environment = [str(program)], dict(os.environ)
    if emulator:
        command = [*emulator, *([preload] if preload else ["NOTHING="]), str(program)]
    elif preload:
        environment["LD_PRELOAD"] = preload.partition("=")[2]
    found: dict[str, list[int]] = defaultdict(list)
    for _ in range(count):
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
        seen = set()
        for name, address in map(str.split, done.stdout.splitlines()):
            if name not in seen:
                found[name].append(int(address, 16))
            seen.add(name)
    return {name: addresses for name, addresses in found.items() if len(addresses) == count}


def varying_bits(addresses: list[int]) -> int:
    """Bits of the page that are not the same in each start."""
    varying = 0
    for address in addresses:
        varying |= address ^ addresses[0]
    return (varying >> PAGE_SHIFT).bit_count()


def distances(addresses: list[int], others: list[int]) -> int:
    return len({(address - other) >> PAGE_SHIFT for address, other in zip(addresses, others, strict=True)})


def measure(machine: str, library: Path | None, count: int, output: Path = OUTPUT) -> dict[str, dict[str, int]]:
    """For each place: bits of its page, different addresses, different distances to libc and to the first object."""
    places = starts(machine, library, count, output)
    return {
        name: {
            "bits": varying_bits(addresses),
            "addresses": len(set(addresses)),
            "to_libc": distances(addresses, places["libc"]),
            "to_object": distances(addresses, places[OBJECTS[0]]),
        }
        for name, addresses in places.items()
    }


def show(machine: str, what: str, count: int, measured: dict[str, dict[str, int]]) -> None:
    print(f"\n{machine}, {what}, {count} starts")
    print(f"  {'place':28} bits of the page  addresses  distances to libc  distances to the first object")
    for name, row in measured.items():
        print(f"  {name:28}{row['bits']:17}{row['addresses']:11}{row['to_libc']:19}{row['to_object']:31}")


def apart_from_libc(measured: dict[str, dict[str, int]], count: int) -> int:
    """How many writable mappings have another distance to libc in most starts: tables, heaps, roots, objects."""
    return sum(name.startswith("mapping-rw-p") and row["to_libc"] > count / 4 for name, row in measured.items())


def run(arguments) -> int:
    failed = False
    for machine in MACHINES if arguments.machine == "all" else [arguments.machine]:
        flavour = MACHINES[machine][0]
        library = arguments.library or flavours.build(flavour) / "libjwmalloc.so"
        measured = measure(machine, library, arguments.starts, arguments.output)
        show(machine, str(library), arguments.starts, measured)
        if arguments.control:
            control = measure(machine, None, arguments.starts, arguments.output)
            show(machine, "the C library's malloc", arguments.starts, control)
        for name in OBJECTS:
            row = measured[name]
            least = arguments.least if name != OBJECTS[-1] else 0  # a mapping of its own: where the kernel puts it
            if row["bits"] < least or (least and row["to_libc"] < arguments.starts / 4):
                print(f"  {name}: less than {least} bits, or libc tells the place")
                failed = True
        if arguments.least and apart_from_libc(measured, arguments.starts) < APART:
            print(f"  libc tells where tables or heaps are: less than {APART} writable mappings apart from libc")
            failed = True
    return 1 if failed else 0


def add_arguments(command) -> None:
    command.add_argument("--starts", type=int, default=500, help="start the program so often; default: %(default)s")
    command.add_argument("--machine", choices=["all", *MACHINES], default="x86-64", help="default: x86-64")
    command.add_argument("--library", type=Path, help="default: the machine's flavour")
    command.add_argument("--control", action="store_true", help="the C library's malloc, too")
    command.add_argument("--least", type=int, default=0, help="fail if the page of an object has fewer varying bits")
    command.add_argument("--output", type=Path, default=OUTPUT, help="where the program is compiled to")
    command.set_defaults(run=run)


def add_command(commands) -> None:
    add_arguments(
        commands.add_parser("entropy", help="measure how random the places of objects are", description=__doc__,
                            formatter_class=argparse.RawDescriptionHelpFormatter)
    )  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    add_arguments(parser)
    parsed = parser.parse_args()
    sys.exit(parsed.run(parsed))

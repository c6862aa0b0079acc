"""./jw verify --coverage: which lines of src/ the model checker's clients execute, and which they do not.

The programs are compiled with a call at the start of each basic block. A line counts if a block starts on it. A line
that reports misuse and is not reached is left out: misuse is other tests' subject.
"""

import re
import subprocess
from collections import defaultdict
from pathlib import Path

import orders
from clients import ROOT, Client, Programs

INSTRUMENT = "-fsanitize-coverage=trace-pc"
CALL = re.compile(r"^\s*([0-9a-f]+):\s+call\s.*<__sanitizer_cov_trace_pc@plt>")
ADDRESS = re.compile(r"^\s*([0-9a-f]+):\s")
MISUSE = re.compile(r"\bmisuse\w*\(")

Lines = dict[Path, dict[int, bool]]  # of a file: its lines with blocks, and whether one of these ran


def block_addresses(program: Path) -> list[int]:
    """The return address of each call that stands for a block."""
    text = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", program], stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    found, after_call = [], False
    for line in text.splitlines():
        if after_call and (address := ADDRESS.match(line)):
            found.append(int(address.group(1), 16))
        after_call = bool(CALL.match(line))
    return found


def places(program: Path, addresses: list[int]) -> list[tuple[Path, int]]:
    """File and line of each; the call is the instruction before the return address. The addr2line of binutils 2.40
    names the wrong file for functions of headers."""
    asked = "".join(f"{address - 1:#x}\n" for address in addresses)
    text = subprocess.run(
        ["llvm-addr2line-16", "-e", program], input=asked, stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    found = []
    for line in text.splitlines():
        path, _, number = line.split(" ")[0].rpartition(":")
        found.append((Path(path).resolve(), int(number) if number.isdigit() else 0))
    return found


def add_program(lines: Lines, program: Path, reached: set[int]) -> None:
    addresses = block_addresses(program)
    for address, (path, number) in zip(addresses, places(program, addresses), strict=True):
        if number and ROOT / "src" in path.parents:
            lines[path][number] = lines[path].get(number, False) or address in reached


def is_misuse(path: Path, number: int) -> bool:
    return bool(MISUSE.search(path.read_text().splitlines()[number - 1]))


def ranges(numbers: list[int]) -> str:
    """As 3-5 9: neighbours joined."""
    joined: list[list[int]] = []
    for number in sorted(numbers):
        if joined and joined[-1][1] == number - 1:
            joined[-1][1] = number
        else:
            joined.append([number, number])
    return " ".join(str(first) if first == last else f"{first}-{last}" for first, last in joined)


def describe(lines: Lines) -> None:
    total = missed = 0
    for path in sorted(lines):
        counted = {number: ran for number, ran in lines[path].items() if ran or not is_misuse(path, number)}
        left = [number for number, ran in counted.items() if not ran]
        total, missed = total + len(counted), missed + len(left)
        name = path.relative_to(ROOT)
        print(f"{name}: {len(counted) - len(left)} of {len(counted)}{f'; not {ranges(left)}' if left else ''}")
    for path in sorted(path for path in (ROOT / "src").rglob("*.c") if path not in lines):
        print(f"{path.relative_to(ROOT)}: in no client's program")
    print(f"{total - missed} of {total} lines where a block starts are reached")


def describe_operations(lines: Lines) -> None:
    """The ordered atomic operations that stand on lines which no client reaches, or in files that none compiles."""
    found = orders.operations()
    missed = [operation for operation in found if not function_ran(lines, operation)]
    print(f"{len(found) - len(missed)} of {len(found)} ordered atomic operations are reached")
    for operation in missed:
        print(f"  not {operation.place} [{operation.tag}] {operation.order}")


def function_ran(lines: Lines, operation: orders.Operation) -> bool:
    """Whether the block that holds the operation ran: the last one that starts at its line or above."""
    of_file = lines.get(operation.path.resolve(), {})
    above = [number for number in of_file if number <= operation.line + 1]
    return bool(above) and of_file[max(above)]


def run(chosen: list[Client], compiler: str, level: str, run_program, options: list) -> int:
    programs = Programs(compiler, level, INSTRUMENT)
    lines: Lines = defaultdict(dict)
    for number, client in enumerate(chosen, 1):
        program = programs.client(client)
        blocks = program.with_suffix(".blocks")
        result = run_program(program, compiler, "--coverage", blocks, *options)
        print(f"[{number}/{len(chosen)}] {client.name}: {result.seconds:.1f} s, status {result.status}", flush=True)
        if not blocks.exists():
            print(result.output)
            return 1
        add_program(lines, program, {int(text, 16) for text in blocks.read_text().split()})
    describe(lines)
    describe_operations(lines)
    return 0

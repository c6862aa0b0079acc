"""tombstones.py PROGRAM LIBRARY EMULATOR... - an unwinder outside of the process sees through the library on AArch64.

Android's debuggerd reads registers and stack of a stopped process, and .eh_frame of the ELF files. So does this
program: by qemu-user's interface for debuggers, and by the rows that readelf makes of .eh_frame. It stops unwound.c

  at the first instructions of its calls of malloc, realloc and free, and of the functions SLOW that these reach: by
  the tables alone the caller's address, stack and kept registers must be found;
  where it aborts, for a double free: culprit() and main() must be found. Who follows frame records there finds
  main(), but not culprit(): its address is kept in a frame of the library, which makes no record.
"""

import bisect
import contextlib
import re
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STEPS = 100
AT_ONCE = 128
SKIPPED = 77
READELF = "aarch64-linux-gnu-readelf"
FP, LR, SP, PC = 29, 30, 31, 32
KEPT = range(19, 30)
ENTRIES = ("malloc", "realloc", "free")
# A refill, a range from the backend, a new root and a mapping of its own, pages that go back.
SLOW = ("heap_refill", "range_acquire", "knit_acquire", "reserve_mapping_once", "pages_map", "platform_discard")
NAMES = {"x29": FP, "ra": LR, "x30": LR, "sp": SP}


class AbortedError(Exception):
    """The program has stopped for SIGABRT."""


class Remote:
    """The debugger's side of the GDB remote protocol."""

    def __init__(self, path: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        for _ in range(200):
            try:
                self.socket.connect(path)
                break
            except OSError:
                time.sleep(0.05)
        self.answers = b""
        self.stack = (0, b"")  # an address, and what is there since the last step

    def ask(self, text: str) -> str:
        self.socket.sendall(f"${text}#{sum(text.encode()) % 256:02x}".encode())
        while not (found := re.search(rb"\$([^#]*)#..", self.answers)):
            more = self.socket.recv(65536)
            if not more:
                raise SystemExit("the program has ended")
            self.answers += more
        self.answers = self.answers[found.end() :]
        self.socket.sendall(b"+")
        return found[1].decode()

    def go_on(self, how: str) -> str:
        self.stack = (0, b"")
        answer = self.ask(f"vCont;{how}")
        if answer.startswith("T06"):
            raise AbortedError
        return answer

    def registers(self) -> list[int]:
        data = bytes.fromhex(self.ask("g")[: 33 * 16])
        return [int.from_bytes(data[8 * i : 8 * i + 8], "little") for i in range(33)]

    def word(self, address: int) -> int:
        """The word there; one look fetches those behind it, too."""
        start, there = self.stack
        if not start <= address <= start + len(there) - 8:
            start, there = self.stack = address, bytes.fromhex(self.ask(f"m{address:x},{AT_ONCE:x}"))
        return int.from_bytes(there[address - start : address - start + 8], "little")

    def run_to(self, *addresses: int) -> None:
        for address in addresses:
            self.ask(f"Z0,{address:x},4")
        self.go_on("c")
        for address in addresses:
            self.ask(f"z0,{address:x},4")


class Module:
    """An ELF file in memory: its functions, its unwind tables."""

    def __init__(self, path: str, base: int) -> None:
        self.base = base
        rows: dict[int, tuple[int, str, dict[int, str]]] = {}  # by start: end of the function, rules of CFA, registers
        columns: list[str] = []
        end = 0
        for line in output(READELF, "--debug-dump=frames-interp", path).splitlines():
            words = line.split()
            if found := re.search(r" FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)", line):
                end = int(found[2], 16)
                rows[int(found[1], 16)] = (end, "sp+0", {})  # what all CIEs say; rows follow if the function has some
            elif " CIE " in line:
                end = 0
            elif words[:1] == ["LOC"]:
                columns = words[2:]
            elif end and re.match(r"[0-9a-f]{16} ", line):
                rules = {number(name): rule for name, rule in zip(columns, words[2:], strict=True)}
                rows[int(words[0], 16)] = (end, words[1], rules)
        self.starts = sorted(rows)
        self.rows = [rows[start] for start in self.starts]
        self.symbols = {}
        for line in output(READELF, "-sW", path).splitlines():
            words = line.split()
            if len(words) == 8 and words[3] == "FUNC" and words[6] != "UND":
                self.symbols[words[7].split("@")[0]] = (int(words[1], 16) + base, int(words[2], 0))
        sections = output(READELF, "-SW", path)
        self.text, self.plt = (span_of(sections, name, base) for name in (".text", ".plt"))

    def row(self, address: int) -> tuple[str, dict[int, str]] | None:
        at = bisect.bisect_right(self.starts, address - self.base) - 1
        if at < 0 or address - self.base >= self.rows[at][0]:
            return None
        return self.rows[at][1:]

    def has(self, address: int, function: str) -> bool:
        start, size = self.symbols[function]
        return start <= address < start + size


def output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def number(name: str) -> int:
    return NAMES[name] if name in NAMES else int(name[1:])


def span_of(sections: str, name: str, base: int) -> range:
    found = re.search(rf" {re.escape(name)} +\w+ +(\w+) \w+ (\w+)", sections)
    start = int(found[1], 16) + base
    return range(start, start + int(found[2], 16))


def unwind(remote: Remote, module: Module, registers: list[int], address: int) -> list[int] | None:
    """The caller's registers. None: the tables have nothing for the address."""
    row = module.row(address)
    if not row:
        return None
    base, offset = re.fullmatch(r"(\w+)\+(\d+)", row[0]).groups()
    frame = registers[number(base)] + int(offset)
    caller = list(registers)
    for register, rule in row[1].items():
        if rule.startswith("c"):
            caller[register] = remote.word(frame + int(rule[1:]))
    caller[SP], caller[PC] = frame, caller[LR]
    return caller


def check_instruction(remote: Remote, library: Module, registers: list[int], entry: list[int]) -> None:
    """From a stop in the library the tables lead to the caller as it was at the library's entry."""
    stop, inner = registers[PC], 0
    while registers[PC] != entry[LR]:
        registers = unwind(remote, library, registers, registers[PC] - inner)
        if not registers:
            raise SystemExit(f"no row at {stop - library.base:x}")
        inner = 1
    wrong = [i for i in KEPT if registers[i] != entry[i]] + [SP] * (registers[SP] != entry[SP])
    if wrong:
        raise SystemExit(f"at {stop - library.base:x}: registers {wrong} are not the caller's")


def step_through(remote: Remote, library: Module, seen: set[int], slow: list[str]) -> None:
    """Steps through a call: STEPS instructions from its first one, and from the first of each function of `slow`."""
    entry = remote.registers()
    steps = 0
    while True:
        registers = remote.registers()
        if registers[PC] == entry[LR] and registers[SP] == entry[SP]:
            return
        if steps == STEPS:
            remote.run_to(entry[LR], *(library.symbols[name][0] for name in slow))
            steps = 0
            continue
        for name in slow:
            if registers[PC] == library.symbols[name][0]:
                slow.remove(name)
                steps = 0
                break
        if registers[PC] not in library.text and registers[PC] not in library.plt:
            remote.run_to(registers[LR])  # the C library, on to its return
            continue
        if registers[PC] in library.text and registers[PC] not in seen:
            check_instruction(remote, library, registers, entry)
            seen.add(registers[PC])
        steps += 1
        remote.go_on("s")


def check_abort(remote: Remote, modules: list[Module]) -> None:
    """Where the program aborts: the tables find culprit() and main(); frame records find main() alone."""
    program = modules[-1]
    registers, seen = remote.registers(), []
    records, record = [], registers[FP]
    while record and len(records) < 8:
        records.append(remote.word(record + 8))
        record = remote.word(record)
    for depth in range(32):
        address = registers[PC] - (1 if depth else 0)
        seen.append(address)
        module = next((each for each in modules if each.row(address)), None)
        if not module or program.has(address, "main"):
            break
        registers = unwind(remote, module, registers, address)
    for name, addresses, wanted in (
        ("the tables", seen, {"culprit", "main"}),
        ("frame records", [address - 1 for address in records], {"main"}),
    ):
        found = {name for name in ("culprit", "main") if any(program.has(each, name) for each in addresses)}
        print(f"{name} find {', '.join(sorted(found))}: {len(addresses)} addresses")
        if found != wanted:
            raise SystemExit(f"{name} should find {wanted}")


def watch(remote: Remote, process: subprocess.Popen, paths: list[str]) -> None:
    if "T05" not in remote.go_on("c"):
        raise SystemExit("no stop")
    bases = [int(word, 16) for word in process.stdout.readline().split()]
    modules = [Module(path, base) for path, base in zip(paths, bases, strict=True)]
    library, program = modules[0], modules[-1]
    calls, slow = 0, list(SLOW)
    seen: set[int] = set()
    with contextlib.suppress(AbortedError):
        while True:
            remote.run_to(*(library.symbols[name][0] for name in ENTRIES))
            if program.has(remote.registers()[LR], "culprit"):
                calls += 1
                step_through(remote, library, seen, slow)
            else:
                remote.go_on("s")
    print(f"{calls} calls, {len(seen)} instructions of the library")
    if slow or calls < 30:
        raise SystemExit(f"no stop in {slow}")
    check_abort(remote, modules)


def main() -> int:
    program, library, *emulator = sys.argv[1:]
    root = Path(emulator[emulator.index("-L") + 1])
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/remote"
        settings = ["-E", f"LD_PRELOAD={library}", "-E", "LD_BIND_NOW=1", "-g", path]
        process = subprocess.Popen([*emulator, *settings, program], stdout=subprocess.PIPE, text=True)
        try:
            watch(Remote(path), process, [library, str(root / "lib/libc.so.6"), program])
        finally:
            process.kill()
            process.wait()
    return 0


sys.exit(main())

"""Flavours whose tests run on another kernel: its image or its source is Debian's (foreign.py), an emulator of the
whole machine boots it, and its first process (tests/kernel/init.c) runs the tests from a file system in memory."""

import json
import re
import shlex
import subprocess
import threading
from functools import partial
from pathlib import Path

import flavours
import foreign

SYSROOT = Path("/usr/aarch64-linux-gnu/lib")
LIBRARIES = ("ld-linux-aarch64.so.1", "libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6", "libdl.so.2")
SLOWNESS = 5  # as for qemu-user (tests/jw_test.cmake)
STARTS = 60  # seconds that the machine may take to start
RESULT = re.compile(r"^RESULT (\S+) (\S+) (\d+)$")
SKIPPED = "77"


def is_booted(flavour: str) -> bool:
    return flavour.startswith("kernel")


class Archive:
    """A file system for the kernel to begin with, in the format "newc" of cpio."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.paths: set[str] = set()

    def member(self, path: str, mode: int, contents: bytes) -> None:
        name = path.lstrip("/").encode() + b"\0"
        fields = [len(self.paths) + 1, mode, 0, 0, 1, 0, len(contents), 0, 0, 0, 0, len(name), 0]
        header = b"070701" + b"".join(b"%08X" % field for field in fields) + name
        for part in (header, contents):
            self.parts += [part, bytes(-len(part) % 4)]
        self.paths.add(path)

    def add(self, path: str, contents: bytes) -> None:
        """A file, with the folders that lead to it."""
        if path in self.paths:
            return
        for folder in reversed(Path(path).parents):
            if str(folder) not in (*self.paths, "/"):
                self.member(str(folder), 0o40755, b"")
        self.member(path, 0o100755, contents)

    def write(self, path: Path) -> None:
        self.member("TRAILER!!!", 0, b"")
        path.write_bytes(b"".join(self.parts))


def stripped(path: Path) -> bytes:
    """A file; a program without what only debuggers read."""
    contents = path.read_bytes()
    if contents[:4] != b"\x7fELF":
        return contents
    short = flavours.BUILD / "stripped"
    subprocess.run(["aarch64-linux-gnu-strip", "--strip-debug", "-o", short, path], check=True)
    return short.read_bytes()


def listed(folder: Path, chosen: list[str]) -> list[dict]:
    """The chosen tests, as ctest describes them."""
    command = ["ctest", "--test-dir", folder, *chosen, "--show-only=json-v1"]
    done = subprocess.run(command, cwd=flavours.ROOT, capture_output=True, text=True, check=True)
    tests = json.loads(done.stdout)["tests"]
    for test in tests:
        test |= {told["name"]: told["value"] for told in test.get("properties", [])}
    return tests


def file_system(folder: Path, tests: list[dict]) -> tuple[Archive, list[str]]:
    """What the kernel begins with; and the lines of /tests."""
    archive, lines = Archive(), []
    archive.add("/init", stripped(folder / "tests/kernel-init"))
    for name in LIBRARIES:
        archive.add(f"/lib/{name}", stripped(SYSROOT / name))
    for test in tests:
        variables = test.get("ENVIRONMENT", [])
        words = [*test["command"], *(word.partition("=")[2] for word in variables)]
        for word in words:
            path = Path(word)
            if path.is_absolute() and path.is_file() and path.is_relative_to(flavours.ROOT):
                archive.add(word, stripped(path))
            elif path.is_absolute() and path.is_dir() and path.is_relative_to(flavours.ROOT / "tests"):
                for file in filter(Path.is_file, path.rglob("*")):
                    archive.add(str(file), file.read_bytes())
        lines += [f"test {test['name']}", f"seconds {SLOWNESS * test['TIMEOUT']:.0f}"]
        lines += [f"env {variable}" for variable in variables] + [f"arg {word}" for word in test["command"]] + ["run -"]
    archive.add("/tests", ("\n".join(lines) + "\n").encode())
    return archive, lines


def machine(kernel: Path, files: Path) -> list[str]:
    """Signed pointers would cost the emulator time. Memory tags are off: it reports an unaligned write over two pieces
    of 16 bytes whose tags are equal (qemu-system 7.2; its qemu-user does not)."""
    command = "qemu-system-aarch64 -M virt -cpu max,pauth=off -smp 2 -m 3072 -nographic -no-reboot -net none"
    boot = "console=ttyAMA0 quiet panic=-1"
    return [*shlex.split(command), "-kernel", str(kernel), "-initrd", str(files), "-append", boot]


def shown(number: str, result: tuple[str, str, str], output: list[str], note) -> bool:
    """Prints a test's result as ctest does; whether the test has not failed."""
    name, status, took = result
    word = {"0": "Passed", SKIPPED: "***Skipped"}.get(status, f"***Failed ({status})")
    print(f"{number} {name:56} {word:16} {int(took) / 1000:8.2f} sec", flush=True)
    said = [line for line in output[:-1] if line]
    if status not in ("0", SKIPPED):
        note("\n".join([name, *said]))
    if said and (status not in ("0", SKIPPED) or name.startswith("measure")):
        print("\n".join(said), flush=True)
    return status in ("0", SKIPPED)


def run_part(flavour: str, part: str, chosen: list[str], failed) -> int:
    """Boots the flavour's kernel, which runs the chosen tests; gives how many ran."""
    folder = flavours.directory(flavour)
    tests = listed(folder, chosen)
    try:
        kernel = foreign.unpacked(flavour.partition("-")[0])
    except foreign.NotHereError as reason:
        print(f"{flavour}: {len(tests)} tests are SKIPPED: {reason}", flush=True)
        return 0
    except subprocess.CalledProcessError as error:
        failed.note(f"{flavour}: its kernel cannot be built", error.output or "")
        return len(tests)
    flavours.make(flavour, "kernel-init")
    archive, _ = file_system(folder, tests)
    files = folder / "Testing" / f"{part}.cpio"
    files.parent.mkdir(exist_ok=True)
    archive.write(files)
    ran, bad, output = 0, 0, []
    with subprocess.Popen(
        machine(kernel, files), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, errors="replace"
    ) as process:
        late = threading.Timer(STARTS + SLOWNESS * sum(test["TIMEOUT"] for test in tests), process.kill)
        late.start()
        for line in map(str.rstrip, process.stdout):
            output.append(line)
            if line.startswith("PAGES "):
                print(f"The kernel has {line.lower()}.", flush=True)
            elif told := RESULT.match(line):
                ran += 1
                bad += not shown(f"{ran:5}/{len(tests)}", told.groups(), output, partial(failed.note, flavour))
                output = []
        late.cancel()
    files.unlink()
    if ran != len(tests):
        bad += 1
        failed.note(f"{flavour}: the kernel ended after {ran} of {len(tests)} tests", "\n".join(output))
    print(f"{flavour}: {ran} tests ran on the kernel, {bad} failed", flush=True)
    return max(len(tests), bad)

"""profiler.py - ./jw profile: runs a program with libjwprofile.so, and writes what its processes left in their files.

The files are memory of this process as well, so that it reads them at any time and after the program was killed."""

import argparse
import contextlib
import mmap
import os
import shutil
import struct
import time
from pathlib import Path

import pprof
import program
from errors import TraceError, say
from preload import preload
from recorder import shared_folder

MAGIC = 0x31304C545243574A
RATE, ON, LOST = 8, 24, 28  # places in the control file


def write_word(folder: Path, value: int) -> None:
    with (folder / "control").open("r+b") as file:
        memory = mmap.mmap(file.fileno(), 4096)
        memory[ON : ON + 4] = struct.pack("<I", value)


def said_in(folder: Path) -> tuple[int, int]:
    """The rate, and how many samples had no file."""
    data = (folder / "control").read_bytes()
    return struct.unpack_from("<Q", data, RATE)[0], struct.unpack_from("<I", data, LOST)[0]


def folder_of(pid: int) -> Path:
    """Where a running program's samples are: it has mapped the file."""
    try:
        lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    except OSError as error:
        raise TraceError(f"process {pid}: {error.strerror}") from error
    for line in lines:
        if "jw-profile-" in line and line.endswith("/control"):
            return Path(line[line.index("/") :]).parent
    raise TraceError(f"process {pid} was not started by jw profile")


def image(path: Path) -> tuple[int, int]:
    """Process number, and which of its programs: exec keeps the number."""
    pid, n = path.name[1:].split("-")
    return int(pid), int(n)


def files_in(folder: Path) -> list[Path]:
    return sorted(folder.glob("P*-*"), key=image)


def output_of(output: Path, path: Path, main: int) -> Path:
    """A further process's file is beside the program's."""
    pid, n = image(path)
    if pid == main and not (path.parent / f"P{pid}-{n + 1}").exists():
        return output
    ending = next((e for e in (".pb.gz", output.suffix) if output.name.endswith(e)), "")
    stem = output.name[: len(output.name) - len(ending)]
    return output.with_name(f"{stem}.{pid}{f'-{n}' if n else ''}{ending}")


def tell(output: Path, process: pprof.Process, rate: int) -> None:
    values = list(pprof.values(process, rate).values())
    allocated, live = (sum(four[i] for four in values) / 1e6 for i in (1, 3))
    samples = sum(row[0] for row in process.rows.values())
    dropped = sum(process.dropped.values())
    say(
        f"{output}: {Path(process.program).name} {process.pid}: about {allocated:.1f} MB allocated, "
        f"{live:.1f} MB in use, {samples} samples" + (f", {dropped} dropped" if dropped else ""),
        "profile",
    )


def write_all(arguments: argparse.Namespace, folder: Path, main: int) -> None:
    rate, lost = said_in(folder)
    written = False
    for path in files_in(folder):
        try:
            process = pprof.read(path)
        except TraceError:  # killed before its file was ready
            continue
        output = output_of(arguments.output, path, main)
        pprof.write(output, process, rate, arguments.symbolize, lost)
        tell(output, process, rate)
        written |= output == arguments.output
    if not written:
        about = pprof.Process(main, os.getpid(), time.time_ns(), "", {})
        pprof.write(arguments.output, about, rate, lost=lost)
        why = "is the rate high, or the program linked statically, or set-uid?"
        say(f"{arguments.output}: no samples of the program itself: {why}", "profile")


def living(folder: Path) -> list[int]:
    """Processes of this run, also those without a sample: each has mapped the control file."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(TraceError):
            if folder_of(int(path.name)) == folder:
                found.append(int(path.name))
    return found


def wait_for_others(folder: Path) -> None:
    """The program has ended; others that it started may go on, until Ctrl-C."""
    told, interrupted = False, program.interrupted()
    while not interrupted() and (left := living(folder)):
        if not told and (told := True):
            say(f"waiting for {len(left)} further processes; Ctrl-C ends", "profile")
        time.sleep(0.2)


def run(arguments: argparse.Namespace, folder: Path) -> int:
    control = struct.pack("<3Q2I", MAGIC, arguments.rate, arguments.seed, not arguments.begin_off, 0)
    (folder / "control").write_bytes(control.ljust(4096, b"\0"))
    environment = {
        **os.environ,
        "LD_PRELOAD": preload(arguments.build / "libjwprofile.so", arguments.lib),
        "JW_PROFILE_FOLDER": str(folder),
    }
    running = program.start(arguments.program, environment)
    running.wait()
    wait_for_others(folder)
    write_all(arguments, folder, running.pid)
    return program.status_of(running)


def dump(arguments: argparse.Namespace) -> int:
    folder = folder_of(arguments.dump)
    files = [path for path in files_in(folder) if image(path)[0] == arguments.dump]
    if not files:
        raise TraceError(f"process {arguments.dump} has no samples yet")
    process, (rate, lost) = pprof.read(files[-1]), said_in(folder)
    pprof.write(arguments.output, process, rate, arguments.symbolize, lost)
    tell(arguments.output, process, rate)
    return 0


def profile(arguments: argparse.Namespace) -> int:
    for pid, value in ((arguments.on, 1), (arguments.off, 0)):
        if pid is not None:
            write_word(folder_of(pid), value)
    if arguments.dump is not None:
        return dump(arguments)
    if not arguments.program:
        return 0
    if not (1 <= arguments.rate < 1 << 40 and 0 <= arguments.seed < 1 << 64):
        raise TraceError("--rate is from 1 to 2^40 - 1, --seed from 0 to 2^64 - 1")
    program.check_place(arguments.output)
    folder = shared_folder("profile", arguments.output)
    try:
        return run(arguments, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)

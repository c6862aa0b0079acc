"""./jw demo: a real, allocation-heavy program on the system's malloc and on jwmalloc, side by side."""

import argparse
import os
import re
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import counter
import flavours

WORKLOAD = Path(__file__).with_name("workload.py")
PYTHON = "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else sys.executable
IDLE_SECONDS = 3
ROUNDS = 2
COUNTED_SCALE = 0.02


@dataclass
class Run:
    seconds: float
    processor: float
    peak: int
    idle: int
    digest: str
    instructions: int | None


def environment(library: Path | None) -> dict[str, str]:
    result = dict(os.environ, PYTHONMALLOC="malloc", PYTHONHASHSEED="0")
    result.pop("LD_PRELOAD", None)
    return result | ({"LD_PRELOAD": str(library)} if library else {})


def kilobytes(path: str, field: str) -> int:
    return int(re.search(rf"^{field}:\s+(\d+) kB", Path(path).read_text(), re.MULTILINE)[1])


def measure(library: Path | None, scale: float, counted: bool) -> Run:
    command = [PYTHON, str(WORKLOAD), str(scale)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment(library), **pipes) as process:
        instructions = counter.Counter(process.pid) if counted else None
        process.stdin.write("go\n")
        process.stdin.flush()
        answer = process.stdout.readline().split()
        if len(answer) != 3:
            raise SystemExit(f"jw demo: the program failed with status {process.wait()}")
        ticks = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
        total = instructions.read() if instructions else None
        time.sleep(IDLE_SECONDS)
        idle = kilobytes(f"/proc/{process.pid}/smaps_rollup", "Rss")
        peak = kilobytes(f"/proc/{process.pid}/status", "VmHWM")
        process.stdin.close()
        if process.wait():
            raise SystemExit(f"jw demo: the program ended with status {process.returncode}")
    if instructions:
        instructions.close()
    processor = sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
    return Run(float(answer[1]), processor, peak, idle, answer[2], total)


def count_slowly(libraries: list[Path | None]) -> list[int]:
    """Instructions of a small run under valgrind, both at once; empty when valgrind cannot."""
    try:
        flavours.setup("valgrind")
    except subprocess.CalledProcessError:
        return []
    tool = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    command = [*tool, PYTHON, str(WORKLOAD), str(COUNTED_SCALE)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen(command, env=environment(library), **pipes) for library in libraries]
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.close()
    reports = [process.stderr.read() for process in processes]
    counts = [re.search(r"I +refs: +([\d,]+)", report) for report in reports]
    if any(process.wait() for process in processes) or not all(counts):
        return []
    return [int(count[1].replace(",", "")) for count in counts]


def row(name: str, form: str, system: float, ours: float) -> None:
    print(f"  {name:34}{form.format(system):>12}{form.format(ours):>12}{ours / system:>9.2f}")


def report(system: list[Run], ours: list[Run]) -> None:
    def least(runs: list[Run], field: str) -> float:
        return min(getattr(run, field) for run in runs)

    def middle(runs: list[Run], field: str) -> float:
        return statistics.median(getattr(run, field) for run in runs) / 1024

    print(f"  {'':34}{'system':>12}{'jwmalloc':>12}{'ratio':>9}")
    row("time, s (best)", "{:.2f}", least(system, "seconds"), least(ours, "seconds"))
    row("processor time, s (best)", "{:.2f}", least(system, "processor"), least(ours, "processor"))
    row("peak memory, MB (median)", "{:.1f}", middle(system, "peak"), middle(ours, "peak"))
    row(f"idle memory after {IDLE_SECONDS} s, MB (median)", "{:.1f}", middle(system, "idle"), middle(ours, "idle"))


def report_instructions(system: list[Run], ours: list[Run], slow: list[int]) -> None:
    if system[0].instructions:
        row("instructions, 10^9", "{:.2f}", system[0].instructions / 1e9, ours[0].instructions / 1e9)
    elif slow:
        row(f"instructions, 10^9 ({COUNTED_SCALE:.0%} of the work *)", "{:.3f}", slow[0] / 1e9, slow[1] / 1e9)
        print("  * this processor's counter is not available, so valgrind counted a smaller run")
    else:
        print("  instructions: - (neither the processor's counter nor valgrind is available)")


def run(arguments) -> int:
    library = flavours.build("release") / "libjwmalloc.so"
    counted = counter.available()
    print(f"Python parses its library, exchanges JSON in threads, indexes a table in memory; {ROUNDS} runs each ...")
    system, ours = [], []
    for number in range(ROUNDS):
        order = [(None, system), (library, ours)]
        for preload, runs in order if number % 2 == 0 else reversed(order):
            runs.append(measure(preload, arguments.scale, counted))
    slow = [] if counted else count_slowly([None, library])
    report(system, ours)
    report_instructions(system, ours, slow)
    if len({run.digest for run in system + ours}) != 1:
        print("jw demo: the results of the program differ", file=sys.stderr)
        return 1
    print("The program's results were the same in all runs.")
    return 0


def add_command(commands) -> None:
    command = commands.add_parser(
        "demo",  # without help: ./jw --help has it at the top
        description="Runs a Python program that allocates much on the system's malloc and on jwmalloc in turn. Each "
        "Python object is a malloc of its own. Checks that the results are equal. Prints time, peak memory, memory "
        f"{IDLE_SECONDS} seconds after most objects were freed, and instructions. Takes less than two minutes with the "
        "build.",
    )
    command.add_argument("--scale", type=float, default=1.0, help="amount of work, as a multiple")
    command.formatter_class = argparse.ArgumentDefaultsHelpFormatter
    command.set_defaults(run=run)

"""Which clients and which unit tests execute a line of src/: a random mutant meets those only, the fastest first.

Both are measured once for a state of the sources. A line counts as executed if the last block that starts at the line
or above in its file ran (clients, see coverage.py), or if gcov counts it (unit tests).
"""

import gzip
import hashlib
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import coverage
from clients import Client, Programs
from flavours import ROOT
from unit_programs import UnitPrograms, own_headers

CLIENT_LIMIT = 60  # seconds a client may take to be measured, and for each mutant four times what it took
UNIT_LIMIT = 60
# Else the compiler makes fork a call that forgets the counts of the child's handlers (pthread_atfork).
COUNTERS = ("--coverage", "-fno-builtin-fork")
# A child that ends by _exit leaves no counts otherwise. Writing them takes time, so a test is timed without.
WRAP_EXIT = ("-Wl,--wrap=_exit", "-Wl,--wrap=_Exit")
EXITS = """#include <gcov.h>
#include <stdlib.h>
void __real__exit(int status);
void __wrap__exit(int status) { if (getenv("JW_COUNTS")) __gcov_dump(); __real__exit(status); }
void __wrap__Exit(int status) { __wrap__exit(status); }
"""
Lines = dict[str, list[int]]  # of a file: the executed lines


def executed(blocks: dict[Path, dict[int, bool]]) -> Lines:
    """Each line of a file belongs to the last block that starts there or above."""
    found: Lines = {}
    for path, ran in blocks.items():
        lines = range(min(ran), len(path.read_text().splitlines()) + 1)
        state, reached = False, []
        for line in lines:
            state = ran.get(line, state)
            if state:
                reached.append(line)
        if reached:
            found[str(path.relative_to(ROOT))] = reached
    return found


def measure_client(programs: Programs, client: Client, run_program: Callable) -> dict:
    program = programs.client(client)
    ran = program.with_suffix(".blocks")
    result = run_program(program, programs.compiler, "--coverage", ran, "--budget", CLIENT_LIMIT)
    blocks: coverage.Lines = {}
    addresses = coverage.block_addresses(program)
    reached = {int(text, 16) for text in ran.read_text().split()}
    for address, (path, number) in zip(addresses, coverage.places(program, addresses), strict=True):
        if number and ROOT / "src" in path.parents:
            of_file = blocks.setdefault(path, {})
            of_file[number] = of_file.get(number, False) or address in reached
    return {"seconds": round(result.seconds, 2), "complete": result.status == 0, "lines": executed(blocks)}


def gcov_lines(objects: list[Path]) -> Lines:
    done = subprocess.run(
        ["gcov", "--json-format", "--stdout", *objects], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True
    )
    found: dict[str, set[int]] = {}
    for text in filter(None, done.stdout.splitlines()):
        for file in json.loads(text)["files"]:
            path = (ROOT / file["file"]).resolve()
            if ROOT / "src" in path.parents:
                ran = {line["line_number"] for line in file["lines"] if line["count"]}
                found.setdefault(str(path.relative_to(ROOT)), set()).update(ran)
    return {name: sorted(lines) for name, lines in found.items() if lines}


def measure_unit(units: UnitPrograms, name: str) -> dict:
    """Its objects are compiled with counters of lines. Tests share them, so one runs at a time."""
    test = units.tests[name]
    objects = units.objects(test, *COUNTERS)
    counters = [path.with_suffix(".gcda") for path in objects.values()]
    with tempfile.TemporaryDirectory() as folder:
        exits, program = Path(folder) / "exits.o", Path(folder) / name
        subprocess.run([test.compiler, "-x", "c", "-c", "-", "-o", exits], input=EXITS, text=True, check=True)
        test.link([*objects.values(), exits], program, "--coverage", *WRAP_EXIT)
        start = time.monotonic()
        ran(program)
        seconds = time.monotonic() - start
        for path in counters:
            path.unlink(missing_ok=True)
        complete = ran(program, JW_COUNTS="1")
    lines = gcov_lines([path for path in counters if path.exists()])
    return {"seconds": round(seconds, 2), "complete": complete, "lines": lines}


def ran(program: Path, **environment: str) -> bool:
    """Whether it passes."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.run([program], **quiet, timeout=UNIT_LIMIT, env=os.environ | environment).returncode == 0


def digest(*paths: Path) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:8]


def measured(place: Path, keys: list[str], measure: Callable[[str], dict], jobs: int) -> dict[str, dict]:
    """What is known of each; what is not known is measured, and kept. A key has the name and a digest of the text."""
    place.mkdir(parents=True, exist_ok=True)

    def one(key: str) -> dict:
        file = place / f"{key}.json.gz"
        name = key.rpartition("-")[0]
        if not file.exists():
            fresh = file.with_suffix(".new")
            fresh.write_bytes(gzip.compress(json.dumps(measure(name)).encode()))
            fresh.rename(file)
            print(f"{name}: its lines are known", flush=True)
        return json.loads(gzip.decompress(file.read_bytes())) | {"key": key}

    with ThreadPoolExecutor(jobs) as pool:
        return {row["key"].rpartition("-")[0]: row for row in pool.map(one, keys)}


def reach_of_clients(place: Path, chosen: list[Client], compiler: str, run_program: Callable, jobs: int) -> dict:
    programs = Programs(compiler, "-O1", coverage.INSTRUMENT)
    known = {client.name: client for client in chosen}
    keys = [f"{client.name}-{digest(client.path)}" for client in chosen]
    return measured(place / "clients", keys, lambda name: measure_client(programs, known[name], run_program), jobs)


def reach_of_units(place: Path, units: UnitPrograms) -> dict[str, dict]:
    own = {name: test.own_sources() for name, test in units.tests.items()}
    keys = [f"{name}-{digest(*sources, *own_headers(sources))}" for name, sources in own.items()]
    return measured(place / "units", keys, lambda name: measure_unit(units, name), 1)

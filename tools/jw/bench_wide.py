"""The benchmark wide of ./jw bench: programs of other people's ideas (bench/wide.c), and other people's programs."""

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench_peers import Allocator
from bench_run import OUTPUT, SOURCES, Measure, Session, TimeLimit, driver, finish, results, start
from bench_stats import speed

# How many objects a cell makes, so that it takes some tenths of a second.
DRIVERS = {
    "larson": 4_000_000,
    "sized": 4_000_000,
    "table": 2_000_000,
    "scratch": 200_000_000,
    "simple": 8_000_000,
    "mixed": 6_000_000,
    "vectors": 2_000_000,
    "strings": 4_000_000,
    "maps": 2_000_000,
    "lists": 8_000_000,
    "sets": 3_000_000,
}
JSON = """
import json
tags = [{f"t{t}": "x" * (n * t %% 90) for t in range(n %% 7)} for n in range(4000)]
rows = [{"id": n, "name": f"user {n}", "scores": [n / 7, n %% 13], "tags": tags[n]} for n in range(4000)]
for _ in range(%d): rows = json.loads(json.dumps(rows))
"""
SQL = """
create table item (id integer primary key, name text, size integer, body blob);
with recursive n(i) as (select 1 union all select i + 1 from n where i < %d)
  insert into item select i, 'item ' || (i * 7919 %% 100003), i * i %% 1009, zeroblob(i %% 200) from n;
create index by_name on item (name);
create index by_size on item (size, name);
select count(*) from (select size, count(*), max(name) from item group by size order by size);
delete from item where id %% 3 = 0;
"""
REDIS_TESTS = "set,get,incr,lpush,rpop,sadd,hset,spop,zadd,lrange_100"


def whole(process: subprocess.Popen) -> dict[str, tuple]:
    """Processor time and peak memory of a program that bench/spawn.c runs, once it has ended."""
    line = results(finish(process))[-1]
    return {"program": ((line["user"] + line["system"]) * 1e3, "ms"), "peak": (line["peak_kb"] / 1024, "MB")}


def spawned(allocator: Allocator, *command: object) -> subprocess.Popen:
    return start(allocator, [OUTPUT / "spawn", *command])


@contextmanager
def server(allocator: Allocator, folder: Path) -> Iterator[tuple[subprocess.Popen, Path]]:
    """Redis on a socket of its own."""
    socket = folder / "socket"
    options = ["--port", "0", "--unixsocket", socket, "--save", "", "--dir", folder, "--daemonize", "no"]
    process = spawned(allocator, "redis-server", *options)
    try:
        end = time.monotonic() + TimeLimit.seconds
        while not socket.exists():
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError("redis-server does not start")
            time.sleep(0.01)
        yield process, socket
    finally:
        if process.returncode is None:
            process.kill()
            process.communicate()


def redis(allocator: Allocator, requests: int) -> dict[str, tuple]:
    with tempfile.TemporaryDirectory() as name, server(allocator, Path(name)) as (process, socket):
        load = ["redis-benchmark", "-s", socket, "-q", "-n", requests, "-r", 20_000, "-d", 200, "-t", REDIS_TESTS]
        quiet = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run([str(word) for word in load], timeout=TimeLimit.seconds, **quiet)
        subprocess.run(["redis-cli", "-s", str(socket), "shutdown", "nosave"], check=False, stderr=subprocess.DEVNULL)
        return whole(process)


def run(allocator: Allocator, *command: object) -> dict[str, tuple]:
    return whole(spawned(allocator, *command))


def programs(part: int) -> dict[str, Measure]:
    """By name those that there are."""
    cxx = ["g++", "-std=c++17", "-O1", "-c", "-o", "/dev/null", SOURCES / "containers.cpp"]
    found: dict[str, Measure] = {
        "python": lambda one: run(one, sys.executable, "-I", "-c", JSON % (40 // part)),
        "sqlite": lambda one: run(one, "sqlite3", ":memory:", SQL % (200_000 // part)),
        "g++": lambda one: run(one, *cxx),
        "redis": lambda one: redis(one, 16_000 // part),
    }
    needed = {"sqlite": "sqlite3", "redis": "redis-server"}
    return {name: measure for name, measure in found.items() if shutil.which(needed.get(name, "sh"))}


def wide(session: Session) -> None:
    """Programs of many kinds, with one thread and with as many as there are cores."""
    part = 8 if session.quick else 1
    cases: dict[str, Measure] = {}
    for cell, work in DRIVERS.items():
        for name, threads in {"1": 1, "N": session.cores}.items():
            options = [cell, f"threads={threads}", f"work={work // part}"]
            cases[f"{cell}-{name}"] = lambda one, o=options: speed(driver(one, "wide", *o))
    session.interleave(cases | programs(part))

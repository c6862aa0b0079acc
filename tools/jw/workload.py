"""What ./jw demo runs: an afternoon of a Python program's memory in a few seconds, then quiet.

Usage: python3 workload.py SCALE. It waits for a line on standard input, works, frees all but what a cache would keep,
prints `done SECONDS DIGEST`, stays idle until standard input ends. With PYTHONMALLOC=malloc every object is a malloc.
Two threads parse, the main thread drops what they made, so objects are freed by another thread than their own.
"""

import ast
import gc
import hashlib
import json
import sqlite3
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

digest = hashlib.sha256()


def record(*values: object) -> None:
    digest.update(repr(values).encode())


def parse_sources(count: int) -> list[str]:
    """Python's own library as syntax trees, all alive at once; keeps the names of its functions."""
    directory = Path(ast.__file__).parent
    names = sorted(path for path in directory.glob("*.py") if path.stat().st_size < 60_000)[:count]
    with ThreadPoolExecutor(2) as pool:
        trees = list(pool.map(lambda path: ast.parse(path.read_text(encoding="utf-8")), names))
    kept = [node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    record(len(kept), kept[:100])
    return kept[::20]


def exchange_documents(count: int) -> list[dict]:
    """Messages as a service sees them: built, written as JSON, read back in threads, a few kept."""

    def message(number: int) -> dict:
        tags = {f"tag{tag}": "x" * (number * tag % 90) for tag in range(number % 7)}
        return {"id": number, "name": f"user {number}", "scores": [number / 7, number % 13], "tags": tags}

    texts = [json.dumps([message(number) for number in range(start, start + 500)]) for start in range(0, count, 500)]
    with ThreadPoolExecutor(2) as pool:
        read = [entry for entries in pool.map(json.loads, texts) for entry in entries]
    record(len(read), sum(map(len, texts)), read[-1:])
    return read[::200]


def index_table(count: int) -> list[tuple]:
    """A table and two indices in memory."""
    with sqlite3.connect(":memory:") as base:
        base.execute("create table item (id integer primary key, name text, size integer, body blob)")
        rows = ((n, f"item {n * 7919 % count}", n * n % 1009, b"b" * (n % 200)) for n in range(count))
        base.executemany("insert into item values (?, ?, ?, ?)", rows)
        base.execute("create index by_name on item (name)")
        base.execute("create index by_size on item (size, name)")
        kept = base.execute("select size, count(*), max(name) from item group by size order by size").fetchall()
    base.close()
    record(kept)
    return kept[::10]


def main() -> None:
    scale = float(sys.argv[1])
    sys.stdin.readline()
    start = time.perf_counter()
    kept = []
    for _ in range(2):
        kept += parse_sources(round(150 * scale))
        kept += exchange_documents(round(120_000 * scale))
        kept += index_table(round(200_000 * scale))
    gc.collect()
    print("done", time.perf_counter() - start, digest.hexdigest(), flush=True)
    sys.stdin.read()
    record(len(kept))


main()

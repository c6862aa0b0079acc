"""Mutants: the allocator's source with one thing wrong, which a client of the model checker must reject.

Order mutants weaken one atomic operation by one step; they follow from the source (orders.py). Logic mutants, in
verify/mutants/*.toml, leave out a retry, a rollback or a check:
  name, file, old (stands once in the file), new, and client (or clients), or excused: why no client can tell
"""

from dataclasses import dataclass, field
from pathlib import Path

import orders

try:
    import tomllib
except ModuleNotFoundError:  # Python before 3.11
    import tomli as tomllib

ROOT = orders.ROOT


@dataclass
class Mutant:
    name: str
    path: Path
    text: str  # of the whole file
    clients: list[str] = field(default_factory=list)
    excuse: str = ""
    kind: str = "logic"
    line: int = 0


def order_mutants() -> list[Mutant]:
    found = orders.operations()
    tags = [operation.tag for operation in found]
    mutants = []
    for number, operation in enumerate(found):
        lines = operation.path.read_text().splitlines(keepends=True)
        line = lines[operation.line]
        for lost, left in orders.WEAKER[operation.order]:
            changed = line[: operation.column] + left + line[operation.column + len(operation.order) :]
            text = "".join([*lines[: operation.line], changed, *lines[operation.line + 1 :]])
            again = tags[:number].count(operation.tag)
            name = f"{operation.tag}{f'.{again + 1}' if again else ''}-{lost}"
            excuse = operation.kept(lost)
            clients = [] if excuse else operation.clients
            mutants.append(Mutant(name, operation.path, text, clients, excuse, kind="order", line=operation.line + 1))
    return mutants


def logic_mutants() -> list[Mutant]:
    mutants = []
    for table in sorted((ROOT / "verify/mutants").glob("*.toml")):
        for entry in tomllib.loads(table.read_text()).get("mutant", []):
            path = ROOT / entry["file"]
            text = path.read_text()
            if text.count(entry["old"]) != 1:
                raise SystemExit(f"{table}: {entry['name']}: its old text stands {text.count(entry['old'])} times")
            clients = entry.get("clients") or [entry["client"]] if "excused" not in entry else []
            mutants.append(
                Mutant(
                    entry["name"],
                    path,
                    text.replace(entry["old"], entry["new"]),
                    clients,
                    entry.get("excused", ""),
                    line=text[: text.index(entry["old"])].count("\n") + 1,
                )
            )
    return mutants


def all_mutants() -> list[Mutant]:
    mutants = order_mutants() + logic_mutants()
    names = [mutant.name for mutant in mutants]
    if double := {name for name in names if names.count(name) > 1}:
        raise SystemExit(f"mutants with the same name: {', '.join(sorted(double))}")
    return mutants

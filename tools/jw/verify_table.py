"""The table of docs/verification.md, from the results of ./jw verify --table."""

import re
from collections import Counter

from clients import clients
from flavours import ROOT
from mutants import all_mutants

DOCUMENT = ROOT / "docs/verification.md"
BEGIN, END = "<!-- table: ./jw verify --table -->", "<!-- end of table -->"
HEAD = """| client | bound | property | executions | dead ends | s | mutants killed |
| --- | --- | --- | ---: | ---: | ---: | ---: |"""


def rows(results: dict) -> list[str]:
    killed = Counter(row["killed"] for row in results["mutants"] if row["killed"])
    lines = [
        f"| `{row['client']}` | {row['bound']} | {row['property']} | {row['executions']} | {row['dead_ends']} "
        f"| {row['seconds']} | {killed[row['client']]} |"
        for row in results["clients"]
    ]
    excused = [row for row in results["mutants"] if "excused" in row]
    lines += ["", f"{len(results['mutants'])} mutants: {killed.total()} killed, {len(excused)} excused:", ""]
    return lines + [f"- `{row['name']}` ({row['place']}): {row['excused']}" for row in excused]


def write(results: dict) -> None:
    table = "\n".join([BEGIN, HEAD, *rows(results), END])
    text = DOCUMENT.read_text()
    DOCUMENT.write_text(re.sub(f"{re.escape(BEGIN)}.*{re.escape(END)}", lambda _: table, text, flags=re.S))


def check() -> bool:
    """The table has the clients and the mutants that there are."""
    text = DOCUMENT.read_text()
    listed, known = set(re.findall(r"^\| `(\w+)` \|", text, re.M)), {client.name for client in clients()}
    mutants = len(all_mutants())
    if listed == known and f"\n{mutants} mutants: " in text:
        return True
    print(f"{DOCUMENT}: not of these clients ({', '.join(listed ^ known) or 'none'}) and {mutants} mutants;")
    print("./jw verify --table writes it anew")
    return False

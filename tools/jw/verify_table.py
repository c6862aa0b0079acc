"""The table of docs/verification.md, from the results of ./jw verify --table."""

import re
from collections import Counter

from flavours import ROOT

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


def listed() -> set[str]:
    """The clients that the table has."""
    return set(re.findall(r"^\| `(\w+)` \|", DOCUMENT.read_text(), re.M))

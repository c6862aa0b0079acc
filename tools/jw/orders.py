"""The ordered atomic operations of the source, with what their comments say of them.

Every operation stronger than relaxed carries a comment on its lines or just above:
  [KN1] acquire: why; pairs [KN3] [KN4]; client knit_release            or: clients A B
and where no client can tell the weaker form apart, in place of or after the clients:
  kept: reason       of an acq_rel, for one half: kept acquire: reason
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ORDER = re.compile(r"memory_order_(acquire|release|acq_rel|seq_cst)")
TAG = re.compile(r"\[([A-Z]{2}\d+)\]")
KEPT = re.compile(r"kept(?: (acquire|release))?: ([^;]+)")
LINES_ABOVE = 5

# An order, the name of what a mutant of it loses, and what is left.
WEAKER = {
    "acquire": [("acquire", "relaxed")],
    "release": [("release", "relaxed")],
    "acq_rel": [("acquire", "release"), ("release", "acquire")],
    "seq_cst": [("seq_cst", "acq_rel")],
}


@dataclass
class Operation:
    path: Path
    line: int  # from 0
    column: int
    order: str
    comment: str  # from the tag on, on one line; empty: none

    @property
    def place(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line + 1}"

    @property
    def tag(self) -> str:
        found = TAG.search(self.comment)
        return found.group(1) if found else ""

    @property
    def pairs(self) -> set[str]:
        after = self.comment.split("pairs", 1)
        return set(TAG.findall(after[1].split(";")[0])) if len(after) > 1 else set()

    @property
    def clients(self) -> list[str]:
        found = re.search(r"; clients? ([\w ]+)", self.comment)
        return found.group(1).split() if found else []

    def kept(self, lost: str) -> str:
        """Why the mutant that loses this half needs no client; empty when it does need one."""
        reasons = {half or lost: reason.strip() for half, reason in KEPT.findall(self.comment)}
        return reasons.get(lost, "")


def tagged_comment(lines: list[str], number: int) -> str:
    """The text of the comment that tags the operation whose order stands on this line, from its tag on."""
    text = "\n".join(lines[max(0, number - LINES_ABOVE) : number + 1])
    comments = [c for c in re.findall(r"/\*(.*?)\*/", text, re.DOTALL) if TAG.search(c)]
    if not comments:
        return ""
    flat = re.sub(r"\s*\n\s*\*?\s*", " ", comments[-1]).strip()
    return flat[TAG.search(flat).start() :]


def operations() -> list[Operation]:
    found = []
    for path in sorted((ROOT / "src").rglob("*.[ch]")):
        lines = path.read_text().splitlines()
        for number, line in enumerate(lines):
            for order in ORDER.finditer(line):
                comment = tagged_comment(lines, number)
                found.append(Operation(path, number, order.start(1), order.group(1), comment))
    return found


def pairing_problems(found: list[Operation]) -> list[str]:
    by_tag: dict[str, Operation] = {}
    problems = []
    for operation in found:
        if not operation.tag or not operation.pairs:
            problems.append(f"{operation.place}: no [tag] and partner for {operation.order}")
            continue
        other = by_tag.setdefault(operation.tag, operation)
        if other.comment != operation.comment:
            problems.append(f"{operation.place}: [{operation.tag}] stands at {other.place}, too")
    for tag, operation in by_tag.items():
        for partner in sorted(operation.pairs):
            if partner not in by_tag:
                problems.append(f"{operation.place}: [{tag}] pairs [{partner}], which does not exist")
            elif tag not in by_tag[partner].pairs:
                problems.append(f"{operation.place}: [{tag}] pairs [{partner}], but not the other way round")
    return problems


def tags_of_tools(found: list[Operation]) -> list[str]:
    """A tag of the library says nothing else in insight, whose tools may have tags of their own."""
    tags = {operation.tag: operation.place for operation in found if operation.tag}
    paths = sorted((ROOT / "insight").rglob("*.[ch]"))
    named = [(path, tag) for path in paths for tag in sorted(set(TAG.findall(path.read_text()))) if tag in tags]
    return [f"{path.relative_to(ROOT)}: [{tag}] stands at {tags[tag]}, too" for path, tag in named]


def client_problems(found: list[Operation]) -> list[str]:
    problems = []
    for operation in found:
        for client in operation.clients:
            if not (ROOT / f"verify/clients/{client}.c").exists():
                problems.append(f"{operation.place}: there is no client {client}")
        for lost, _ in WEAKER[operation.order]:
            if not operation.clients and not operation.kept(lost):
                problems.append(f"{operation.place}: [{operation.tag}] names no client, nor why its {lost} is kept")
    return problems


def check() -> bool:
    found = operations()
    problems = pairing_problems(found) + client_problems(found) + tags_of_tools(found)
    print("\n".join(problems) or f"{len(found)} ordered operations, all tagged, paired and with a client or a reason")
    return not problems

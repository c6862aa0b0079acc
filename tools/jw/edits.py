"""Random mutants: small edits of the C sources, at places that clang's syntax tree gives.

    delete      a statement is left out: an assignment, a call, an atomic operation, break, continue, return
    swap        two stores that follow each other change places; a call without result counts as one
    off by one  a shift goes one bit further, a mask lies one bit higher, < becomes <=
    negate      a condition has the opposite meaning, or one side of && and || has
    constant    a number or an enumerator is one more, true becomes false

Text that a macro's body has is not edited; its arguments are. Memory orders have mutants of their own (mutants.py).
"""

import json
import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

COMPILER = "clang-16"
STORES = {"CompoundAssignOperator", "AtomicExpr", "CallExpr"}
JUMPS = {"BreakStmt", "ContinueStmt", "ReturnStmt"}
BODIES = {"CompoundStmt", "IfStmt", "ForStmt", "WhileStmt", "DoStmt", "CaseStmt", "DefaultStmt", "LabelStmt"}
WRAPPERS = {"ParenExpr", "ImplicitCastExpr", "ConstantExpr", "CStyleCastExpr"}
SKIPPED = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|//[^\n]*|/\*.*?\*/', re.S)
OPPOSITE = {"true": "false", "false": "true"}
STRICT = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}


@dataclass(frozen=True, order=True)
class Edit:
    """Replaces text[begin:end] of a file, whose bytes are read as Latin-1."""

    path: Path
    begin: int
    end: int
    new: str
    kind: str
    function: str
    line: int
    old: str
    first: int  # line of the function's body
    last: int

    def text(self) -> str:
        whole = read(self.path)
        return whole[: self.begin] + self.new + whole[self.end :]


def read(path: Path) -> str:
    return path.read_bytes().decode("latin-1")


def statement_end(text: str, begin: int, closing: str = ";") -> int:
    """Behind the `;`, or the bracket, that ends what begins here; -1 if there is none."""
    depth = at = 0
    for at in range(begin, len(text)):
        if found := SKIPPED.match(text, at):
            text = text[:at] + " " * len(found[0]) + text[found.end() :]
        letter = text[at]
        if depth == 0 and letter == closing:
            return at + 1
        depth += (letter in "([{") - (letter in ")]}")
        if depth < 0:
            return -1
    return -1


def is_balanced(text: str) -> bool:
    return bool(text) and statement_end(text + ";", 0) == len(text) + 1


def trees(text: str) -> Iterator[dict]:
    """Of a dump in several parts."""
    at = 0
    while at < len(text):
        part, at = json.JSONDecoder().raw_decode(text, at)
        yield part
        at += len(text[at:]) - len(text[at:].lstrip())


class Tree:
    """The syntax tree of one file. Each node gets its place: file, begin, end, and whether it is outside of macros.
    The dump names a file only where it is another one than before. `only`: what has this text in its name."""

    def __init__(self, source: Path, options: list[str], only: str = ""):
        command = [COMPILER, "-std=gnu11", *options, "-w", "-fsyntax-only", "-Xclang", "-ast-dump=json", source]
        command += ["-Xclang", f"-ast-dump-filter={only}"] if only else []
        text = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, check=True).stdout.decode()
        self.root = {"inner": list(trees(text))} if only else json.loads(text)
        self.file = ""
        self.locate(self.root)

    def bare(self, place: dict) -> tuple[str, int, int]:
        self.file = place.get("file", self.file)
        return self.file, place.get("offset", -1), place.get("tokLen", 0)

    def point(self, place: dict) -> tuple[str, int, int, bool]:
        if "spellingLoc" not in place:
            return *self.bare(place), True
        spelled, expanded = self.bare(place["spellingLoc"]), self.bare(place["expansionLoc"])
        argument = place["expansionLoc"].get("isMacroArgExpansion", False)
        return *(spelled if argument else expanded), argument

    def locate(self, node: dict) -> None:
        if "loc" in node:
            self.point(node["loc"])
        if "range" in node:
            file, begin, _, first = self.point(node["range"]["begin"])
            end_file, end, length, last = self.point(node["range"]["end"])
            node["place"] = (file if file == end_file else "", begin, end + length, first and last)
        for inner in node.get("inner", ()):
            self.locate(inner)

    def functions(self) -> Iterator[tuple[str, str, dict]]:
        """File, name and body of each. Attributes, such as always_inline, follow the body."""
        for node in self.root["inner"]:
            bodies = [part for part in node.get("inner", ()) if part.get("kind") == "CompoundStmt"]
            if node["kind"] == "FunctionDecl" and bodies:
                yield bodies[0]["place"][0], node["name"], bodies[0]


class Function:
    """Finds the edits of one function."""

    def __init__(self, path: Path, name: str, body: dict):
        self.path, self.name, self.body, self.whole = path, name, body, read(path)
        self.span = [self.line_of(at) for at in body["place"][1:3]]
        self.found: list[Edit] = []

    def edits(self) -> list[Edit]:
        self.visit(self.body, [])
        return self.found

    def add(self, kind: str, begin: int, end: int, new: str) -> None:
        old = self.whole[begin:end]
        if kind in ("delete", "swap") or (begin >= 0 and is_balanced(old)):
            self.found.append(Edit(self.path, begin, end, new, kind, self.name, self.line_of(begin), old, *self.span))

    def line_of(self, place: int) -> int:
        return self.whole.count("\n", 0, place) + 1

    def extent(self, node: dict) -> tuple[int, int]:
        """Of an expression outside of macros, or in the argument of one; (-1, -1): it is not."""
        file, begin, end, direct = node.get("place", ("", -1, -1, False))
        return (begin, end) if direct and Path(file) == self.path and begin < end else (-1, -1)

    def visit(self, node: dict, above: list[dict]) -> None:
        kind, inner = node.get("kind"), node.get("inner", [])
        if kind in BODIES:
            self.statements(node, inner, above)
        if kind in ("IfStmt", "WhileStmt"):
            self.condition(node)
        elif kind == "ForStmt" and inner[2]:
            self.negate(*self.extent(inner[2]))
        elif kind == "ConditionalOperator":
            self.negate(*self.extent(inner[0]))
        elif kind == "ReturnStmt" and inner and inner[0].get("type", {}).get("qualType") in ("_Bool", "bool"):
            if bare(inner[0])["kind"] != "IntegerLiteral":
                self.negate(*self.extent(inner[0]))
        elif kind == "BinaryOperator":
            self.operator(node, inner)
        elif kind == "IntegerLiteral" or node.get("referencedDecl", {}).get("kind") == "EnumConstantDecl":
            self.constant(node, above)
        for child in inner:
            self.visit(child, [*above, node])

    def condition(self, node: dict) -> None:
        begin = node["place"][1]
        if word := re.compile(r"(if|while)\s*\(").match(self.whole, max(begin, 0)):
            self.negate(word.end(), statement_end(self.whole, word.end(), ")") - 1)

    def negate(self, begin: int, end: int) -> None:
        self.add("negate", begin, end, f"!({self.whole[begin:end]})")

    def operator(self, node: dict, inner: list[dict]) -> None:
        (_, left), (right, _) = map(self.extent, inner)
        if node["opcode"] in ("&&", "||"):
            for side in inner:
                self.negate(*self.extent(side))
        if node["opcode"] in STRICT and self.whole[left:right].strip() == node["opcode"]:
            at = self.whole.index(node["opcode"], left)
            self.add("off by one", at, at + len(node["opcode"]), STRICT[node["opcode"]])

    def constant(self, node: dict, above: list[dict]) -> None:
        begin, end = self.extent(node)
        text = self.whole[begin:end]
        if begin < 0:  # true and false are macros
            begin = node["place"][1]
            word = re.compile(r"(true|false)\b").match(self.whole, max(begin, 0))
            if word and Path(node["place"][0]) == self.path:
                self.add("constant", begin, word.end(), OPPOSITE[word[0]])
        elif not text.startswith("memory_order"):
            user = next((node for node in reversed(above) if node["kind"] not in WRAPPERS), {})
            if user.get("opcode") in ("<<", ">>"):
                self.add("off by one", begin, end, f"({text} + 1)")
            elif user.get("opcode") in ("&", "|", "^", "&=", "|=", "^="):
                self.add("off by one", begin, end, f"({text} << 1)")
            else:
                self.add("constant", begin, end, f"({text} + 1)")

    def statements(self, node: dict, inner: list[dict], above: list[dict]) -> None:
        before: tuple[int, int] | None = None
        for child in inner:
            begin = child.get("place", ("", -1))[1]
            is_step = is_store(child) or child.get("kind") in JUMPS
            end = statement_end(self.whole, begin) if is_step and begin >= 0 else -1
            is_last = not above and child is inner[-1] and child.get("kind") == "ReturnStmt"
            if end > 0 and not is_last:
                self.add("delete", begin, end, "{}" + "\n" * self.whole.count("\n", begin, end))
            store = (begin, end) if end > 0 and has_no_result(child) else None
            if store and before and node["kind"] == "CompoundStmt":
                between = self.whole[before[1] : begin]
                self.add("swap", before[0], end, self.whole[begin:end] + between + self.whole[slice(*before)])
            before = store


def bare(node: dict) -> dict:
    """The expression without casts and brackets."""
    while node["kind"] in WRAPPERS and node.get("inner"):
        node = node["inner"][-1]
    return node


def is_store(node: dict) -> bool:
    node = bare(node) if node.get("kind") else {}
    kind, opcode = node.get("kind"), node.get("opcode")
    return kind in STORES or (kind == "BinaryOperator" and opcode == "=") or opcode in ("++", "--")


def has_no_result(node: dict) -> bool:
    """A store, or a call that is there for what it stores."""
    return is_store(node) and (bare(node)["kind"] != "CallExpr" or node["type"]["qualType"] == "void")


def edits_of(source: Path, options: list[str], first: Path, only: str = "") -> set[Edit]:
    """Those of the functions below the folder that this file compiles; also those of headers. `only`: see Tree."""
    found: set[Edit] = set()
    for file, name, body in Tree(source, options, only).functions():
        if first in Path(file).parents:
            found.update(Function(Path(file), name, body).edits())
    return found


def edits(sources: Iterable[Path], options: list[str], first: Path) -> list[Edit]:
    """In the order of files and places, so that a seed always means the same."""
    return sorted(set().union(*(edits_of(source, options, first) for source in sources)))

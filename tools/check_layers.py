"""check_layers.py [--source DIRECTORY] [OBJECTS...] - what each source file may know of the others.

A file includes only from its own layer and from those below it, by "layer/file.h". Only the platform and the API,
which serve the operating system's interfaces, include its headers; the others a few of the C library's. Only the
platform, base/atomics.h and base/near.h have assembler statements; only hardened/ and api/serve.h include a header of
hardened/.
Files do not depend on one another in a circle. The layers below hardened/ ask for the build only in base/mitigations.h
and before a call of a hook.

OBJECTS are directories of object files, as a build leaves them. A layer's object files use symbols only of their own
layer and of those below it, however the symbol was declared, and no header names a function of a layer above it. No
symbol of the allocator's own is weak. What rounds may run uses few functions of the C library (check_called.py).
"""

import argparse
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import check_called
import check_included
import check_names
import check_words

ROOT = Path(__file__).resolve().parents[1]
LAYERS = "base sync platform config backend midend frontend core hardened statistics api".split()
OPEN_TO_SYSTEM = {"platform", "api"}
FOR_ALL = re.compile(r"(?:std(?:bool|int|def|atomic)|string|errno|limits)\.h")
INCLUDE = re.compile(r"^[ \t]*(?:#|%:)[ \t]*include\b(?:_next)?[ \t]*(.*?)[ \t]*$", re.MULTILINE)
INCLUDED = re.compile(r'(?:"([^"]+)"|<([^>]+)>)')
BY_MACRO = {"platform/host.h"}  # the header that a host names
# In the API an assembler name of a function may follow its declaration; a statement begins a line.
ASSEMBLER = re.compile(r"\b(?:__asm__|__asm|asm)\b\s*(?:volatile|goto|__volatile__)?\s*\(")
STATEMENT = re.compile(r"^\s*" + ASSEMBLER.pattern, re.MULTILINE)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)

# Calls of functions that change few registers, which C cannot express; the layers below the platform make them, too.
ASSEMBLER_TOO = {"base/atomics.h", "base/near.h"}

BUILD = "JW_SECURE"
# Where mitigations and options are defined, and where the exported names go to one build's functions or the other's.
NAMES_BUILD = {
    "base/compiler.h",
    "base/mitigations.h",
    "config/options.def",
    "core/allocate.h",
    "core/allocate.c",
    "core/free.h",
    "core/free.c",
}
# The table that connects hardened/ with the layers below it (backend/hardened_hooks.h).
SOCKETS = {"hardened_hooks"}
# Weak because the program may have none: (layer, symbol). The platform asks for the system's symbols the same way.
FOREIGN = {("config", "jw_malloc_conf")}
FOREIGN |= {(layer, name) for layer in ("core", "hardened") for name in ("jw_allocated", "jw_freed")}
FOREIGN |= {(layer, f"__libc_{name}") for layer in ("core", "hardened") for name in ("malloc", "free")}

Graph = dict[str, set[str]]


def height(path: str) -> int:
    return LAYERS.index(path.split("/")[0])


def included(text: str) -> list[tuple[str, str, str]]:
    """Of each include: a quoted name, a name in <>, or what else stands there."""
    lines = COMMENT.sub(" ", text.replace("\\\n", " "))
    found = []
    for what in INCLUDE.findall(lines):
        name = INCLUDED.fullmatch(what)
        found.append((name[1] or "", name[2] or "", "") if name else ("", "", what))
    return found


def complaints(name: str, text: str) -> list[str]:
    """About one file by itself."""
    layer = name.split("/")[0]
    if layer not in LAYERS:
        return ["is in no known layer"]
    result = []
    for quoted, system, other in included(text):
        below = quoted.split("/")[0]
        if other and name not in BY_MACRO:
            result.append(f"includes {other}, which this check cannot follow")
        elif ".." in quoted or system.split("/")[0] in LAYERS:
            result.append(f'includes {quoted or system}, which is not of the form "layer/file.h"')
        elif quoted and quoted != "jwmalloc.h" and below not in LAYERS:
            result.append(f'includes "{quoted}", which does not name its layer')
        elif quoted and below in LAYERS and height(quoted) > height(name):
            result.append(f'includes "{quoted}", which is above it')
        elif below == "hardened" and layer != "hardened" and name != "api/serve.h":
            result.append(f'includes "{quoted}", which is for hardened/ and api/serve.h only')
        elif system and not FOR_ALL.fullmatch(system) and layer not in OPEN_TO_SYSTEM:
            result.append(f"includes <{system}>, which is for the platform layer only")
    assembler = STATEMENT if layer == "api" else ASSEMBLER
    if layer != "platform" and name not in ASSEMBLER_TOO and assembler.search(COMMENT.sub("", text)):
        result.append("has assembler, which is for the platform layer only")
    if height(name) < LAYERS.index("hardened") and name not in NAMES_BUILD:
        asking = [line for line in COMMENT.sub("", text).splitlines() if BUILD in line]
        if not all(hook in line for line in asking for hook in SOCKETS):
            result.append(f"asks for {BUILD} itself, not for a constant of base/mitigations.h")
    return result


def circles(graph: Graph) -> list[list[str]]:
    """The largest sets of files each of which leads to all others of its set (Tarjan)."""
    found, order, low, stack = [], {}, {}, []

    def visit(node: str) -> None:
        order[node] = low[node] = len(order)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in order:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == order[node]:
            members = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(members) > 1:
                found.append(sorted(members))

    for node in sorted(graph):
        if node not in order:
            visit(node)
    return found


def told(graph: Graph, how: str) -> list[str]:
    return [f"{' '.join(members)}: {how} one another in a circle" for members in circles(graph)]


def check_sources(source: Path) -> list[str]:
    files = {str(path.relative_to(source)): path.read_text() for path in sorted(source.rglob("*.[ch]"))}
    result = [f"src/{name}: {complaint}" for name, text in files.items() for complaint in complaints(name, text)]
    headers: Graph = {}
    subjects: Graph = defaultdict(set)
    for name, text in files.items():
        others = {quoted for quoted, _, _ in included(text) if quoted in files}
        if name.endswith(".h"):
            headers[name] = others
        subjects[name[:-2]] |= {other[:-2] for other in others} - {name[:-2]}
    result += told(headers, "include")
    return result + told(subjects, "a header and its source taken together, include")


def symbols(path: Path) -> list[tuple[str, str]]:
    """Kind, as nm gives it, and name of each symbol that is not local."""
    printed = subprocess.run(["nm", "--extern-only", path], capture_output=True, text=True, check=True).stdout
    return [(words[-2], words[-1]) for words in map(str.split, printed.splitlines()) if len(words) >= 2]


def check_objects(source: Path, directory: Path) -> list[str]:
    paths = {path.as_posix().rpartition("/src/")[2].removesuffix(".c.o"): path for path in directory.rglob("*.c.o")}
    paths = {name: path for name, path in paths.items() if (source / f"{name}.c").exists()}
    if not paths:
        return [f"{directory}: no object files"]
    table = {name: symbols(path) for name, path in sorted(paths.items())}
    owner = {symbol: name for name, found in table.items() for kind, symbol in found if kind not in "Uwv"}
    result = []
    graph: Graph = defaultdict(set)
    for name, found in table.items():
        layer = name.split("/")[0]
        for kind, symbol in found:
            other = owner.get(symbol)
            # what the API defines weak is the C library's second name; what it uses weak the C++ runtime's, and the
            # platform the system's
            open_to = {"api"} if kind in "WV" else OPEN_TO_SYSTEM
            if kind in "wvWV" and layer not in open_to and (layer, symbol) not in FOREIGN:
                result.append(f"src/{name}.c: the symbol {symbol} is weak")
            elif kind in "wv" and other:
                result.append(f"src/{name}.c: the symbol {symbol}, which is src/{other}.c's, is weak")
            if kind not in "Uwv" or not other or symbol in SOCKETS:
                continue
            if height(other) > height(name):
                result.append(f"src/{name}.c: uses {symbol} of src/{other}.c, which is above it")
            if other != name:
                graph[name].add(other)
    for path in sorted(source.rglob("*.h")):
        name = str(path.relative_to(source))
        if name in NAMES_BUILD:
            continue
        for symbol in sorted(set(re.findall(r"\b(\w+)\(", COMMENT.sub("", path.read_text())))):
            if symbol in owner and height(owner[symbol]) > height(name):
                result.append(f"src/{name}: names {symbol} of src/{owner[symbol]}.c, which is above it")
    return result + list(check_called.complaints(table)) + told(graph, "use symbols of")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=Path, default=ROOT / "src")
    parser.add_argument("objects", type=Path, nargs="*")
    arguments = parser.parse_args()
    found = check_sources(arguments.source)
    found += check_words.complaints(arguments.source) + check_names.complaints(arguments.source)
    if arguments.source.resolve() == ROOT / "src":  # a test's small tree has none of the words
        found += check_words.stale(arguments.source)
    found += check_included.complaints(arguments.source.parent)
    for directory in arguments.objects:
        found += check_objects(arguments.source, directory)
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


sys.exit(main())

"""The clients for GenMC (a model checker that is in no package registry): one C file each that includes all the others.

Two files may use the same static name; there, the later file's is given a prefix. Without GenMC the files are still
compiled to LLVM IR and searched for what GenMC cannot read.
"""

import re
import shutil
import subprocess
from pathlib import Path

from clients import INCLUDES, Client, clients, production
from flavours import BUILD, ROOT

CLANG = "clang-16"
TIERS = ["base", "sync", "platform", "config", "backend", "midend", "frontend", "core", "hardened", "verify"]
CLASH = re.compile(r"^(\S+?):\d+:\d+: error: (?:conflicting types for|redefinition of) (?:enumerator )?'(\w+)'", re.M)
# A typed word is copied as a whole, which GenMC takes for one access. Copies of whole objects stand on paths of their
# own (misuse, calloc, realloc, statistics): no client takes them there.
UNREADABLE = re.compile(r"call void @llvm\.mem(?:cpy|set|move)(?![^\n]*, i64 4,)|call .* asm |i128\*|sret\(")
COPYING = re.compile(r"describe|allocate_zeroed\w*|reallocate\w*|print_\w+|\w+_statistics|options_\w+|apply\w*|clear")


INCLUDE = re.compile(r'#include "([\w/.]+)"')
# Sources that implement another's header.
COMPANIONS = {
    "heap": ["heap_lifecycle", "heap_statistics"],
    "midend": ["mid_shapes", "midend_round", "midend_statistics"],
    "allocator": ["allocate", "deallocate", "start", "aligned", "zeroed", "object_size", "realloc", "sized", "route"],
    "platform": ["model"],
}


def included_sources(client: Client) -> set[str]:
    return {Path(name).stem for name in INCLUDE.findall(client.path.read_text()) if name.endswith(".c")}


def needed(client: Client) -> list[Path]:
    """The sources behind the headers that the client includes, and those that these include, and so on; less those
    that it includes itself."""
    own = included_sources(client)
    by_name = {source.stem: source for source in production()}
    seen, ahead = set(), [client.path]
    while ahead:
        path = ahead.pop()
        for name in INCLUDE.findall(path.read_text()):
            stems = [Path(name).stem, *COMPANIONS.get(Path(name).stem, [])]
            files = [place / name for place in INCLUDES] + [by_name[stem] for stem in stems if stem in by_name]
            fresh = {file for file in files if file.exists()} - seen
            seen |= fresh
            ahead += sorted(fresh)
    return [source for source in production() if source in seen and source.stem not in own]


def tier(source: Path) -> int:
    return TIERS.index(source.parts[1] if source.parts[0] == "src" else "verify")


def unit(client: Client, renames: dict[Path, set[str]]) -> str:
    headers = [
        path.relative_to(ROOT / "src") for path in sorted(ROOT.glob("src/**/*.h")) if "platform" not in path.parts
    ]
    lines = [f'#include "{header}"' for header in headers if header.parts[0] not in ("api", "insight", "config")]
    lines += ['#include "verify/clients/client.h"', '#include "verify/platform/model.h"']
    sources = sorted(needed(client), key=lambda source: (tier(source.relative_to(ROOT)), source.name))
    for source in [*sources, client.path]:
        path = source.relative_to(ROOT)
        clashing = sorted(renames.get(path, ()))
        lines += [f"#define {name} {name}_of_{path.stem}" for name in clashing]
        lines.append(f'#include "{path}"')
        lines += [f"#undef {name}" for name in clashing]
    return "\n".join(lines) + "\n"


def flags(client: Client) -> list[str]:
    return ["-std=gnu11", "-D_GNU_SOURCE", "-DGENMC", *client.constants, *(f"-I{path}" for path in INCLUDES)]


def to_ir(client: Client) -> Path:
    """Writes the client's one file and its LLVM IR; gives the former."""
    place = BUILD / "verify/genmc"
    place.mkdir(parents=True, exist_ok=True)
    source, renames = place / f"{client.name}.c", {}
    command = [CLANG, *flags(client), "-w", "-O0", "-S", "-emit-llvm", "-ferror-limit=0"]
    command += ["-fno-caret-diagnostics", source, "-o", source.with_suffix(".ll")]
    for _ in range(10):
        source.write_text(unit(client, renames))
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
        if done.returncode == 0:
            return source
        for place_, name in CLASH.findall(done.stderr):
            path = (ROOT / place_).relative_to(ROOT)
            owner = client.path.relative_to(ROOT) if path.suffix == ".h" else path
            renames.setdefault(owner, set()).add(name)
    raise SystemExit(f"{client.name} does not compile for GenMC:\n{done.stderr}")


def unreadable(ir: str) -> list[str]:
    """What GenMC would misread, by function."""
    found = []
    for function in re.finditer(r"^define [^@]*@(\w+)\(.*?^}", ir, re.M | re.S):
        if not COPYING.fullmatch(function.group(1)):
            found += [f"{function.group(1)}: {match.group()}" for match in UNREADABLE.finditer(function.group())]
    return sorted(set(found))


def compiles_all() -> bool:
    return run([], None) == 0


def run(names: list[str], genmc: str | None = shutil.which("genmc")) -> int:
    """Runs these clients, or all, by GenMC; without it says whether it could read them."""
    failed = 0
    for client in clients():
        if names and client.name not in names:
            continue
        if any(name.startswith("linux") for name in included_sources(client)):
            print(f"{client.name}: of the platform layer itself, whose system calls GenMC cannot read")
            continue
        source = to_ir(client)
        problems = unreadable(source.with_suffix(".ll").read_text())
        if problems:
            print(f"{client.name}: GenMC cannot read\n  " + "\n  ".join(problems))
        elif genmc:
            done = subprocess.run([genmc, "--", *flags(client), source], capture_output=True, text=True, check=False)
            explored = re.search(r"complete executions explored: (\d+)", done.stdout)
            problems = done.returncode or not explored or explored.group(1) == "0"
            print(f"{client.name}: {'FAILED' if problems else explored.group(1) + ' executions'}")
            print(done.stdout + done.stderr if problems else "", end="")
        failed += bool(problems)
    if not genmc:
        print(f"genmc is not installed; the clients compile to what it reads, {failed} excepted")
    return 1 if failed else 0

"""The clients for GenMC (a model checker that is in no package registry): one C file each that includes all the others.

Two files may use the same static name; there, the later file's is given a prefix. Without GenMC the files are still
compiled to LLVM IR and searched for what GenMC cannot read.
"""

import functools
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import genmc_table
from clients import INCLUDES, Client, Programs, clients, production
from flavours import BUILD, ROOT

CLANG, OPT = "clang-16", "opt-16"
INODE = "-D__CONFIG_GENMC_INODE_DATA_SIZE=64"  # what GenMC gives to the compiler; for files, which no client has
LOOKS = 3  # at a name that is defined and that no header has told
TIERS = ["base", "sync", "platform", "config", "backend", "midend", "frontend", "core", "hardened", "verify"]
CLASH = re.compile(r"^(\S+?):\d+:\d+: error: (?:conflicting types for|redefinition of) (?:enumerator )?'(\w+)'", re.M)
# What GenMC cannot read, or takes for something else. Copies of whole objects stand on paths of their own (misuse,
# calloc, realloc, statistics): no client takes them there.
UNREADABLE = {
    "a copy as a whole, which GenMC takes for one access": r"call void @llvm\.mem(?:cpy|set|move)(?![^\n]*, i64 4,)",
    "assembler": r"call .* asm ",
    "a word of 16 bytes": r"i128\*|\bi128\b",
    "a structure that is returned through memory": r"sret\(",
    "a structure by value, which is written and read in different sizes": r"getelementptr inbounds \{ [^\n]*",
    "half of a word that is also accessed as a whole": r"getelementptr inbounds i32, ptr %\w+, i64 1\b[^\n]*\n"
    r"[^\n]*load i32, ptr %\w+, align 1\b(?!\d)|load i32, ptr getelementptr inbounds \(i32, ptr @[\w.]+, i64 1\)",
    "freeze": r"= freeze [^\n]*",
    "arithmetic with overflow": r"@llvm\.\w+\.with\.overflow\.\w+",
}
UNRESOLVED = {
    "a weak name that nothing defines": r"^@\w+ = extern_weak .*",
    "a thread-local variable of more than one word": r"^@[\w.]+ = [^\n]*thread_local[^\n]* global (?!i\d|ptr)[^\n]*",
    "a function that GenMC's headers do not declare": r"^declare [^\n]*@__assert_fail\b",
    "an assumption that is no bool": r"^declare [^\n]*@__VERIFIER_assume\((?!i1\b)[^\n]*",
}
COPYING = re.compile(r"describe|print_\w+|\w+_statistics|options_\w+|apply\w*|clear")
MAIN_THAT_CHOOSES = """int main(void) {
    pthread_t flags = start(checker_sets_flags, NULL);
    int result = client_main();
    finish(flags);
    return result;
}"""  # see checker_choose
# GenMC's addresses of variables have the highest bit set, for which the directory of huge objects has no place.
REPLACED = {
    "src/backend/directory.c": ("(address >> MIDDLE_SHIFT)", "((address & ~((uint64_t)1 << 63)) >> MIDDLE_SHIFT)")
}
TO_IR = ["-O0", "-Xclang", "-disable-O0-optnone", "-S", "-emit-llvm"]

INCLUDE = re.compile(r'#include "([\w/.]+)"')
# What no production source defines: GenMC's own, in its headers; and what the parser of options calls, which no client
# executes.
PROVIDED = re.compile(r"__VERIFIER_\w+|llvm\..*|abort|pthread_\w+|__errno_location|sched_yield|stpcpy|str\w+|memcmp")
DECLARED = re.compile(r"^declare [^\n@]*@([\w.]+)|^@([\w.]+) = (?:external|extern_weak)\b", re.M)
DEFINED = re.compile(
    r"^(?!static\b|extern\b|typedef\b|return\b|#)[A-Za-z_][^\n(){}=;]*?\b(?:\w+\(\w+\) )?(\w+)"
    r"(?:\([^;{}]*\)(?: \{|\s__attribute__\(\(alias)|(?:\[[^\n;=]*\])*(?: HIDDEN)?(?: =|;))",
    re.M,
)


@functools.cache
def included(path: Path) -> list[str]:
    return INCLUDE.findall(path.read_text())


@functools.cache
def files_of(name: str) -> list[Path]:
    """The files that an include of that name may mean."""
    return [place / name for place in INCLUDES if (place / name).exists()]


def included_sources(client: Client) -> set[str]:
    return {Path(name).stem for name in included(client.path) if name.endswith(".c")}


@functools.cache
def defining(hardened: bool) -> dict[str, Path]:
    """Which production source defines a name."""
    return {name: source for source in production(hardened) for name in DEFINED.findall(source.read_text())}


companions: dict[Path, set[Path]] = {}  # found so far: the sources that define what a header declares


def reached(client: Client) -> set[Path]:
    """The headers that the client includes and the sources behind them, and what these include, and so on; less the
    sources that it includes itself."""
    own, by_name = included_sources(client), {source.stem: source for source in production(client.hardened)}
    seen, ahead = set(), [client.path]
    while ahead:
        for name in included(ahead.pop()):
            files = {*files_of(name), *filter(None, [by_name.get(Path(name).stem)])}
            for file in list(files):
                files |= {source for source in companions.get(file, ()) if source.stem in by_name}
            fresh = {file for file in files if file.stem not in own} - seen
            seen |= fresh
            ahead += sorted(fresh)
    return seen


def needed(client: Client) -> list[Path]:
    seen = reached(client)
    return [source for source in production(client.hardened) if source in seen]


def learn(client: Client, names: set[str]) -> None:
    """Finds which sources define the names, and the headers that declare them."""
    sources, seen = defining(client.hardened), reached(client)
    for name in names & set(sources):
        for header in seen - set(sources.values()):
            if re.search(rf"^(?!static)\w[^;{{}}/]*\b{name}\b", header.read_text(), re.M):
                companions.setdefault(header, set()).add(sources[name])


def undefined(ir: str) -> set[str]:
    names = {function or variable for function, variable in DECLARED.findall(ir)}
    return {name for name in names if not PROVIDED.fullmatch(name)}


def tier(source: Path) -> int:
    return TIERS.index(source.parts[1] if source.parts[0] == "src" else "verify")


def replaced(path: Path) -> Path:
    """The source, or a copy of it with another form of one expression."""
    if str(path) not in REPLACED:
        return path
    old, new = REPLACED[str(path)]
    text = (ROOT / path).read_text()
    if text.count(old) != 1:
        raise SystemExit(f"jw verify: {path} does not have this once: {old}")
    copy = BUILD / "verify/genmc/replaced" / path.name
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_text(text.replace(old, new))
    return copy


def unit(client: Client, renames: dict[Path, set[str]]) -> str:
    headers = [
        path.relative_to(ROOT / "src") for path in sorted(ROOT.glob("src/**/*.h")) if "platform" not in path.parts
    ]
    lines = [f'#include "{header}"' for header in headers if header.parts[0] not in ("api", "statistics", "config")]
    lines.insert(0, '#include "verify/platform/genmc.h"')
    lines += ['#include "verify/clients/client.h"', '#include "verify/platform/model.h"']
    sources = sorted(needed(client), key=lambda source: (tier(source.relative_to(ROOT)), source.name))
    for source in [*sources, client.path]:
        path = source.relative_to(ROOT)
        clashing = sorted(renames.get(path, ()))
        lines += [f"#define {name} {name}_of_{path.stem}" for name in clashing]
        lines.append(f'#include "{replaced(path)}"')
        lines += [f"#undef {name}" for name in clashing]
    if chooses(client):
        lines.insert(lines.index(f'#include "{client.path.relative_to(ROOT)}"'), "#define main client_main")
        lines += ["#undef main", MAIN_THAT_CHOOSES]
    return "\n".join(lines) + "\n"


def chooses(client: Client) -> bool:
    """Whether the client chooses between operations, or its operating system may refuse calls."""
    return bool(re.search(r"\bchecker_choose\(|\bmodel_faults_left\b", client.path.read_text()))


def flags(client: Client) -> list[str]:
    return ["-std=gnu11", "-D_GNU_SOURCE", "-DGENMC", *client.constants, *(f"-I{path}" for path in INCLUDES)]


def own_headers(genmc: str | None) -> list[str]:
    """GenMC's headers stand in place of the system's; without GenMC the one that matters."""
    if not genmc:
        return ["-isystem", str(ROOT / "verify/platform/genmc")]
    tree = Path(genmc).resolve().parent
    places = [tree / "include", tree.parent / "include/genmc"]
    found = [place for place in places if (place / "genmc_internal.h").exists()]
    if not found:
        raise SystemExit(f"jw verify: {genmc}: its headers are not in {places[0]} or {places[1]}")
    return ["-isystem", str(found[0])]


clashes: dict[Path, set[str]] = {}  # found so far, in files that several clients share


def compiled(client: Client, genmc: str | None) -> Path:
    """Writes the client's one file and its LLVM IR; gives the latter. GenMC shows lines, so it needs -g."""
    place = BUILD / "verify/genmc"
    place.mkdir(parents=True, exist_ok=True)
    source, renames = place / f"{client.name}.c", {path: set(names) for path, names in list(clashes.items())}
    ir = source.with_suffix(".ll")
    command = [
        CLANG,
        *own_headers(genmc),
        *flags(client),
        "-w",
        *TO_IR,
        "-ferror-limit=0",
        INODE,
        *(["-g"] if genmc else []),
    ]
    command += ["-fno-caret-diagnostics", source, "-o", ir]
    for _ in range(10):
        source.write_text(unit(client, renames))
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
        if done.returncode == 0:
            return ir
        for place_, name in CLASH.findall(done.stderr):
            path = (ROOT / place_).relative_to(ROOT)
            owner = client.path.relative_to(ROOT) if path.suffix == ".h" else path
            renames.setdefault(owner, set()).add(name)
            if owner != client.path.relative_to(ROOT):
                clashes.setdefault(owner, set()).add(name)
    raise SystemExit(f"{client.name} does not compile for GenMC:\n{done.stderr}")


def scalars(ir: str) -> str:
    """GenMC has thread-local variables of one word only. A structure becomes one variable for each field, at the end:
    GenMC reads an initial value when it meets the variable, and knows the addresses of earlier ones only."""
    ends = []
    for found in re.finditer(r"^@(\w+) = (.*?thread_local.*?) global (%struct\.\w+) \{ (.*?) \}(.*)\n", ir, re.M):
        name, kind, type_, fields, rest = found.groups()
        if not all(re.fullmatch(r"(?:i\d+|ptr) [\w@.-]+", field) for field in fields.split(", ")):
            continue
        ir = ir.replace(found.group(), "")
        rest = re.sub(r", !dbg.*", "", rest)
        ends += [f"@{name}.{i} = {kind} global {field}{rest}" for i, field in enumerate(fields.split(", "))]
        asked = rf"(%\d+) = call .*?@llvm\.threadlocal\.address\.p0\(ptr (?:align \d+ )?@{name}\).*\n"
        functions = re.split(r"(?m)^(?=define )", ir)
        for i, function in enumerate(functions):
            for value in re.findall(asked, function):
                field = rf"getelementptr inbounds (?:nuw )?{type_}, ptr {value}, i32 0, i32 (\d+)"
                function = re.sub(field, rf"getelementptr i8, ptr @{name}.\1, i32 0", function)
                plain = rf"(= load [^\n]*|store [^\n]*), ptr {value}, align|ptr {value}\\b"
                if any(not match.group(1) for match in re.finditer(plain, function)):
                    raise SystemExit(f"jw verify: the address of thread-local {name} is used in another way")
            functions[i] = re.sub(
                asked, lambda match, name=name: match.group().replace(f"@{name})", f"@{name}.0)"), function
            )
        ir = "".join(functions)
    arrays = re.compile(r"^(@\w+ = .*?)thread_local(?:\(\w+\))? (global \[)", re.M)
    ir = arrays.sub(r"\1\2", ir)  # a fork's: no client has two threads that fork
    names = set(re.findall(r"^@(\w+) = .*?global \[", ir, re.M))
    asked = r"(%\d+) = call .*?threadlocal\.address\.p0\(ptr (?:align \d+ )?@(\w+)\)"
    array = r"\1 = getelementptr i8, ptr @\2, i32 0"
    ir = re.sub(asked, lambda found: found.expand(array) if found.group(2) in names else found.group(), ir)
    ir = re.sub(r"^@llvm.global_ctors = .*\n|^@llvm.global_dtors = .*\n", "", ir, flags=re.M)  # GenMC runs none
    first = re.search(r"^(define|declare) ", ir, re.M)
    return ir[: first.start()] + "".join(f"{end}\n" for end in ends) + "\n" + ir[first.start() :]


PASSES = "internalize,globaldce,always-inline,cgscc(inline),globaldce,function(sroa,simplifycfg)"


def readable(client: Client, genmc: str | None) -> Path:
    for left in itertools.count(LOOKS, -1):
        sources, ir = needed(client), prepared(compiled(client, genmc))
        missing = undefined(ir.read_text())
        learn(client, missing)
        # what another client's thread has just learned may bring names that this look did not know
        if needed(client) == sources and (left <= 0 or not missing & set(defining(client.hardened))):
            return ir


def prepared(ir: Path) -> Path:
    """The IR as GenMC can read it: what main reaches, small functions in place and structures as single values."""
    ir.write_text(scalars(ir.read_text()))
    end = ir.with_suffix(".opt.ll")
    options = ["-internalize-public-api-list=main", f"-passes={PASSES}", "-inline-threshold=0", "-S"]
    subprocess.run([OPT, *options, ir, "-o", end], check=True)
    return end


def unreadable(ir: str) -> list[str]:
    """What GenMC would misread, by function."""
    found = [f"{name}: nothing defines it" for name in undefined(ir)]
    for function in re.finditer(r"^define [^@]*@(\w+)\(.*?^}", ir, re.M | re.S):
        if not COPYING.fullmatch(function.group(1)):
            for cause, pattern in UNREADABLE.items():
                found += [f"{function.group(1)}: {cause}: {match}" for match in re.findall(pattern, function.group())]
    for cause, pattern in UNRESOLVED.items():
        found += [f"{cause}: {match}" for match in re.findall(pattern, ir, re.M)]
    return sorted(set(found))


def compiles_all() -> bool:
    return run([], None) == 0


# Symmetry reduction counts executions that differ by the names of threads as one. Loop jump threading crashes. With
# instruction caching GenMC takes a local variable of main for freed memory in some executions. Its inliner takes longer
# than most clients. Spin-assume leaves out executions in which a compare-exchange is tried again.
SWITCHES = ["--input-from-bitcode-file", "--disable-estimation", "--disable-sr", "--disable-loop-jump-threading"]
SWITCHES += ["--disable-instruction-caching", "--disable-function-inliner", "--disable-spin-assume"]
LIMIT = 60  # seconds of processor time for each client and model
MODELS = ("rc11", "imm")
EMPTIED = "reads pages that are given back and used again: for GenMC one word of each granule is cleared"
PAGES = "writes to pages by words of another size than their users"
HARDENED = "of the hardened build, which has assembler for AES and copies structures as wholes"
STATISTICS = "gathers statistics, which are copied as a whole"
SHRUNK = "shrinks an object, of which only the first and the last word were filled"
SHRINKING = ("progress_realloc", "whole_realloc_down")
PLATFORM = "of the platform layer itself, whose system calls GenMC cannot read"


GRAPH = re.compile(r"^<-1, 0> main:\n.*?(?=^<-1, 0> main:\n|^GenMC v|\Z)", re.M | re.S)


def explored(genmc: str, model: str, ir: Path, seconds: int, *switches: str) -> subprocess.CompletedProcess:
    command = ["prlimit", f"--cpu={seconds}", genmc, f"--{model}", *SWITCHES, *switches, ir]
    return subprocess.run(command, capture_output=True, text=True, check=False)


EVENT = re.compile(r"^\s*\((\d+), (\d+)\): (.*)$", re.M)
READ_FROM = re.compile(r"\[\((\d+), (\d+)\)\]")


def is_buffered(graph: str) -> bool:
    """Whether program order and reads-from have a cycle: load buffering."""
    found = EVENT.findall(graph.partition("Coherence:")[0])
    events = {(int(thread), int(number)): told for thread, number, told in found}
    after = {event: {(event[0], event[1] + 1)} & events.keys() for event in events}
    for event, told in events.items():
        if source := READ_FROM.search(told):
            after[(int(source[1]), int(source[2]))].add(event)
    before = Counter(event for row in after.values() for event in row)
    ready = [event for event in events if not before[event]]
    for event in ready:
        before.subtract(after[event])
        ready += [next_ for next_ in after[event] if not before[next_]]
    return len(ready) < len(events)


def different(genmc: str, model: str, ir: Path, seconds: int) -> tuple[int | None, int]:
    """How many different executions there are, without and with load buffering: under IMM GenMC meets some twice where
    a word is exchanged."""
    done = explored(genmc, model, ir, seconds, "--print-exec-graphs")
    graphs = set(GRAPH.findall(done.stdout + done.stderr))
    buffered = sum(map(is_buffered, graphs))
    return (len(graphs) - buffered, buffered) if done.returncode == 0 else (None, 0)


def judged(genmc: str, model: str, ir: Path, seconds: int) -> list:
    """What GenMC says of a client: a word, executions, and the output."""
    done = explored(genmc, model, ir, seconds)
    if done.returncode == -signal.SIGKILL:
        return ["time", None, ""]
    output = done.stdout + done.stderr
    if done.returncode == -signal.SIGSEGV or "not interpretable" in output:  # its own passes may make a freeze
        return ["fault", None, ""]
    count = re.search(r"complete executions explored: (\d+)", output)
    if done.returncode or not count or count.group(1) == "0":
        return ["error", None, output]
    return ["ok", int(count.group(1)), output]


def unread(client: Client) -> str | None:
    """Why a client is not given to GenMC."""
    text = client.path.read_text()
    reasons = {
        PLATFORM: any(name.startswith("linux") for name in included_sources(client)),
        HARDENED: client.hardened and "hardened.h" in text,
        STATISTICS: "frontend_statistics" in text,
        SHRUNK: client.name in SHRINKING,
        EMPTIED: "take_deferred(" in text,
        PAGES: "reserve_add(" in text or "allocate_zeroed(" in text,
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


@functools.cache
def programs_alike() -> Programs:
    return Programs("gcc", "-O1", "-DMODEL_AS_GENMC")


def executions_alike(client: Client, seconds: int) -> int | None:
    """How many executions our own checker finds where waits and failing compare-exchanges are as in GenMC."""
    program = programs_alike().client(client)
    report = program.with_suffix(".json")
    command = [program, "--failing-as-success", "--budget", seconds, "--json", report]
    done = subprocess.run(list(map(str, command)), capture_output=True, check=False)
    return json.loads(report.read_text())["executions"] if done.returncode == 0 else None


def judge(client: Client, genmc: str | None, seconds: int) -> dict:
    """A client's row: why it cannot be read, or what each model says. IMM is tried where RC11 came to an end."""
    if reason := unread(client):
        return {"unread": reason}
    ir = readable(client, genmc)
    if problems := unreadable(ir.read_text()):
        return {"problems": problems}
    row: dict = {}
    for model in MODELS if genmc else ():
        row[model] = judged(genmc, model, ir, seconds)
        if row[model][0] in ("time", "fault"):
            break
        if (row[model][1] or 0) > (row["rc11"][1] or 0):
            row[model][1], row["buffered"] = different(genmc, model, ir, seconds)
    if not genmc_table.agrees(row, genmc_table.ours().get(client.name)):
        row["alike"] = executions_alike(client, seconds)
    return row


def told(name: str, row: dict) -> str:
    if "problems" in row:
        return f"{name}: GenMC cannot read\n  " + "\n  ".join(row["problems"])
    if "unread" in row:
        return f"{name}: {row['unread']}"
    words = {"ok": "{} executions", "time": "not finished", "fault": "a fault of GenMC", "error": "FAILED"}
    results = {model: row[model] for model in MODELS if model in row}
    line = f"{name}: " + ", ".join(
        f"{model} {words[word].format(count)}" for model, (word, count, _) in results.items()
    )
    line += f"; ours, run as GenMC does: {row['alike']} executions" if "alike" in row else ""
    line += f"; {row['buffered']} more by load buffering" if row.get("buffered") else ""
    return "\n".join([line, *(result[2] for result in results.values() if result[0] == "error")])


def failed(row: dict) -> bool:
    differs = "alike" in row and not genmc_table.agrees(row, row["alike"])
    return "problems" in row or differs or any(row[model][0] == "error" for model in MODELS if model in row)


def run(names: list[str], genmc: str | None = shutil.which("genmc"), seconds: int = LIMIT, table: bool = False) -> int:
    """Runs these clients, or all, by GenMC; without it says whether it could read them."""
    rows = {}
    chosen = [client for client in clients() if not names or client.name in names]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for client, row in zip(chosen, pool.map(lambda one: judge(one, genmc, seconds), chosen), strict=True):
            rows[client.name] = row
            if genmc or failed(row):
                print(told(client.name, row), flush=True)
    wrong = sum(map(failed, rows.values()))
    if table and genmc:
        genmc_table.write(rows, seconds)
    if not genmc:
        print(f"genmc is not installed; the clients compile to what it reads, {wrong} excepted")
    return 1 if wrong else 0

"""./jw fuzz: makes up inputs for the allocator and its parsers, with libFuzzer, and checks what they do.

The corpus in the repository is one text file for each target (tests/fuzz/replay.c says how inputs are written there);
./jw test replays it without libFuzzer. What a run finds on top is kept in build/fuzz."""

import argparse
import fcntl
import os
import re
import shutil
import subprocess
from pathlib import Path

import flavours

TARGETS = {
    "api": "calls of the whole interface by two threads; every object's place and bytes are checked",
    "contents": "api with unwritten objects and words that others left, of which none may be misread",
    "faults": "api over a simulated kernel that refuses; nothing may be lost",
    "options": "text of options, against a second parser",
    "trace": "text of allocation traces, as ./jw bench reads them",
}
HARDENED = ("api", "contents")  # targets that the hardened build has, too
CORPUS = flavours.ROOT / "tests/fuzz/corpus"
WORK = flavours.BUILD / "fuzz"
LONGEST = {"api": 600, "contents": 600, "faults": 600, "options": 200, "trace": 400}  # bytes of an input
ROOM = {
    "api": 36_000,
    "contents": 12_000,
    "faults": 36_000,
    "options": 12_000,
    "trace": 16_000,
}  # bytes of a corpus in the repository
NO_CLANG = """jw: fuzzing needs clang-16 with libFuzzer (Debian and Ubuntu: clang-16 and libclang-rt-16-dev), which
could not be found here. What has been found before is replayed without it: ./jw test --only fuzz"""
JUDGED = re.compile(r"EXPECT|jwmalloc: |runtime error|ERROR: ")
ESCAPED = re.compile(rb"\\([0-9a-f]{2})")


def pack(data: bytes) -> str:
    return "".join(chr(byte) if 32 <= byte < 127 and byte != 92 else f"\\{byte:02x}" for byte in data)


def unpack(line: str) -> bytes:
    return ESCAPED.sub(lambda found: bytes([int(found[1], 16)]), line.encode())


def files(target: str) -> list[Path]:
    """The inputs that the repository keeps: what --keep found worth it, and what a person chose or once failed."""
    return [path for path in (CORPUS / f"{target}.txt", CORPUS / f"{target}-chosen.txt") if path.exists()]


def configure(directory: Path, *options: str) -> None:
    flavours.setup("build", "tests", "fuzz")
    probe = "int LLVMFuzzerTestOneInput(const char *b, unsigned long n) { return b[0] == 1 && n > 9; }"
    command = ["clang-16", "-fsanitize=fuzzer", "-x", "c", "-", "-o", "/dev/null"]
    if not shutil.which("clang-16") or subprocess.run(command, input=probe, text=True, capture_output=True).returncode:
        raise SystemExit(NO_CLANG)
    switches = {"C_COMPILER": "clang-16", "CXX_COMPILER": "clang++-16"}
    flavours.quietly(
        *("cmake", "-S", flavours.ROOT, "-B", directory, "-G", "Ninja"),
        *(f"-DCMAKE_{name}={value}" for name, value in switches.items()),
        *("-DJW_TESTS=ON", "-DJW_CHECKED=ON", *options),
    )


def build(targets: list[str], kind: str, *options: str) -> Path:
    """Where the programs are."""
    directory = WORK / kind
    WORK.mkdir(parents=True, exist_ok=True)
    with (WORK / "lock").open("w") as lock:  # another ./jw fuzz may be building
        fcntl.flock(lock, fcntl.LOCK_EX)
        configure(directory, *options)
        flavours.quietly("ninja", "-C", directory, *(f"fuzz-{target}" for target in targets))
    return directory / "tests/fuzz"


def build_fuzzers(targets: list[str], secure: bool) -> Path:
    options = ["-DJW_FUZZER=ON", "-DJW_SANITIZE=undefined", f"-DJW_SECURE={'ON' if secure else 'OFF'}"]
    return build(targets, "secure" if secure else "plain", *options)


def spread(target: str) -> Path:
    """The corpus as libFuzzer wants it, a file for each input; those of earlier runs are there already."""
    folder = WORK / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    for path in files(target):
        for number, line in enumerate(path.read_text().split("\n")[:-1]):
            (folder / f"{path.stem}-{number:04}").write_bytes(unpack(line))
    return folder


def search(program: Path, target: str, arguments: argparse.Namespace) -> bool:
    """Runs libFuzzer over the target. True: nothing was found."""
    corpus, findings = spread(target), WORK / "findings"
    findings.mkdir(exist_ok=True)
    before = len(list(corpus.iterdir()))
    options = [f"-max_total_time={arguments.seconds}", f"-max_len={LONGEST[target]}", "-len_control=0"]
    options += [f"-artifact_prefix={findings}/{target}-", "-print_final_stats=1", "-timeout=20", "-rss_limit_mb=4096"]
    options += [f"-fork={arguments.jobs}"] if arguments.jobs > 1 else []
    print(f"{target}: {TARGETS[target]}; {arguments.seconds} s", flush=True)
    bare = {"PATH": os.defpath}  # libFuzzer tries what it sees compared, and that is the environment too
    done = subprocess.run(
        [program, *options, corpus],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=bare,
    )
    runs = re.findall(r"number_of_executed_units: (\d+)|^#(\d+): cov", done.stdout, re.M)
    covered = re.findall(r"cov: (\d+)", done.stdout) if arguments.jobs == 1 else []  # several do not tell it
    tried = max((int(a or b) for a, b in runs), default=0)
    print(
        f"  {tried:,} inputs tried, {f'{covered[-1]} places of the code reached, ' if covered else ''}"
        f"{len(list(corpus.iterdir())) - before} inputs new in {corpus.relative_to(flavours.ROOT)}"
    )
    if done.returncode == 0:
        return True
    told = [line for line in done.stdout.split("\n") if JUDGED.search(line)]
    print("  FAILED\n" + "\n".join(f"    {line}" for line in told[:6]))
    for path in re.findall(r"Test unit written to (\S+)", done.stdout):
        print(f"  ./jw fuzz {target} --reproduce {path}\n  ./jw fuzz {target} --minimise {path}")
    return False


def reproduce(program: Path, path: Path) -> bool:
    """One input, told call by call."""
    done = subprocess.run(
        ["env", "JW_FUZZ_SHOW=1", program, path],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    noise = re.compile(r"INFO: |\*\*\*|.*Running|Executed|NOTE: |==\d+==WARNING|MS: |0x|artifact_prefix|Base64|\s*$")
    print("\n".join(line for line in done.stdout.split("\n") if not noise.match(line)))
    print("it fails" if done.returncode else "it passes")
    return done.returncode == 0


def minimise(program: Path, path: Path) -> bool:
    """Shrinks a failing input."""
    target = path.with_name(path.name + "-small")
    command = [program, "-minimize_crash=1", "-max_total_time=120", f"-exact_artifact_path={target}", path]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    # what the search was at when its time was over may not fail
    if not target.exists() or subprocess.run([program, target], capture_output=True).returncode == 0:
        target.unlink(missing_ok=True)
        print(f"{path} got no smaller in two minutes, or does not fail")
        return False
    print(f"{path.stat().st_size} bytes -> {target.stat().st_size}: {target}")
    return True


def merged(program: Path, target: str, *options: str) -> list[str]:
    """A few inputs that reach all that the corpus reaches, packed, short ones first."""
    folder = WORK / "merged" / target
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    flavours.quietly(program, "-set_cover_merge=1", f"-max_len={LONGEST[target]}", *options, folder, spread(target))
    return sorted((pack(path.read_bytes()) for path in folder.iterdir()), key=lambda line: (len(line), line))


def keep(program: Path, target: str) -> None:
    """Into the repository: what reaches every place; then, while there is room, what goes there more or less often."""
    lines, room = [], ROOM[target]
    for line in [*merged(program, target, "-use_counters=0"), *merged(program, target)]:
        if line not in lines and len(line) < room:
            lines.append(line)
            room -= len(line) + 1
    (CORPUS / f"{target}.txt").write_text("".join(f"{line}\n" for line in lines))
    print(f"{target}: {len(lines)} inputs kept, {ROOM[target] - room} bytes")


def coverage(targets: list[str]) -> bool:
    """Replays the repository's corpus and tells which share of the lines of src it reaches."""
    flavours.setup("coverage")
    programs = build(targets, "coverage", "-DJW_FUZZER=COVERAGE")
    profiles = []
    for target in targets:
        profiles.append(WORK / f"{target}.profraw")
        program = programs / f"fuzz-{target}"
        flavours.quietly("env", f"LLVM_PROFILE_FILE={profiles[-1]}", program, *files(target))
    whole = WORK / "all.profdata"
    flavours.quietly("llvm-profdata-16", "merge", "-o", whole, *profiles)
    objects = [f"-object={programs / f'fuzz-{target}'}" for target in targets]
    ignored = "-ignore-filename-regex=/(tests|bench)/"
    command = ["llvm-cov-16", "report", *objects, f"-instr-profile={whole}", ignored]
    report = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
    print(f"{'file':36}{'lines':>8}{'reached':>9}{'share':>7}")
    for row in report.split("\n"):
        if found := re.match(r"(\S+\.[ch]|TOTAL)\s" + r"+\S+\s" * 6 + r"+(\d+)\s+(\d+)", row):
            lines, missed = int(found[2]), int(found[3])
            if lines == 0:
                continue
            print(f"{found[1]:36}{lines:8}{lines - missed:9}{100 * (lines - missed) // max(lines, 1):6}%")
    return True


def run(arguments: argparse.Namespace) -> int:
    targets = [arguments.target] if arguments.target else list(TARGETS)
    path = arguments.reproduce or arguments.minimise
    if arguments.secure:
        targets = [target for target in targets if target in HARDENED]
        if not targets:
            raise SystemExit(f"jw fuzz: --secure goes with the targets {' and '.join(HARDENED)} only")
    if path and not (arguments.target and path.is_file()):
        raise SystemExit("jw fuzz: --reproduce and --minimise need a TARGET, and a file that holds the input")
    if arguments.coverage:
        return 0 if coverage(targets) else 1
    built = build_fuzzers(targets, arguments.secure)
    programs = {target: built / f"fuzz-{target}" for target in targets}
    if arguments.reproduce:
        return 0 if reproduce(programs[arguments.target], path) else 1
    if arguments.minimise:
        return 0 if minimise(programs[arguments.target], path) else 1
    good = True
    for target, program in programs.items():
        good &= arguments.seconds == 0 or search(program, target, arguments)
        if arguments.keep and good:
            keep(program, target)
    return 0 if good else 1


def add_command(commands) -> None:
    listing = "".join(f"\n  {name:10}{text}" for name, text in TARGETS.items())
    command = commands.add_parser(
        "fuzz",
        help="fuzz the allocator and its parsers",
        description="Makes inputs with libFuzzer and checks what the allocator does with each. libFuzzer keeps the\n"
        "inputs that reach new code. An input that fails is written to build/fuzz/findings. The command that\n"
        "shows it again is printed. Needs clang-16, which is installed on Debian and Ubuntu.",
        epilog="targets:" + listing + "\n\n"
        "  ./jw fuzz                              one minute for each target\n"
        "  ./jw fuzz api --seconds 600 --jobs 2   ten minutes for one, with two processes\n"
        "  ./jw fuzz api --reproduce FILE         run one input again, and print each call\n"
        "  ./jw fuzz api --minimise FILE          find a shorter input that fails in the same way\n"
        "  ./jw fuzz --seconds 0 --keep           select a new tests/fuzz/corpus from build/fuzz/corpus\n\n"
        "./jw test --only fuzz replays the corpus of the repository, tests/fuzz/corpus, with any compiler.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument(
        "target", nargs="?", metavar="TARGET", choices=[*TARGETS], help="default: all targets, one after the other"
    )
    command.add_argument(
        "--seconds", type=int, default=60, metavar="N", help="fuzz each target so long; default: %(default)s"
    )
    command.add_argument("--jobs", type=int, default=1, metavar="N", help="run so many processes; default: %(default)s")
    command.add_argument("--reproduce", type=Path, metavar="FILE", help="run this one input and print its calls")
    command.add_argument("--minimise", type=Path, metavar="FILE", help="shrink this failing input")
    command.add_argument(
        "--secure",
        action="store_true",
        help="fuzz the hardened build (docs/hardening.md); targets api and contents",
    )
    command.add_argument("--keep", action="store_true", help="afterwards add useful inputs to the corpus")
    command.add_argument(
        "--coverage", action="store_true", help="show which lines of src the corpus of the repository reaches"
    )
    command.set_defaults(run=run)

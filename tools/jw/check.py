"""./jw check: what can be said about the source without running it."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import docs
import flavours
import genmc
import orders
import survivors
import verify_rows
import verify_table

ROOT = flavours.ROOT
VENV = flavours.BUILD / "venv"


FOLDERS = ("src", "include", "tests", "tools", "bench", "insight", "verify")


def sources(*endings: str, folders: tuple[str, ...] = FOLDERS) -> list[Path]:
    """Those written by hand."""
    found = [path for folder in folders for path in sorted((ROOT / folder).rglob("*")) if path.suffix in endings]
    return [path for path in found if not path.read_text(encoding="utf-8").startswith("/* Generated")]


def passes(*command: object) -> bool:
    return subprocess.run([str(word) for word in command], cwd=ROOT).returncode == 0


def c_sources() -> list[Path]:
    return sources(".c", ".h", ".cc", ".cpp", ".hpp")


def formatted(path: Path) -> bool:
    done = subprocess.run(["clang-format-16", path], cwd=ROOT, stdout=subprocess.PIPE, check=True)
    return done.stdout == path.read_bytes()


def check_format() -> bool:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        good = list(zip(c_sources(), pool.map(formatted, c_sources()), strict=True))
    for path, _ in filter(lambda pair: not pair[1], good):
        print(f"{path.relative_to(ROOT)}: not formatted, which ./jw check --fix does")
    return all(fine for _, fine in good)


def is_secure(path: Path) -> bool:
    """Whether only the hardened build has the file."""
    return "hardened" in path.parts or path.name in ("linux_tags.c", "random.c")


def tidy(path: Path) -> str:
    """With the invariants compiled in: they tell the analyzer what we know."""
    known = ["--extra-arg=-UJW_CHECKED", "--extra-arg=-DJW_CHECKED=1"]
    if is_secure(path):
        known += ["--extra-arg=-DJW_SECURE=1", "--extra-arg=-UJW_OVERRIDE", "--extra-arg=-DJW_OVERRIDE=1"]
        known += [f"--extra-arg=-I{ROOT / folder}" for folder in ("src", "include")]  # the flavour does not compile it
    command = ["clang-tidy-16", "--quiet", *known, "-p", str(flavours.directory("clang")), str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return done.stdout + done.stderr if done.returncode else ""


def check_tidy() -> bool:
    """Over what the clang flavour compiles, which the checked-in presets decide."""
    flavours.quietly("cmake", "--preset", "clang", "-DJW_TESTS=OFF")  # they compile the sources in other ways, too
    flavours.build("clang")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        reports = [report for report in pool.map(tidy, sources(".c", folders=("src",))) if report]
    print("\n".join(reports), end="")
    return not reports


def check_layers() -> bool:
    """The sources, and the objects of the plain and of the hardened build."""
    objects = [flavours.build(flavour) / "CMakeFiles/jwmalloc-objects.dir" for flavour in ("checked", "secure")]
    return passes(sys.executable, "-B", ROOT / "tools/check_layers.py", *objects)


def check_orders() -> bool:
    return orders.check()


def check_genmc() -> bool:
    """The model checker's clients are readable for GenMC, too."""
    flavours.setup("verify")
    return genmc.compiles_all()


def check_lines() -> bool:
    return passes(sys.executable, "-B", ROOT / "tools/check_lines.py")


def check_commits() -> bool:
    return passes(sys.executable, "-B", ROOT / "tools/check_commits.py")


def tool(name: str) -> Path:
    """Of the version that tools/requirements.txt names, in an environment of its own."""
    flavours.install_python(VENV, ROOT / "tools/requirements.txt")
    return VENV / "bin" / name


def check_python() -> bool:
    linted = passes(tool("ruff"), "check", "--quiet", "tools", "tests", "insight")
    return passes(tool("ruff"), "format", "--quiet", "--check", "tools", "tests", "insight") and linted


def fix() -> bool:
    """Formats everything."""
    return passes("clang-format-16", "-i", *c_sources()) and passes(
        tool("ruff"), "format", "--quiet", "tools", "tests", "insight"
    )


def check_instructions() -> bool:
    """The assembler forms do what the C forms do; and a wrong one is found."""
    interpreter = tool("python")
    test = ROOT / "tests/tools/prove_instructions_test.py"
    return passes(interpreter, "-B", ROOT / "tools/prove_instructions.py") and passes(
        interpreter, "-B", test, "--solver"
    )


def check_shell() -> bool:
    scripts = [ROOT / "jw", ROOT / ".ci/run", ROOT / ".ci/nightly", *sources(".sh")]
    return passes("shellcheck", "--external-sources", "--source-path=SCRIPTDIR", *scripts)


def check_hosted() -> bool:
    """The workflow files for hosted machines, which nothing runs here."""
    return passes(tool("yamllint"), "--strict", "-c", ".github/yamllint.yml", ".github")


FOREIGN = {  # what clang calls a processor: where the C library's headers are
    "aarch64-linux-gnu": "/usr/aarch64-linux-gnu/include",
    "arm-linux-gnueabihf": "/usr/arm-linux-gnueabihf/include",
    "i686-linux-gnu": "/usr/include/x86_64-linux-gnu",
    "riscv64-linux-gnu": "/usr/riscv64-linux-gnu/include",
}


def clang_warns(target: str, path: Path) -> bool:
    definitions = ["-DJW_SECURE=1", "-DJW_OVERRIDE=1", "-Isrc", "-Iinclude", "-isystem", FOREIGN[target]]
    command = ["clang-16", f"--target={target}", *definitions, "-std=gnu11", "-Wall", "-Wextra", "-Wundef", "-Werror"]
    return not passes(*command, "-c", "-o", os.devnull, path)


def check_warnings() -> bool:
    """Every compiler's and width's warnings are errors in all flavours but the released one.

    clang compiles the hardened build, which has each file, for the other processors, too."""
    for flavour in ("checked", "clang", "i386", "aarch64-4k", "riscv64", "armv7"):
        flavours.build(flavour)
    files = [path for path in sources(".c", folders=("src",)) if not path.name.startswith("sim")]
    work = [(target, path) for target in FOREIGN for path in files]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return not any(list(pool.map(lambda pair: clang_warns(*pair), work)))


CHECKS: dict[str, Callable[[], bool]] = {
    "format": check_format,
    "layers": check_layers,
    "orders": check_orders,
    "lines": check_lines,
    "commits": check_commits,
    "instructions": check_instructions,
    "python": check_python,
    "shell": check_shell,
    "hosted": check_hosted,
    "warnings": check_warnings,
    "tidy": check_tidy,
    "genmc": check_genmc,
    "table": verify_table.check,
    "rows": verify_rows.check,
    "survivors": survivors.check,
    "docs": docs.check,
}


ASKED = {"rows"}  # run only when named: the clients run again after the last change of the sources
TAIL = 40  # lines of a failed check that are shown again at the end


def result(check: Callable[[], bool]) -> tuple[bool, str]:
    """Whether the check passes, and what it and its programs say."""
    sys.stdout.flush()
    kept = [os.dup(1), os.dup(2)]
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
        try:
            good = check()
        except (subprocess.CalledProcessError, SystemExit) as error:
            print(error, file=sys.stderr)
            good = False
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            for number, descriptor in enumerate(kept, start=1):
                os.dup2(descriptor, number)
                os.close(descriptor)
        output.seek(0)
        return good, output.read()


def run(arguments) -> int:
    flavours.setup("check", "build")
    if arguments.fix:
        return 0 if fix() else 1
    failed, chosen = [], arguments.check or [name for name in CHECKS if name not in ASKED]
    for name in chosen:
        good, output = result(CHECKS[name])
        print(f"{output}check {name}: {'passed' if good else 'FAILED'}", flush=True)
        if not good:
            failed.append("\n".join([f"FAILED {name}", *output.rstrip().splitlines()[-TAIL:]]))
    if failed:  # again: of a long log often only the tail is kept
        print("\nWhat failed, again:", *failed, sep="\n\n")
    print(f"{len(chosen) - len(failed)} of {len(chosen)} checks passed")
    return 1 if failed else 0


def add_command(commands) -> None:
    command = commands.add_parser(
        "check",
        help="check format, layers, sizes, warnings, lint and generated documents",
        description="Checks the source, the documents and the commits without running tests. Default: all checks but "
        "rows, which says what in docs/clients.md is older than the sources.",
    )
    command.add_argument("check", nargs="*", metavar="CHECK", choices=[*CHECKS, []], help=", ".join(CHECKS))
    command.add_argument("--fix", action="store_true", help="format C, C++ and Python instead of checking")
    command.set_defaults(run=run)

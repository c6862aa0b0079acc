#!/usr/bin/env python3
"""What tools see of the prefixed library's objects, and how programs run beside them: watched.py TOOL COMPILER ARCHIVE

Tools: memcheck, thread, address (the sanitizers). Each finds every mistake of watched.c that is its business, and says
nothing of the cases without one; callgrind counts our own instructions. preloaded: a program with threads ends well
beside each of Valgrind's tools, with the shared library preloaded. The archive is the one that is installed; the shared
library stands beside it.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
TOOL, COMPILER, ARCHIVE = sys.argv[1], sys.argv[2], Path(sys.argv[3])
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "JWMALLOC_CONF")}
ENVIRONMENT |= {"ASAN_OPTIONS": "allocator_may_return_null=1"}
SIZES = {"overflow": ("8", "40", "3000", "100000", "5000000")}  # others: 40
MEMCHECK = {
    "use_after_free": "Invalid write of size 1",
    "overflow": "Invalid write of size 1",
    "underflow": "Invalid write of size 1",
    "after_realloc": "Invalid write of size 1",
    "leak": "definitely lost",
    "double_free": "Invalid free()",
    "unset": "uninitialised value",
}
ADDRESS = {
    "use_after_free": "heap-use-after-free",
    "overflow": "heap-buffer-overflow",
    "underflow": "heap-buffer-overflow",
    "after_realloc": "heap-buffer-overflow",
    "leak": "detected memory leaks",
    "double_free": "attempting double-free",
}


def skip(why: str) -> None:
    print(f"skipped: {why}")
    raise SystemExit(77)


def run(*command) -> tuple[int, str]:
    done = subprocess.run(
        [str(word) for word in command],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    return done.returncode, done.stdout


def compile_program(folder: Path, source: str, *flags: str) -> Path:
    program = folder / source.replace(".c", "")
    options = ["-gdwarf-4", "-O1", "-fno-builtin", "-w", f"-I{HERE.parent.parent}/include", *flags]
    status, said = run(COMPILER, *options, HERE / source, ARCHIVE, "-pthread", "-o", program)
    if status != 0:
        raise SystemExit(f"{source} does not compile:\n{said}")
    return program


def expect(found: bool, what: str, said: str) -> None:
    if not found:
        raise SystemExit(f"{TOOL}: {what}\n{said}")


def finds(cases: dict[str, str], *command) -> None:
    for case, words in cases.items():
        for size in SIZES.get(case, ("40",)):
            status, said = run(*command, case, size)
            expect(status != 0 and words in said, f"{case} of {size} B is not found ({words})", said)


def is_silent(*command) -> None:
    """A program without a mistake ends well, and the tool has nothing to say."""
    status, said = run(*command)
    expect(status == 0 and said == "correct\n", f"{command[-1]}: status {status}, or a complaint", said)


def memcheck(folder: Path) -> None:
    if shutil.which("valgrind") is None:
        skip("no valgrind (./jw setup valgrind)")
    status, said = run(COMPILER, "-fsyntax-only", "-include", "valgrind/memcheck.h", "-x", "c", os.devnull)
    if status != 0:
        skip("no valgrind/memcheck.h, without which the library does not ask for memcheck")
    program = compile_program(folder, "watched.c")
    valgrind = ("valgrind", "-q", "--leak-check=full", "--error-exitcode=9")
    status, said = run(*valgrind, "true")
    if status != 0:
        skip(f"valgrind does not run here: {said}")
    finds(MEMCHECK, *valgrind, program)
    status, said = run(*valgrind, program, "leak", "40")
    expect("80 indirect" in said, "what the lost head leads to is not lost", said)
    is_silent(*valgrind, program, "correct")
    is_silent(*valgrind, program, "passed_on")
    built_on = compile_program(folder, "built_on.c")
    is_silent(*valgrind, built_on)
    is_silent(*valgrind, "--soname-synonyms=somalloc=nouserintercepts", built_on)
    status, said = run("valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/counts", program, "correct")
    expect(status == 0 and "fn=" in (folder / "counts").read_text(), "callgrind", said)
    expect("heap_refill" in (folder / "counts").read_text(), "callgrind does not count our own instructions", said)


def preloaded(folder: Path) -> None:
    if shutil.which("valgrind") is None:
        skip("no valgrind (./jw setup valgrind)")
    program = folder / "threads"
    status, said = run(COMPILER, "-gdwarf-4", "-O1", "-w", HERE / "threads.c", "-pthread", "-o", program)
    expect(status == 0, "threads.c does not compile", said)
    status, said = run("valgrind", "-q", "true")
    if status != 0:
        skip(f"valgrind does not run here: {said}")
    for thread in ("auto", "true"):
        ENVIRONMENT.update(LD_PRELOAD=str(ARCHIVE.parent / "libjwmalloc.so"))
        ENVIRONMENT.update(JWMALLOC_CONF=f"reclaim_thread:{thread}")
        is_silent(program)
        for tool in ("memcheck", "helgrind", "drd", "none"):
            is_silent("valgrind", "-q", f"--tool={tool}", program)


def sanitized(folder: Path, flag: str) -> Path:
    program = compile_program(folder, "watched.c", f"-fsanitize={flag}")
    status, said = run(program, "none")
    if status != 4:
        skip(f"the {flag} sanitizer does not run here: {said}")
    return program


def thread(folder: Path) -> None:
    program = sanitized(folder, "thread")
    is_silent(program, "passed_on")
    is_silent(program, "correct")
    finds({"race": "data race", "use_after_free": "heap-use-after-free"}, program)


def address(folder: Path) -> None:
    program = sanitized(folder, "address")
    finds(ADDRESS, program)
    is_silent(program, "correct")
    is_silent(program, "passed_on")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        globals()[TOOL](Path(temporary))

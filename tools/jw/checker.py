"""checker.py - builds the model checker's engine and links client programs with it. As a program, for experiments:

python3 tools/jw/checker.py OUT SOURCE... [-DNAME=VALUE] [-O2] [--compiler clang-16]
"""

import argparse
import fcntl
import hashlib
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "verify" / "checker"
BUILD = ROOT / "build" / "verify"

WARNINGS = ["-Wall", "-Wextra", "-Wundef", "-Werror"]

# The engine stands below the client: it must not need what it provides, nor a stack frame that looks intact.
ENGINE = ["-D_GNU_SOURCE", "-O2", "-g", "-fPIC", "-shared", "-fvisibility=hidden", "-fno-stack-protector", "-Wl,-z,now"]

# No -fsanitize when linking: our engine is what answers. Memory functions must stay calls, since compilers expand
# them after the instrumentation.
CLIENT = ["-std=gnu11", "-g", "-fsanitize=thread", "-fno-omit-frame-pointer", "-fno-pie", "-DJW_CHECKER=1"]
CALLS = ["-fno-builtin-memset", "-fno-builtin-memcpy", "-fno-builtin-memmove", "-fno-builtin-memcmp"]

WRAPPED = """main memcpy memmove memset memcmp malloc calloc realloc aligned_alloc posix_memalign free __assert_fail
abort
exit sched_yield pthread_create pthread_join pthread_detach pthread_self pthread_equal pthread_exit pthread_key_create
pthread_key_delete pthread_getspecific pthread_setspecific pthread_mutex_init pthread_mutex_destroy pthread_mutex_lock
pthread_mutex_trylock pthread_mutex_unlock pthread_once pthread_cond_init pthread_cond_destroy pthread_cond_wait
pthread_cond_signal pthread_cond_broadcast pthread_rwlock_rdlock pthread_rwlock_wrlock pthread_spin_lock
pthread_barrier_wait pthread_cond_timedwait pthread_mutex_timedlock pthread_cancel sem_wait fork""".split()


def run(*command: object, quiet: bool = False) -> None:
    subprocess.run([str(word) for word in command], check=True, stderr=subprocess.DEVNULL if quiet else None)


def is_cross(compiler: str) -> bool:
    return compiler.startswith("aarch64")


def folder(compiler: str) -> Path:
    return BUILD / "aarch64" if is_cross(compiler) else BUILD


def digest() -> str:
    contents = hashlib.sha256(Path(__file__).read_bytes())
    for path in sorted(SOURCES.iterdir()):
        contents.update(path.read_bytes())
    return contents.hexdigest()


def build_engine(target: Path, compiler: str) -> None:
    own = compiler if is_cross(compiler) else "gcc"
    machine = [] if is_cross(own) else ["-fcf-protection=none"]
    sources = sorted(path for path in SOURCES.glob("*.c") if path.name != "main.c")
    fresh = target.with_suffix(".new")
    run(own, "-std=gnu11", *WARNINGS, *ENGINE, *machine, f"-Wl,-soname,{target.name}", "-o", fresh, *sources)
    run(own, "-std=gnu11", *WARNINGS, "-O1", "-fno-pie", "-c", SOURCES / "main.c", "-o", target.parent / "main.o")
    fresh.rename(target)


def engine(compiler: str = "gcc") -> Path:
    """The library for the machine that the compiler compiles for; built anew when a source has changed."""
    library = folder(compiler) / "libchecker.so"
    library.parent.mkdir(parents=True, exist_ok=True)
    with (library.parent / "digest").open("a+") as stamp:
        fcntl.flock(stamp, fcntl.LOCK_EX)
        stamp.seek(0)
        now = digest()
        if stamp.read() != now or not library.exists():
            build_engine(library, compiler)
            stamp.truncate(0)
            stamp.write(now)
    return library


def compile(
    source: Path,
    target: Path,
    compiler: str = "gcc",
    level: str = "-O1",
    options: Sequence[str] = (),
) -> Path:
    """One object of client code, or of code under test. `options`: -D and -I."""
    quiet = [] if "clang" in compiler else ["-Wno-tsan"]  # about fences, which the engine knows
    run(compiler, *CLIENT, *CALLS, *quiet, level, f"-I{SOURCES}", *options, "-c", source, "-o", target)
    return target


def link(objects: Sequence[Path], program: Path, compiler: str = "gcc", quiet: bool = False) -> Path:
    library = engine(compiler)
    wrapping = [f"-Wl,--wrap={name}" for name in WRAPPED]
    # one mapping for all data, whatever the alignment of the client's arenas
    place = ["-no-pie", "-Wl,-z,now", "-Wl,-z,max-page-size=65536", f"-Wl,-rpath,{library.parent}"]
    run(compiler, *objects, library.parent / "main.o", library, "-o", program, *place, *wrapping, quiet=quiet)
    return program


def command(program: Path, compiler: str = "gcc") -> list[str]:
    """How to run it here."""
    emulator = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"] if is_cross(compiler) else []
    return [*emulator, str(program)]


def program(target: Path, sources: Sequence[Path], compiler: str, level: str, options: Sequence[str] = ()) -> Path:
    """Compiles and links in one step."""
    target.parent.mkdir(parents=True, exist_ok=True)
    objects = [
        compile(source, target.parent / f"{target.name}.{number}.o", compiler, level, options)
        for number, source in enumerate(sources)
    ]
    return link(objects, target, compiler)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("source", type=Path, nargs="+")
    parser.add_argument("-D", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("-I", action="append", default=[], metavar="FOLDER")
    parser.add_argument("-O", default="1", metavar="LEVEL")
    parser.add_argument("--compiler", default="gcc")
    arguments = parser.parse_args()
    options = [f"-D{name}" for name in arguments.D] + [f"-I{path}" for path in arguments.I]
    try:
        program(arguments.out.resolve(), arguments.source, arguments.compiler, f"-O{arguments.O}", options)
    except subprocess.CalledProcessError as error:
        return error.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())

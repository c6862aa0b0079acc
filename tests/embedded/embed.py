"""embed.py PART - the core inside a C library (src/platform/host.h): does it build and work there?

PART compiles: the core, that is src/ without api/, hardened/ and platform/linux_libc.c, for the targets of phones'
C libraries by clang alone, without any C library's headers: with the compiler's own (-nostdlibinc keeps stdint.h and
its kind) and those in include/. The objects may use only what a C library has or what host.h names; no thread-local
storage, also no emulated one, no constructor, no pthread key.
PART constants: the numbers in include/ are those of the system's headers.
PART x86_64, aarch64: the same core with the mock C library (libc.c) is linked with tests, which then run.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
HEADERS = HERE / "include"
SKIPPED = 77
CLANG = "clang-16"

TARGETS = ["aarch64-linux-android24", "aarch64-linux-ohos", "riscv64-linux-gnu", "riscv64-linux-musl"]
# Of each processor: the tools that link, the emulator, and how much the stress test does.
MACHINES = {
    "x86_64": ("x86_64-linux-gnu", [], ["4", "20000", "4"]),
    "aarch64": ("aarch64-linux-gnu", ["qemu-aarch64"], ["3", "3000", "3"]),
}
NOT_THE_CORE = re.compile(r"src/(api|hardened)/|src/platform/(sim|linux_libc|linux_tags|random)\.c$")
COMMON = ["-std=gnu11", "-O2", "-ffreestanding", "-fno-builtin", "-nostdlibinc", "-fno-stack-protector"]
COMMON += [f"-isystem{HEADERS}", f"-I{ROOT / 'src'}", f"-I{ROOT / 'include'}", f"-I{ROOT / 'tests'}"]
COMMON += ['-DJW_HOST="embedded/slot.h"']
OWN = ["-Wall", "-Wextra", "-Wundef", "-Werror", "-fvisibility=hidden", "-DJW_OVERRIDE=1", "-DJW_BIONIC=1"]
OWN += ["-Wmissing-prototypes"]  # what the host calls is in a header
PROCESSOR = {"aarch64": ["-mno-outline-atomics"]}

# What the library around the core has: its own functions, and what host.h asks for.
LIBC = {"memcpy", "memset", "memcmp", "strlen", "strcmp", "strncmp", "strchr", "strspn", "strcspn", "strstr"}
LIBC |= {"environ", "getauxval", "clock_gettime", "mock_errno"}
HOST = {
    "platform_thread_id",
    "platform_on_thread_exit",
    "platform_finish_start",
    "platform_abort_message",
    "host_on_fork",
}
OPTIONAL = {"__tsan_init", "jw_malloc_conf"}  # weak

# Entry points that need of a C library only what the mock has.
API = [ROOT / f"src/api/{name}.c" for name in ("malloc", "glibc", "bionic_info", "mallopt")]
PROGRAMS = ["embedded/embedded_test.c", "process/thread_ends.c", "process/disabled.c", "stress/mixed.c"]
PROGRAMS += [f"api/{part}_test.c" for part in ("basic", "realloc", "aligned", "limits", "bionic")]


def core() -> list[Path]:
    return [path for path in sorted((ROOT / "src").rglob("*.c")) if not NOT_THE_CORE.search(str(path))]


def compile_all(target: str, sources: list[Path], place: Path) -> list[Path]:
    extra = PROCESSOR.get(target.split("-")[0], [])

    def one(source: Path) -> Path:
        made = place / (str(source.relative_to(ROOT)).replace("/", "_") + ".o")
        command = [CLANG, f"--target={target}", *COMMON, *OWN, *extra, "-c", str(source), "-o", str(made)]
        subprocess.run(command, check=True)
        return made

    with ThreadPoolExecutor() as pool:
        return list(pool.map(one, sources))


def symbols(made: list[Path]) -> list[list[str]]:
    printed = subprocess.run(["nm", *made], capture_output=True, text=True, check=True).stdout
    return [line.split() for line in printed.splitlines() if line and not line.endswith(":")]


def complaints(made: list[Path]) -> list[str]:
    found = symbols(made)
    defined = {words[2] for words in found if len(words) == 3}
    wanted = {words[1] for words in found if len(words) == 2} - defined
    result = [f"uses {name}" for name in sorted(wanted - LIBC - HOST - OPTIONAL)]
    result += [f"does not use {name}, which it is said to need" for name in sorted((LIBC | HOST) - wanted)]
    listing = subprocess.run(["readelf", "-SW", *made], capture_output=True, text=True, check=True).stdout
    forbidden = set(re.findall(r"\.(?:tdata|tbss|init_array|fini_array|ctors)\S*", listing))
    return result + [f"has a section {name}" for name in sorted(forbidden)]


def compiles() -> int:
    bad = []
    for target in TARGETS:
        with tempfile.TemporaryDirectory() as place:
            bad += [f"{target}: the core {text}" for text in complaints(compile_all(target, core(), Path(place)))]
    print("\n".join(bad))
    return 1 if bad else 0


def run_on(machine: str) -> int:
    target, emulator, work = MACHINES[machine]
    if not all(map(shutil.which, [*emulator, f"{target}-ld"])):
        print(f"skipped: no {' '.join(emulator)} or {target}-ld")
        return SKIPPED
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        made = compile_all(target, [*core(), *API, HERE / "libc.c"], place)
        for source in PROGRAMS:
            program = place / Path(source).stem
            includes = [f"-I{ROOT / 'tests/fallback'}", "-w", "-O1", "-D_GNU_SOURCE", "-DJW_RESIDENT_UNKNOWN=1"]
            includes += ["-DJW_PREFIXED=1"] if "bionic" in source else []
            command = [CLANG, f"--target={target}", *COMMON, *includes, *PROCESSOR.get(machine, [])]
            command += [str(ROOT / "tests" / source), *map(str, made), "-nostdlib", "-static", "-o", str(program)]
            subprocess.run(command, check=True)
            done = subprocess.run([*emulator, program, *(work if source.startswith("stress") else [])], check=False)
            print(f"{machine} {source}: {'passed' if done.returncode == 0 else done.returncode}", flush=True)
            failed += done.returncode != 0
    return 1 if failed else 0


def constants() -> int:
    """Each number of each header, and each structure's size, in the system's."""
    machines = {"x86_64": ["gcc"], "aarch64": ["aarch64-linux-gnu-gcc"], "riscv64": ["riscv64-linux-gnu-gcc"]}
    text = "#define _GNU_SOURCE 1\n#include <stdint.h>\n#include <linux/prctl.h>\n"
    checks = []
    for path in sorted(HEADERS.rglob("*.h")):
        name = str(path.relative_to(HEADERS))
        lines = path.read_text()
        if name == "sys/syscall.h":
            continue
        text += "" if name.startswith("linux/futex") else f"#include <{name}>\n"
        checks += re.findall(r"^#define ([A-Z_0-9]+) (\(?-?[0-9][0-9a-fx]*\)?)$", lines, re.MULTILINE)
        if path.parent.name == "linux":
            tag = path.stem
            structures = re.findall(r"^struct (\w+) (\{.*?^\});", lines, re.MULTILINE | re.DOTALL)
            checks += [(f"sizeof(struct {found})", f"sizeof(struct {body})") for found, body in structures if tag]
    text += "#include <linux/futex.h>\n"
    text += "".join(f'_Static_assert((long)({name}) == (long)({value}), "{name}");\n' for name, value in checks)
    calls = (HEADERS / "sys/syscall.h").read_text()
    x86, others = calls.split("#else")
    failed = 0
    for machine, compiler in machines.items():
        if not shutil.which(compiler[0]):
            print(f"{machine}: no compiler")
            continue
        numbers = re.findall(r"^#define (SYS_\w+) (\d+)$", x86 if machine == "x86_64" else others, re.MULTILINE)
        asserts = "".join(f'_Static_assert({name} == {value}, "{name}");\n' for name, value in numbers)
        whole = text + "#include <sys/syscall.h>\n" + asserts
        done = subprocess.run([*compiler, "-fsyntax-only", "-xc", "-"], input=whole, text=True, check=False)
        print(f"{machine}: {len(checks) + len(numbers)} numbers")
        failed += done.returncode != 0
    return 1 if failed else 0


def main() -> int:
    part = sys.argv[1]
    if part != "constants" and not shutil.which(CLANG):
        print(f"skipped: no {CLANG}")
        return SKIPPED
    return compiles() if part == "compiles" else constants() if part == "constants" else run_on(part)


sys.exit(main())

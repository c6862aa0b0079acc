"""embed.py PART - the core inside a C library (src/platform/host.h): does it build and work there?

PART compiles: the core, that is src/ without api/, hardened/ and platform/linux_libc.c, for the targets of phones'
C libraries by clang alone, without any system's headers (-nostdinc): with those in include/ and the compiler's own
(stdint.h and its kind), which it names by -isystem. The objects may use only what a C library has or what host.h
names; no thread-local storage, also no emulated one, no constructor, no pthread key.
PART constants: the numbers in include/ are those of the system's headers.
PART x86_64, aarch64: the same core with the mock C library (libc.c) is linked with tests, which then run. So is one
that tells its host of objects and, on AArch64, one whose objects have memory tags, too.
PART hardened: compiles, and x86_64, of the hardened build; on AArch64, with memory tags, what the host sets there.
"""

import functools
import os
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
NOT_THE_CORE = re.compile(r"src/api/|src/platform/(sim|linux_libc)\.c$")
OF_HARDENED_ONLY = re.compile(r"src/hardened/|src/platform/(linux_tags|random)\.c$")
COMMON = ["-std=gnu11", "-O2", "-ffreestanding", "-fno-builtin", "-nostdinc", "-fno-stack-protector"]
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
OPTIONAL = {"__tsan_init", "jw_malloc_conf", "jw_allocated", "jw_freed"}  # weak

# Entry points that need of a C library only what the mock has.
API = [ROOT / f"src/api/{name}.c" for name in ("malloc", "glibc", "bionic_info", "mallopt")]
PROGRAMS = ["embedded/embedded_test.c", "process/thread_ends.c", "process/disabled.c", "stress/mixed.c"]
CONTROLS = "embedded/controls_test.c"
# What -DJW_TRACKED=1 changes.
TRACKED = [ROOT / f"src/core/{name}.c" for name in ("allocate", "free", "host_controls", "tracked")] + API
TAGGED = ("-DJW_TAGGED=1", "-DJW_TRACKED=1")
TAGGED_PROGRAMS = ["embedded/embedded_test.c", "process/thread_ends.c", "api/realloc_test.c", "stress/mixed.c"]
PROGRAMS += [f"api/{part}_test.c" for part in ("basic", "realloc", "aligned", "limits", "bionic")]


def core(hardened: bool) -> list[Path]:
    sources = [path for path in sorted((ROOT / "src").rglob("*.c")) if not NOT_THE_CORE.search(str(path))]
    return [path for path in sources if hardened or not OF_HARDENED_ONLY.search(str(path))]


@functools.cache
def own_headers() -> list[str]:
    found = subprocess.run([CLANG, "-print-resource-dir"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return [f"-isystem{found.strip()}/include"]


def compile_all(
    target: str, sources: list[Path], place: Path, hardened: bool, settings: tuple[str, ...] = ()
) -> list[Path]:
    extra = [*own_headers(), *PROCESSOR.get(target.split("-")[0], []), f"-DJW_SECURE={hardened:d}", *settings]

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


def compiles(hardened: bool = False) -> int:
    bad = []
    for target in TARGETS:
        with tempfile.TemporaryDirectory() as place:
            made = compile_all(target, core(hardened), Path(place), hardened)
            bad += [f"{target}: the core {text}" for text in complaints(made)]
    print("\n".join(bad))
    return 1 if bad else 0


class Machine:
    """Links programs with a core for one processor, and runs them there."""

    def __init__(self, name: str, hardened: bool, place: Path) -> None:
        self.name, self.hardened, self.place = name, hardened, place
        self.target, self.emulator, self.work = MACHINES[name]
        self.made = compile_all(self.target, [*core(hardened), *API, HERE / "libc.c"], place, hardened)

    def tracked(self) -> list[Path]:
        """The objects of a core that tells its host of objects."""
        place = self.place / "tracked"
        place.mkdir()
        other = compile_all(self.target, TRACKED, place, False, ("-DJW_TRACKED=1",))
        names = {path.name for path in other}
        return other + [path for path in self.made if path.name not in names]

    def tagged(self) -> list[Path]:
        """The objects of a core whose objects have memory tags, and that tells its host of them."""
        place = self.place / "tagged"
        place.mkdir()
        sources = [*core(False), ROOT / "src/platform/linux_tags.c", *API]
        libc = [path for path in self.made if path.name.endswith("_libc.c.o")]
        return [*compile_all(self.target, sources, place, False, TAGGED), *libc]

    def run(self, source: str, made: list[Path], *settings: str, again: str = "", **environment: str) -> bool:
        """`again`: an argument with which the program runs a second time."""
        program = self.place / Path(source).stem
        includes = [f"-I{ROOT / 'tests/fallback'}", "-w", "-O1", "-D_GNU_SOURCE", "-DJW_RESIDENT_UNKNOWN=1"]
        includes += [f"-DJW_SECURE={self.hardened:d}", *settings]
        includes += ["-DJW_PREFIXED=1"] if "bionic" in source else []
        command = [CLANG, f"--target={self.target}", *COMMON, *own_headers(), *includes, *PROCESSOR.get(self.name, [])]
        command += [str(ROOT / "tests" / source), *map(str, made), "-nostdlib", "-static", "-o", str(program)]
        subprocess.run(command, check=True)
        command = [*self.emulator, str(program), *(self.work if source.startswith("stress") else [])]
        done = subprocess.run(command, check=False, env=os.environ | environment)
        if again and done.returncode == 0:
            done = subprocess.run([*command, again], check=False, env=os.environ | environment)
        what = " ".join([self.name, source, *settings])
        print(f"{what}: {'passed' if done.returncode == 0 else done.returncode}", flush=True)
        return done.returncode == 0


def run_tagged(machine: Machine) -> list[bool]:
    made, settings = machine.tagged(), ("-DTRACKS=1", *TAGGED)
    passed = [machine.run(source, made, QEMU_CPU="max") for source in TAGGED_PROGRAMS]
    passed += [machine.run(CONTROLS, made, *settings, "-DTAGS=1", again="untagged", QEMU_CPU="max")]
    return [*passed, machine.run(CONTROLS, made, *settings, "-DTAGS=0", QEMU_CPU="cortex-a72")]


def run_on(name: str, hardened: bool = False) -> int:
    target, emulator, _ = MACHINES[name]
    if not all(map(shutil.which, [*emulator, f"{target}-ld"])):
        print(f"skipped: no {' '.join(emulator)} or {target}-ld")
        return SKIPPED
    with tempfile.TemporaryDirectory() as place:
        machine = Machine(name, hardened, Path(place))
        if hardened and name == "aarch64":
            settings = ("-DTRACKS=1", "-DCLEARED=1")
            passed = [machine.run(CONTROLS, machine.made, *settings, "-DTAGS=1", again="untagged", QEMU_CPU="max")]
            passed += [machine.run(CONTROLS, machine.made, *settings, "-DTAGS=0", QEMU_CPU="cortex-a72")]
        else:
            programs = PROGRAMS[:-1] if hardened else PROGRAMS  # the last one needs malloc_iterate
            passed = [machine.run(source, machine.made) for source in programs]
            passed += [machine.run(CONTROLS, machine.made, f"-DTRACKS={hardened:d}", "-DTAGS=0", "-DCLEARED=1")]
        if hardened and name == "x86_64":
            settings = ("-DTRACKS=1", "-DTAGS=0", "-DCLEARED=0")
            passed += [machine.run(CONTROLS, machine.made, *settings, JWMALLOC_CONF="zero_on_free:false")]
        if not hardened:
            passed += [machine.run(CONTROLS, machine.tracked(), "-DTRACKS=1", "-DTAGS=0")]
        if not hardened and name == "aarch64":
            passed += run_tagged(machine)
    return 0 if all(passed) else 1


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
    if part == "hardened":
        return compiles(hardened=True) or run_on("x86_64", hardened=True) or run_on("aarch64", hardened=True)
    return compiles() if part == "compiles" else constants() if part == "constants" else run_on(part)


sys.exit(main())

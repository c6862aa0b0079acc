"""The allocators that ./jw bench compares: ours, the C library's, Debian's packages, and sources that crates carry.

A crate is fetched by cargo, its checksum compared with the one below, and its C or C++ source built into build/peers
as a library to preload. Nothing of it is in this repository. A peer that cannot be had is left out, with a word.
"""

import functools
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import flavours

PEERS = flavours.BUILD / "peers"
OURS = "jwmalloc"
OURS_SECURE = "jw-secure"
OURS_HUGE = "jw-huge"
SYSTEM = "glibc"
ABLATION = "jw+jemalloc"
CRATES = {
    "hardened-malloc-sys": ("16.0.2026071503", "8a634cdd17eb2cea9e8ab0977f9b7401a5882db9fadb594d080bc67f230b6ec2"),
    "libmimalloc-sys": ("0.1.49", "6a45a52f43e1c16f667ccfe4dd8c85b7f7c204fd5e3bf46c5b0db9a5c3c0b8e9"),
    "rpmalloc-sys": ("0.2.3", "8d4b7d5e225a53887ee57fcec492eaf114b8e290f7072d035adc6ddd6810b67b"),
    "snmalloc-sys": ("0.7.6", "f09c93c55f9a2b8dab75738a83c771231c5f408af65b8657433fe5bc93cc76cb"),
    "tikv-jemalloc-sys": ("0.7.1", "1a2825c78386b4ae0314074867860ba9577875de945f05992c38815cbec327f0"),
}
COMPILE = ["-O3", "-DNDEBUG", "-fPIC", "-shared", "-pthread", "-ftls-model=initial-exec", "-fno-builtin-malloc", "-w"]


@dataclass
class Allocator:
    name: str
    version: str
    library: Path | None = None
    environment: dict[str, str] = field(default_factory=dict)
    huge_pages: bool = True

    def preloaded(self) -> dict[str, str]:
        """The environment of a program that is to run on this allocator."""
        result = {key: value for key, value in os.environ.items() if key not in ("LD_PRELOAD", "JWMALLOC_CONF")}
        result |= self.environment | {"LD_BIND_NOW": "1"}
        return result | ({"LD_PRELOAD": str(self.library)} if self.library else {})


def fetch_crates() -> Path:
    """The crates' sources, each of exactly the version and checksum above."""
    vendor, done = PEERS / "crates", PEERS / "fetched"
    wanted = "\n".join(f"{name} {version} {checksum}" for name, (version, checksum) in CRATES.items())
    if done.exists() and done.read_text() == wanted:
        return vendor
    PEERS.mkdir(parents=True, exist_ok=True)
    needs = "".join(f'{name} = "={version}"\n' for name, (version, _) in CRATES.items())
    package = '[package]\nname = "peers"\nversion = "0.0.0"\nedition = "2021"\n[lib]\npath = "nothing.rs"\n'
    (PEERS / "Cargo.toml").write_text(f"{package}[dependencies]\n{needs}")
    (PEERS / "nothing.rs").touch()
    (PEERS / "Cargo.lock").unlink(missing_ok=True)
    manifest = ["--manifest-path", PEERS / "Cargo.toml"]
    flavours.quietly("cargo", "generate-lockfile", *manifest)
    # Cargo compares what it fetches with the lock file; so it is the lock file that we compare.
    locked = dict(re.findall(r'name = "(.+)"\nversion = .*\nsource = .*\nchecksum = "(.+)"', lock_text()))
    for name, (version, checksum) in CRATES.items():
        if locked.get(name) != checksum:
            raise SystemExit(f"jw bench: {name} {version} is not what it was: checksum {locked.get(name)}")
    flavours.quietly("cargo", "vendor", "--locked", *manifest, vendor)
    done.write_text(wanted)
    return vendor


def lock_text() -> str:
    return (PEERS / "Cargo.lock").read_text()


def build_mimalloc(source: Path, library: Path) -> None:
    source = source / "c_src/mimalloc" / ("v3" if "3" in library.stem else "v2")
    flags = ["-DMI_MALLOC_OVERRIDE", "-DMI_SHARED_LIB", "-DMI_SHARED_LIB_EXPORT", "-DMI_BUILD_RELEASE", "-DMI_DEBUG=0"]
    flags += ["-DMI_SECURE=4"] if "secure" in library.stem else []
    command = ["gcc", "-std=gnu11", *COMPILE, *flags, "-fvisibility=hidden", f"-I{source}/include", f"-I{source}/src"]
    flavours.quietly(*command, source / "src/static.c", "-o", library)


def build_hardened_malloc(source: Path, library: Path) -> None:
    """As its own default configuration says, which the crate carries. It is C23, more than GCC 12 has."""
    flavours.setup("clang")
    code, lines = source / "vendor/hardened-malloc", (source / "config-default.conf").read_text().splitlines()
    settings = [f"-D{line}" for line in lines if "=" in line and not line.startswith("#")]
    sources = [code / f"{name}.c" for name in ("chacha", "h_malloc", "memory", "pages", "random", "util")]
    command = [
        "clang-16",
        "-std=c2x",
        *COMPILE,
        "-D_GNU_SOURCE",
        "-fvisibility=hidden",
        f"-I{code}",
        f"-I{code}/include",
    ]
    flavours.quietly(*command, *settings, f"-I{code}/third_party", *sources, "-o", library)


def build_rpmalloc(source: Path, library: Path) -> None:
    source = source / "rpmalloc/rpmalloc"
    command = ["gcc", "-std=gnu11", *COMPILE, "-D_GNU_SOURCE", "-DENABLE_PRELOAD=1", "-DENABLE_OVERRIDE=1"]
    flavours.quietly(*command, source / "rpmalloc.c", "-o", library)


def build_snmalloc(source: Path, library: Path) -> None:
    """With `checks` in the name: the shim that verifies what it is given and finds."""
    built, shim = PEERS / f"{library.stem}-build", "snmallocshim" + library.stem.removeprefix("snmalloc")
    switches = ["-DCMAKE_BUILD_TYPE=Release", "-DSNMALLOC_BUILD_TESTING=OFF", "-GNinja"]
    flavours.quietly("cmake", "-S", source / "upstream", "-B", built, *switches)
    flavours.quietly("cmake", "--build", built, "--target", shim, "--parallel", "2")
    (built / f"lib{shim}.so").replace(library)


def configure_jemalloc(source: Path, built: Path, *switches: str) -> None:
    """In a copy: it writes into its tree, and the crate keeps configure elsewhere."""
    shutil.copytree(source / "jemalloc", built, dirs_exist_ok=True)
    shutil.copytree(source / "configure", built, dirs_exist_ok=True)
    version = re.search(r'tikv-jemalloc-sys"\nversion = "\d+\.\d+\.\d+\+(.+)"', lock_text())[1]
    configure = ["sh", "configure", "--disable-doc", f"--with-version={version}", *switches]
    flavours.quietly("env", "-C", built, *configure)


def build_jemalloc(source: Path, library: Path) -> None:
    built = PEERS / "jemalloc-build"
    configure_jemalloc(source, built)
    flavours.quietly("make", "-s", "-C", built, "-j2", "build_lib_shared")
    (built / "lib/libjemalloc.so.2").replace(library)


BUILDS: dict[str, tuple[str, Callable[[Path, Path], None]]] = {
    "mimalloc3": ("libmimalloc-sys", build_mimalloc),
    "mimalloc2": ("libmimalloc-sys", build_mimalloc),
    "rpmalloc": ("rpmalloc-sys", build_rpmalloc),
    "snmalloc": ("snmalloc-sys", build_snmalloc),
    "jemalloc": ("tikv-jemalloc-sys", build_jemalloc),
    "mimalloc2-secure": ("libmimalloc-sys", build_mimalloc),
    "hardened_malloc": ("hardened-malloc-sys", build_hardened_malloc),
    "snmalloc-checks": ("snmalloc-sys", build_snmalloc),
}
# Package, and its library.
PACKAGES = {
    "jemalloc-deb": ("libjemalloc2", r"libjemalloc\.so\.2$"),
    "mimalloc-deb": ("libmimalloc2.0", r"libmimalloc\.so\.2\.0$"),
    "tcmalloc": ("libtcmalloc-minimal4", r"libtcmalloc_minimal\.so\.4$"),
    "tbb": ("libtbbmalloc2", r"libtbbmalloc_proxy\.so\.2$"),
    "scudo": ("libclang-rt-16-dev", rf"libclang_rt\.scudo_standalone-{platform.machine()}\.so$"),
}
# mimalloc asks for huge pages by itself, which trades memory for page faults.
VARIANTS = {"mimalloc3-small": "mimalloc3", "mimalloc2-small": "mimalloc2"}
# Compared only when they are named, or when only security is measured.
HARDENED = [OURS_SECURE, "mimalloc2-secure", "hardened_malloc", "snmalloc-checks"]
NAMES = [OURS, OURS_HUGE, ABLATION, SYSTEM, *(name for name in BUILDS if name not in HARDENED), *PACKAGES, *VARIANTS]
QUICK = [OURS, SYSTEM, "jemalloc-deb", "tcmalloc", "mimalloc3", "mimalloc3-small", "rpmalloc"]
SECURITY = [OURS, OURS_SECURE, "scudo", "hardened_malloc", "mimalloc2-secure", "snmalloc-checks", SYSTEM]
SERVES_SECONDS = 30


def crate_version(name: str) -> str:
    crate = BUILDS[name][0]
    sources = {
        "mimalloc2-secure": ("c_src/mimalloc/v2/include/mimalloc.h", r"MI_MALLOC_VERSION (\d)(\d\d)(\d\d)\b"),
        "mimalloc3": ("c_src/mimalloc/v3/include/mimalloc.h", r"MI_MALLOC_VERSION (\d)(\d\d)(\d\d)\b"),
        "mimalloc2": ("c_src/mimalloc/v2/include/mimalloc.h", r"MI_MALLOC_VERSION (\d)(\d\d)(\d\d)\b"),
    }
    if name not in sources:
        return re.search(rf'name = "{crate}"\nversion = "(.+)"', lock_text())[1].split("-0-g")[0]
    file, pattern = sources[name]
    numbers = re.search(pattern, (PEERS / "crates" / crate / file).read_text()).groups()
    return ".".join(str(int(number)) for number in numbers)


@functools.cache
def crates() -> Path | None:
    """Where they are; None when they cannot be had, which is tried once."""
    try:
        return fetch_crates()
    except (OSError, subprocess.CalledProcessError):
        return None


def crate_source(name: str) -> Path:
    if (vendor := crates()) is None:
        raise OSError("its crate cannot be fetched, see above")
    return vendor / BUILDS[name][0]


def from_crate(name: str) -> Allocator:
    crate, build = BUILDS[name]
    source, library = crate_source(name), PEERS / f"{name}.so"
    # What a change of the recipe or of the crate must build anew.
    recipe, stamp = f"{CRATES[crate]} {COMPILE} {build.__code__.co_code.hex()}", library.with_suffix(".recipe")
    if not library.exists() or not stamp.exists() or stamp.read_text() != recipe:
        print(f"  building {name} ...", file=sys.stderr)
        build(source, library)
        stamp.write_text(recipe)
    return Allocator(name, crate_version(name), library)


def from_package(name: str) -> Allocator:
    package, pattern = PACKAGES[name]
    query = ["dpkg-query", "-W", "-f", "${Version}", package]
    version = subprocess.run(query, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    files = subprocess.run(["dpkg", "-L", package], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    found = [line for line in files.splitlines() if re.search(pattern, line)]
    if not found:
        raise OSError(f"package {package} is not there")
    return Allocator(name, version, Path(found[0]))


def ablation() -> Allocator:
    """Our frontend and midend on jemalloc's backend: one source stands for two of ours, all else is what we measure."""
    built, library = PEERS / "jemalloc-prefixed", PEERS / "jw+jemalloc.so"
    archive = built / "lib/libjemalloc_pic.a"
    replaced = [str(flavours.ROOT / f"src/backend/{name}.c") for name in ("backend", "large_object")]
    if not archive.exists():
        switches = ["--with-jemalloc-prefix=je_", "--disable-cxx"]
        configure_jemalloc(crate_source("jemalloc"), built, *switches)
        flavours.quietly("make", "-s", "-C", built, "-j2", "build_lib_static")
    build = flavours.build("release")
    stand_in, compiled = flavours.ROOT / "bench/ablation/backend_jemalloc.c", PEERS / "backend_jemalloc.o"
    entries = json.loads((build / "compile_commands.json").read_text())
    commands = {one["file"]: shlex.split(one["command"]) for one in entries if "/jwmalloc-objects." in one["command"]}
    outputs = {file: build / words[words.index("-o") + 1] for file, words in commands.items()}
    changes = {replaced[0]: stand_in, str(outputs[replaced[0]].relative_to(build)): compiled}
    flavours.quietly(*(changes.get(word, word) for word in commands[replaced[0]]))
    others = [output for file, output in outputs.items() if file not in replaced]
    link = ["gcc", "-shared", "-Wl,-z,now", "-Wl,-z,nodelete", "-Wl,--exclude-libs,ALL", "-pthread"]
    flavours.quietly(*link, "-o", library, compiled, *others, archive, "-lm", "-ldl")
    # jemalloc needs thread-local storage, which our reclamation thread does without.
    settings = {"JWMALLOC_CONF": "reclaim_thread:false"}
    return Allocator(ABLATION, f"{source_version()} on {crate_version('jemalloc')}", library, settings)


def source_version() -> str:
    command = ["git", "-C", flavours.ROOT, "describe", "--always", "--dirty"]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.strip()


def ours(name: str, flavour: str) -> Allocator:
    library = flavours.build(flavour) / "libjwmalloc.so"
    return Allocator(name, source_version(), library.resolve())


def provide(name: str) -> Allocator:
    if name in (OURS, OURS_SECURE):
        return ours(name, "release" if name == OURS else "secure")
    if name == OURS_HUGE:
        return replace(ours(name, "release"), environment={"JWMALLOC_CONF": "huge_pages:true"})
    if name == ABLATION:
        return ablation()
    if name == SYSTEM:
        return Allocator(SYSTEM, platform.libc_ver()[1])
    if base := VARIANTS.get(name):
        allocator = from_crate(base)
        return Allocator(name, allocator.version, allocator.library, huge_pages=False)
    return from_crate(name) if name in BUILDS else from_package(name)


def added(texts: list[str]) -> list[Allocator]:
    """NAME=LIB.so of the command line."""
    result = []
    for text in texts:
        name, _, path = text.partition("=")
        library = Path(path).resolve()
        if not re.fullmatch(r"[\w.+-]+", name) or not library.is_file():
            raise SystemExit(f"jw bench: --peer wants NAME=LIB.so with a library that exists, not '{text}'")
        if name in NAMES + HARDENED + [one.name for one in result]:
            raise SystemExit(f"jw bench: --peer: there is a peer of the name {name} already")
        result.append(Allocator(name, "", library))
    return result


def serves(allocator: Allocator, program: Path) -> str:
    """What is wrong when a program that allocates does not run on it, or on another malloc; empty when all is well."""
    how = {"env": allocator.preloaded(), "capture_output": True, "text": True, "errors": "replace"}
    try:
        done = subprocess.run([program], timeout=SERVES_SECONDS, **how)
    except subprocess.TimeoutExpired:
        return f"a program that allocates is not done after {SERVES_SECONDS} s"
    # The loader goes on without a library that it cannot use, with a word.
    said = " ".join(done.stderr.split())[:200]
    if done.returncode:
        return f"a program that allocates ends with status {done.returncode}" + (f": {said}" if said else "")
    where = Path(done.stdout.strip() or "/").resolve()
    if allocator.library is not None and where != allocator.library.resolve():
        return said or f"a program with it preloaded has its malloc from {where}"
    return ""


def collect(names: list[str], extra: list[str], program: Path) -> tuple[list[Allocator], list[str]]:
    """Those of the names that can be had here, and the added ones; ours first. And what is left out, and why."""
    wanted = added(extra)
    for allocator in wanted:
        if why := serves(allocator, program):
            raise SystemExit(f"jw bench: --peer {allocator.name}={allocator.library}: {why}")
    try:
        flavours.setup("peers")
    except subprocess.CalledProcessError:
        print("  some packages of peers are missing; see above", file=sys.stderr)
    result, left_out = [], []
    for name in names:
        try:
            allocator = provide(name)
            why = serves(allocator, program)
        except subprocess.CalledProcessError as error:
            why = f"{' '.join(map(str, error.cmd))[:100]} failed, see above"
        except OSError as error:
            why = str(error)
        if why:
            left_out.append(f"{name}: {why}")
            print(f"  left out: {name}: {why}", file=sys.stderr)
        else:
            result.append(allocator)
    if not any(allocator.name == OURS for allocator in result):
        raise SystemExit("jw bench: without our own library there is nothing to compare")
    return result + wanted, left_out

"""./jw build: the flavours of the build, which CMakePresets.json defines."""

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"


def flavours() -> dict[str, str]:
    """Name and description of each."""
    presets = json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]
    # one with a condition needs what is not here, such as Android's NDK
    usable = [preset for preset in presets if not preset.get("hidden") and "condition" not in preset]
    return {preset["name"]: preset["description"] for preset in usable}


def directory(flavour: str) -> Path:
    return BUILD if flavour == "release" else BUILD / flavour


def may_install() -> bool:
    """Whether packages may be installed: not with --no-install."""
    return not os.environ.get("JW_NO_INSTALL")


def setup(*purposes: str, needed: bool = True) -> None:
    """Installs what is missing for the purposes, see tools/setup.sh. What is not needed may stay missing."""
    subprocess.run([ROOT / "tools/setup.sh", *purposes], check=needed)


def quietly(*command: object, **how: object) -> None:
    """Runs a command; its output is shown only when it fails."""
    done = subprocess.run(
        [str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT, **how
    )
    if done.returncode:
        sys.stderr.write(done.stdout)
        raise subprocess.CalledProcessError(done.returncode, command, done.stdout)


def install_python(place: Path, wanted: Path) -> None:
    """Makes a Python environment with the packages that the file `wanted` pins, unless it is there."""
    installed = place / "requirements.txt"
    if installed.exists() and installed.read_text() == wanted.read_text():
        return
    packages = " ".join(wanted.read_text().split())
    if not may_install():
        raise SystemExit(f"jw: missing in {place}, not installed because of --no-install: {packages}")
    print(f"jw: about to install these Python packages in {place}: {packages}", file=sys.stderr)
    quietly(sys.executable, "-m", "venv", "--clear", place)
    quietly(place / "bin/pip", "install", "--quiet", "-r", wanted)
    shutil.copy(wanted, installed)


def zig_musl() -> None:
    """What cmake/aarch64-musl.cmake names: zig, as cmake/zig-requirements.txt pins it, and a loader of musl for the
    emulator. Without a loader only static programs are tested."""
    import foreign  # which asks this module for what is in build

    install_python(BUILD / "zig-venv", ROOT / "cmake/zig-requirements.txt")
    try:
        loader = foreign.unpacked("musl")
    except foreign.NotHereError as reason:
        print(f"jw: aarch64-musl: the tests of the shared library are SKIPPED: {reason}", flush=True)
        return
    link = BUILD / "musl-aarch64"
    link.unlink(missing_ok=True)
    link.symlink_to(loader.parents[1])


def configure(flavour: str, tests: bool = False) -> Path:
    """Gives the flavour's directory."""
    own = ("clang", "i386", "aarch64", "riscv64", "armv7", "musl", "kernel", "kernel64")
    needs = ["build"] + [need for need in own if flavour.startswith(need)]
    setup(*needs, *(["tests"] if tests else []))
    if flavour == "aarch64-musl":
        zig_musl()
    quietly("cmake", "--preset", flavour, *(["-DJW_TESTS=ON"] if tests else []))
    return directory(flavour)


def make(flavour: str, *targets: str) -> None:
    parallel = os.cpu_count() or 1
    quietly("cmake", "--build", directory(flavour), "--parallel", parallel, "--target", *targets, "--", "--quiet")


def build(flavour: str, target: str = "libraries", tests: bool = False) -> Path:
    """Configures and builds a flavour; gives its directory."""
    configure(flavour, tests)
    make(flavour, target)
    return directory(flavour)


def run(arguments) -> int:
    chosen = list(flavours()) if arguments.all else arguments.flavour or ["release"]
    for flavour in chosen:
        built = build(flavour)
        for library in sorted(built.glob("libjwmalloc*.so")) + sorted(built.glob("libjwmalloc*.a")):
            print(library.relative_to(ROOT))
    return 0


def add_command(commands) -> None:
    listing = "".join(f"\n  {name:18}{text}" for name, text in flavours().items())
    command = commands.add_parser(
        "build",
        help="build the libraries: build/libjwmalloc.so and build/libjwmalloc.a",
        description="Builds three libraries: libjwmalloc.so, to preload or to link with; libjwmalloc.a, to link with;\n"
        "libjwmalloc-prefixed.a, for use beside the system's malloc. Its names begin with jw_.",
        epilog="Flavours. Each is built in build/FLAVOUR, only release is built in build:" + listing,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("flavour", nargs="*", metavar="FLAVOUR", help="default: release")
    command.add_argument("--all", action="store_true", help="all flavours")
    command.set_defaults(run=run)

#!/usr/bin/env python3
"""How other projects take the library in: consumers.py WAY COMPILER CMAKE BUILD

Ways: by_hand, pkg_config, find_package, add_subdirectory, fetch_content, lto (of a parent), lto_packaged (of a
packager's flags), installed.
Each builds plugins with an archive of ours in them, which are closed while their threads live on (host.c), and
programs.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
WAY, COMPILER, CMAKE, BUILD = sys.argv[1], sys.argv[2], sys.argv[3], Path(sys.argv[4])
CLEAN = {name: value for name, value in os.environ.items() if name not in ("CFLAGS", "LDFLAGS", "LD_PRELOAD")}


def run(*command, env=None) -> str:
    done = subprocess.run(
        [str(word) for word in command],
        env=CLEAN | (env or {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout}")
    return done.stdout


def is_pinned(plugin: Path) -> bool:
    return "NODELETE" in run("readelf", "-d", plugin)


def visit(host: Path, *plugins: Path) -> None:
    for _ in range(2):
        if "alive" not in run(host, *plugins):
            raise SystemExit("the host did not come to its end")


def make_host(folder: Path) -> Path:
    run(COMPILER, HERE / "host.c", "-o", folder / "host", "-ldl", "-pthread")
    return folder / "host"


def by_hand(folder: Path) -> None:
    """A plugin built without the flag: the library pins itself."""
    plugins = []
    for archive in ("libjwmalloc-prefixed.a", "libjwmalloc.a"):
        plugin = folder / f"{archive}.so"
        run(
            COMPILER,
            "-shared",
            "-fPIC",
            f"-I{ROOT}/include",
            HERE / "plugin.c",
            BUILD / archive,
            "-pthread",
            "-o",
            plugin,
        )
        assert not is_pinned(plugin)
        plugins.append(plugin)
    visit(make_host(folder), *plugins)
    for archive in ("libjwmalloc-prefixed.a", "libjwmalloc.a"):
        for flags in ([], ["-static"], ["-no-pie"], ["-static-pie"]):
            program = folder / "program"
            run(COMPILER, *flags, f"-I{ROOT}/include", HERE / "program.c", BUILD / archive, "-pthread", "-o", program)
            run(program)


def install(folder: Path) -> Path:
    prefix = folder / "prefix"
    run(CMAKE, "--install", BUILD, "--prefix", prefix)
    return prefix


def pkg_config(folder: Path) -> None:
    if shutil.which("pkg-config") is None:
        print("skipped: no pkg-config")
        raise SystemExit(77)
    (where,) = install(folder).rglob("pkgconfig")
    env = {"PKG_CONFIG_PATH": str(where)}
    flags = run("pkg-config", "--cflags", "--libs", "jwmalloc-prefixed", env=env).split()
    plugin = folder / "plugin.so"
    run(COMPILER, "-shared", "-fPIC", HERE / "plugin.c", *flags, "-o", plugin)
    assert is_pinned(plugin)
    visit(make_host(folder), plugin)
    for more in ([], ["--static"]):
        flags = run("pkg-config", *more, "--cflags", "--libs", "jwmalloc", env=env).split()
        run(COMPILER, HERE / "program.c", *flags, *(["-static"] if more else []), "-o", folder / "program")
        run(folder / "program", env={"LD_LIBRARY_PATH": str(where.parent)})


def by_cmake(folder: Path, how: str, *options: str) -> None:
    build = folder / how
    generator = ["-GNinja"] if shutil.which("ninja") else []
    run(CMAKE, *generator, "-S", HERE, "-B", build, f"-DHOW={how}", f"-DJW_SOURCE={ROOT}",
        f"-DCMAKE_C_COMPILER={COMPILER}", *options)  # fmt: skip
    run(CMAKE, "--build", build, "-j2")
    plugins = [build / "libplugin.so", build / "libfarther.so"]
    assert all(is_pinned(plugin) for plugin in plugins)
    visit(build / "host", *plugins)
    for kind in ("jwmalloc", "static", "jwmalloc-prefixed"):
        run(build / f"with-{kind}")
    assert not is_pinned(build / "with-static")


def find_package(folder: Path) -> None:
    by_cmake(folder, "find_package", f"-DCMAKE_PREFIX_PATH={install(folder)}")


def add_subdirectory(folder: Path) -> None:
    by_cmake(folder, "add_subdirectory")


def fetch_content(folder: Path) -> None:
    by_cmake(folder, "FetchContent")


def lto(folder: Path) -> None:
    by_cmake(folder, "add_subdirectory", "-DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON")


def lto_packaged(folder: Path) -> None:
    """As Ubuntu builds packages."""
    by_cmake(folder, "FetchContent", "-DCMAKE_C_FLAGS=-g -O2 -flto=auto -ffat-lto-objects -fstack-protector-strong")
    build = folder / "package"
    run(CMAKE, "-S", ROOT, "-B", build, f"-DCMAKE_C_COMPILER={COMPILER}", "-DCMAKE_C_FLAGS=-O2 -flto")
    run(CMAKE, "--build", build, "-j2")
    program = folder / "program"
    for archive in ("libjwmalloc-prefixed.a", "libjwmalloc.a"):
        run(
            COMPILER,
            "-O2",
            "-flto",
            f"-I{ROOT}/include",
            HERE / "program.c",
            build / archive,
            "-pthread",
            "-o",
            program,
        )
        run(program)


def lost_links(page: Path) -> list[str]:
    """Links of an installed page to pages that are not installed."""
    pages = re.findall(r"\]\(([\w./-]+\.md)", page.read_text())
    return [f"{page.name}: {link}" for link in pages if not (page.parent / link).exists()]


def installed(folder: Path) -> None:
    paths = [path for path in install(folder).rglob("*") if path.is_file()]
    files = {path.name for path in paths}
    if lost := [link for page in paths if page.suffix == ".md" for link in lost_links(page)]:
        raise SystemExit(f"links lead nowhere: {', '.join(lost)}")
    wanted = {"LICENSE", "README.md", "misuse.md", "hardening.md", "jwmalloc.h", "jwmalloc.pc", "jwmalloc-prefixed.pc",
              "jwmalloc-config.cmake", "libjwmalloc.a", "libjwmalloc-prefixed.a"}  # fmt: skip
    if wanted - files:
        raise SystemExit(f"not installed: {', '.join(sorted(wanted - files))}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        globals()[WAY](Path(temporary))

"""A kernel that Debian has no package of: it is built from the package of Debian's source, with a file of settings.
All that the file does not name is left out, so that a build takes minutes."""

import os
import subprocess
from pathlib import Path

import flavours


def build(archive: Path, settings: Path, target: str) -> Path:
    """Builds the kernel whose source is in `archive` for AArch64, beside it; gives the image."""
    print("jw: building a kernel from its source, once; it takes some minutes", flush=True)
    source = archive.parent / "source"
    source.mkdir()
    flavours.quietly("tar", "-xJf", archive, "-C", source, "--strip-components=1")
    make = ["make", "-s", "-C", source, f"-j{os.cpu_count() or 1}", "ARCH=arm64", "CROSS_COMPILE=aarch64-linux-gnu-"]
    flavours.quietly(*make, f"KCONFIG_ALLCONFIG={settings}", "allnoconfig")
    taken = (source / ".config").read_text().splitlines()
    if lost := [line for line in settings.read_text().splitlines() if line.startswith("CONFIG_") and line not in taken]:
        raise subprocess.CalledProcessError(1, make, f"{settings.name}: the kernel does not take {' '.join(lost)}\n")
    flavours.quietly(*make, target)
    return source / "arch/arm64/boot" / target

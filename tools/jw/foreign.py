"""Packages of Debian for AArch64, which are unpacked in build and not installed: kernels to boot, the source of one,
and musl's loader. tools/foreign.toml pins them."""

import hashlib
import os
import shutil
import subprocess
import threading
from pathlib import Path
from subprocess import PIPE

import tomllib

import flavours
import kernel_source

PLACE = flavours.BUILD / "foreign"
ONE_AT_A_TIME = threading.Lock()  # a flavour is built while another one runs


class NotHereError(Exception):
    """The package cannot be had here."""


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def apt_settings(place: Path, suite: str) -> Path:
    """Settings of apt for packages of another processor and suite, beside the system's own, which stay as they are."""
    for folder in ("state/lists/partial", "cache/archives/partial"):
        (place / folder).mkdir(parents=True, exist_ok=True)
    (place / "state/status").touch()
    listing = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Label: Debian"]
    said = subprocess.run(listing, capture_output=True, text=True, check=False).stdout.split()
    if not said:
        raise NotHereError("this system's apt knows no mirror of Debian")
    keys = "/usr/share/keyrings/debian-archive-keyring.gpg"
    (place / "sources.list").write_text(f"deb [arch=arm64 signed-by={keys}] {said[0]} {suite} main\n")
    settings = place / "apt.conf"
    told = {
        "APT::Architecture": "arm64",
        "APT::Architectures": "arm64",
        "APT::Sandbox::User": "root",
        "Acquire::Languages": "none",
        "Dir::State": place / "state",
        "Dir::State::status": place / "state/status",
        "Dir::Cache": place / "cache",
        "Dir::Etc::sourcelist": place / "sources.list",
        "Dir::Etc::sourceparts": "/dev/null",
    }
    settings.write_text("".join(f'{name} "{value}";\n' for name, value in told.items()))
    return settings


def download(place: Path, told: dict[str, str]) -> Path:
    """The package, as pinned."""
    environment = os.environ | {"APT_CONFIG": str(apt_settings(place, told["suite"]))}
    for command in (["update"], ["download", f"{told['package']}={told['version']}"]):
        done = subprocess.run(
            ["apt-get", *command], cwd=place, env=environment, capture_output=True, text=True, check=False, timeout=600
        )
        if done.returncode:
            why = (done.stderr.strip().splitlines() or ["no reason"])[-1]
            raise NotHereError(f"{told['package']} {told['version']} cannot be had: {why}")
    package = next(place.glob("*.deb"))
    if digest(package) != told["sha256"]:
        raise NotHereError(f"{package.name} is not the file that tools/foreign.toml names by its sha256")
    return package


def copy_out(package: Path, member: str, kept: Path) -> Path:
    """Copies one file out of the package."""
    with kept.open("wb") as file, subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=PIPE) as archive:
        subprocess.run(["tar", "-xf", "-", "--to-stdout", member], stdin=archive.stdout, stdout=file, check=True)
        archive.stdout.read()
    return kept


def unpacked(name: str) -> Path:
    """The file of the package that is wanted, or what is built from it; fetched once for each version."""
    with ONE_AT_A_TIME:
        return unpacked_alone(name)


def unpacked_alone(name: str) -> Path:
    told = tomllib.loads((flavours.ROOT / "tools/foreign.toml").read_text())[name]
    settings = flavours.ROOT / told["settings"] if "settings" in told else None
    version = told["sha256"][:16] + (f"-{digest(settings)[:16]}" if settings else "")
    kept = PLACE / f"{name}-{version}" / told["file"]
    if kept.exists():
        return kept
    if not flavours.may_install():
        raise NotHereError(f"{told['package']} is not fetched because of --no-install")
    place = PLACE / "fetched"
    shutil.rmtree(place, ignore_errors=True)
    try:
        package = download(place, told)
        whole = copy_out(package, told["path"], place / "file")
        kept.parent.mkdir(parents=True, exist_ok=True)
        if settings:
            whole = kernel_source.build(whole, settings, told["file"])
        whole.chmod(0o755)
        whole.rename(kept)
    except subprocess.TimeoutExpired as error:
        raise NotHereError(f"{told['package']} cannot be had: no answer in {error.timeout:.0f} s") from error
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return kept

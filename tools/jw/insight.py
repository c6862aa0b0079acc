"""What ./jw record, profile, guard, stat, report and the like run: insight/tools, its libraries and packages."""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import flavours

TOOLS = flavours.ROOT / "insight"
sys.path.append(str(TOOLS / "tools"))
import arguments as insight_arguments  # noqa: E402

VENV = flavours.BUILD / "insight-venv"


def python() -> Path:
    """An interpreter with the packages that insight/requirements.txt names."""
    flavours.BUILD.mkdir(exist_ok=True)
    with (flavours.BUILD / "insight-venv.lock").open("w") as lock:  # tests start side by side
        fcntl.flock(lock, fcntl.LOCK_EX)
        install()
    return VENV / "bin/python"


def install() -> None:
    wanted, installed = TOOLS / "requirements.txt", VENV / "requirements.txt"
    if not installed.exists() or installed.read_text() != wanted.read_text():
        packages = " ".join(wanted.read_text().split())
        if not flavours.may_install():
            raise SystemExit(f"jw: missing in {VENV}, not installed because of --no-install: {packages}")
        print(f"jw: about to install these Python packages in {VENV}: {packages}", file=sys.stderr)
        flavours.setup("report")
        flavours.quietly(sys.executable, "-m", "venv", "--clear", VENV)
        flavours.quietly(VENV / "bin/pip", "install", "--quiet", "-r", wanted)
        shutil.copy(wanted, installed)


def command_of(*words: object) -> list[str]:
    """A command of insight/tools."""
    return [str(word) for word in (python(), "-B", TOOLS / "tools", "--build", flavours.BUILD, *words)]


def call(*words: object) -> int:
    return subprocess.call(command_of(*words))


def parse(*words: str) -> None:
    """Ends the program after --help, and if an argument is wrong: before anything is installed or built."""
    insight_arguments.parse(list(words))


def run(arguments) -> NoReturn:
    parse(arguments.command, *arguments.words)
    python()
    flavours.build("release", "insight")
    if arguments.command == "replay":
        flavours.build("release")
    command = command_of(arguments.command, *arguments.words)
    os.execv(command[0], command)  # so that a signal reaches the command; as its parent we would kill it after Ctrl-C


def add_command(commands) -> None:
    for name, does in insight_arguments.COMMANDS.items():
        command = commands.add_parser(name, help=does, add_help=False, prefix_chars="\0")
        command.add_argument("words", nargs="*")
        command.set_defaults(run=run, command=name)

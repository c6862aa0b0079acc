"""program.py - the program that is recorded, profiled or guarded: it is started, and gets the signals that are its own.

What a terminal sends reaches its whole foreground group, so the program as well; it may then still do something, which
belongs into the file. What ends a process otherwise (kill, timeout) comes to ours alone, and is handed on."""

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

from errors import TraceError

OF_A_TERMINAL = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)


def check_place(path: Path) -> None:
    """Before the program runs: an hour later it would be too late."""
    place = path if path.exists() else path.parent
    if path.is_dir() or not place.exists() or not os.access(place, os.W_OK):
        why = (
            "Is a directory"
            if path.is_dir()
            else "Permission denied"
            if place.exists()
            else "No such file or directory"
        )
        raise TraceError(f"{path}: cannot be written: {why}")


def check_program(command: list[str]) -> None:
    """Before an older file of the same name is written over."""
    if shutil.which(command[0]) is None:
        why = "Permission denied" if os.path.exists(command[0]) else "No such file or directory"
        raise TraceError(f"{command[0]}: cannot be run: {why}")


def start(command: list[str], environment: dict[str, str]) -> subprocess.Popen:
    try:
        program = subprocess.Popen(command, env=environment)
    except OSError as error:
        raise TraceError(f"{command[0]}: cannot be run: {error.strerror}") from error
    for number in OF_A_TERMINAL:  # only now: the program has inherited those that are ignored, as nohup does
        signal.signal(number, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda *_: hand_on(program))
    return program


def hand_on(program: subprocess.Popen) -> None:
    with contextlib.suppress(OSError):  # it may have another user by now
        program.send_signal(signal.SIGTERM)


def interrupted() -> Callable[[], bool]:
    """After the program's end: whether a signal has come that ends the wait for its children."""
    seen: list[int] = []
    for number in (*OF_A_TERMINAL, signal.SIGTERM):
        signal.signal(number, lambda one, _: seen.append(one))
    return lambda: bool(seen)


def status_of(program: subprocess.Popen) -> int:
    """As a shell says it."""
    return program.returncode if program.returncode >= 0 else 128 - program.returncode

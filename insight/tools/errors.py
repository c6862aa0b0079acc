"""errors.py - what a command says in one line, and then ends."""

import contextlib
import sys

called = "jw"  # how the user has called it; the installed commands have another name


class TraceError(Exception):
    """What is wrong with a file, a program or an argument, in one line."""


def say(text: str, command: str = "") -> None:
    with contextlib.suppress(OSError):  # the terminal was closed: what is being written is still finished
        print(f"{called} {command}".strip() + f": {text}", file=sys.stderr)


def start_of(line: bytes) -> str:
    """Of a foreign file's line what a terminal can show; it obeys some of the other characters."""
    text = line[:60].decode(errors="replace").strip()
    return "".join(one if one.isprintable() else "?" for one in text)

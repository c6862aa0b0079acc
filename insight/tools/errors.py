"""errors.py - what a command says in one line, and then ends."""


class TraceError(Exception):
    """What is wrong with a file, a program or an argument, in one line."""


def start_of(line: bytes) -> str:
    """Of a foreign file's line what a terminal can show; it obeys some of the other characters."""
    text = line[:60].decode(errors="replace").strip()
    return "".join(one if one.isprintable() else "?" for one in text)

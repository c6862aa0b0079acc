"""errors.py - what a command says in one line, and then ends."""


class TraceError(Exception):
    """What is wrong with a file, a program or an argument, in one line."""

"""records.py - what the JSON of a trace must have (docs/formats.md), so that a foreign file ends in one message.

Only what the tools read is checked. A reader passes over records that it does not know."""

import json
from collections.abc import Callable

MOST = 1 << 62


def number(value: object) -> bool:
    return type(value) is int and 0 <= value < MOST


def text(value: object) -> bool:
    return isinstance(value, str)


def texts(value: object) -> bool:
    return isinstance(value, list) and all(map(text, value))


def flag(value: object) -> bool:
    return isinstance(value, bool)


def samples(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(row, list) and len(row) == 3 and all(map(number, row)) for row in value
    )


def names(value: object) -> bool:
    return isinstance(value, dict) and all(
        key.isdecimal() and len(key) < 20 and texts(functions) for key, functions in value.items()
    )


Shape = dict[str, Callable[[object], bool]]
ABOUT: Shape = {"command": texts, "date": text, "page_size": number, "timed": flag, "addresses": flag}
THREAD: Shape = {"process": number, "thread": number, "name": text}
RECORDS: dict[str, Shape] = {
    "process": {"process": number, "parent": number, "time": number, "command": text},
    "program": {"process": number, "path": text},
    "thread": THREAD,
    "thread_name": THREAD,
    "thread_end": {**THREAD, "time": number},
    "memory": {"samples": samples},
    "names": {"names": names},
    "end": {"lost": number},
}


def check(record: object, shape: Shape, all_of_them: bool = True) -> None:
    """A ValueError that names the field, if one is of a wrong kind or missing."""
    if not isinstance(record, dict):
        raise ValueError("not an object of JSON")
    for name, fits in shape.items():
        if (name in record or all_of_them) and not fits(record.get(name)):
            raise ValueError(f"the field '{name}'")


def read(raw: bytes) -> dict:
    record = json.loads(raw)
    check(record, {"what": text})
    check(record, RECORDS.get(record["what"], {}))
    if record["what"] == "process" and record["parent"] >= record["process"]:
        raise ValueError("a parent that is younger than its child")
    return record

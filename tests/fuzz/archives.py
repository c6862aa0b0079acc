#!/usr/bin/env python3
"""archives.py [RUNS] - damaged archives given to ./jw bench as traces: each is unpacked or refused in one line.

Always the same damage: a seed fixes it. No traceback may come, whatever is in the file.
"""

import io
import random
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/jw"))
import traces  # noqa: E402 # found by the path above

TRACE = b"".join(b"1: malloc 0x%x %d\n" % (16 * number, number) for number in range(1, 200))


def archive(method: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as made:
        made.writestr("trace.txt", TRACE)
        made.writestr("other.txt", b"x")
    return buffer.getvalue()


def damaged(data: bytes, chance: random.Random) -> bytes:
    """Bytes changed, cut out, or doubled, mostly where the directories are."""
    changed = bytearray(data)
    for _ in range(chance.randrange(1, 6)):
        at = chance.choice([chance.randrange(len(changed)), max(0, len(changed) - chance.randrange(1, 180))])
        length = chance.randrange(1, 40)
        kind = chance.randrange(4)
        if kind == 0:
            changed[at] = chance.randrange(256)
        elif kind == 1:
            changed[at] ^= 1 << chance.randrange(8)
        elif kind == 2 and len(changed) > length + 1:
            del changed[at : at + length]
        else:
            changed[at:at] = changed[at : at + length]
    return bytes(changed)


def main() -> int:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    chance, refused = random.Random(1), 0
    whole = [archive(zipfile.ZIP_STORED), archive(zipfile.ZIP_DEFLATED), TRACE, b""]
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "trace.zip"
        for run in range(runs):
            data = whole[run] if run < len(whole) else damaged(whole[run % 2], chance)
            path.write_bytes(data)
            (Path(directory) / "trace.txt").unlink(missing_ok=True)
            try:
                unpacked = traces.unpacked(path, Path(directory))
            except SystemExit as end:
                refused += 1
                told = str(end.code)
                if not told.startswith("jw bench: ") or "\n" in told:
                    raise AssertionError(f"run {run}: a message of its own kind: {told!r}") from end
                continue
            if run < 2 and unpacked.read_bytes() != TRACE:
                raise AssertionError(f"run {run}: not the trace")
    print(f"{runs} archives, {refused} refused")
    return 0 if 2 <= refused < runs else 1


sys.exit(main())

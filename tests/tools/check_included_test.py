"""check_included_test.py - a test of ./jw check layers: a source that a file includes is found, but for the models of
the kernel."""

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import check_included  # noqa: E402

KERNEL, LINUX = '#include "verify/clients/kernel.h"\n', '#include "platform/linux.c"\n'

# file, its text, and whether it may be
CASES = [
    ("verify/clients/model.c", KERNEL + LINUX, True),
    ("verify/clients/model.c", LINUX, False),
    ("verify/clients/model.c", LINUX + KERNEL, False),
    ("verify/clients/model.c", KERNEL + LINUX + '#include "platform/linux_memory.c"\n', False),
    ("verify/clients/model.c", KERNEL + '#include "frontend/heap_lifecycle.c"\n', False),
    ("tests/unit/inside_test.c", KERNEL + LINUX, False),
    ("tests/unit/inside.h", '#include "midend/midend.c"\n', False),
    ("src/core/all.c", "#include <core/route.c>\n", False),
    ("src/core/all.c", '#include "config/controls.def"\n', True),
]


def found_in(file: str, text: str) -> list[str]:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / file
        path.parent.mkdir(parents=True)
        path.write_text(text)
        return check_included.complaints(Path(directory))


def main() -> int:
    wrong = [case for case in CASES if (found_in(*case[:2]) == []) != case[2]]
    wrong += check_included.complaints(ROOT)
    print("\n".join(map(str, wrong)) or f"{len(CASES)} cases, as expected")
    return 1 if wrong else 0


sys.exit(main())

"""check_included.py - no file includes a source: what another file needs of a source stands in a header.

One place is excepted, for the reason in docs/verification.md: a client of the model checker that has a kernel of its
own includes verify/clients/kernel.h, and then one source of the platform's Linux layer.
"""

import re
from pathlib import Path

PLACES = ["src", "include", "tests", "verify", "bench", "insight"]
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.MULTILINE)
SOURCE = re.compile(r"\.(?:c|cc|cpp)$")
CLIENTS, KERNEL, LINUX = "verify/clients", "verify/clients/kernel.h", re.compile(r"platform/linux\w*\.c$")


def is_model_of_kernel(name: str, included: list[str]) -> bool:
    sources = [other for other in included if SOURCE.search(other)]
    before = included[: included.index(sources[0])]
    return name.startswith(f"{CLIENTS}/") and KERNEL in before and len(sources) == 1 and bool(LINUX.match(sources[0]))


def complaints(root: Path) -> list[str]:
    found = []
    files = (path for place in PLACES for path in (root / place).rglob("*") if path.suffix in (".c", ".h", ".cpp"))
    for path in sorted(files):
        name = path.relative_to(root).as_posix()
        included = INCLUDE.findall(path.read_text())
        sources = [other for other in included if SOURCE.search(other)]
        if sources and not is_model_of_kernel(name, included):
            found += [f"{name}: includes the source {other}" for other in sources]
    return found

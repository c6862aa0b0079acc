"""check_layers.py - a source file includes only from its own layer and from those below it.

Lowest first: base, platform, config, sync, backend, midend, frontend, core, hardened, insight, api. And only the
platform layer and the api layer, which serve the operating system's interfaces, see its headers.
"""

import re
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src"
LAYERS = ["base", "platform", "config", "sync", "backend", "midend", "frontend", "core", "hardened", "insight", "api"]
OPEN_TO_SYSTEM = {"platform", "api"}
SYSTEM_HEADER = re.compile(r"(sys|linux|asm)/|(unistd|pthread|fcntl|sched|signal|time|threads)\.h")


def complaints(path: Path) -> list[str]:
    layer = path.relative_to(SOURCE).parts[0]
    if layer not in LAYERS:
        return ["is in no known layer"]
    result = []
    for quoted, system in re.findall(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)', path.read_text(), re.MULTILINE):
        below = quoted.split("/")[0]
        if quoted and quoted != "jwmalloc.h" and below not in LAYERS:
            result.append(f'includes "{quoted}", which does not name its layer')
        elif quoted and below in LAYERS and LAYERS.index(below) > LAYERS.index(layer):
            result.append(f'includes "{quoted}", which is above it')
        elif system and SYSTEM_HEADER.match(system) and layer not in OPEN_TO_SYSTEM:
            result.append(f"includes <{system}>, which is for the platform layer only")
    return result


def main() -> int:
    found = [
        f"{path.relative_to(SOURCE.parent)}: {complaint}"
        for path in sorted(SOURCE.rglob("*.[ch]"))
        for complaint in complaints(path)
    ]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


sys.exit(main())

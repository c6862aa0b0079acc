"""sources.py - prints the sources of the prefixed library by Android.bp, one on each line, for BUILD.gn."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def listed(text: str, name: str) -> set[str]:
    """The files that the patterns of all lists of that name stand for."""
    lists = re.findall(rf"^\s*{name}: \[(.*?)\]", text, re.MULTILINE | re.DOTALL)
    return {
        path.relative_to(ROOT).as_posix()
        for pattern in re.findall(r'"([^"]+)"', "".join(lists))
        for path in ROOT.glob(pattern)
    }


defaults = (ROOT / "Android.bp").read_text()
print("\n".join(sorted(listed(defaults, "srcs") - listed(defaults, "exclude_srcs"))))

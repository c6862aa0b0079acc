"""sources_test.py SOURCES - the sources of Android.bp and BUILD.gn (tools/sources.py) are those that CMake compiles.

SOURCES is CMake's list."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
printed = subprocess.run([sys.executable, "-B", ROOT / "tools/sources.py"], capture_output=True, text=True, check=True)
here = set(printed.stdout.split())
built = {Path(path).relative_to(ROOT).as_posix() for path in sys.argv[1].split(";")}
for path in sorted(here ^ built):
    print(f"{path}: only in {'Android.bp' if path in here else 'CMake'}")
sys.exit(here != built)

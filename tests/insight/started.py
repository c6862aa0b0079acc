"""started.py - a test of insight/tools starts itself again with the packages that these need."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools/jw"), str(ROOT / "insight/tools")]

import insight  # noqa: E402


def with_packages() -> Path:
    """Where the tools are."""
    if Path(sys.prefix).resolve() != insight.VENV.resolve():
        python = insight.python()
        os.execv(python, [python, "-B", *sys.argv])
    return ROOT / "insight/tools"

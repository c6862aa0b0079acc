"""check_commits.py - each commit says what it changed and why: a subject `part: what changed` of at most 72 columns,
and a body (CONTRIBUTING.md).

Merges are left out, and so is all up to START: older commits are as they are.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
START = "5ae897a51f4c96ad18b43bf5896755a36351c400"
COLUMNS = 72


def git(*command: str) -> str | None:
    """What git prints; None: it fails."""
    try:
        done = subprocess.run(["git", "-C", ROOT, *command], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout


def complaints(subject: str, body: str) -> list[str]:
    found = []
    if len(subject) > COLUMNS:
        found.append(f"a subject of {len(subject)} columns, more than {COLUMNS}")
    if not re.match(r"[\w ,./+-]+: \S", subject):
        found.append("a subject without the part that was changed")
    if not body.strip():
        found.append("no body, which would say why")
    return found


def main() -> int:
    if git("merge-base", "--is-ancestor", START, "HEAD") is None:
        print(f"commits: not looked at, as there is no history back to {START[:7]} here")
        return 0
    commits = git("log", "--no-merges", "--format=%h%x00%s%x00%b%x1e", f"{START}..HEAD") or ""
    shown = [commit.strip("\n").split("\0") for commit in commits.split("\x1e") if commit.strip()]
    found = [f"{name} {subject}: {wrong}" for name, subject, body in shown for wrong in complaints(subject, body)]
    print("\n".join(found) or f"{len(shown)} commits since {START[:7]}, each with its part, its subject and its body")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

"""check_commits.py - each commit says what it changed and why: a subject `part: what changed` of at most 72 columns,
and a body (CONTRIBUTING.md). Each commit that a document or docs/figures.toml names is in this history.

One commit makes one change: after STRICT no subject has a semicolon or more than two parts. Merges are left out, and
so is all up to START: older commits are as they are. A shallow clone has only the newest commits. Its oldest ones are
left out too, because git does not know there which of them are merges.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
START = "5ae897a51f4c96ad18b43bf5896755a36351c400"
STRICT = "8825946e9e508559e855e81454a506af6d42db9a"
COLUMNS = 72
FOREIGN = {"b03f01e": "GenMC", "53326b3": "hardened_malloc"}  # commits of other projects, which documents name


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


def joined(subject: str) -> list[str]:
    """Complaints about a subject that tells of several changes."""
    found = ["a semicolon in the subject: two changes need two commits"] if ";" in subject else []
    if subject.partition(":")[0].count(",") > 1:
        found.append("more than two parts: several changes need several commits")
    return found


def since() -> tuple[list[str], str]:
    """The commits whose ancestors are left out; and what this clone cannot see, or nothing."""
    if git("merge-base", "--is-ancestor", START, "HEAD") is not None:
        return [START], ""
    if git("rev-parse", "--is-shallow-repository") == "true\n":
        oldest = (ROOT / (git("rev-parse", "--git-path", "shallow") or "").strip()).read_text().split()
        return oldest, f"NOT SEEN: those up to the oldest commits of this shallow clone, {' '.join(oldest)}"
    return [], f"NOT SEEN: any, as there is no history back to {START[:7]} here"


def named(text: str) -> set[str]:
    """The short names of commits in a text. What follows an arrow or `=` is a value; digits alone may be a number."""
    names = re.findall(r"(?<![>=] )\b[0-9a-f]{7,9}\b", text)
    return {name for name in names if re.search("[a-f]", name)} - FOREIGN.keys()


def lost() -> list[str]:
    """Complaints about names of commits that this history does not have: nobody could look at what was measured."""
    files = (git("ls-files", "*.md", "docs/figures.toml") or "").split()
    return [
        f"{file}: no commit {name} in this history"
        for file in files
        for name in sorted(named((ROOT / file).read_text()))
        if git("merge-base", "--is-ancestor", name, "HEAD") is None
    ]


def main() -> int:
    oldest, unseen = since()
    listed = git("log", "--no-merges", "--format=%h%x00%s%x00%b%x1e", "HEAD", "--not", *oldest) if oldest else ""
    shown = [commit.strip("\n").split("\0") for commit in (listed or "").split("\x1e") if commit.strip()]
    strict = (git("log", "--format=%h", f"{STRICT}..HEAD") or "").split()
    found = [
        f"{name} {subject}: {wrong}"
        for name, subject, body in shown
        for wrong in complaints(subject, body) + (joined(subject) if name in strict else [])
    ]
    found += [] if unseen else lost()
    print("\n".join(found) or f"{len(shown)} commits, each with its part, its subject and its body")
    if unseen:
        print(unseen)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

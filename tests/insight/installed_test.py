"""installed_test.py - the installed command jwmalloc records, profiles, watches, reports and replays, also after its
tree was moved.

usage: installed_test.py BUILD KNOWN CMAKE"""

import gzip
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import started

started.with_packages()
BUILD, KNOWN, CMAKE = sys.argv[1:]


def library(tree: Path) -> Path:
    return next(tree.glob("lib*/**/libjwmalloc.so"))


class Installed(unittest.TestCase):
    def check_name(self, command: Path, folder: Path) -> None:
        """It calls itself by its name, and installs nothing for its help and for a wrong argument."""
        for words, status, said in (
            (["--help"], 0, "usage: jwmalloc "),
            (["record", "--help"], 0, "usage: jwmalloc record "),
            (["record"], 2, "jwmalloc: error: which program?"),
            (["report", folder / "none"], 1, "jwmalloc: "),
        ):
            environment = os.environ | {"XDG_CACHE_HOME": str(folder / "cache")}
            environment["JWMALLOC_PYTHON"] = sys.executable if status == 1 else ""
            done = subprocess.run(
                [command, *words], capture_output=True, text=True, cwd=folder, timeout=100, env=environment
            )
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertIn(said, done.stdout + done.stderr)
        self.assertFalse((folder / "cache/jwmalloc").exists())

    def test_record_report_replay(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            first, tree, trace = folder / "first", folder / "tree", folder / "a.jwt"
            subprocess.run([CMAKE, "--install", BUILD, "--prefix", first], check=True, stdout=subprocess.DEVNULL)
            first.rename(tree)

            def jwmalloc(*words: object) -> str:
                command = [tree / "bin/jwmalloc", *words]
                done = subprocess.run(
                    [str(word) for word in command], capture_output=True, text=True, cwd=folder, timeout=100,
                    env=os.environ | {"JWMALLOC_PYTHON": sys.executable},
                )  # fmt: skip
                self.assertEqual(done.returncode, 0, done.stderr)
                return done.stdout

            self.check_name(tree / "bin/jwmalloc", folder)
            jwmalloc("record", "--stacks", "-o", trace, "--", KNOWN, "plain")
            about = json.loads(jwmalloc("report", "--json", trace))
            self.assertGreaterEqual(about["totals"]["allocations"], 252)
            self.assertIn("giver", json.dumps(about["callers"]))
            profile = folder / "a.pb.gz"
            jwmalloc("profile", "-o", profile, "--", KNOWN, "plain")
            self.assertIn(b"known-control", gzip.decompress(profile.read_bytes()))
            jwmalloc("guard", "--rate", 1, "--", KNOWN, "plain")
            with subprocess.Popen(
                ["sleep", "100"], env=os.environ | {"JWMALLOC_CONF": "watch:true", "LD_PRELOAD": str(library(tree))}
            ) as sleeps:
                while "jwmalloc-watch" not in Path(f"/proc/{sleeps.pid}/maps").read_text():
                    self.assertIsNone(sleeps.poll())
                for words in (["stat"], ["top", "--once"], ["map"]):
                    self.assertIn(f"process {sleeps.pid}", jwmalloc(*words, sleeps.pid))
                sleeps.kill()
            replayed = json.loads(jwmalloc("replay", "--json", trace))
            self.assertIn("jwmalloc", json.dumps(replayed))


unittest.main(argv=sys.argv[:1])

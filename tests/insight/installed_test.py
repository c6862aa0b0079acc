"""installed_test.py - the installed command jwmalloc records, profiles, reports and replays, also after its tree
was moved.

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


class Installed(unittest.TestCase):
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

            jwmalloc("record", "--stacks", "-o", trace, "--", KNOWN, "plain")
            about = json.loads(jwmalloc("report", "--json", trace))
            self.assertGreaterEqual(about["totals"]["allocations"], 252)
            self.assertIn("giver", json.dumps(about["callers"]))
            profile = folder / "a.pb.gz"
            jwmalloc("profile", "-o", profile, "--", KNOWN, "plain")
            self.assertIn(b"known-control", gzip.decompress(profile.read_bytes()))
            jwmalloc("guard", "--rate", 1, "--", KNOWN, "plain")
            replayed = json.loads(jwmalloc("replay", "--json", trace))
            self.assertIn("jwmalloc", json.dumps(replayed))


unittest.main(argv=sys.argv[:1])

"""check_commits_test.py - a test of ./jw check commits: what a commit may lack is found."""

import shutil
import subprocess
import sys
import tempfile
import unittest
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import check_commits  # noqa: E402


class Commits(unittest.TestCase):
    def test_good_ones(self) -> None:
        self.assertEqual(check_commits.complaints("verify, docs: the table has dates", "Because."), [])
        self.assertEqual(check_commits.complaints("x: " + "y" * 69, "Because."), [])

    def test_what_may_lack(self) -> None:
        self.assertEqual(len(check_commits.complaints("x: " + "y" * 70, "Because.")), 1)
        self.assertEqual(len(check_commits.complaints("more work", "Because.")), 1)
        self.assertEqual(len(check_commits.complaints("x: y", "\n")), 1)

    def test_one_change_a_commit(self) -> None:
        self.assertEqual(check_commits.joined("verify, docs: the table has dates, and hours"), [])
        self.assertEqual(len(check_commits.joined("docs: one table; a figure mended")), 1)
        self.assertEqual(len(check_commits.joined("core, midend, tests: what failed")), 1)

    def test_names_of_commits(self) -> None:
        text = "measured at 41b73a3, GenMC b03f01e\n    load nodes -> f000000, 4096123 times"
        self.assertEqual(check_commits.named(text), {"41b73a3"})

    def test_a_lost_commit_is_found(self) -> None:
        with mock.patch.object(check_commits, "named", lambda text: {"dead0ff"}):
            self.assertIn("README.md: no commit dead0ff in this history", check_commits.lost())

    def test_without_history(self) -> None:
        with tempfile.TemporaryDirectory() as directory, mock.patch.object(check_commits, "ROOT", Path(directory)):
            self.assertEqual(check_commits.main(), 0)

    @unittest.skipUnless(shutil.which("git"), "without git")
    def test_commits_since_the_start(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            git = ["git", "-C", directory, "-c", "user.name=a", "-c", "user.email=a@b"]

            def commit(*messages: str) -> None:
                options = [option for message in messages for option in ("-m", message)]
                subprocess.run([*git, "commit", "--quiet", "--allow-empty", *options], check=True)

            subprocess.run([*git, "init", "--quiet"], check=True)
            commit("old and short")
            start = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout
            here = {"ROOT": Path(directory), "START": start.strip()}
            with mock.patch.multiple(check_commits, **here):
                commit("x: y", "Because.")
                self.assertEqual(check_commits.main(), 0)
                commit("x: y")
                self.assertEqual(check_commits.main(), 1)
                for depth, wrong in ((1, 0), (2, 1)):
                    copy = Path(directory) / str(depth)
                    source = f"file://{directory}"
                    subprocess.run(["git", "clone", "--quiet", "--depth", str(depth), source, copy], check=True)
                    with mock.patch.object(check_commits, "ROOT", copy), redirect_stdout(StringIO()) as said:
                        self.assertEqual(check_commits.main(), wrong)
                    self.assertIn("NOT SEEN", said.getvalue())


if __name__ == "__main__":
    unittest.main()

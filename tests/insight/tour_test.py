"""tour_test.py - each block of the tour in docs/insight.md works when it is pasted.

usage: tour_test.py BUILD LIBRARY"""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

import started

TOOLS = started.with_packages()
BUILD, LIBRARY = sys.argv[1:]

TEXT = (started.ROOT / "docs/insight.md").read_text()
TOUR = TEXT[TEXT.index("\nA tour, ") : TEXT.index("\nOf what the last three print")]
BLOCKS = re.findall(r"(?:^    .*\n)+", TOUR, re.M)
PROGRAMS = ("python3", "gcc", "node", "redis-server")


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def pasted(text: str, folder: str) -> subprocess.CompletedProcess:
    """Ends what a block that fails leaves: a server."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        shell = subprocess.Popen(
            ["sh", "-e", "-c", text], cwd=folder, stdout=output, stderr=errors, start_new_session=True,
            env=os.environ | {"CCACHE_DISABLE": "1"},
        )  # fmt: skip
        try:
            status = shell.wait(timeout=200)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(shell.pid, signal.SIGKILL)
            shell.wait()
        output.seek(0)
        errors.seek(0)
        return subprocess.CompletedProcess(text, status, output.read(), errors.read())


class Tour(unittest.TestCase):
    def test_each_block(self) -> None:
        tools = f"{sys.executable} -B {TOOLS} --build {BUILD}"
        self.assertEqual([name for name in PROGRAMS if f" {name} " not in "".join(BLOCKS)], [])
        for block in BLOCKS:
            if any(f" {name} " in block and shutil.which(name) is None for name in PROGRAMS):
                continue
            text = re.sub("7000", str(free_port()), block)
            text = text.replace("./jw run --", f"LD_PRELOAD={LIBRARY} exec").replace("./jw", tools)
            with self.subTest(block=block), tempfile.TemporaryDirectory() as folder:
                done = pasted(text, folder)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertNotIn("jw: ", done.stderr)
                if "jw record" in block:
                    events = re.search(r"^jw record: (\d+) events", done.stderr, re.M)
                    self.assertGreater(int(events[1]), 5000)
                else:
                    self.assertEqual(done.stdout.count("in redis"), 3)


unittest.main(argv=sys.argv[:1])

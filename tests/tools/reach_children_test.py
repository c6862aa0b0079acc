"""reach_children_test.py - what a unit test executes in a child of its own is known, though the child ends by _exit:
else a random mutant would not meet the test (tools/jw/reach.py)."""

import sys
import tempfile
import unittest
from pathlib import Path
from threading import Lock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/jw"))

import reach  # noqa: E402
from unit_programs import UnitPrograms, UnitTest  # noqa: E402

PRINTS = ROOT / "src/base/print.c"
PROGRAM = """#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/print.h"
static void print(void) {{
    char text[8];
    struct print_buffer buffer = {{.data = text, .size = sizeof text}};
    print_text(&buffer, "a");
}}
int main(void) {{
    int status = 0;
    if ({handler}) pthread_atfork(NULL, NULL, print);
    if (fork() == 0) {{
        if (!{handler}) print();
        {end};
    }}
    wait(&status);
    return status != 0;
}}
"""


class Children(unittest.TestCase):
    def row(self, end: str, handler: int = 0) -> dict:
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "program.c"
            source.write_text(PROGRAM.format(end=end, handler=handler))
            words = ["gcc", "-std=gnu11", "-D_GNU_SOURCE", f"-I{ROOT}/src", f"-I{ROOT}/include"]
            units = UnitPrograms.__new__(UnitPrograms)
            units.place, units.lock = Path(folder), Lock()
            units.tests = {"unit-it": UnitTest("unit-it", {PRINTS: words, source: words}, [], "gcc")}
            return reach.measure_unit(units, "unit-it")

    def test_lines_of_a_child_are_known(self) -> None:
        for end in ("_exit(0)", "_Exit(0)", "exit(0)"):
            row = self.row(end)
            self.assertTrue(row["complete"])
            self.assertIn("src/base/print.c", row["lines"], end)

    def test_lines_of_a_handler_of_fork_are_known(self) -> None:
        row = self.row("_exit(0)", handler=1)
        self.assertTrue(row["complete"])
        self.assertIn("src/base/print.c", row["lines"])

    def test_a_status_of_the_child_stays(self) -> None:
        self.assertFalse(self.row("_exit(1)")["complete"])


if __name__ == "__main__":
    unittest.main()

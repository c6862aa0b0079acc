"""random_mutants_test.py - the random mutants (tools/jw/edits.py, sample.py): all edits of a small source, which
of them are equal or do not compile, and one that a client rejects."""

import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/jw"))

import sample  # noqa: E402
from clients import write_mutant  # noqa: E402
from edits import Edit, edits  # noqa: E402
from mutants import Mutant  # noqa: E402
from unit_programs import UnitTest  # noqa: E402
from verify import run_program  # noqa: E402

SMALL = """#include <stdatomic.h>
#include <stdbool.h>
enum { SHIFT = 4 };
#define TWICE(x) ((x) * 2)
static void note(_Atomic unsigned *word, unsigned value) {
    atomic_store_explicit(word, value, memory_order_relaxed);
}
bool change(_Atomic unsigned *word, unsigned *plain, unsigned n) {
    note(word, n << SHIFT);
    *plain = TWICE(n + 1); /* ; */
    *plain = *plain;
    if (n < 7 && *plain) return false;
    switch (n) {
    case 8: return n & 6;
    case 9: break;
    }
    return true;
}
"""
EXPECTED = {
    ("delete", "atomic_store_explicit(word, value, memory_order_relaxed);", "{}"),
    ("delete", "note(word, n << SHIFT);", "{}"),
    ("delete", "*plain = TWICE(n + 1);", "{}"),
    ("delete", "*plain = *plain;", "{}"),
    ("delete", "return false;", "{}"),
    ("delete", "return n & 6;", "{}"),
    ("delete", "break;", "{}"),
    (
        "swap",
        "note(word, n << SHIFT);\n    *plain = TWICE(n + 1);",
        "*plain = TWICE(n + 1);\n    note(word, n << SHIFT);",
    ),
    (
        "swap",
        "*plain = TWICE(n + 1); /* ; */\n    *plain = *plain;",
        "*plain = *plain; /* ; */\n    *plain = TWICE(n + 1);",
    ),
    ("off by one", "SHIFT", "(SHIFT + 1)"),
    ("off by one", "<", "<="),
    ("off by one", "6", "(6 << 1)"),
    ("negate", "n < 7 && *plain", "!(n < 7 && *plain)"),
    ("negate", "n < 7", "!(n < 7)"),
    ("negate", "*plain", "!(*plain)"),
    ("negate", "n & 6", "!(n & 6)"),
    ("constant", "1", "(1 + 1)"),
    ("constant", "7", "(7 + 1)"),
    ("constant", "8", "(8 + 1)"),
    ("constant", "9", "(9 + 1)"),
    ("constant", "true", "false"),
    ("constant", "false", "true"),
}


class OfASmallSource(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(dir=ROOT / "verify", prefix="small-")  # edits are below a folder of ours
        self.addCleanup(folder.cleanup)
        self.source = Path(folder.name) / "small.c"
        self.source.write_text(SMALL)
        self.edits = edits([self.source], [], self.source.parent)

    def edit(self, kind: str, old: str) -> Edit:
        return next(edit for edit in self.edits if (edit.kind, edit.old) == (kind, old))

    def test_all_of_them(self) -> None:
        self.assertEqual({(edit.kind, edit.old, edit.new) for edit in self.edits}, EXPECTED)
        self.assertEqual(len(self.edits), len(EXPECTED))
        self.assertEqual(self.edit("off by one", "<").line, 12)

    def test_changed_objects(self) -> None:
        library = UnitTest("small", {self.source: ["gcc", "-O2"]}, [], "gcc")
        some = sample.Sample("gcc", run_program, library, None, {}, {}, self.source.parent)
        cases = (("delete", "*plain = *plain;", set()), ("constant", "8", None), ("negate", "n < 7", {"small"}))
        for kind, old, expected in cases:
            edit = self.edit(kind, old)
            mutant = Mutant("one", self.source, edit.text())
            with self.subTest(old=old):
                first = write_mutant(mutant, self.source.parent / "changed")
                self.assertEqual(some.changed(mutant, first), expected)


class OfAClient(unittest.TestCase):
    def judged(self, client: str) -> dict:
        """A range is taken from a slot of a Nest, and lost."""
        nest = ROOT / "src/backend/nest.c"
        library = UnitTest("nest", {nest: ["gcc", "-O2", f"-I{ROOT / 'src'}"]}, [], "gcc")
        with tempfile.TemporaryDirectory() as folder:
            reached = {"key": client, "seconds": 1, "complete": True, "lines": {"src/backend/nest.c": range(1, 500)}}
            some = sample.Sample("gcc", run_program, library, None, {}, {client: reached}, Path(folder))
            found = edits([nest], [f"-I{ROOT / 'src'}", f"-I{ROOT / 'include'}"], ROOT / "src")
            of = ("slots_take", "return range;")
            return some.judge("one", next(edit for edit in found if (edit.function, edit.old) == of), {})

    def test_killed(self) -> None:
        row = self.judged("nest_slots")
        self.assertEqual((row["state"], row.get("killed")), ("killed", "nest_slots"))

    def test_survives(self) -> None:
        row = self.judged("cell_put_take")
        self.assertEqual((row["state"], row["met"], row["of"]), ("survived", ["cell_put_take"], 1))


if __name__ == "__main__":
    unittest.main()

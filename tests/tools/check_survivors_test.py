"""check_survivors_test.py - ./jw check survivors finds an excuse whose mutant is no more."""

import shutil
import sys
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/jw"))

import edits  # noqa: E402
import survivors  # noqa: E402

SOURCE = """#include "given.h"
static int kept;
void given(int a) {
    put(a + 1);
    put(a + 1);
    kept = a;
    other(a);
}
"""
HEADER = """void other(int a);
void put(int a);
static inline int twice(int a) { return a << 1; }
#if JW_SECURE
static inline int thrice(int a) { return a * 3; }
#endif
"""


@unittest.skipUnless(shutil.which(edits.COMPILER), "the parser of mutants is not here")
class Stale(unittest.TestCase):
    def setUp(self) -> None:
        place = TemporaryDirectory()
        self.addCleanup(place.cleanup)
        root = Path(place.name)
        (root / "src").mkdir()
        self.source, header = root / "src/given.c", root / "src/given.h"
        self.source.write_text(SOURCE)
        header.write_text(HEADER)
        options = (f"-I{root / 'src'}",)
        for name, value in (("ROOT", root), ("OPTIONS", options)):
            self.enter(mock.patch.object(survivors, name, value))
        self.enter(mock.patch.object(survivors.sample, "texts", lambda: dict.fromkeys((self.source, header))))
        self.enter(mock.patch.object(survivors.sample, "users_of", lambda _: (self.source,)))
        survivors.mutants_of.cache_clear()
        self.addCleanup(survivors.mutants_of.cache_clear)

    def enter(self, patch) -> None:
        patch.start()
        self.addCleanup(patch.stop)

    def names(self, file: str, function: str, hardened: bool = False) -> list[str]:
        return sorted(survivors.mutants_of(file, function, hardened))

    def stale(self, *names: str, hardened: bool = False) -> list[str]:
        return survivors.stale([{"name": name, "hardened": hardened} for name in names])

    def test_those_of_today_are_accepted(self) -> None:
        found = [*self.names("given.c", "given"), *self.names("given.h", "twice")]
        self.assertEqual(len(found), 8)  # the second call's are the first one's, by name
        self.assertEqual(self.stale(*found), [])

    def test_others_are_not(self) -> None:
        good = self.names("given.h", "twice")[0]
        wrong = [good[:-6] + "000000", good.replace("twice", "once"), good.replace("given.h", "taken.h"), "given.h"]
        self.assertEqual(self.stale(good, *wrong, good), wrong)

    def test_a_changed_line_makes_its_excuse_stale(self) -> None:
        before = self.names("given.c", "given")
        self.source.write_text(SOURCE.replace("kept = a;", "kept = a + a;"))
        survivors.mutants_of.cache_clear()
        after = self.names("given.c", "given")
        self.assertEqual(self.stale(*before), [name for name in before if name not in after])
        self.assertEqual(len(set(before) - set(after)), 3)  # delete, and the swaps with both neighbours

    def test_the_second_of_two_equal_lines_has_a_number(self) -> None:
        constant = next(name for name in self.names("given.c", "given") if ":constant:" in name)
        self.assertEqual(self.stale(constant, f"{constant}+1", f"{constant}+2"), [f"{constant}+2"])

    def test_the_hardened_build_has_others(self) -> None:
        (name,) = (name for name in self.names("given.h", "thrice", True) if ":constant:" in name)
        self.assertEqual(self.stale(name, hardened=True), [])
        survivors.mutants_of.cache_clear()
        self.assertEqual(self.stale(name), [name])


if __name__ == "__main__":
    unittest.main()

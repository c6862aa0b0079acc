"""sample_built_test.py - a random mutant of which the library cannot be built is no kill and no survivor, nor is one
that leaves its code as it is. A judge that alone cannot be built with a mutant says nothing about it (./jw verify
--random)."""

import sys
import tempfile
import unittest
from pathlib import Path
from threading import Lock
from types import SimpleNamespace
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/jw"))

import sample  # noqa: E402
import sample_table  # noqa: E402
from edits import Edit, read  # noqa: E402
from unit_programs import UnitPrograms, UnitTest  # noqa: E402

PRINTS = ROOT / "src/base/print.c"
WORDS = ["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O1", "-fPIC", f"-I{ROOT}/src", f"-I{ROOT}/include"]
PRINTS_A = """#include "base/print.h"
int main(void) {
    char text[8];
    struct print_buffer buffer = {.data = text, .size = sizeof text};
    print_text(&buffer, "a");
    return text[0] != 'a';
}
"""
EXTRA = "void extra(void) {}\n"
HEAD = "struct print_buffer *print_text("
CALLS = "extern void extra(void); extra();"  # of a function that the library perhaps has not


class Built(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.place = Path(folder.name)
        self.extra = self.source("extra.c", EXTRA)
        self.prints = self.source("prints.c", PRINTS_A)

    def source(self, name: str, text: str) -> Path:
        (self.place / name).write_text(text)
        return self.place / name

    def judged(self, edit: Edit, library: list[Path], *judges: tuple[str, list[Path]]) -> dict:
        units = UnitPrograms.__new__(UnitPrograms)
        units.place, units.lock = self.place / "objects", Lock()
        units.tests = {name: self.program(name, sources) for name, sources in judges}
        built = self.program("library", [PRINTS, *library], "-shared", "-Wl,--no-undefined")
        tested = sample.Sample("gcc", print, built, units, {}, {}, self.place)
        met = [sample.Judge(name, name, 0.1) for name, _ in judges]
        programs = SimpleNamespace(symbols={})
        with (
            mock.patch.object(tested, "judges", lambda edit: met),
            mock.patch.object(sample, "MutatedPrograms", lambda compiler, level: programs),
        ):
            return tested.judge("mutant", edit, {})

    def program(self, name: str, sources: list[Path], *options: str) -> UnitTest:
        return UnitTest(name, dict.fromkeys(sources, WORDS), list(options), "gcc")

    def edit(self, new: str) -> Edit:
        """Puts something at the begin of print_text."""
        text = read(PRINTS)
        at = text.index("{", text.index(HEAD)) + 1
        return Edit(PRINTS, at, at, new, "delete", "print_text", text.count("\n", 0, at) + 1, "", 1, 99)

    def test_what_does_not_link_is_not_built(self) -> None:
        row = self.judged(self.edit(CALLS), [], ("unit-a", [PRINTS, self.prints]))
        self.assertEqual(row["state"], "not built")

    def test_what_does_not_compile_is_not_built(self) -> None:
        row = self.judged(self.edit("return 1 +;"), [], ("unit-a", [PRINTS, self.prints]))
        self.assertEqual(row["state"], "not built")

    def test_labels_of_the_compiler_make_no_difference(self) -> None:
        at = read(PRINTS).index(HEAD)
        row = self.judged(Edit(PRINTS, at, at, '__asm__(".Lnowhere:");', "delete", "", 1, "", 1, 99), [])
        self.assertEqual(row["state"], "equal")

    def test_a_judge_that_alone_does_not_link_kills_nothing(self) -> None:
        row = self.judged(self.edit(CALLS), [self.extra], ("unit-a", [PRINTS, self.prints]))
        self.assertEqual((row["state"], row["met"]), ("survived", ["unit-a"]))

    def test_the_next_judge_still_judges(self) -> None:
        judges = [("unit-a", [PRINTS, self.prints]), ("unit-b", [PRINTS, self.prints, self.extra])]
        row = self.judged(self.edit(f"{CALLS} return buffer;"), [self.extra], *judges)
        self.assertEqual((row["state"], row["killed"]), ("killed", "unit-b"))

    def test_neither_is_counted(self) -> None:
        states = ["killed", "killed", "survived", "not built", "equal"]
        told = sample_table.summary({"seed": 1, "population": 9, "rows": [{"state": state} for state in states]})
        self.assertIn("3 mutants of 9, 2 killed", told)
        self.assertIn("66.7 % killed; besides, 1 equal, 1 not built", told)

    def test_another_one_is_drawn_in_its_place(self) -> None:
        states = {"a": "not built", "b": "killed", "c": "survived", "d": "killed"}
        judge = lambda name, edit, before: {"name": name, "file": "", "line": 0, "state": states[name]}  # noqa: E731
        drawn = SimpleNamespace(place=self.place, whole=True, judge=judge)
        rows = sample.draw(drawn, list(states), dict.fromkeys(states), SimpleNamespace(jobs=1, random=2))
        self.assertEqual([row["name"] for row in rows], ["a", "b", "c"])


if __name__ == "__main__":
    unittest.main()

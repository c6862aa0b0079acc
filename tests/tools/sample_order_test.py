"""sample_order_test.py - in which order a random mutant meets its judges (./jw verify --random --whole): what CI has,
and what most likely looks, comes before the time of a mutant is over."""

import sys
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/jw"))

import sample  # noqa: E402
from edits import Edit  # noqa: E402

FILE, HEADER = "src/backend/root.c", "src/backend/root.h"
ABOUT = {FILE: {"quick", "quicker", "long", "slow"}, HEADER: {"of_header"}}
SECONDS = {"quick": 4.0, "quicker": 0.5, "long": sample.WHOLE_CLIENT + 0.1, "slow": 1.0, "of_header": 0.1}


def row(seconds: float, *lines: int, complete: bool = True) -> dict:
    return {"key": "-", "seconds": seconds, "complete": complete, "lines": {FILE: [*lines], HEADER: [*lines]}}


UNITS = {
    "unit-far": row(0.1, 90),
    "unit-incomplete": row(0.1, 15, complete=False),
    "unit-line": row(3.0, 10, 15),
    "unit-line-quick": row(2.0, 15),
    "unit-function": row(9.0, 10),
    "unit-function-quick": row(8.0, 20),
    "unit-root-line": row(4.0, 15),
    "unit-root-function": row(20.0, 20),
    "unit-transcript": row(7.0, 10),
    "unit-root-elsewhere": row(1.0, 90),
}
BY_LINE = ["unit-root-line", "unit-line-quick", "unit-line"]
BY_FUNCTION = ["unit-transcript", "unit-root-function", "unit-function-quick", "unit-function"]
PROGRAMS = {name: SimpleNamespace(seconds=seconds, key=str) for name, seconds in (("api.b", 0.2), ("api.a", 0.1))}


def about(path: Path) -> set[str]:
    return ABOUT.get(str(path.relative_to(ROOT)), set())


class Order(unittest.TestCase):
    def judges(self, file: str, line: int, whole: bool = True, old: str = "") -> list[str]:
        known = {name: SimpleNamespace(slow=name == "slow", defines=()) for name in SECONDS}
        programs = SimpleNamespace(programs=PROGRAMS) if whole else None
        units = SimpleNamespace(tests=UNITS)
        tested = sample.Sample("gcc", print, {}, units, UNITS, {}, ROOT, whole=programs, known=known)
        edit = Edit(ROOT / file, 0, 1, "", "delete", "function", line, old, 10, 20)
        with (
            mock.patch.object(sample, "about_the_file", about),
            mock.patch.object(sample, "told_seconds", lambda: SECONDS),
            mock.patch.object(sample, "users_of", lambda path: (ROOT / FILE,) if path.suffix == ".h" else ()),
        ):
            return [judge.name for judge in tested.judges(edit)]

    def by_cost(self, name: str) -> tuple[bool, float]:
        return name != "unit-transcript", UNITS[name]["seconds"]

    def test_line_then_function_then_clients_then_whole_programs(self) -> None:
        clients = ["quicker", "quick", "api.a", "api.b", "long"]
        self.assertEqual(self.judges(FILE, 15), BY_LINE + BY_FUNCTION + clients)

    def test_clients_come_first_for_an_atomic_operation(self) -> None:
        others = [*BY_LINE, *BY_FUNCTION, "api.a", "api.b", "long"]
        self.assertEqual(self.judges(FILE, 15, old="atomic_store_explicit(&a, 1)"), ["quicker", "quick", *others])

    def test_clients_of_the_sources_that_include_a_header_come_last(self) -> None:
        clients = ["of_header", "api.a", "api.b", "quicker", "quick", "long"]
        self.assertEqual(self.judges(HEADER, 15), BY_LINE + BY_FUNCTION + clients)

    def test_a_line_that_none_executes_meets_the_tests_about_the_file_first(self) -> None:
        first = ["unit-root-elsewhere", "unit-root-line", "unit-root-function"]
        others = [name for name in sorted(BY_LINE + BY_FUNCTION, key=self.by_cost) if name not in first]
        self.assertEqual(self.judges(FILE, 12)[: len(first) + len(others)], first + others)

    def test_without_whole_programs_the_same(self) -> None:
        self.assertEqual(self.judges(FILE, 15, whole=False), BY_LINE + BY_FUNCTION)


if __name__ == "__main__":
    unittest.main()

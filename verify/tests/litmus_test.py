"""litmus_test.py - known answers: of the enumerator and of the checker, compiled in every way."""

import unittest
from itertools import chain

import harness
from axiomatic import verdict
from litmus import TESTS, agrees, read_program, show
from programs import batch, without_spurious_failures

PROGRAMS = {name: read_program(text) for name, (text, _) in TESTS.items()}


def complaint(name: str, racy: bool, outcomes: set[tuple[int, ...]]) -> str | None:
    program, shown = PROGRAMS[name]
    found = {show(outcome, program, shown) for outcome in outcomes}
    if agrees(TESTS[name][1], racy, found):
        return None
    return f"{name}: {'racy' if racy else ' '.join(sorted(found))} instead of {TESTS[name][1]}"


def check(target: harness.Target) -> list[str]:
    """What is wrong with this target's answers; each test is one program of a batch."""
    source = harness.BUILD / f"litmus-{target}.c"
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text(batch([program for program, _ in PROGRAMS.values()]))
    binary = harness.build(source, target, "litmus")
    found = []
    for number, (name, (program, _)) in enumerate(PROGRAMS.items()):
        if not target.has_weak and program != without_spurious_failures(program):
            continue
        result = harness.run(binary, target, "--outcomes", "--audit", "--spurious", 9, PROGRAM=number)
        racy = result.kind == "race"
        if result.status != (harness.FAILED if racy else harness.COMPLETE):
            found.append(f"{target} {name}: {result.output}")
        elif wrong := complaint(name, racy, result.outcomes):
            found.append(f"{target} {wrong}")
    return found


class Litmus(unittest.TestCase):
    def test_enumerator(self) -> None:
        found = {name: verdict(program) for name, (program, _) in PROGRAMS.items()}
        complaints = [complaint(name, answer.racy, set(answer.outcomes)) for name, answer in found.items()]
        self.assertEqual([], [text for text in complaints if text])

    def test_checker(self) -> None:
        self.assertEqual([], list(chain(*harness.all_of(check, harness.TARGETS))))

    def test_checker_on_aarch64(self) -> None:
        self.assertEqual([], check(harness.EMULATED))


if __name__ == "__main__":
    unittest.main()

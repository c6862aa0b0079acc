#!/usr/bin/env python3
"""run.py [NAME...] - the tests of the checker itself; those whose names hold one of the words, when any are given.

litmus_test: known answers. random_test: what the axioms allow. seeded_test: every kind of mistake. faults_test: that a
checker with a fault is noticed. exploration_test: each execution once. Two runs at a time would mix their builds.
"""

import sys
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent


def flat(suite: unittest.TestSuite) -> list[unittest.TestCase]:
    return [case for part in suite for case in (flat(part) if isinstance(part, unittest.TestSuite) else [part])]


class TimedResult(unittest.TextTestResult):
    """Says how long each took."""

    def startTest(self, test: unittest.TestCase) -> None:  # noqa: N802 - unittest's name
        self.started = time.monotonic()
        super().startTest(test)

    def addSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802
        super().addSuccess(test)
        self.stream.writeln(f"     {time.monotonic() - self.started:.0f} s")


def main() -> int:
    sys.path.insert(0, str(HERE))
    cases = flat(unittest.defaultTestLoader.discover(str(HERE), "*_test.py"))
    words = sys.argv[1:]
    chosen = [case for case in cases if not words or any(word in case.id() for word in words)]
    runner = unittest.TextTestRunner(verbosity=2, resultclass=TimedResult)
    result = runner.run(unittest.TestSuite(chosen))
    return 0 if chosen and result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())

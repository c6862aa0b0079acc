"""random_test.py - thousands of random programs: the checker finds the outcomes and races that the axioms allow.

Where there is no race, it also explores exactly as many executions as the axioms count: none is lost, none comes twice.
"""

import unittest
from dataclasses import dataclass
from itertools import chain
from multiprocessing import Pool
from pathlib import Path
from random import Random

import harness
from axiomatic import Program, Verdict, verdict
from programs import batch, random_program, spelled, with_words, without_spurious_failures

BATCH = 100
COMPILED, INTERPRETED, SEQUENTIAL = 18, 8, 2  # batches


@dataclass(frozen=True)
class Case:
    """A batch: which programs, and how the checker gets them."""

    seed: int
    target: harness.Target
    sequential: bool = False  # accesses, too, not only fences
    interpreted: bool = False  # one client that takes programs as data

    def programs(self) -> list[Program]:
        random = Random(self.seed)
        found = [random_program(random, self.sequential) for _ in range(BATCH)]
        found = [with_words(program) for program in found] if self.interpreted else found
        return found if self.target.has_weak else [without_spurious_failures(program) for program in found]

    def build(self, programs: list[Program], name: str = "random") -> Path:
        if self.interpreted:
            return harness.build(harness.HERE / "interpreter.c", self.target, f"interpreter{self.seed}")
        source = harness.BUILD / f"{name}{self.seed}.c"
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(batch(programs))
        return harness.build(source, self.target, source.stem)

    def run(self, binary: Path, number: int, program: Program, **variables: object) -> harness.Result:
        """Half of them without the random walk, whose knowledge makes up for what the passes should learn."""
        options = ["--outcomes", "--spurious", 9, *(["--random", 0] if number % 2 else [])]
        variables |= spelled(program) if self.interpreted else {"PROGRAM": number}
        return harness.run(binary, self.target, *options, **variables)


def disagreement(result: harness.Result, expected: Verdict, sequential: bool = False) -> str | None:
    """How the checker's answer differs. Accesses that are sequentially consistent may lose outcomes, never add any."""
    racy = result.kind == "race"
    if racy != expected.racy and not (sequential and expected.racy):
        return f"{'no ' * expected.racy}race: {result.output}"
    if racy or expected.racy:
        return None
    if result.status != harness.COMPLETE:
        return result.output
    missing, extra = expected.outcomes - result.outcomes, result.outcomes - expected.outcomes
    if extra or (missing and not sequential):
        return f"missing {sorted(missing)[:4]}, impossible {sorted(extra)[:4]}"
    executions = result.report["executions"]
    if executions != expected.executions and not sequential:
        return f"{executions} executions instead of {expected.executions}"
    return None


def check_batch(case: Case) -> list[str]:
    chosen = case.programs()
    binary = case.build(chosen)
    found = []
    for number, program in enumerate(chosen):
        result = case.run(binary, number, program)
        if wrong := disagreement(result, verdict(program), case.sequential):
            found.append(f"{case} program {number}: {wrong}")
    return found


class RandomPrograms(unittest.TestCase):
    def check_all(self, cases: list[Case]) -> None:
        with Pool(harness.AT_ONCE) as pool:
            complaints = list(chain(*pool.imap_unordered(check_batch, cases)))
        self.assertEqual(0, len(complaints), "\n".join(complaints))

    def test_checker_agrees_with_the_axioms(self) -> None:
        targets = harness.TARGETS
        self.check_all([Case(seed, targets[seed % len(targets)]) for seed in range(COMPILED)])

    def test_checker_agrees_when_threads_share_code(self) -> None:
        targets = [harness.Target(compiler, "-O1") for compiler in harness.COMPILERS]
        cases = [Case(100 + seed, targets[seed % len(targets)], interpreted=True) for seed in range(INTERPRETED)]
        self.check_all(cases)

    def test_sequentially_consistent_accesses_add_nothing(self) -> None:
        target = harness.Target("gcc", "-O1")
        self.check_all([Case(1000 + seed, target, sequential=True) for seed in range(SEQUENTIAL)])


if __name__ == "__main__":
    unittest.main()

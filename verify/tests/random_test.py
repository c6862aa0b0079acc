"""random_test.py - thousands of random programs: the checker finds the outcomes and races that the axioms allow.

Where there is no race, it also explores exactly as many executions as the axioms count: none is lost, none comes twice.
"""

import unittest
from itertools import chain
from multiprocessing import Pool
from pathlib import Path
from random import Random

import harness
from axiomatic import Program, Verdict, verdict
from programs import batch, random_program, without_spurious_failures

BATCH = 100
BATCHES = 24
SEQUENTIAL_BATCHES = 2


def programs(seed: int, target: harness.Target, sequential: bool = False) -> list[Program]:
    random = Random(seed)
    found = [random_program(random, sequential) for _ in range(BATCH)]
    return found if target.has_weak else [without_spurious_failures(program) for program in found]


def build_batch(name: str, target: harness.Target, chosen: list[Program]) -> Path:
    source = harness.BUILD / f"{name}.c"
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text(batch(chosen))
    return harness.build(source, target, source.stem)


def run_program(binary: Path, target: harness.Target, number: int, **variables: object) -> harness.Result:
    """Half of them without the random walk, whose knowledge makes up for what the passes should learn."""
    options = ["--outcomes", "--spurious", 9, *(["--random", 0] if number % 2 else [])]
    return harness.run(binary, target, *options, PROGRAM=number, **variables)


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


def check_batch(case: tuple[int, harness.Target, bool]) -> list[str]:
    seed, target, sequential = case
    chosen = programs(seed, target, sequential)
    binary = build_batch(f"random{seed}", target, chosen)
    found = []
    for number, program in enumerate(chosen):
        result = run_program(binary, target, number)
        if wrong := disagreement(result, verdict(program), sequential):
            found.append(f"{target} seed {seed} program {number}: {wrong}")
    return found


class RandomPrograms(unittest.TestCase):
    def check_all(self, cases: list[tuple[int, harness.Target, bool]]) -> None:
        with Pool(harness.AT_ONCE) as pool:
            complaints = list(chain(*pool.imap_unordered(check_batch, cases)))
        self.assertEqual(0, len(complaints), "\n".join(complaints))

    def test_checker_agrees_with_the_axioms(self) -> None:
        targets = harness.TARGETS
        self.check_all([(seed, targets[seed % len(targets)], False) for seed in range(BATCHES)])

    def test_sequentially_consistent_accesses_add_nothing(self) -> None:
        target = harness.Target("gcc", "-O1")
        self.check_all([(1000 + seed, target, True) for seed in range(SEQUENTIAL_BATCHES)])


if __name__ == "__main__":
    unittest.main()

"""faults_test.py - a checker with a fault is found out: tests that never failed would prove nothing.

A fault is a replacement of text in a copy of the checker's source; text that is no longer there fails the test.
"""

import shutil
import unittest
from pathlib import Path

import harness
from axiomatic import Program, Verdict, verdict
from random_test import BATCH, build_batch, disagreement, programs

TARGET = harness.Target("gcc", "-O1")
SEEDS = (1, 7, 13)  # of batches, tried until one finds the fault


# What the checker would be like: file, text, replacement.
FAULTS = {
    "a release store hands on no view": ("model.c", "releases ? view_freeze(&thread->current) :", ""),
    "a release store hands on no clock": ("model.c", "releases ? thread->happened :", ""),
    "an update ends release sequences": ("model.c", "if (source && !(releases && acquires))", "if (0)"),
    "relaxed reads acquire": ("model.c", "if (order == RELAXED || order == RELEASE)", "if (0)"),
    "acquire reads do not": ("model.c", "if (order == RELAXED || order == RELEASE)", "if (1)"),
    "reads are not remembered": (
        "model.c",
        "view_raise(&thread->current, location->index, store->label);\n    if (order",
        "if (order",
    ),
    "writes are not remembered": (
        "model.c",
        "view_raise(&thread->current, location->index, store->label);\n    event->sequence",
        "event->sequence",
    ),
    "loads may go back": ("model.c", ".kind = LOAD, .lower = lower", ".kind = LOAD, .lower = 0"),
    "updates may go back": ("model.c", ".kind = RMW, .lower = lower", ".kind = RMW, .lower = 0"),
    "stores come last": (
        "model.c",
        "s && s->label >= lower; s = s->older) {\n        if (count == CANDIDATES)",
        "s == location->newest; s = s->older) {\n        if (count == CANDIDATES)",
    ),
    "stores come between a read and its update": ("model.c", "if (!s->taken) places", "places"),
    "two updates read one store": ("model.c", "source->taken = true;", ""),
    "acquire fences get no view": ("model.c", "view_join(&thread->current, view_freeze(&thread->pending));", ""),
    "acquire fences get no clock": ("model.c", "clock_join(&thread->happened, &thread->acquirable);", ""),
    "release fences keep no clock": ("model.c", "thread->released = thread->happened;", ""),
    "SC fences are not ordered": ("model.c", "if (sc) view_join(&thread->current, sc->view);", ""),
    "attempted updates are forgotten": (
        "model.c",
        "table_learn(run.current, location->key, self()->events + 1);",
        "(void)location;",
    ),
    "a contradiction is overlooked": (
        "table.c",
        "bool table_contradicted(void) {",
        "bool table_contradicted(void) {\n    return false;",
    ),
    "compare-and-swap succeeds twice": (
        "schedule.c",
        "if (store->value == request->expected) return !store->taken;",
        "if (store->value == request->expected) return true;",
    ),
    "compare-and-swap fails only with the newest": (
        "schedule.c",
        "return !repeats_spin(thread, store);\n    default",
        "return !store->newer;\n    default",
    ),
    "nobody postpones": ("schedule.c", "return active >> run.current & 1;", "return false;"),
    "time stands still": (
        "model.c",
        "thread->happened.at[run.current]++;\n}\n\nstatic void note_source",
        "}\n\nstatic void note_source",
    ),
    "atomics race with nothing": (
        "shadow.c",
        "both_atomic = record->kind & kind & ATOMIC_ACCESS",
        "both_atomic = (record->kind | kind) & ATOMIC_ACCESS",
    ),
    "bytes are taken for words": ("shadow.c", "if (record->bytes & bytes) {", "if (record->bytes == bytes) {"),
    "joined threads tell nothing": ("threads.c", "view_join(&joiner->current, view_freeze(&joined->current));", ""),
    "unlocking releases nothing": (
        "threads.c",
        "model_store((uint64_t)mutex, 4, 0, RELEASE);",
        "model_store((uint64_t)mutex, 4, 0, RELAXED);",
    ),
}


def faulty_engine(fault: str) -> Path:
    file, right, wrong = FAULTS[fault]
    folder = harness.BUILD / "faults" / fault.replace(" ", "-")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(harness.ROOT / "verify/checker", folder)
    source = folder / file
    text = source.read_text()
    if text.count(right) != 1:
        raise ValueError(f"{file} does not hold this once: {right}")
    source.write_text(text.replace(right, wrong))
    return harness.build_engine(folder)


class Batch:
    """Random programs with what they may do, shared by all faults."""

    def __init__(self, seed: int) -> None:
        self.programs: list[Program] = programs(seed, TARGET)
        self.verdicts: list[Verdict] = [verdict(program) for program in self.programs]
        self.binary = build_batch(seed, TARGET, self.programs)

    def finds(self, engine: Path) -> bool:
        return any(self.differs(number, engine) for number in range(BATCH))

    def differs(self, number: int, engine: Path | None) -> str | None:
        preload = {"LD_PRELOAD": engine} if engine else {}
        result = harness.run(self.binary, TARGET, "--outcomes", "--spurious", 9, PROGRAM=number, **preload)
        return disagreement(result, self.verdicts[number])


class Faults(unittest.TestCase):
    def test_random_programs_find_each(self) -> None:
        batches = [Batch(seed) for seed in SEEDS]

        def check(fault: str) -> str | None:
            engine = faulty_engine(fault)
            return None if any(batch.finds(engine) for batch in batches) else fault

        missed = [name for name in harness.all_of(check, FAULTS) if name]
        self.assertEqual([], missed)


if __name__ == "__main__":
    unittest.main()

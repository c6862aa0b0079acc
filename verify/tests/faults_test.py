"""faults_test.py - a checker with a fault is found out: tests that never failed would prove nothing.

A fault is a replacement of text in a copy of the checker's source; text that is no longer there fails the test.
"""

import unittest
from pathlib import Path

import harness
import seeded_test
from axiomatic import Program, Verdict, verdict
from litmus import TESTS, read_program
from random_test import Case, disagreement

TARGET = harness.Target("gcc", "-O1")
FOLDER = harness.BUILD / "faults"


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
    "nobody remembers what it knew": ("model.c", ".kind = kind, .lower = lower", ".kind = kind"),
    "stores come last": (
        "model.c",
        "s && s->label >= request.lower; s = s->older",
        "s == location->newest; s = s->older",
    ),
    "stores come between a read and its update": ("model.c", "if (!s->taken && sc_allows", "if (sc_allows"),
    "two updates read one store": ("model.c", "source->taken = true;", ""),
    "acquire fences get no view": ("model.c", "view_join(&thread->current, view_freeze(&thread->pending));", ""),
    "acquire fences get no clock": ("model.c", "clock_join(&thread->happened, &thread->acquirable);", ""),
    "release fences keep no clock": ("model.c", "thread->released = thread->happened;", ""),
    "SC fences are not ordered": ("sc.c", "if (!count) return true;", "return true;"),
    "SC fences know nothing": ("sc.c", "{.known = known}", "{.known = NULL}"),
    "SC fences do not see what they come after": ("sc.c", "if (view_crosses(", "if (0 && view_crosses("),
    "the order of SC fences is not transitive": ("sc.c", "result |= points[__builtin_ctzll(set)].after;", "continue;"),
    "SC fences mind only what happens in their own thread": (
        "sc.c",
        "thread->happened.at[point->thread] >= point->clock",
        "thread == &run.thread[point->thread]",
    ),
    "stores are placed against the order of SC fences": ("model.c", "!s->taken && sc_allows(self(), s)", "!s->taken"),
    "attempted updates are forgotten": (
        "model.c",
        "table_learn_attempt(location);",
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
    "joined threads tell nothing": ("threads.c", "view_join(&joiner->current, view_freeze(&joined->current));", ""),
    "unlocking releases nothing": (
        "threads.c",
        "ENTER();\n    model_store((uint64_t)mutex, 4, 0, RELEASE);",
        "ENTER();\n    model_store((uint64_t)mutex, 4, 0, RELAXED);",
    ),
}


# What a seeded bug shows: the same, by the bug's name.
SEEDED_FAULTS = {
    "race_bytes": ("shadow.c", "if (record->bytes & bytes) {", "if (record->bytes == bytes) {"),
    "use_after_free_plain": ("libc.c", "shadow_mark(block->address, block->size, MARK_FREED);", ""),
    "double_free": ("libc.c", "if (block->freed)", "if (0)"),
    "leak": ("schedule.c", "heap_check_leaks();", ""),
    "bounds_heap": ("shadow.c", "cell->outside = 0xff;", ";"),
    "uninitialised": ("libc.c", "shadow_mark(address, size, MARK_UNWRITTEN);", ""),
    "unmapped": ("libc.c", "shadow_mark((uint64_t)p, n, MARK_FORBIDDEN);", ""),
    "recycled": ("model.c", "run.location[i].newest = NULL;", ";"),
    "mixed_size": ("model.c", "forget_other_size(location);\n    }", ";\n    }"),
    "livelock": ("threads.c", "self()->spun_on = self()->last_read;", ""),
    "stopped_lock": ("schedule.c", "if (!thread->may_stop) return;", "return;"),
    "stopped_holder": ("schedule.c", "if (!thread->may_stop) return;", "return;"),
    "nondeterministic": ("explore.c", "compare(choice, options, operation, address);", ""),
    "assertion": ("schedule.c", "memory_restore();", ""),
}


def compile_part(source: Path, target: Path) -> Path:
    options = ["-std=gnu11", *harness.checker.ENGINE, "-fcf-protection=none", f"-I{harness.checker.SOURCES}"]
    harness.checker.run("gcc", *options, "-c", source, "-o", target)
    return target


def sound_parts() -> dict[str, Path]:
    """The checker's objects, of which a fault replaces one."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    sources = [source for source in harness.checker.SOURCES.glob("*.c") if source.name != "main.c"]
    objects = harness.all_of(lambda source: compile_part(source, FOLDER / f"{source.stem}.o"), sources)
    return dict(zip((source.name for source in sources), objects, strict=True))


def faulty_engine(name: str, fault: tuple[str, str, str], parts: dict[str, Path]) -> Path:
    """A library that a program uses when it is preloaded."""
    file, right, wrong = fault
    text = (harness.checker.SOURCES / file).read_text()
    if text.count(right) != 1:
        raise ValueError(f"{file} does not hold this once: {right}")
    place = FOLDER / name.replace(" ", "-")
    source = place.with_suffix(".c")
    source.write_text(text.replace(right, wrong))
    objects = (parts | {file: compile_part(source, place.with_suffix(".o"))}).values()
    harness.checker.run("gcc", "-shared", "-Wl,-z,now", *objects, "-o", place.with_suffix(".so"))
    return place.with_suffix(".so")


class LitmusCase(Case):
    """The litmus tests as a batch."""

    def programs(self) -> list[Program]:
        return [read_program(text)[0] for text, _ in TESTS.values()]


class Batch:
    """Programs with what they may do, shared by all faults."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.programs: list[Program] = case.programs()
        self.verdicts: list[Verdict] = [verdict(program) for program in self.programs]
        self.binary = case.build(self.programs, "faults")

    def finds(self, engine: Path) -> bool:
        return any(self.differs(number, engine) for number in range(len(self.programs)))

    def differs(self, number: int, engine: Path) -> str | None:
        result = self.case.run(self.binary, number, self.programs[number], LD_PRELOAD=engine)
        return disagreement(result, self.verdicts[number])


class Faults(unittest.TestCase):
    parts: dict[str, Path]

    @classmethod
    def setUpClass(cls) -> None:
        cls.parts = sound_parts()

    def test_programs_find_each(self) -> None:
        cases = [LitmusCase(0, TARGET), Case(1, TARGET), Case(7, TARGET), Case(101, TARGET, interpreted=True)]
        batches = [Batch(case) for case in cases]

        def is_found(fault: str) -> bool:
            engine = faulty_engine(fault, FAULTS[fault], self.parts)
            return any(batch.finds(engine) for batch in batches)

        found = harness.all_of(is_found, FAULTS)
        self.assertEqual([], [fault for fault, good in zip(FAULTS, found, strict=True) if not good])

    def test_seeded_bugs_find_the_others(self) -> None:
        bugs = {bug.name: bug for bug in seeded_test.seeded()}

        def misjudges(name: str) -> bool:
            engine = faulty_engine(f"seeded {name}", SEEDED_FAULTS[name], self.parts)
            programs = seeded_test.build(bugs[name], TARGET)
            return bool(seeded_test.misjudged(bugs[name], TARGET, programs, LD_PRELOAD=engine))

        found = harness.all_of(misjudges, SEEDED_FAULTS)
        self.assertEqual([], [name for name, good in zip(SEEDED_FAULTS, found, strict=True) if not good])


if __name__ == "__main__":
    unittest.main()

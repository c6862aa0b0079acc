"""seeded_test.py - every kind of mistake is found as what it is, again when replayed, and not in the corrected twin."""

import re
import shutil
import subprocess
import unittest
from dataclasses import dataclass
from pathlib import Path

import harness

FIELD = re.compile(r"^[/ ]\* (expect|variants|options|compilers): (.*)$", re.MULTILINE)
UNREPEATABLE = "nondeterministic"  # by its nature


@dataclass(frozen=True)
class Seeded:
    """One mistake; its file's first lines say what must be said about it, and how to build and run it."""

    source: Path
    variant: str
    expected: str
    options: tuple[str, ...]
    compilers: str

    @property
    def name(self) -> str:
        return f"{self.source.stem}{'-' + self.variant.lower() if self.variant else ''}"


def seeded() -> list[Seeded]:
    found = []
    for source in sorted((harness.HERE / "seeded").glob("*.c")):
        fields = dict(FIELD.findall(source.read_text()))
        for variant in fields.get("variants", "").split() or [""]:
            options = tuple(fields.get("options", "").split())
            found.append(Seeded(source, variant, fields["expect"], options, fields.get("compilers", "")))
    return found


def build(bug: Seeded, target: harness.Target) -> tuple[Path, Path]:
    """The program with the mistake and its corrected twin."""
    variant = [bug.variant] if bug.variant else []
    return (
        harness.build(bug.source, target, bug.name, variant),
        harness.build(bug.source, target, f"{bug.name}-corrected", [*variant, "CORRECTED"]),
    )


def misjudged(bug: Seeded, target: harness.Target, programs: tuple[Path, Path], **variables: object) -> str | None:
    """What is wrong with the checker's verdicts on the two."""
    mistaken, corrected = programs
    result = harness.run(mistaken, target, *bug.options, "--save", mistaken.with_suffix(".replay"), **variables)
    if (result.status, result.kind) != (harness.FAILED, bug.expected):
        return f"{result.kind} instead of {bug.expected}\n{result.output}"
    twin = harness.run(corrected, target, *bug.options, **variables)
    if twin.status != harness.COMPLETE:
        return f"the corrected twin:\n{twin.output}"
    if bug.expected == UNREPEATABLE:
        return None
    again = harness.run(mistaken, target, *bug.options, "--replay", mistaken.with_suffix(".replay"), **variables)
    same = again.status == harness.FAILED and again.report["message"] == result.report["message"]
    return None if same and again.kind == result.kind else f"not the same when replayed:\n{again.output}"


def check(case: tuple[Seeded, harness.Target]) -> str | None:
    bug, target = case
    if bug.compilers and bug.compilers not in target.compiler:
        return None
    wrong = misjudged(bug, target, build(bug, target))
    return f"{target} {bug.name}: {wrong}" if wrong else None


class SeededBugs(unittest.TestCase):
    def check_all(self, targets: list[harness.Target]) -> None:
        cases = [(bug, target) for bug in seeded() for target in targets]
        complaints = [text for text in harness.all_of(check, cases) if text]
        self.assertEqual(0, len(complaints), "\n".join(complaints))

    def test_all_are_found(self) -> None:
        self.check_all(harness.TARGETS)

    @unittest.skipUnless(shutil.which("gdb"), "no gdb here")
    def test_debugger_stops_at_the_failure(self) -> None:
        target = harness.Target("gcc", "-O0")
        bug = next(bug for bug in seeded() if bug.name == "use_after_free")
        program = build(bug, target)[0]
        replay = program.with_suffix(".replay")
        harness.run(program, target, "--save", replay)
        command = ["gdb", "-batch", "-nx", "-ex", "run", "-ex", "bt", "--args", program, "--replay", replay]
        shown = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False).stdout
        self.assertRegex(shown, r"SIGTRAP(.|\n)*\n#\d+ .* in reader \(.*use_after_free\.c:\d+")

    def test_all_are_found_on_aarch64(self) -> None:
        self.check_all([harness.EMULATED])


if __name__ == "__main__":
    unittest.main()

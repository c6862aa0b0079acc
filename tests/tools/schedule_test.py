"""schedule_test.py FLAVOUR DIRECTORY - tests/schedule.toml beside the tests of a flavour that is built in DIRECTORY.

Each pattern of the flavour matches a test, ctest selects what the schedule says, and no test runs twice or is lost."""

import fnmatch
import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools/jw"))
import schedule


def listed(*options: str) -> dict[str, list[str]]:
    """Names of tests, with their labels."""
    command = ["ctest", "--test-dir", sys.argv[2], *options, "--show-only=json-v1"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {
        test["name"]: next((told["value"] for told in test.get("properties", []) if told["name"] == "LABELS"), [])
        for test in json.loads(printed)["tests"]
    }


def main() -> int:
    flavour = sys.argv[1]
    told, everything = schedule.schedule()[flavour], listed()
    bad = [
        f"{part}: {pattern} matches no test"
        for part in schedule.PARTS
        for pattern in told.get(part, [])
        if not fnmatch.filter(everything, pattern)
    ]
    times = {name: schedule.part_of(flavour, name, labels) for name, labels in everything.items()}
    for part in ("now", "long", "nightly"):
        wanted = {name for name, time in times.items() if time == part}
        options = schedule.selection(flavour, part)
        selected = set(listed(*options)) if options else set()
        bad += [f"{name}: ctest does not select it for {part}" for name in sorted(wanted - selected)]
        bad += [f"{name}: ctest selects it for {part}" for name in sorted(selected - wanted)]
        print(f"{part}: {len(selected)} tests")
    if flavour == "release":
        bad += [f"{name}: never runs" for name, time in sorted(times.items()) if time == "never"]
    print("\n".join(bad))
    return 1 if bad else 0


sys.exit(main())

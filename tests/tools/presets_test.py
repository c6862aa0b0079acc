"""presets_test.py FLAVOUR DIRECTORY - each test of the labels of a flavour's preset is in one of the flavour's presets.

What FLAVOUR excludes by name, FLAVOUR-long or FLAVOUR-nightly must include by a list of its own (CMakePresets.json). No
test is in both of the first two. DIRECTORY: where the flavour is built."""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def listed(*options: str) -> dict[str, list[str]]:
    """Names of tests, with their labels."""
    command = ["ctest", *options, "--show-only=json-v1"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return {
        test["name"]: next((told["value"] for told in test.get("properties", []) if told["name"] == "LABELS"), [])
        for test in json.loads(printed)["tests"]
    }


def main() -> int:
    flavour = sys.argv[1]
    presets = {preset["name"]: preset for preset in json.loads((ROOT / "CMakePresets.json").read_text())["testPresets"]}
    label = re.compile(presets[flavour]["filter"]["include"]["label"])
    everything = listed("--test-dir", sys.argv[2])
    wanted = {name for name, labels in everything.items() if any(map(label.search, labels))}
    normal, longer, nightly = (
        set(listed("--preset", name)) if (name := flavour + part) in presets else set()
        for part in ("", "-long", "-nightly")
    )
    bad = [f"{name}: in no preset" for name in sorted(wanted - normal - longer - nightly)]
    bad += [f"{name}: in {flavour} and in {flavour}-long" for name in sorted(normal & longer)]
    print("\n".join([*bad, f"{len(wanted)} tests, {len(normal)} {len(longer)} {len(nightly)}"]))
    return 1 if bad or not wanted else 0


sys.exit(main())

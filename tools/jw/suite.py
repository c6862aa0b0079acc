"""./jw test: the tests of every flavour; tests/schedule.toml says which flavour runs which, and when. Only what the
chosen tests need is built.

With --long, then what the model checker says of the allocator (verify.py). The checker's own tests are a flavour."""

import argparse
import json
import os
import re
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree

import flavours
import kernel
import schedule
import verify

CLOSING = re.compile(r"\d+% tests passed, (\d+) tests failed out of (\d+)")
TAIL = 40  # lines of a failed test that are shown again at the end


class Failed(list[str]):
    """What failed, each with the end of its output, which the end repeats: of a long log often only the tail is
    kept."""

    def note(self, what: str, output: str = "") -> None:
        self.append("\n".join([f"FAILED {what}", *output.rstrip().splitlines()[-TAIL:]]))


def run_part(flavour: str, part: str, chosen: list[str], failed: Failed) -> int:
    """Runs the chosen tests, showing what ctest prints; gives how many there were. Many tests wait, so one more
    runs at a time than there are processors."""
    if kernel.is_booted(flavour) and "--show-only" not in chosen:
        return kernel.run_part(flavour, part, chosen, failed)
    folder = flavours.directory(flavour)
    record = folder / "Testing" / f"{part}.xml"
    record.unlink(missing_ok=True)
    command = ["ctest", "--test-dir", folder, "--output-on-failure", "--parallel", str(1 + (os.cpu_count() or 1))]
    command += ["--output-junit", record, *chosen]
    before, failures, total = len(failed), 0, 0
    with subprocess.Popen(command, cwd=flavours.ROOT, stdout=subprocess.PIPE, text=True, errors="replace") as process:
        for line in process.stdout:
            sys.stdout.write(line)
            if found := CLOSING.match(line):
                failures, total = map(int, found.groups())
    if record.exists():
        for test in ElementTree.parse(record).iter("testcase"):
            if test.get("status") == "fail":
                failed.note(f"{flavour}: {test.get('name')}", test.findtext("system-out") or "")
    if len(failed) - before != failures or (process.returncode and not failures):
        failed.note(f"{flavour}, {part}: ctest ended with {process.returncode}, and says {failures} failed")
    return max(total, len(failed) - before)


def described(folder: Path) -> dict[str, str]:
    """Each test's command and environment, as CMake wrote them for ctest; ctest itself tells no command of a program
    that is not built yet."""
    found: dict[str, str] = {}
    for path in folder.rglob("CTestTestfile.cmake"):
        for line in path.read_text().splitlines():
            if told := re.match(r"(?:add_test|set_tests_properties)\((?:\[=\[)?([^\s\]]+)", line):
                found[told.group(1)] = found.get(told.group(1), "") + line
    return found


def targets(flavour: str, parts: dict[str, list[str]]) -> set[str]:
    """What the parts' tests need: the targets in their commands; everything, if one installs the build."""
    folder = flavours.directory(flavour)
    commands = described(folder)
    known = subprocess.run(["ninja", "-C", folder, "-t", "targets", "all"], capture_output=True, text=True, check=True)
    made = {line.partition(": ")[0] for line in known.stdout.splitlines()}
    wanted: set[str] = set()
    for chosen in parts.values():
        command = ["ctest", "--test-dir", folder, *chosen, "--show-only=json-v1"]
        listing = subprocess.run(command, cwd=flavours.ROOT, capture_output=True, text=True, check=True)
        for test in json.loads(listing.stdout)["tests"]:
            told = commands[test["name"]]
            if f'"{folder}"' in told:
                return {"all"}
            wanted |= set(re.findall(rf'{re.escape(str(folder))}/([^";\s]+)', told)) & made
    return wanted


def build_tests(flavour: str, parts: dict[str, list[str]], only_list: bool) -> None:
    """Builds what the chosen tests need; nothing, to list them."""
    flavours.configure(flavour, tests=True)
    if not only_list and (wanted := targets(flavour, parts)):
        flavours.make(flavour, *sorted(wanted))


def run_flavours(chosen: dict[str, dict[str, list[str]]], only_list: bool, failed: Failed) -> int:
    """Flavour by flavour; the next ones are built meanwhile, as few tests keep all processors busy to their end."""
    total = 0
    builder = ThreadPoolExecutor(max_workers=1)
    builds = [builder.submit(build_tests, name, parts, only_list) for name, parts in chosen.items()]
    try:
        for name, build in zip(chosen, builds, strict=True):
            try:
                build.result()
            except subprocess.CalledProcessError as error:
                print(f"\n== {name}: it does not build", flush=True)
                failed.note(f"{name}: it does not build", error.output or "")
                total += 1
                continue
            print(f"\n== {name}: {flavours.flavours()[name]}", flush=True)
            for part, options in chosen[name].items():
                total += run_part(name, part, options + (["--show-only"] if only_list else []), failed)
    finally:
        builder.shutdown(cancel_futures=True)
    return total


def run_checker_tests() -> tuple[list[str], int]:
    """The tests of the model checker itself: what failed, and how many there were."""
    flavours.setup("verify", "aarch64")
    command = [sys.executable, "-B", flavours.ROOT / "verify/tests/run.py"]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, errors="replace", check=False)
    sys.stdout.write(done.stderr)
    ran = re.search(r"^Ran (\d+) tests?", done.stderr, re.M)
    bad = re.findall(r"^(?:FAIL|ERROR): .*?(?=^={70}$|^-{70}\nRan|\Z)", done.stderr, re.M | re.S)
    total = int(ran.group(1)) if ran else 1
    return (bad or [done.stderr]) if done.returncode else [], total


# Beside the flavours of the library; the checker's own tests only when they are asked for, as CI does.
OTHERS = {
    "checker": ("the model checker's own tests", run_checker_tests),
    "verify": ("the model checker's clients, the quick ones", verify.test),  # all of them: ./jw verify
}


def run_others(chosen: list[str], failed: Failed) -> int:
    total = 0
    for name in chosen:
        description, suite = OTHERS[name]
        print(f"\n== {name}: {description}", flush=True)
        wrong, count = suite()
        for output in wrong:
            failed.note(name, output)
        total += count
    return total


def parts_of(flavour: str, arguments) -> dict[str, list[str]]:
    """What is run of a flavour, and when; each as options of ctest."""
    if arguments.only:  # the names replace what the schedule chooses
        return {"only": ["-R", arguments.only, "--no-tests=ignore"]}
    parts = ["now"]
    if arguments.nightly:
        parts = ["nightly"]
    elif arguments.list and not arguments.quick:
        parts = ["now", "long", "nightly"]
    elif arguments.long or arguments.flavour:
        parts = ["now", "long"]
    chosen = {part: schedule.selection(flavour, part, arguments.quick) for part in parts}
    return {part: [*options, "--no-tests=error"] for part, options in chosen.items() if options}


def run(arguments) -> int:
    start = time.monotonic()
    whole = arguments.long and not (arguments.only or arguments.list)
    everything = [*flavours.flavours(), *(["verify"] if whole else [])]
    wanted = schedule.quick_flavours() if arguments.quick else arguments.flavour or everything
    wanted = [name for name in wanted if name not in arguments.skip]
    chosen = {name: parts for name in wanted if name not in OTHERS and (parts := parts_of(name, arguments))}
    if not arguments.quick:
        flavours.setup("programs", needed=flavours.may_install())
    failures = Failed()
    total = run_flavours(chosen, arguments.list, failures)
    if arguments.list:
        return 0
    total += run_others([name for name in wanted if name in OTHERS and not arguments.nightly], failures)
    failed = len(failures)
    if failures:
        print("\nWhat failed, again:", *failures, sep="\n\n")
    print(f"\nAll flavours together, {time.monotonic() - start:.0f} s:")
    share = round(100 * (total - failed) / total) if total else 0
    share = min(share, 99) if failed else share
    print(f"{share}% tests passed, {failed} tests failed out of {total}")
    return 1 if failed or not total else 0


def add_command(commands) -> None:
    named = [*flavours.flavours(), *OTHERS]
    command = commands.add_parser(
        "test",
        help="build the flavours and run their tests",
        description="Builds each flavour and runs its tests: unit tests, interface tests, real programs, threads\n"
        "in checked and sanitizer builds, AArch64 in an emulator, 32 bits. With --long also clang, RISC-V,\n"
        "ARMv7, the model checker's quick clients and what takes long. Takes a quarter of an hour on two\n"
        "cores, with --long half an hour. Tests that need a package which is missing are skipped.",
        epilog=textwrap.fill("flavours: " + " ".join(named), 100, subsequent_indent="  ", break_on_hyphens=False),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument(
        "--quick",
        action="store_true",
        help="run only the unit and interface tests of two flavours: release and checked",
    )
    command.add_argument("--long", action="store_true", help="run the tests that take long, too, as CI does")
    command.add_argument("--nightly", action="store_true", help="run the longest tests, which no other call runs")
    command.add_argument("--skip", action="append", default=[], metavar="FLAVOUR", help="do not run this flavour")
    command.add_argument("--only", metavar="NAME", help="run only tests with names that match this regular expression")
    command.add_argument("--list", action="store_true", help="list the tests and run none")
    command.add_argument(
        "--flavour",
        action="append",
        choices=named,
        metavar="FLAVOUR",
        help="run only this flavour, with what takes long; may be given several times",
    )
    command.set_defaults(run=run)

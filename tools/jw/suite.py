"""./jw test: every test of every flavour; which flavour runs which is in CMakePresets.json.

Then what the model checker says of the allocator (verify.py). The checker's own tests are a flavour, too."""

import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import flavours
import verify

QUICK = {"release": "^(unit|api)$", "checked": "^unit$"}
CLOSING = re.compile(r"\d+% tests passed, (\d+) tests failed out of (\d+)")


def run_flavour(flavour: str, chosen: list[str]) -> tuple[int, int]:
    """Runs one flavour's tests, showing what ctest prints; gives how many failed and how many there were."""
    command = ["ctest", "--preset", flavour, "--parallel", str(os.cpu_count() or 1), *chosen]
    failed = total = 0
    with subprocess.Popen(command, cwd=flavours.ROOT, stdout=subprocess.PIPE, text=True, errors="replace") as process:
        for line in process.stdout:
            sys.stdout.write(line)
            if found := CLOSING.match(line):
                failed, total = map(int, found.groups())
    if process.returncode and not failed:
        failed = total = max(total, 1)
    return failed, total


def run_flavours(names: list[str], options: dict[str, list[str]]) -> tuple[int, int]:
    """Flavour by flavour; the next ones are built meanwhile, as few tests keep all processors busy to their end."""
    failed = total = 0
    builder = ThreadPoolExecutor(max_workers=1)
    builds = [builder.submit(flavours.build, name, target="all", tests=True) for name in names]
    try:
        for name, build in zip(names, builds, strict=True):
            try:
                build.result()
            except subprocess.CalledProcessError:
                print(f"\n== {name}: it does not build", flush=True)
                failed, total = failed + 1, total + 1
                continue
            print(f"\n== {name}: {flavours.flavours()[name]}", flush=True)
            failures, count = run_flavour(name, options[name])
            failed, total = failed + failures, total + count
    finally:
        builder.shutdown(cancel_futures=True)
    return failed, total


def run_checker_tests() -> tuple[int, int]:
    """The tests of the model checker itself."""
    flavours.setup("verify", "aarch64")
    command = [sys.executable, "-B", flavours.ROOT / "verify/tests/run.py"]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, errors="replace", check=False)
    sys.stdout.write(done.stderr)
    ran = re.search(r"^Ran (\d+) tests?", done.stderr, re.M)
    bad = sum(map(int, re.findall(r"(?:failures|errors)=(\d+)", done.stderr)))
    total = int(ran.group(1)) if ran else 1
    return (max(bad, 1) if done.returncode else 0), total


# Beside the flavours of the library; the checker's own tests only when they are asked for, as CI does.
OTHERS = {
    "checker": ("the model checker's own tests", run_checker_tests),
    "verify": ("the model checker's clients, the quick ones", verify.test),
}


def run_others(chosen: list[str]) -> tuple[int, int]:
    failed = total = 0
    for name in chosen:
        description, suite = OTHERS[name]
        print(f"\n== {name}: {description}", flush=True)
        failures, count = suite()
        failed, total = failed + failures, total + count
    return failed, total


def run(arguments) -> int:
    start = time.monotonic()
    everything = [*flavours.flavours(), *([] if arguments.only or arguments.list else ["verify"])]
    wanted = list(QUICK) if arguments.quick else arguments.flavour or everything
    chosen = [name for name in wanted if name not in OTHERS]
    options = ["--no-tests=ignore", "-R", arguments.only] if arguments.only else []
    options += ["--show-only"] if arguments.list else []
    if not arguments.quick:
        flavours.setup("programs", needed=flavours.may_install())
    quick = {name: ["-L", labels] for name, labels in QUICK.items()} if arguments.quick else {}
    failed, total = run_flavours(chosen, {name: options + quick.get(name, []) for name in chosen})
    if arguments.list:
        return 0
    failures, count = run_others([name for name in wanted if name in OTHERS])
    failed, total = failed + failures, total + count
    print(f"\nAll flavours together, {time.monotonic() - start:.0f} s:")
    share = round(100 * (total - failed) / total) if total else 0
    share = min(share, 99) if failed else share
    print(f"{share}% tests passed, {failed} tests failed out of {total}")
    return 1 if failed or not total else 0


def add_command(commands) -> None:
    command = commands.add_parser(
        "test",
        help="build all flavours and run all tests",
        description="Builds every flavour and runs its tests: unit tests, interface tests, real programs, threads in "
        "checked and sanitizer builds, AArch64 in an emulator, 32 bits. Takes about sixteen minutes on two cores. "
        "Tests that need a package which is missing are skipped.",
    )
    command.add_argument(
        "--quick",
        action="store_true",
        help="run only the unit and interface tests of two flavours: release and checked",
    )
    command.add_argument("--only", metavar="NAME", help="run only tests with names that match this regular expression")
    command.add_argument("--list", action="store_true", help="list the tests and run none")
    command.add_argument(
        "--flavour",
        action="append",
        choices=[*flavours.flavours(), *OTHERS],
        help="run only this flavour; may be given several times",
    )
    command.set_defaults(run=run)

"""./jw verify: every weak-memory execution of the allocator's own code, through small clients, and mutants of it."""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import tomllib

import checker
import coverage
import genmc
import sample
import verify_table
from clients import Client, Programs, clients
from flavours import ROOT, setup
from mutants import Mutant, all_mutants

COMPLETE, FAILED, USAGE, INCOMPLETE = range(4)
CROSS = "aarch64-linux-gnu-gcc"
BUDGET = 7200  # seconds a client may take; the slowest took a quarter of an hour


@dataclass
class Result:
    """What one program came to."""

    status: int
    report: dict
    output: str
    seconds: float


def run_program(program: Path, compiler: str, *options: object) -> Result:
    report = program.with_suffix(".json")
    report.unlink(missing_ok=True)
    start = time.monotonic()
    command = [
        *checker.command(program, compiler),
        "--json",
        report,
        "--save",
        program.with_suffix(".replay"),
        *options,
    ]
    done = subprocess.run(
        list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    found = json.loads(report.read_text()) if report.exists() else {}
    return Result(done.returncode, found, done.stdout, time.monotonic() - start)


def check_client(programs: Programs, client: Client, budget: int, jobs: int) -> Result:
    try:
        program = programs.client(client)
    except subprocess.CalledProcessError as error:
        return Result(USAGE, {}, f"it does not build: {' '.join(map(str, error.cmd))}", 0)
    return run_program(program, programs.compiler, "--budget", budget, "--jobs", jobs)


def crash(result: Result) -> str:
    """The signal that ended the checker itself, and the first lines that it wrote; empty if none did."""
    if result.status >= 0:
        return ""
    said = "\n".join(result.output.splitlines()[:10])
    return f"the checker crashed, {signal.strsignal(-result.status)} (signal {-result.status})\n{said}".rstrip()


def check_mutant(programs: Programs, mutant: Mutant, known: dict[str, Client], budget: int) -> dict:
    """Tries the mutant's clients until one rejects it."""
    found = {"name": mutant.name, "kind": mutant.kind, "place": f"{mutant.path.name}:{mutant.line}", "killed": None}
    if mutant.excuse:
        return found | {"excused": mutant.excuse}
    notes = []
    for name in mutant.clients:
        if name not in known:
            return found | {"problem": f"there is no client {name}"}
        try:
            result = run_program(programs.client(known[name], mutant), programs.compiler, "--budget", budget)
        except subprocess.CalledProcessError:
            return found | {"problem": "it does not compile"}
        if result.status == FAILED:
            return found | {"killed": name, "by": result.report.get("message", ""), "seconds": result.seconds}
        if result.status == USAGE:
            return found | {"problem": f"{name}: {result.output[-500:]}"}
        if result.status != COMPLETE:
            notes.append(f"{name}: {crash(result) or 'NOT complete'}")
    survives = f"survives {' '.join(mutant.clients) or 'for want of a client'}"
    return found | {"problem": "\n".join([survives, *notes])}


class Progress:
    """One line for each thing that ends, with how many there are. What went wrong is told again at the end, since of a
    long log often only the tail is kept."""

    def __init__(self, total: int):
        self.total, self.done, self.start = total, 0, time.monotonic()
        self.wrong: list[str] = []

    def repeat(self) -> None:
        if self.wrong:
            print(f"\n{len(self.wrong)} of {self.total} went wrong:", *self.wrong, sep="\n", flush=True)

    def say(self, text: str, good: bool) -> None:
        self.done += 1
        self.wrong += [] if good else [text.rstrip()]
        passed = time.monotonic() - self.start
        left = passed / self.done * (self.total - self.done)
        print(f"[{self.done}/{self.total}, about {left:.0f} s left] {text}", flush=True)


def describe(client: Client, result: Result) -> str:
    report = result.report
    if result.status == COMPLETE:
        return f"{client.name}: complete, {report['executions']} executions, {result.seconds:.1f} s"
    if result.status == INCOMPLETE:
        return f"{client.name}: NOT complete after {result.seconds:.0f} s, {report.get('executions')} executions"
    return f"{client.name}: FAILED\n{crash(result) or result.output}"


def verify_clients(programs: Programs, chosen: list[Client], arguments) -> tuple[list[dict], Progress]:
    together = min(len(chosen), arguments.jobs) or 1
    progress, rows = Progress(len(chosen)), []
    with ThreadPoolExecutor(together) as pool:
        jobs = arguments.jobs // together
        futures: list[tuple[Client, Future[Result]]] = [
            (client, pool.submit(check_client, programs, client, arguments.budget, jobs)) for client in chosen
        ]
        for client, future in futures:
            result = future.result()
            complete = result.status == COMPLETE and result.report.get("executions", 0) > 0
            progress.say(describe(client, result), complete)
            rows.append(
                {
                    "client": client.name,
                    "bound": client.bound,
                    "property": client.claim,
                    "complete": complete,
                    "seconds": round(result.seconds, 2),
                    **{key: result.report.get(key) for key in ("executions", "dead_ends", "message")},
                }
            )
    return rows, progress


def verify_mutants(programs: Programs, chosen: list[Mutant], arguments) -> tuple[list[dict], Progress]:
    known = {client.name: client for client in clients()}
    progress, rows = Progress(len(chosen)), []
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for row in pool.map(lambda mutant: check_mutant(programs, mutant, known, arguments.budget), chosen):
            if "problem" in row:
                progress.say(f"mutant {row['name']} ({row['place']}): {row['problem']}", False)
            else:
                end = "excused" if "excused" in row else f"killed by {row['killed']}"
                progress.say(f"mutant {row['name']}: {end}", True)
            rows.append(row)
    return rows, progress


def choose_cross(slow: bool) -> tuple[list[Client], list[Mutant]]:
    """What verify/aarch64.toml names."""
    selection = tomllib.loads((ROOT / "verify/aarch64.toml").read_text())
    known = {client.name: client for client in clients()}
    chosen = [known[name] for name in selection["nightly" if slow else "clients"]]
    if slow:
        return chosen, []
    mutants = [mutant for mutant in all_mutants() if mutant.name in selection["mutants"]]
    seen = [mutant for mutant in mutants if set(mutant.clients) & set(selection["clients"])]
    if len(seen) < len(selection["mutants"]):
        sys.exit("jw verify: verify/aarch64.toml names a mutant that is not there, or that none of its clients rejects")
    return chosen, seen


def choose(arguments) -> tuple[list[Client], list[Mutant]]:
    if arguments.cross:
        return choose_cross(arguments.slow)
    known, mutants = clients(), all_mutants()
    names = {client.name for client in known}
    for name in set(arguments.client) - names:
        sys.exit(f"jw verify: there is no client {name}; ./jw verify --list shows them")
    if arguments.client:
        known = [client for client in known if client.name in arguments.client]
        mutants = [mutant for mutant in mutants if set(mutant.clients) & set(arguments.client)]
    if arguments.quick:
        known, mutants = [client for client in known if not client.slow], []
    if arguments.slow:
        known, mutants = [client for client in known if client.slow], []
    if arguments.clients:
        mutants = []
    if arguments.mutants:
        known = []
    return known, [mutant for mutant in mutants if not arguments.only or arguments.only in mutant.name]


def replay(path: Path) -> int:
    program = path.resolve().with_suffix("")
    if not program.exists():
        sys.exit(f"jw verify: {path} belongs to a program {program}, which is not there")
    return subprocess.run([program, "--replay", path], check=False).returncode


def run(arguments) -> int:
    if arguments.replay:
        return replay(arguments.replay)
    if arguments.list:
        for client in clients():
            print(f"{client.name:28} {client.claim}\n{'':28}   {client.bound}")
        return 0
    if arguments.cross:
        arguments.compiler = CROSS
    setup("verify", *(["aarch64"] if checker.is_cross(arguments.compiler) else []))
    if arguments.genmc:
        seconds = genmc.LIMIT if arguments.budget == BUDGET else arguments.budget
        return genmc.run(arguments.client, seconds=seconds, table=arguments.table)
    if arguments.random:
        return sample.run(arguments, run_program)
    if arguments.coverage:
        options = ["--budget", arguments.budget, "--jobs", arguments.jobs]
        return coverage.run(choose(arguments)[0], arguments.compiler, arguments.level, run_program, options)
    return check(arguments)


def check(arguments) -> int:
    chosen, mutants = choose(arguments)
    programs = Programs(arguments.compiler, arguments.level)
    client_rows, client_progress = verify_clients(programs, chosen, arguments)
    mutant_rows, mutant_progress = verify_mutants(programs, mutants, arguments)
    complete = sum(row["complete"] for row in client_rows)
    killed = sum(row["killed"] is not None for row in mutant_rows)
    excused = sum("excused" in row for row in mutant_rows)
    results = {"clients": client_rows, "mutants": mutant_rows}
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")
    if arguments.table:
        every = arguments.client or [client.name for client in clients()]
        alone = every if arguments.mutants and not arguments.only else []
        verify_table.write(results | {"only_mutants_of": alone})
    client_progress.repeat()
    mutant_progress.repeat()
    print(
        f"{len(client_rows)} clients, {complete} complete, {len(mutant_rows)} mutants, {killed} killed, "
        f"{excused} excused"
    )
    return 0 if complete == len(client_rows) and killed + excused == len(mutant_rows) else 1


def test() -> tuple[list[str], int]:
    """The quick set, for ./jw test --long: what is wrong with those that failed, and how many there were."""
    setup("verify")
    arguments = argparse.Namespace(budget=BUDGET, jobs=os.cpu_count() or 1)
    chosen = [client for client in clients() if not client.slow]
    _, progress = verify_clients(Programs("gcc", "-O1"), chosen, arguments)
    return progress.wrong, progress.total


def add_command(commands) -> None:
    command = commands.add_parser(
        "verify",
        help="model-check the concurrent code under weak memory",
        description="Runs small clients of the allocator's own code in the model checker. The checker explores every "
        "execution within the client's bound that RC11 allows, the C11 memory model without load buffering. Then it "
        "shows that the clients reject each mutant of the source. docs/verification.md says what is shown, "
        "docs/clients.md lists the clients, docs/checker.md explains the checker.",
    )
    command.add_argument(
        "client", nargs="*", metavar="CLIENT", help="run only these clients, and the mutants that they must reject"
    )
    command.add_argument(
        "--list", action="store_true", help="list the clients with their properties and bounds, and run none"
    )
    command.add_argument("--quick", action="store_true", help="run no mutants and no slow clients; takes some minutes")
    command.add_argument("--slow", action="store_true", help="run the slow clients only, and no mutants (.ci/nightly)")
    command.add_argument(
        "--cross",
        action="store_true",
        help="run what verify/aarch64.toml names, compiled for AArch64, in qemu-user: a few clients and mutants, with "
        "--slow more clients",
    )
    command.add_argument("--clients", action="store_true", help="run the clients and no mutants")
    command.add_argument("--mutants", action="store_true", help="run the mutants only")
    command.add_argument(
        "--only", metavar="TEXT", help="run only mutants with this text in the name; with --random: in the file's name"
    )
    command.add_argument(
        "--random", type=int, metavar="N", help="draw so many random mutants, and say how many are killed, by what"
    )
    command.add_argument(
        "--whole",
        action="store_true",
        help="with --random: draw from all that ships, spread over its files; whole programs and the checked library "
        "judge, too, but of the clients only those that must reject another mutant of the file",
    )
    command.add_argument(
        "--hardened",
        action="store_true",
        help="with --whole: the same for the hardened build: unit tests, its promises, tests of misuse and of "
        "the interface judge",
    )
    command.add_argument("--seed", type=int, default=1, metavar="S", help="draw with this seed; default: %(default)s")
    command.add_argument(
        "--replay", type=Path, metavar="FILE", help="repeat a failure, event by event (build/verify/**/*.replay)"
    )
    command.add_argument("--genmc", action="store_true", help="run the clients in GenMC, if it is installed")
    command.add_argument(
        "--coverage",
        action="store_true",
        help="say which lines of src the clients execute; with --quick without slow ones",
    )
    command.add_argument(
        "--budget",
        type=int,
        default=BUDGET,
        metavar="SECONDS",
        help="limit the time of each client; default: %(default)s; with --genmc the processor time of each model; "
        f"default: {genmc.LIMIT}",
    )
    command.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="run so many processes; default: %(default)s"
    )
    command.add_argument(
        "--compiler", default="gcc", help="compiler of the code under test (gcc, clang-16, aarch64-linux-gnu-gcc)"
    )
    command.add_argument(
        "--level", default="-O1", help="compile the code under test with this level; default: %(default)s"
    )
    command.add_argument("--json", type=Path, metavar="FILE", help="write all results to this file")
    command.add_argument(
        "--table",
        action="store_true",
        help="write docs/clients.md anew; with --genmc docs/genmc.md, with --random docs/mutants.md",
    )
    command.set_defaults(run=run)

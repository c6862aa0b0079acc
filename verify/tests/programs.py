"""programs.py - random programs, as data for the enumerator and as C for the checker; a hundred of them to a file.

programs.py --seed 7 --count 3 prints programs as C; with --verdict also what may become of them.
"""

import argparse
from collections import Counter
from dataclasses import replace
from random import Random

from axiomatic import ACQUIRES, READS, SHOWN, SKIPPED, SWAPS, WRITES, Operation, Program, verdict

LOAD_ORDERS = ("relaxed", "acquire", "acquire")
STORE_ORDERS = ("relaxed", "release", "release")
UPDATE_ORDERS = ("relaxed", "acquire", "release", "acq_rel")
FENCE_ORDERS = ("acquire", "release", "acq_rel", "seq_cst", "seq_cst", "seq_cst")
ARITHMETIC = ("add", "add", "add", "exchange", "exchange", "sub", "and", "or", "xor", "nand")
LONGEST = 16  # the product of how many sources reads may have stays below 2 to this


class Generator:
    """One random program. Its traits are drawn first, so that programs differ in kind and not only in detail."""

    def __init__(self, random: Random, sequential: bool = False) -> None:
        self.random = random
        self.sequential = sequential  # sequentially consistent accesses, too
        self.plain = random.choice((0, 0, 0.1, 0.2))
        self.guarded = random.choice((0, 0.2, 0.6))
        self.fences = random.choice((0, 0.2, 0.5))
        self.handshakes = random.choice((0, 0.5, 0.7)) if self.fences else 0
        self.mutex = random.random() < 0.15
        self.weak = random.random() < 0.2
        atomic = random.choice((1, 2, 2, 2, 3))
        widths = random.choice(((32,), (32,), (8,), (8, 16, 32, 64)))
        self.bits = [random.choice(widths) for _ in range(atomic)] + [32] * (self.plain > 0) + [0] * self.mutex
        self.atomic = atomic
        self.values = [0] * len(self.bits)

    def value(self, place: int) -> int:
        self.values[place] += 1
        return self.values[place]

    def ordered(self, orders: tuple[str, ...]) -> str:
        return "seq_cst" if self.sequential and self.random.random() < 0.5 else self.random.choice(orders)

    def step(self) -> Operation:
        random = self.random
        if random.random() < self.fences:
            return Operation("fence", random.choice(FENCE_ORDERS))
        if random.random() < self.plain:
            place = self.atomic if random.random() < 0.8 else random.randrange(self.atomic)
            kind = random.choice(("load", "store"))
            return Operation(kind, "plain", place, self.value(place) if kind == "store" else 0)
        place = random.randrange(self.atomic)
        kind = random.choices(("load", "store", "arithmetic", "swap"), (36, 34, 16, 14))[0]
        if kind == "load":
            return Operation("load", self.ordered(LOAD_ORDERS), place)
        if kind == "store":
            return Operation("store", self.ordered(STORE_ORDERS), place, self.value(place))
        order = self.ordered(UPDATE_ORDERS)
        if kind == "arithmetic":
            return Operation(random.choice(ARITHMETIC), order, place, random.choice((1, 2, 5, 16)))
        failure = self.ordered(("relaxed", "acquire")) if order in ACQUIRES else "relaxed"
        failure = "acquire" if failure == "seq_cst" != order else failure  # none is stronger than the order of success
        weak = "weak" if self.weak and random.random() < 0.7 else "strong"
        return Operation(weak, order, place, self.value(place), random.choice((0, 0, 1, 2)), failure)

    def idiom(self) -> list[Operation]:
        """A part in passing something on; left to chance, hardly any program would pass plain memory without a race."""
        random = self.random
        fenced = random.random() < self.fences
        release, acquire = ("relaxed", "relaxed") if fenced else ("release", "acquire")
        order, place = ("plain", self.atomic) if self.plain else ("relaxed", len(self.bits) - 1 - self.mutex)
        touch = random.choice((Operation("load", order, place), Operation("store", order, place, 7)))
        odd = 2 * random.randrange(4) + 1
        if random.random() < 0.4:
            kind = random.choice(("store", "store", "add", "strong"))
            weaker = release if random.random() < 0.8 else "relaxed"
            return [touch, *[Operation("fence", "release")] * fenced, Operation(kind, weaker, 0, odd)]
        kind = random.choice(("load", "load", "add", "strong"))
        weaker = acquire if random.random() < 0.8 else "relaxed"
        take = Operation(kind, weaker, 0, 8, odd if kind == "strong" else 0, weaker)
        guard = (0, True) if order == "plain" or random.random() < 0.5 else None
        return [take, *[Operation("fence", "acquire")] * fenced, replace(touch, guard=guard)]

    def handshake(self) -> list[Operation]:
        """Accesses with a fence between them, which only takes part in anything if others do the same."""
        places = self.random.sample(range(self.atomic), 2) if self.atomic > 1 else [0, 0]
        accesses = [
            Operation("store", self.random.choice(STORE_ORDERS), place, self.value(place))
            if self.random.random() < 0.5
            else Operation("load", self.random.choice(LOAD_ORDERS), place)
            for place in places
        ]
        return [accesses[0], Operation("fence", "seq_cst"), accesses[1]]

    def thread(self, length: int) -> tuple[Operation, ...]:
        steps = self.idiom() if self.random.random() < (0.7 if self.plain else 0.2) else []
        steps = self.handshake() if self.random.random() < self.handshakes else steps
        mutex = len(self.bits) - 1
        entered = self.random.choice((0, 1)) if self.mutex else None  # the step that the lock comes before
        for index in range(len(steps), length):
            if index == entered:
                steps.append(Operation("lock", "acquire", mutex))
            step = self.step()
            while steps and steps[-1].kind == step.kind == "fence":
                step = self.step()  # compilers make one of two, and executions fewer
            reads = [at for at, earlier in enumerate(steps) if earlier.kind in SHOWN]
            wanted = 0.8 if step.order == "plain" else self.guarded
            if reads and self.random.random() < wanted:
                step = replace(step, guard=(reads[-1], self.random.random() < 0.8))
            steps.append(step)
        if any(step.kind == "lock" for step in steps):
            leave = self.random.randint(entered + 2, len(steps))
            steps.insert(leave, Operation("unlock", "release", mutex))
            steps = [shifted(step, leave) for step in steps]
        return tuple(steps)

    def program(self) -> Program:
        count = self.random.choice((2, 3, 3) if self.handshakes else (2, 2, 3))
        longest = 6 if count == 2 else 4
        return Program(tuple(self.thread(self.random.randint(2, longest)) for _ in range(count)), tuple(self.bits))


def shifted(step: Operation, inserted: int) -> Operation:
    """The same step after another one came in before it."""
    if step.guard and step.guard[0] >= inserted:
        return replace(step, guard=(step.guard[0] + 1, step.guard[1]))
    return step


def without_spurious_failures(program: Program) -> Program:
    """The same with strong compare-and-swaps only."""
    threads = (
        tuple(replace(step, kind="strong") if step.kind == "weak" else step for step in thread)
        for thread in program.threads
    )
    return replace(program, threads=tuple(threads))


def with_words(program: Program) -> Program:
    """The same with locations of 32 bits only."""
    return replace(program, bits=tuple(min(bits, 1) * 32 for bits in program.bits))


def size(program: Program) -> int:
    """How many choices the enumerator has, roughly, as a power of two."""
    steps = [step for thread in program.threads for step in thread]
    writers = Counter(step.location for step in steps if step.kind in WRITES)
    return sum((1 + writers[step.location]).bit_length() for step in steps if step.kind in READS)


def random_program(random: Random, sequential: bool = False) -> Program:
    while True:
        program = Generator(random, sequential).program()
        if size(program) <= LONGEST:
            return program


def expression(step: Operation, bits: int) -> str:
    """The step as C, without the register that takes its value."""
    atomic = f"&place{bits}[{step.location}]"
    raw = f"(volatile uint{bits}_t *){atomic}"
    order = f"memory_order_{step.order}"
    if step.kind in SWAPS:
        arguments = f"{atomic}, &seen, {step.operand}, {order}, memory_order_{step.failure}"
        swap = f"atomic_compare_exchange_{step.kind}_explicit({arguments})"
        return f"({{ uint{bits}_t seen = {step.expected}; int success = {swap}; 2 * seen + success; }})"
    if step.order == "plain":
        return f"*{raw}" + (f" = {step.operand}" if step.kind == "store" else "")
    forms = {
        "fence": f"atomic_thread_fence({order})",
        "load": f"atomic_load_explicit({atomic}, {order})",
        "store": f"atomic_store_explicit({atomic}, {step.operand}, {order})",
        "exchange": f"atomic_exchange_explicit({atomic}, {step.operand}, {order})",
        "nand": f"__atomic_fetch_nand({raw}, {step.operand}, __ATOMIC_{step.order.upper()})",
        "lock": "pthread_mutex_lock(&mutex)",
        "unlock": "pthread_mutex_unlock(&mutex)",
    }
    return forms.get(step.kind, f"atomic_fetch_{step.kind}_explicit({atomic}, {step.operand}, {order})")


def body(name: str, thread: tuple[Operation, ...], bits: tuple[int, ...], first: int) -> list[str]:
    """A thread's function; its reads' registers are outcome[first] and up, and locals, since guards look at them."""
    lines = [f"static void *{name}(void *unused) {{"]
    register = first
    for index, step in enumerate(thread):
        guard = f"if ((value{step.guard[0]} & 1) == {int(step.guard[1])}) " if step.guard else ""
        if step.kind in SHOWN:
            lines.append(f"  int value{index} = {SKIPPED};")
            lines.append(f"  {guard}value{index} = {expression(step, bits[step.location])};")
            lines.append(f"  outcome[{register}] = value{index};")
            register += 1
        else:
            lines.append(f"  {guard}{expression(step, bits[step.location])};")
    return [*lines, "  return unused;", "}"]


def batch(programs: list[Program]) -> str:
    """One client for all; the environment's PROGRAM says which one it is this time."""
    lines = [
        "#include <pthread.h>\n#include <stdatomic.h>\n#include <stdint.h>\n#include <stdlib.h>\n",
        "void checker_outcome(unsigned n, const int *values);",
        "static int outcome[64];\nstatic pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;",
        *(f"static _Atomic uint{bits}_t place{bits}[8];" for bits in (8, 16, 32, 64)),
    ]
    for number, program in enumerate(programs):
        register, count = 0, len(program.threads)
        for index, thread in enumerate(program.threads):
            lines += body(f"program{number}_thread{index}", thread, program.bits, register)
            register += sum(step.kind in SHOWN for step in thread)
        lines += [f"static void program{number}(void) {{", f"  pthread_t thread[{count}];"]
        lines += [f"  pthread_create(&thread[{i}], 0, program{number}_thread{i}, 0);" for i in range(count)]
        lines += [f"  pthread_join(thread[{i}], 0);" for i in range(count)]
        for place, bits in enumerate(program.bits):
            if bits:
                final = expression(Operation("load", "relaxed", place), bits)
                lines.append(f"  outcome[{register}] = {final};")
                register += 1
        lines += [f"  checker_outcome({register}, outcome);", "}"]
    names = ", ".join(f"program{number}" for number in range(len(programs)))
    lines.append(f"static void (*const programs[])(void) = {{{names}}};")
    lines.append('int main(void) {\n  programs[atoi(getenv("PROGRAM"))]();\n  return 0;\n}')
    return "\n".join(lines) + "\n"


KINDS = "load store fence lock unlock strong weak add sub and or xor nand exchange".split()
ORDERS = "relaxed consume acquire release acq_rel seq_cst".split()


def spelled(program: Program) -> dict[str, object]:
    """The environment that makes interpreter.c run the program, whose locations have 32 bits each."""
    numbers = []
    for thread, steps in enumerate(program.threads):
        for step in steps:
            plain = step.order == "plain"
            kind = len(KINDS) + (step.kind == "store") if plain else KINDS.index(step.kind)
            order = 0 if plain else ORDERS.index(step.order)
            index, parity = step.guard or (-1, False)
            failure = ORDERS.index(step.failure)
            numbers += [thread, kind, order, max(step.location, 0), step.operand, step.expected, failure, index, parity]
    return {"PROGRAM": " ".join(str(int(number)) for number in numbers), "PLACES": sum(map(bool, program.bits))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--sequential", action="store_true", help="sequentially consistent accesses, too")
    parser.add_argument("--verdict", action="store_true", help="also what each may do")
    arguments = parser.parse_args()
    random = Random(arguments.seed)
    programs = [random_program(random, arguments.sequential) for _ in range(arguments.count)]
    print(batch(programs), end="")
    for number, program in enumerate(programs if arguments.verdict else []):
        found = verdict(program)
        print(f"/* {number}: {'racy' if found.racy else 'race-free'}, {len(found.outcomes)} outcomes:")
        print("\n".join(f"   {outcome}" for outcome in sorted(found.outcomes)), "*/")


if __name__ == "__main__":
    main()

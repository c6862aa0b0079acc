"""axiomatic.py - what RC11 allows: every outcome of a small program, and whether it races.

The definition, executed: an execution is a choice of what each read reads from (rf) and of a modification order per
location (mo); it counts when it satisfies the axioms of Lahav et al., "Repairing sequential consistency in C/C++11"
(PLDI 2017), with C++20's release sequences (a store and the read-modify-writes that continue it). It shares nothing
with the checker, which builds executions step by step: where both agree on thousands of programs, both are believed.

A relation is a list of bit masks, `relation[event]` being the events on its other side. A read-modify-write is one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import product
from operator import or_

Relation = list[int]

ACQUIRES = frozenset(("acquire", "acq_rel", "seq_cst"))
RELEASES = frozenset(("release", "acq_rel", "seq_cst"))
UPDATES = {
    "add": lambda old, operand: old + operand,
    "sub": lambda old, operand: old - operand,
    "and": lambda old, operand: old & operand,
    "or": lambda old, operand: old | operand,
    "xor": lambda old, operand: old ^ operand,
    "nand": lambda old, operand: ~(old & operand),
    "exchange": lambda old, operand: operand,
    "lock": lambda old, operand: 1,
}
SWAPS = frozenset(("strong", "weak"))
WRITES = frozenset(("store", "unlock", *UPDATES, *SWAPS))
READS = frozenset(("load", *UPDATES, *SWAPS))
SHOWN = READS - {"lock"}  # whose registers make the outcome
SKIPPED = 98  # what stands in the register of a read that a guard left out


@dataclass(frozen=True)
class Operation:
    """One step of a thread. Its register, if it reads, is what it saw; of a compare-and-swap 2 * seen + success."""

    kind: str  # load, store, fence, lock, unlock, a key of UPDATES, strong or weak (compare-and-swap)
    order: str = "plain"
    location: int = -1
    operand: int = 0
    expected: int = 0
    failure: str = "relaxed"
    guard: tuple[int, bool] | None = None  # done only if the register of that step of this thread is odd (is even)


@dataclass(frozen=True)
class Program:
    """Threads over locations that start at 0; `bits` is how wide each is, 0 for a mutex."""

    threads: tuple[tuple[Operation, ...], ...]
    bits: tuple[int, ...]


@dataclass(frozen=True)
class Verdict:
    """An outcome: the registers of all reads, thread after thread, then the final values of all but mutexes."""

    outcomes: frozenset[tuple[int, ...]]
    racy: bool
    executions: int  # those that differ in rf or mo


def as_int(value: int) -> int:
    """As C's int has it, which is what programs show."""
    return (value + 2**31) % 2**32 - 2**31


def members(mask: int) -> Iterator[int]:
    while mask:
        yield (mask & -mask).bit_length() - 1
        mask &= mask - 1


def compose(first: Relation, second: Relation) -> Relation:
    result = []
    for mask in first:
        reached = 0
        for middle in members(mask):
            reached |= second[middle]
        result.append(reached)
    return result


def union(*relations: Relation) -> Relation:
    return [reduce(or_, masks) for masks in zip(*relations, strict=True)]


def inverse(relation: Relation) -> Relation:
    result = [0] * len(relation)
    for event, mask in enumerate(relation):
        for other in members(mask):
            result[other] |= 1 << event
    return result


def is_cyclic(relation: Relation) -> bool:
    reach = list(relation)
    for middle in range(len(reach)):
        for event in range(len(reach)):
            if reach[event] >> middle & 1:
                reach[event] |= reach[middle]
    return any(mask >> event & 1 for event, mask in enumerate(reach))


class Frame:
    """What all executions of a program share: its events. The first ones write the initial values."""

    def __init__(self, program: Program) -> None:
        self.program = program
        initials = [Operation("store", "plain", place) for place in range(len(program.bits))]
        self.operations = initials + [step for thread in program.threads for step in thread]
        self.thread = [-1] * len(initials)
        self.before: Relation = [0] * len(initials)  # sequenced before; the initial writes are, before everything
        self.guard: list[int] = [-1] * len(initials)
        for number, thread in enumerate(program.threads):
            start = len(self.thread)
            for index, step in enumerate(thread):
                self.thread.append(number)
                earlier = (1 << start + index) - (1 << start)
                self.before.append((1 << len(initials)) - 1 | earlier)
                self.guard.append(start + step.guard[0] if step.guard else -1)
        events = range(len(self.operations))
        self.reads = [event for event in events if self.operations[event].kind in READS]
        self.weak = [event for event in events if self.operations[event].kind == "weak"]
        self.conflicts = [(a, b) for b in events for a in range(b) if self.conflict(a, b)]

    def conflict(self, a: int, b: int) -> bool:
        """May these two race? Same location, other threads, one writes, one is plain."""
        first, second = self.operations[a], self.operations[b]
        return (
            first.location == second.location >= 0
            and -1 != self.thread[a] != self.thread[b]
            and (first.kind in WRITES or second.kind in WRITES)
            and "plain" in (first.order, second.order)
        )

    def sources(self, index: int, ordered: Relation) -> Iterator[tuple[dict[int, int], Relation]]:
        """Every rf of the reads from the one at index on, with the closure of po and rf, which has no cycle."""
        if index == len(self.reads):
            yield {}, ordered
            return
        read = self.reads[index]
        location = self.operations[read].location
        for write, step in enumerate(self.operations):
            if step.location != location or step.kind not in WRITES or write == read or ordered[write] >> read & 1:
                continue
            grown = list(ordered)
            gained = ordered[write] | 1 << write
            for event, mask in enumerate(ordered):
                if event == read or mask >> read & 1:
                    grown[event] = mask | gained
            for rest, closure in self.sources(index + 1, grown):
                yield {read: write, **rest}, closure


class Execution:
    """One rf, which fixes values, synchronization and happens-before; the orders of modification are still open."""

    def __init__(self, frame: Frame, rf: dict[int, int], closure: Relation, spurious: int) -> None:
        self.frame, self.rf, self.spurious = frame, rf, spurious
        size = len(frame.operations)
        self.register: dict[int, int] = {}
        self.written: dict[int, int] = {}
        self.done = 0
        self.order = sorted(range(size), key=lambda event: closure[event].bit_count())
        self.exists = all(self.perform(event) for event in self.order)
        if self.exists:
            self.before = self.happens_before()

    def perform(self, event: int) -> bool:
        """Gives the event its values; false when rf contradicts them."""
        step, guard = self.frame.operations[event], self.frame.guard[event]
        chosen = self.spurious >> event & 1
        if guard >= 0 and self.register.get(guard, SKIPPED) % 2 != step.guard[1]:
            # One representative of all that a step left out could have read.
            return not chosen and self.rf.get(event, step.location) == step.location
        self.done |= 1 << event
        if step.kind in ("store", "unlock"):
            self.written[event] = step.operand
        if event not in self.rf:
            return True
        if self.rf[event] not in self.written:
            return False
        seen = self.register[event] = self.written[self.rf[event]]
        if step.kind in SWAPS:
            succeeds = seen == step.expected and not chosen
            self.register[event] = 2 * seen + succeeds
            if succeeds:
                self.written[event] = step.operand
            return seen == step.expected or not chosen
        if step.kind in UPDATES:
            bits = self.frame.program.bits[step.location] or 32
            self.written[event] = UPDATES[step.kind](seen, step.operand) & (1 << bits) - 1
        return step.kind != "lock" or seen == 0

    def effective(self, event: int) -> str:
        """The order that counts: of a compare-and-swap that fails, the one for failure."""
        step = self.frame.operations[event]
        return step.failure if step.kind in SWAPS and event not in self.written else step.order

    def happens_before(self) -> Relation:
        """hb = (po | sw)+, built along po | rf. A release sequence is a store and the updates that read from it."""
        operations, po = self.frame.operations, self.frame.before
        fences = self.done & sum(1 << event for event, step in enumerate(operations) if step.kind == "fence")
        reads = self.done & sum(1 << event for event in self.rf)
        before = [0] * len(operations)
        heads = [0] * len(operations)  # of a write: the releases that its readers synchronize with
        for event in self.order:
            if not self.done >> event & 1:
                continue
            joined = po[event] & self.done
            if self.effective(event) in ACQUIRES:
                if event in self.rf:
                    joined |= heads[self.rf[event]]
                for read in members(po[event] & reads) if fences >> event & 1 else ():
                    joined |= heads[self.rf[read]]
            for earlier in members(joined):
                before[event] |= before[earlier] | 1 << earlier
            if event in self.written:
                releasing = po[event] & fences | 1 << event
                heads[event] = sum(1 << e for e in members(releasing) if self.effective(e) in RELEASES)
                if event in self.rf:
                    heads[event] |= heads[self.rf[event]]
        return before

    def modification_orders(self, location: int) -> Iterator[list[int]]:
        """All total orders of the writes that respect atomicity and coherence. hb does not depend on them."""
        writes = [event for event in self.written if self.frame.operations[event].location == location]
        mask = sum(1 << write for write in writes)
        successor: dict[int, int] = {}
        for write in writes:
            if write in self.rf:
                if self.rf[write] in successor:
                    return  # two updates of the same value
                successor[self.rf[write]] = write
        readers = [read for read in self.rf if self.done >> read & 1 and self.rf[read] in writes]

        def extend(chain: list[int], placed: int) -> Iterator[list[int]]:
            if placed == mask:
                if self.is_coherent(chain, readers):
                    yield chain
                return
            last = chain[-1]
            for write in [successor[last]] if last in successor else writes:
                free = write not in self.rf or self.rf[write] == last
                if not placed >> write & 1 and free and not self.before[write] & mask & ~placed:
                    yield from extend([*chain, write], placed | 1 << write)

        yield from extend([location], 1 << location)

    def communication(self, chain: list[int], readers: list[int]) -> Relation:
        """eco = (rf | mo | fr)+ of one location: the events after each."""
        after = [0] * len(self.frame.operations)
        later = 0  # this write, all later ones and the reads from those
        for write in reversed(chain):
            own = sum(1 << read for read in readers if self.rf[read] == write)
            for read in members(own):
                after[read] |= later & ~(1 << read)
            after[write] = (later | own) & ~(1 << write)
            later |= own | 1 << write
        return after

    def is_coherent(self, chain: list[int], readers: list[int]) -> bool:
        after = self.communication(chain, readers)
        return not any(mask & self.before[event] for event, mask in enumerate(after) if mask)

    def is_sc(self, chains: tuple[list[int], ...]) -> bool:
        """No cycle in psc, the partial order of sequentially consistent accesses and fences."""
        operations, size = self.frame.operations, len(self.frame.operations)
        ordered = sum(1 << e for e in members(self.done) if self.effective(e) == "seq_cst")
        fences = ordered & sum(1 << e for e in range(size) if operations[e].kind == "fence")
        if ordered.bit_count() < 2:
            return True
        here = [operations[event].location for event in range(size)]
        same = [sum(1 << b for b in range(size) if here[a] == here[b] >= 0) for a in range(size)]
        hb = inverse(self.before)
        po = inverse([self.frame.before[e] & self.done if self.done >> e & 1 else 0 for e in range(size)])
        elsewhere = [mask & ~same[event] for event, mask in enumerate(po)]
        eco, modified = [0] * size, [0] * size
        for chain in chains:
            readers = [read for read in self.rf if self.done >> read & 1 and self.rf[read] in chain]
            eco = union(eco, self.communication(chain, readers))
            for index, write in enumerate(chain):
                later = sum(1 << w for w in chain[index + 1 :])
                for event in [write, *(read for read in readers if self.rf[read] == write)]:
                    modified[event] |= later & ~(1 << event)  # mo and fr
        on_location = [mask & same[event] for event, mask in enumerate(hb)]
        scb = union(po, compose(compose(elsewhere, hb), elsewhere), on_location, modified)
        itself = [1 << event for event in range(size)]
        reflexive = union(hb, itself)
        left = [(itself[e] if ordered >> e & 1 else 0) | (reflexive[e] if fences >> e & 1 else 0) for e in range(size)]
        right = [itself[e] & ordered | reflexive[e] & fences for e in range(size)]
        base = compose(compose(left, scb), right)
        between = union(hb, compose(compose(hb, eco), hb))
        psc = [base[e] | (between[e] & fences if fences >> e & 1 else 0) for e in range(size)]
        return not is_cyclic(psc)

    def races(self) -> bool:
        for a, b in self.frame.conflicts:
            unordered = not (self.before[a] >> b & 1 or self.before[b] >> a & 1)
            writes = a in self.written or b in self.written
            if self.done >> a & 1 and self.done >> b & 1 and writes and unordered:
                return True
        return False


def verdict(program: Program) -> Verdict:
    """Everything that the program may do, each weak compare-and-swap failing or not as it likes."""
    frame = Frame(program)
    outcomes: set[tuple[int, ...]] = set()
    racy, executions = False, 0
    shown = [place for place, bits in enumerate(program.bits) if bits]
    reads = [read for read in frame.reads if frame.operations[read].kind in SHOWN]
    failures = [sum(choice) for choice in product(*((0, 1 << event) for event in frame.weak))]
    for rf, closure in frame.sources(0, frame.before):
        for spurious in failures:
            execution = Execution(frame, rf, closure, spurious)
            if not execution.exists:
                continue
            orders = [list(execution.modification_orders(place)) for place in range(len(program.bits))]
            registers = tuple(execution.register.get(read, SKIPPED) for read in reads)
            ways = 0
            for chains in product(*orders):
                if execution.is_sc(chains):
                    ways += 1
                    final = tuple(execution.written[chains[place][-1]] for place in shown)
                    outcomes.add(tuple(map(as_int, registers + final)))
            executions += ways
            racy = racy or (ways > 0 and execution.races())
    return Verdict(frozenset(outcomes), racy, executions)

"""litmus.py - the classic questions to a memory model and what RC11 without load buffering answers.

A step is a letter, a location, numbers and orders (relaxed when none is named):

    Wx1.rel  store        Rx.acq  load           Fsc      fence          Px1 Qx  plain store, plain load
    Ax1      fetch_add    Xx1     exchange       Lm Um    mutex          Cx02    compare-and-swap of 0 to 2, V when weak
    ?Rx      only if what this thread read last is odd

`|` parts threads; after `/` stand the locations whose final values are shown behind the registers. What a
compare-and-swap shows is 2 * seen + success. An answer lists all outcomes ("-": a read not done), or says how many
they are and without which; "race" stands for undefined.
"""

import re

from axiomatic import SHOWN, SKIPPED, Operation, Program

ORDERS = {
    "": "relaxed",
    "acq": "acquire",
    "rel": "release",
    "ar": "acq_rel",
    "sc": "seq_cst",
}
KINDS = {"W": "store", "P": "store", "R": "load", "Q": "load", "A": "add", "X": "exchange", "C": "strong", "V": "weak"}
STEP = re.compile(r"(\??)(?:([WPRQAXCV])([xyz])(\d?)(\d?)(?:\.(\w+))?(?:\.(\w+))?|F(\w+)|([LU])m)$")

TESTS = {
    # Message passing: data, then flag.
    "MP": ("Wx1 Wy1 | Ry Rx", "00 01 10 11"),
    "MP+rel": ("Wx1 Wy1.rel | Ry Rx", "00 01 10 11"),
    "MP+acq": ("Wx1 Wy1 | Ry.acq Rx", "00 01 10 11"),
    "MP+rel+acq": ("Wx1 Wy1.rel | Ry.acq Rx", "3 without 10"),
    "MP+frel+facq": ("Wx1 Frel Wy1 | Ry Facq Rx", "3 without 10"),
    "MP+frel+acq": ("Wx1 Frel Wy1 | Ry.acq Rx", "3 without 10"),
    "MP+rel+facq": ("Wx1 Wy1.rel | Ry Facq Rx", "3 without 10"),
    "MP+far+far": ("Wx1 Far Wy1 | Ry Far Rx", "3 without 10"),
    "MP+fsc+fsc": ("Wx1 Fsc Wy1 | Ry Fsc Rx", "3 without 10"),
    "MP+facq+facq": ("Wx1 Facq Wy1 | Ry Facq Rx", "00 01 10 11"),
    "MP+frel+frel": ("Wx1 Frel Wy1 | Ry Frel Rx", "00 01 10 11"),
    "MP+fence too late": ("Wx1 Wy1 Frel | Ry Facq Rx", "00 01 10 11"),
    "MP+sc": ("Wx1.sc Wy1.sc | Ry.sc Rx.sc", "3 without 10"),
    "MP+plain": ("Px1 Wy1.rel | Ry.acq ?Qx", "0- 11"),
    "MP+plain+frel+facq": ("Px1 Frel Wy1 | Ry Facq ?Qx", "0- 11"),
    "MP+plain+frel+acq": ("Px1 Frel Wy1 | Ry.acq ?Qx", "0- 11"),
    "MP+plain+facq": ("Px1 Wy1.rel | Ry Facq ?Qx", "0- 11"),
    "MP+plain+relaxed": ("Px1 Wy1 | Ry.acq ?Qx", "race"),
    "MP+plain+fsc": ("Px1 Fsc | Fsc Qx", "race"),
    "MP+read back": ("Px1 Wy1.rel | Ry.acq ?Px2 / x", "0/1 1/2"),
    # Store buffering: only sequentially consistent fences or accesses forbid that both miss.
    "SB": ("Wx1 Ry | Wy1 Rx", "00 01 10 11"),
    "SB+rel+acq": ("Wx1.rel Ry.acq | Wy1.rel Rx.acq", "00 01 10 11"),
    "SB+far": ("Wx1 Far Ry | Wy1 Far Rx", "00 01 10 11"),
    "SB+fsc": ("Wx1 Fsc Ry | Wy1 Fsc Rx", "3 without 00"),
    "SB+fsc+far": ("Wx1 Fsc Ry | Wy1 Far Rx", "00 01 10 11"),
    "SB+sc": ("Wx1.sc Ry.sc | Wy1.sc Rx.sc", "3 without 00"),
    "SB+updates": ("Xx1.ar Ry.acq | Xy1.ar Rx.acq", "0000 0001 0100 0101"),
    "SB+same update": ("Wx1 Az1.ar Ry | Wy1 Az1.ar Rx", "0011 0111 1100 1101"),
    # Load buffering: not in RC11.
    "LB": ("Rx Wy1 | Ry Wx1", "3 without 11"),
    "LB+rel+acq": ("Rx.acq Wy1.rel | Ry.acq Wx1.rel", "3 without 11"),
    "LB+3": ("Rx Wy1 | Ry Wz1 | Rz Wx1", "7 without 111"),
    # Two writers each: modification orders may disagree with program orders.
    "2+2W": ("Wx1 Wy2 | Wy1 Wx2 / xy", "/11 /12 /21 /22"),
    "2+2W+rel": ("Wx1.rel Wy2.rel | Wy1.rel Wx2.rel / xy", "/11 /12 /21 /22"),
    "2+2W+fsc": ("Wx1 Fsc Wy2 | Wy1 Fsc Wx2 / xy", "/12 /21 /22"),
    "R": ("Wx1 Wy1 | Wy2 Rx / y", "0/1 0/2 1/1 1/2"),
    "R+rel+acq": ("Wx1.rel Wy1.rel | Wy2.rel Rx.acq / y", "0/1 0/2 1/1 1/2"),
    "R+fsc": ("Wx1 Fsc Wy1 | Wy2 Fsc Rx / y", "0/1 1/1 1/2"),
    "S": ("Wx2 Wy1 | Ry Wx1 / x", "0/1 0/2 1/1 1/2"),
    "S+rel+acq": ("Wx2 Wy1.rel | Ry.acq Wx1 / x", "0/1 0/2 1/1"),
    "S+frel+facq": ("Wx2 Frel Wy1 | Ry Facq Wx1 / x", "0/1 0/2 1/1"),
    # Causality over three threads.
    "WRC": ("Wx1 | Rx Wy1 | Ry Rx", "000 001 010 011 100 101 110 111"),
    "WRC+rel+acq": ("Wx1 | Rx Wy1.rel | Ry.acq Rx", "7 without 110"),
    "WRC+fsc": ("Wx1 | Rx Fsc Wy1 | Ry Fsc Rx", "7 without 110"),
    "ISA2": ("Wx1 Wy1.rel | Ry.acq Wz1.rel | Rz.acq Rx", "7 without 110"),
    "ISA2+fsc+relaxed+fsc": ("Wx1 Fsc Wy1 | Ry Wz1 | Rz Fsc Rx", "000 001 010 011 100 101 110 111"),
    "ISA2+relaxed": ("Wx1 Wy1.rel | Ry Wz1.rel | Rz.acq Rx", "000 001 010 011 100 101 110 111"),
    "Z6.3": ("Wx1 Wy1.rel | Wy2 Wz1.rel | Rz.acq Rx / y", "00/1 00/2 01/1 01/2 10/1 10/2 11/1 11/2"),
    "W+RWC+fsc": ("Wx1 Wy1.rel | Ry.acq Fsc Rz | Wz1 Fsc Rx", "7 without 100"),
    "RWC+fsc+rel+acq": ("Wz1 Fsc Wy1.rel | Ry.acq Rx | Wx1 Fsc Rz", "7 without 100"),
    "RWC+fsc+relaxed": ("Wz1 Fsc Wy1 | Ry Rx | Wx1 Fsc Rz", "000 001 010 011 100 101 110 111"),
    "RWC+fsc": ("Wx1 | Rx Fsc Ry | Wy1 Fsc Rx", "7 without 100"),
    "RWC+rel+acq": ("Wx1 | Rx.acq Ry.acq | Wy1.rel Rx.acq", "000 001 010 011 100 101 110 111"),
    "IRIW": ("Wx1 | Wy1 | Rx Ry | Ry Rx", "16 without"),
    "IRIW+rel+acq": ("Wx1.rel | Wy1.rel | Rx.acq Ry.acq | Ry.acq Rx.acq", "16 without"),
    "IRIW+far": ("Wx1 | Wy1 | Rx Far Ry | Ry Far Rx", "16 without"),
    "IRIW+fsc": ("Wx1 | Wy1 | Rx Fsc Ry | Ry Fsc Rx", "15 without 1010"),
    "IRIW+sc": ("Wx1.sc | Wy1.sc | Rx.sc Ry.sc | Ry.sc Rx.sc", "15 without 1010"),
    # Coherence: one location, one order, relaxed or not.
    "CoRR": ("Wx1 | Rx Rx", "3 without 10"),
    "CoRR two writers": ("Wx1 | Wx2 | Rx Rx", "00 01 02 11 12 21 22"),
    "CoRR two readers": ("Wx1 | Wx2 | Rx Rx | Rx Rx", "47 without 1221 2112"),
    "CoWW": ("Wx1 Wx2 / x", "/2"),
    "CoRW": ("Rx Wx1 | Wx2 / x", "0/1 0/2 2/1"),
    "CoRW own": ("Rx Wx1 / x", "0/1"),
    "CoWR": ("Wx1 Rx | Wx2 / x", "1/1 1/2 2/2"),
    "CoRW2": ("Wx1 | Rx Wx2 / x", "0/1 0/2 1/2"),
    # Release sequences of C++20: continued by any thread's read-modify-writes, and by nothing else.
    "RS+update": ("Px1 Wy1.rel | Ay2 | Ry.acq ?Qx", "00- 011 02- 10- 111 131"),
    "RS+own store": ("Px1 Wy1.rel Wy3 | Ry.acq ?Qx", "race"),
    "RS+other store": ("Wx1 Wy1.rel | Wy3 | Ry.acq Rx", "00 01 11 30 31"),
    "RS+two updates": ("Wx1 Wy1.rel | Ay2 | Ay4 | Ry.acq Rx", "36 without 1030 1330 1370 5150 5170"),
    "RS+relaxed swap": ("Wx1 Wy1.rel | Cy12 | Ry.acq Rx", "000 001 011 300 301 311 321"),
    "RS+fence": ("Wx1 Frel Wy1 | Ay1 | Ry.acq Rx", "8 without 110 120"),
    # Read-modify-writes: atomic, and in the middle of modification order, too.
    "2 updates": ("Ax1 | Ax1 / x", "01/2 10/2"),
    "4 updates": ("Ax1 | Ax1 | Ax1 | Ax1", "24 without 0000 0011 0121"),
    "update+store": ("Ax1 | Wx5 / x", "0/5 5/6"),
    "update between": ("Wx1 | Wx2 | Ax4 / x", "0/1 0/2 1/2 1/5 2/1 2/6"),
    "2 exchanges": ("Xx1 | Xx2 / x", "01/2 20/1"),
    "2 swaps": ("Cx01 | Cx02 / x", "12/1 41/2"),
    "swap fails stale": ("Wx1 Wy1.rel | Ry Cx59", "00 02 10 12"),
    "swap fails fresh": ("Wx1 Wy1.rel | Ry.acq Cx59", "00 02 12"),
    "failure acquires": ("Wx1 Wy1.rel | Cy59.acq.acq Rx", "00 01 21"),
    "failure relaxed": ("Wx1 Wy1.rel | Cy59.acq Rx", "00 01 20 21"),
    "weak fails alone": ("Vx01 / x", "0/0 1/1"),
    "weak fails in company": ("Vx01 | Vx02 / x", "00/0 01/2 10/1 12/1 41/2"),
    # Mutexes.
    "mutex counter": ("Lm Qx Px1 Um | Lm Qx Px2 Um / x", "01/2 20/1"),
    "mutex order": ("Lm Px1 Um Wy1 | Ry ?Lm ?Qx ?Um", "0- 11"),
    "mutex pair": ("Lm Wx1 Wy1 Um | Lm Ry Rx Um", "00 11"),
}


def read_step(text: str, places: dict[str, int], last: int) -> Operation:
    """The step that the text describes; `last` is this thread's newest read."""
    found = STEP.match(text)
    if not found:
        raise ValueError(f"{text} is no step")
    optional, letter, name, first, second, order, failure, fence, mutex = found.groups()
    guard = (last, True) if optional else None
    if fence:
        return Operation("fence", ORDERS[fence])
    if mutex:
        kind, order = ("lock", "acquire") if mutex == "L" else ("unlock", "release")
        return Operation(kind, order, places["m"], guard=guard)
    order = "plain" if letter in "PQ" else ORDERS[order or ""]
    new, expected = (second, first) if letter in "CV" else (first, 0)
    return Operation(KINDS[letter], order, places[name], int(new or 0), int(expected), ORDERS[failure or ""], guard)


def read_program(text: str) -> tuple[Program, str]:
    """The program, and which locations to show."""
    text, _, shown = text.partition(" / ")
    names = [name for name in "xyzm" if re.search(f"[A-Z]{name}", text)]
    places = {name: place for place, name in enumerate(names)}
    threads = []
    for part in text.split(" | "):
        steps: list[Operation] = []
        last = 0
        for step in part.split():
            steps.append(read_step(step, places, last))
            last = len(steps) - 1 if steps[-1].kind in SHOWN else last
        threads.append(tuple(steps))
    return Program(tuple(threads), tuple(0 if name == "m" else 32 for name in names)), shown


def show(outcome: tuple[int, ...], program: Program, shown: str) -> str:
    """An outcome as the table writes it."""
    finals = [place for place, bits in enumerate(program.bits) if bits]
    registers = outcome[: len(outcome) - len(finals)]
    text = "".join("-" if value == SKIPPED else str(value) for value in registers)
    last = outcome[len(registers) :]
    return text + ("/" + "".join(str(last["xyz".index(name)]) for name in shown) if shown else "")


def agrees(answer: str, racy: bool, found: set[str]) -> bool:
    if racy or answer == "race":
        return racy and answer == "race"
    count, without, never = answer.partition(" without")
    return (len(found) == int(count) and found.isdisjoint(never.split())) if without else found == set(answer.split())

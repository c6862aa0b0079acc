"""calls.py - the call stacks of a process as one tree, and sums over its parts.

A part is a function, called from the part above it. It comes after that part, so each level is added to the one above
it. The tree is made once; each set of objects then needs sums only."""

from dataclasses import dataclass

import numpy as np

import stacks as callers


@dataclass
class Calls:
    names: list[str]  # of the parts; the first one is "all"
    parent: np.ndarray
    depth: np.ndarray
    levels: list[np.ndarray]  # the parts of each depth
    leaf: np.ndarray  # the innermost part of each stack

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Of each part and all that is below it; the values are those of the stacks."""
        found = np.zeros(len(self.names), np.int64)
        np.add.at(found, self.leaf, values)
        for level in self.levels[:0:-1]:
            np.add.at(found, self.parent[level], found[level])
        return found


class Growing:
    """The tree while stacks are added to it. Most stacks share their outer calls with one that came before."""

    def __init__(self, known: callers.Stacks) -> None:
        self.known = known
        self.names, self.parent, self.depth = ["all"], [0], [0]
        self.below: dict[tuple[int, str], int] = {}
        self.steps: dict[tuple[int, int], int] = {}  # from a part, by an address: inlined functions are parts, too

    def part(self, above: int, name: str) -> int:
        found = self.below.setdefault((above, name), len(self.names))
        if found == len(self.names):
            self.names.append(name)
            self.parent.append(above)
            self.depth.append(self.depth[above] + 1)
        return found

    def step(self, above: int, address: int) -> int:
        found = above
        for name in reversed(self.known.names.get(address, [f"{address:#x}"])):
            found = self.part(found, name)
        self.steps[above, address] = found
        return found

    def add(self, number: int) -> int:
        """Its innermost part."""
        frames, steps = self.known.frames.get(number, np.zeros(0, np.uint64)), self.steps
        at = self.part(0, callers.DEEPER) if callers.begins_inside(self.known, frames) else 0
        for address in frames[::-1].tolist():
            found = steps.get((at, address))
            at = self.step(at, address) if found is None else found
        return at or self.part(0, callers.UNKNOWN)


def calls_of(known: callers.Stacks, numbers: np.ndarray) -> Calls:
    tree = Growing(known)
    leaf = np.array([tree.add(number) for number in numbers.tolist()], np.int64)
    depth = np.array(tree.depth)
    order = np.argsort(depth, kind="stable")
    levels = np.split(order, np.flatnonzero(np.diff(depth[order])) + 1)
    return Calls(tree.names, np.array(tree.parent), depth, levels, leaf)

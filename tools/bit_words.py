"""bit_words.py - words of bits for prove_instructions.py: terms of the solver z3, or truth tables of small words. Both
kinds have the same operations, each written twice. Both are made for a number of input bits."""

from functools import cache


class UnknownError(Exception):
    """What the proof has no model of, or cannot decide."""


class Solver:
    """Terms of z3; words have their real width."""

    scale = 1

    def __init__(self, _: int) -> None:
        import z3

        self.z3, self.inputs = z3, []

    def input(self, name: str, width: int):
        self.inputs.append(self.z3.BitVec(name, width))
        return self.inputs[-1]

    def number(self, value: int, width: int):
        return self.z3.BitVecVal(value, width)

    def width(self, word) -> int:
        return word.size()

    def subtract(self, a, b):
        return a - b

    def multiply(self, a, b):
        return a * b

    def less(self, a, b):
        return self.z3.ULT(a, b)

    def same(self, a, b):
        return a == b

    def either(self, a, b):
        return self.z3.Or(a, b)

    def both(self, a, b):
        return self.z3.And(a, b)

    def no(self, a):
        return self.z3.Not(a)

    def word(self, flag, width: int):
        return self.z3.If(flag, self.number(1, width), self.number(0, width))

    def cut(self, word, low: int, width: int):
        return self.z3.Extract(low + width - 1, low, word)

    def join(self, low, high):
        return self.z3.Concat(high, low)

    def difference(self, equal) -> str:
        """Inputs for which it is false; empty: there are none."""
        solver = self.z3.Solver()
        solver.add(self.z3.Not(equal))
        answer = solver.check()
        if answer == self.z3.unsat:
            return ""
        if answer != self.z3.sat:
            raise UnknownError(f"the solver says {answer}")
        model = solver.model()
        return ", ".join(f"{word} {model.eval(word, True).as_long():#x}" for word in self.inputs)


@cache
def variable(number: int, bits: int) -> int:
    """The truth table of an input bit: 0 in 2^number assignments, 1 in the next ones, and so on."""
    size = 1 << number
    table, size = ((1 << size) - 1) << size, 2 * size
    while size < 1 << bits:
        table, size = table | table << size, 2 * size
    return table


class Tables:
    """A word of n bits is a list of n truth tables, the lowest bit's first. A truth table is an integer with a bit for
    each assignment of all input bits. So a word has its value under all inputs at once."""

    scale = 8

    def __init__(self, bits: int) -> None:
        self.bits, self.inputs, self.used = bits, [], 0
        self.all = (1 << (1 << bits)) - 1

    def input(self, name: str, width: int):
        if self.used + width > self.bits:
            raise UnknownError(f"more than {self.bits} input bits")
        word = [variable(self.used + bit, self.bits) for bit in range(width)]
        self.inputs.append((name, self.used, width))
        self.used += width
        return word

    def number(self, value: int, width: int):
        return [self.all if value >> bit & 1 else 0 for bit in range(width)]

    def width(self, word) -> int:
        return len(word)

    def borrowing(self, a, b):
        """The difference, and the borrow of its highest bit."""
        borrow, result = 0, []
        for x, y in zip(a, b, strict=True):
            result.append(x ^ y ^ borrow)
            borrow = (self.all ^ x) & (y | borrow) | y & borrow
        return result, borrow

    def subtract(self, a, b):
        return self.borrowing(a, b)[0]

    def multiply(self, a, b):
        total = self.number(0, len(a))
        for place, bit in enumerate(b):
            carry, row = 0, [0] * place + [x & bit for x in a[: len(a) - place]]
            for i, (x, y) in enumerate(zip(total, row, strict=True)):
                total[i], carry = x ^ y ^ carry, x & y | carry & (x | y)
        return total

    def less(self, a, b):
        return self.borrowing(a, b)[1]

    def same(self, a, b):
        if isinstance(a, int):
            return self.all ^ a ^ b
        result = self.all
        for x, y in zip(a, b, strict=True):
            result &= self.all ^ x ^ y
        return result

    def either(self, a, b):
        return a | b

    def both(self, a, b):
        return a & b

    def no(self, a):
        return self.all ^ a

    def word(self, flag, width: int):
        return [flag] + [0] * (width - 1)

    def cut(self, word, low: int, width: int):
        return word[low : low + width]

    def join(self, low, high):
        return low + high

    def difference(self, equal) -> str:
        wrong = self.all ^ equal
        if not wrong:
            return ""
        found = (wrong & -wrong).bit_length() - 1  # the first assignment
        return ", ".join(f"{name} {found >> start & (1 << width) - 1:#x}" for name, start, width in self.inputs)

"""prove_instructions.py - each assembler form in platform/instructions.h gives what its C form gives, for all inputs.

    prove_instructions.py            words of 64 bits, by the solver z3 (tools/requirements.txt)
    prove_instructions.py --small    words of 8 bits, where all inputs are tried, by truth tables; needs no package

The assembler, its operands and its constraints are read from the header. The C form is stated here as a term, beside
the C text that it states; another text is an error. So is all that is not known: an instruction, a constraint, a type,
a flag that no instruction has set. Assumed: the model of the few instructions below, and what docs/verification.md
lists ("The assembler forms")."""

import re
import sys
from collections.abc import Callable
from pathlib import Path

from bit_words import Solver, Tables, UnknownError

HEADER = Path(__file__).resolve().parents[1] / "src/platform/instructions.h"
WIDTHS = {"uintptr_t": 64, "uint64_t": 64, "uint32_t": 32, "any_half": 32, "uint16_t": 16, "uint8_t": 8, "bool": 1}


# ---- The C forms, each as text and as a term. A term gets the values of the parameters (of pointers: of their words)
# and gives the result, and what it stores.

Values = dict[str, object]


def stated_word_is(ops, at: Values):
    return ops.same(at["word"], at["value"]), {}


def stated_word_load(ops, at: Values):
    return at["word"], {}


def stated_byte_load(ops, at: Values):
    return ops.join(at["byte"], ops.number(0, 7 * ops.width(at["byte"]))), {}


def stated_difference(ops, at: Values):
    borrow = ops.word(ops.less(at["half"], at["mark"]), ops.width(at["address"]))
    return ops.subtract(ops.subtract(at["address"], borrow), at["origin"]), {}


def stated_product(ops, at: Values):
    return ops.no(ops.less(at["most"], ops.multiply(at["value"], at["factor"]))), {}


def stated_count_down(ops, at: Values):
    width = ops.width(at["count"])
    left = ops.subtract(at["count"], ops.number(1, width))
    return ops.either(ops.less(at["most"], at["value"]), ops.same(left, ops.number(0, width))), {"count": left}


def stated_computed_now(ops, at: Values):
    return at["value"], {}


STATED: dict[str, tuple[str, Callable]] = {
    "word_is": ("return relaxed_load(word) == (uintptr_t)value;", stated_word_is),
    "word_load": ("return relaxed_load(word);", stated_word_load),
    "byte_load": ("return relaxed_load(byte);", stated_byte_load),
    "difference_less_borrow": (
        "uint32_t unused; uintptr_t from = shared ? word_load(origin) : *origin; "
        "return address - __builtin_sub_overflow(*half, mark, &unused) - from;",
        stated_difference,
    ),
    "product_is_at_most": ("return value * word_load(factor) <= word_load(most);", stated_product),
    "count_down": (
        "uint16_t left = (uint16_t)(*count - 1); relaxed_store(count, left); return value > *most || left == 0;",
        stated_count_down,
    ),
    "computed_now": ("return value;", stated_computed_now),
    "half_computed_now": ("return value;", stated_computed_now),
}

# ---- The instructions


class Operand:
    """An operand of an assembler statement. `word` is its value; that of an output is not known at first."""

    def __init__(self, constraint: str, name: str, width: int, word) -> None:
        self.kind, self.name, self.width, self.word = constraint.lstrip("=+&"), name, width, word
        self.readable, self.written = not constraint.startswith("="), constraint[0] in "=+"
        self.early = "&" in constraint
        self.reads = self.writes = 0
        self.beside = None  # the memory behind a word, if it is touched


class Machine:
    """Executes the instructions of a statement in order."""

    def __init__(self, function: str, operands: dict[str, Operand], ops) -> None:
        self.function, self.operands, self.ops = function, operands, ops
        self.carry = self.zero = None
        self.overwritten: set[str] = set()

    def operand(self, text: str) -> Operand:
        found = re.fullmatch(r"%[kw]?\[(\w+)\]", text)
        if not found or found.group(1) not in self.operands:
            raise UnknownError(f"operand {text}")
        return self.operands[found.group(1)]

    def read(self, text: str, width: int):
        if number := re.fullmatch(r"\$(\d+)", text):
            return self.ops.number(int(number.group(1)), width)
        operand = self.operand(text)
        # without "&" the compiler may put into that register an operand that it knows to have the same value
        if self.overwritten - {text} and operand.kind != "i":
            raise UnknownError(f"{text} is read after a register without & was written")
        if not operand.readable:
            raise UnknownError(f"{text} is read, but is an output without a value")
        operand.reads += 1
        if operand.kind != "m":
            if operand.width != width or (operand.kind == "i" and width * self.ops.scale > 32):
                raise UnknownError(f"{text} has not the width of its instruction")
            return operand.word
        whole = operand.word
        if width > operand.width:
            if operand.beside is None:
                operand.beside = self.ops.input(f"beside_{operand.name}", width - operand.width)
                operand.was_beside = operand.beside
            whole = self.ops.join(operand.word, operand.beside)
        return self.ops.cut(whole, 0, width)

    def write(self, text: str, word) -> None:
        operand, width = self.operand(text), self.ops.width(word)
        if not operand.written:
            raise UnknownError(f"{text} is written, but is an input")
        operand.readable = True
        operand.writes += 1
        if operand.kind == "m":
            if width < operand.width:
                word = self.ops.join(word, self.ops.cut(operand.word, width, operand.width - width))
            elif width > operand.width:
                operand.beside = self.ops.cut(word, operand.width, width - operand.width)
            operand.word = self.ops.cut(word, 0, operand.width)
            return
        if operand.width != width:
            raise UnknownError(f"{text} has not the width of its instruction")
        operand.word = word
        if not operand.early:
            self.overwritten.add(text)

    def execute(self, instruction: str) -> None:
        mnemonic, _, rest = instruction.partition(" ")
        found = re.fullmatch(r"(cmp|sbb|sub|imul|dec)([bwlq])", mnemonic)
        texts = [text.strip() for text in rest.split(",")]
        if mnemonic == "ldr" and len(texts) == 2:  # AArch64: the register first
            self.write(texts[0], self.read(texts[1], 64 // self.ops.scale))
        elif (mnemonic == "ldrb" and texts[0][:3] == "%w[") or (mnemonic == "movzbl" and texts[-1][:3] == "%k["):
            byte, register = texts if mnemonic == "movzbl" else texts[::-1]
            width = 8 // self.ops.scale  # a write of the register's lower half clears the upper one
            self.write(register, self.ops.join(self.read(byte, width), self.ops.number(0, 7 * width)))
        elif found and len(texts) == (1 if found.group(1) == "dec" else 2):  # x86-64: the destination last
            width = {"b": 8, "w": 16, "l": 32, "q": 64}[found.group(2)] // self.ops.scale
            source = self.read(texts[0], width) if len(texts) == 2 else self.ops.number(1, width)
            self.x86_64(found.group(1), source, texts[-1], width)
        else:
            raise UnknownError(f"instruction {instruction}")

    def x86_64(self, name: str, source, destination: str, width: int) -> None:
        """Of the flags, carry and zero: no other is used."""
        ops, before = self.ops, self.read(destination, width)
        if name == "imul":
            self.write(destination, ops.multiply(before, source))
            self.carry = self.zero = None  # zero is undefined; carry says whether the signed product has room
            return
        result, carry = ops.subtract(before, source), ops.less(before, source)
        if name == "sbb":
            if self.carry is None:
                raise UnknownError("the carry is read, and no instruction has set it")
            carry = ops.either(carry, ops.both(ops.same(before, source), self.carry))
            result = ops.subtract(result, ops.word(self.carry, width))
        if name != "cmp":
            self.write(destination, result)
        if name != "dec":  # it leaves the carry alone
            self.carry = carry
        self.zero = ops.same(result, ops.number(0, width))

    def condition(self, name: str):
        if self.carry is None or self.zero is None:
            raise UnknownError(f"the condition {name} reads a flag that no instruction has set")
        above_or_equal, zero = self.ops.no(self.carry), self.zero
        known = {
            "e": zero,
            "ne": self.ops.no(zero),
            "b": self.carry,
            "ae": above_or_equal,
            "be": self.ops.either(self.carry, zero),
            "a": self.ops.both(above_or_equal, self.ops.no(zero)),
        }
        if name not in known:
            raise UnknownError(f"condition {name}")
        return known[name]


# ---- The header

FUNCTION = re.compile(r"^static ALWAYS_INLINE \w+ (\w+)\(([^)]*)\) \{\n(.*?)^\}", re.M | re.S)
STATEMENT = re.compile(r"__asm__\(((?:[^()\"]|\"[^\"]*\"|\([^()]*\))*)\);")
OPERAND = re.compile(r'(?:\[(\w+)\] )?"([^"]+)"\((\*?)(\w+)\)')
CONDITION = "=@cc"


def plain(text: str) -> str:
    """Without comments, and with single spaces."""
    return " ".join(re.sub(r"/\*.*?\*/", "", text, flags=re.S).split())


def functions(header: str) -> list[tuple[str, str, str]]:
    """Name, parameters and body. A body with a condition becomes two: the assembler's and the C form's."""
    found = []
    for name, parameters, body in FUNCTION.findall(header):
        before, condition, rest = body.partition("#if")
        if not condition:
            found.append((name, parameters, plain(body)))
            continue
        rest, end, after = rest.partition("#endif")
        taken, _, other = rest.partition("#else")
        if not end or "#" in after:
            raise UnknownError(f"the conditions in {name}")
        found.append((f"{name}_in_asm", parameters, plain(before + taken.partition("\n")[2] + after)))
        found.append((f"{name}_in_c", parameters, plain(before + other + after)))
    return found


def declared(text: str) -> dict[str, tuple[str, bool]]:
    """Types of variables, and whether they are pointers."""
    found = {}
    for one in filter(None, map(str.strip, text.split(","))):
        told = re.fullmatch(r"(?:const )?(\w+) (\*?)(\w+)", one)
        if not told or told.group(1) not in WIDTHS:
            raise UnknownError(f"declaration {one}")
        found[told.group(3)] = (told.group(1), bool(told.group(2)))
    return found


class Form:
    """An assembler form: its statement, what is around that, and its instructions."""

    def __init__(self, name: str, parameters: str, body: str) -> None:
        self.function = name.removesuffix("_in_asm")
        statements = list(STATEMENT.finditer(body))
        if len(statements) != 1 or self.function not in STATED:
            raise UnknownError(f"{name}: not one statement of assembler in a known function")
        before, after = body[: statements[0].start()].strip(), body[statements[0].end() :].strip()
        locals_ = [part for part in re.sub(r"\(void\)\w+;", "", before).split(";") if part.strip()]
        self.parameters, self.locals = declared(parameters), declared(",".join(locals_))
        told = re.fullmatch(r"return (\w+)(?: == (\w+))?;", after)
        if not told:
            raise UnknownError(f"{name}: {after}")
        self.result, self.compared = told.groups()
        template = re.match(r'(?:\s*"[^"]*")+', statements[0].group(1))
        if not template:
            raise UnknownError(f"{name}: a template that is no text")
        text = "".join(re.findall(r'"([^"]*)"', template.group()))
        self.instructions = [part.strip() for part in re.split(r"\\n\\t|\\n|;", text) if part.strip()]
        sections = statements[0].group(1)[template.end() :].split(":")[1:]
        if len(sections) > 2 and plain(sections[2]) != '"cc"':
            raise UnknownError(f"{name}: clobbers {sections[2]}")
        self.operands = []
        for number, section in enumerate(sections[:2]):
            listed = OPERAND.findall(section)
            if plain(OPERAND.sub("", section)).replace(",", "").strip():
                raise UnknownError(f"{name}: operands {plain(section)}")
            for label, constraint, star, variable in listed:
                if not re.fullmatch(r"=@cc\w+|[=+]&?r|\+m" if number == 0 else "m|r|i|re", constraint):
                    raise UnknownError(f"{name}: constraint {constraint}")
                if bool(star) != constraint.endswith("m"):
                    raise UnknownError(f"{name}: {constraint} with {star}{variable}")
                self.operands.append((label or variable, constraint, variable))

    def input_bits(self, scale: int) -> int:
        """Of the parameters, and of what may stand beside a word that is written."""
        beside = sum(WIDTHS[self.type_of(variable, True)] for _, kind, variable in self.operands if kind == "+m")
        return (sum(WIDTHS[kind] for kind, _ in self.parameters.values() if kind != "bool") + beside) // scale

    def type_of(self, variable: str, pointer: bool) -> str:
        known = {**self.parameters, **self.locals}
        if variable not in known or known[variable][1] != pointer:
            raise UnknownError(f"{self.function}: {variable}")
        return known[variable][0]


def difference(form: Form, ops) -> str:
    """Inputs for which the assembler form gives something else than the C form; empty: there are none."""
    values = {
        name: ops.input(name, WIDTHS[kind] // ops.scale)
        for name, (kind, _) in form.parameters.items()
        if kind != "bool"  # difference_less_borrow's, which changes no value
    }
    operands, conditions = {}, []
    for label, constraint, variable in form.operands:
        kind = form.type_of(variable, constraint.endswith("m"))
        if constraint.startswith(CONDITION):
            conditions.append((variable, constraint.removeprefix(CONDITION)))
        else:
            operands[label] = Operand(constraint, variable, WIDTHS[kind] // ops.scale, values.get(variable))
    machine = Machine(form.function, operands, ops)
    for instruction in form.instructions:
        machine.execute(instruction)
    after = {variable: machine.condition(name) for variable, name in conditions}
    after |= {operand.name: operand.word for operand in operands.values() if operand.kind != "m" and operand.written}
    if form.result not in after:
        raise UnknownError(f"{form.function}: the result {form.result} is no output")
    result = after[form.result]
    if form.compared:
        result = ops.same(result, values[form.compared])
    wanted, stores = STATED[form.function][1](ops, values)
    equal = ops.same(result, wanted)
    for operand in operands.values():
        if operand.kind != "m":
            continue
        equal = ops.both(equal, ops.same(operand.word, stores.get(operand.name, values[operand.name])))
        if operand.beside is not None:
            equal = ops.both(equal, ops.same(operand.beside, operand.was_beside))
    inputs = ops.difference(equal)
    for operand in operands.values():  # other threads may write and read the words
        if not inputs and operand.kind == "m" and (operand.reads != 1 or operand.writes > 1):
            raise UnknownError(f"{form.function}: {operand.name} is read {operand.reads} times")
    return inputs


def left_of(body: str) -> int:
    """Statements of assembler that are not empty. An empty one changes nothing if its operand is read and written, or
    if it only says "memory"."""
    nothing = r'__asm__(?:\("" : "\+\w"\(\*?\w+\)\)| volatile\("" ::: "memory"\));'
    return re.sub(nothing, "", body).count("__asm__")


def proofs(header: str, ops: type, only: str = "") -> list[tuple[str, str]]:
    """Each assembler form of the header, or of one function, with a difference from the C form, or an empty text."""
    bodies = functions(header)
    c_forms = {name.removesuffix("_in_c"): body for name, _, body in bodies if "__asm__" not in body}
    for name, (text, _) in STATED.items():
        if c_forms.get(name) != text:
            raise UnknownError(f"{name}: its C form is not what STATED has: {c_forms.get(name)}")
    if re.search(r"\b(?:__asm|asm)\b", re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)):
        raise UnknownError("assembler that is not written as __asm__")
    nothing = [body for name, _, body in bodies if name.removesuffix("_in_asm") not in STATED and not left_of(body)]
    forms = [Form(*one) for one in bodies if "__asm__" in one[2] and one[2] not in nothing]
    unstated = sum(body.count("__asm__") for body in nothing)
    if len(forms) + unstated != header.count("__asm__") or {form.function for form in forms} != set(STATED):
        raise UnknownError("a statement of assembler that is in no known function, or a function without one")
    return [
        (
            f"{form.function}: {'; '.join(form.instructions) or 'nothing'}",
            difference(form, ops(form.input_bits(ops.scale))),
        )
        for form in forms
        if only in ("", form.function)
    ]


def main() -> int:
    small = sys.argv[1:] == ["--small"]
    found = proofs(HEADER.read_text(), Tables if small else Solver)
    for name, inputs in found:
        print(f"{name}: {'DIFFERS for ' + inputs if inputs else 'equal'}")
    print(f"{len(found)} forms, {'all inputs of words of 8 bits' if small else 'words of 64 bits, by z3'}")
    return 1 if any(inputs for _, inputs in found) else 0


if __name__ == "__main__":
    sys.exit(main())

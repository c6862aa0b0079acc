"""prove_instructions_test.py [--solver] - tools/prove_instructions.py shows that the forms in instructions.h are equal,
and finds mistakes in them: by truth tables on words of 8 bits, or with --solver by z3 on words of 64. Each mistake is
one change of the header."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import prove_instructions as prove  # noqa: E402

# A function, a text in it, and what stands in its place: the function's two forms then differ.
DIFFERENT = [
    ("word_is_in_asm", '"=@cce"', '"=@ccne"'),
    ("word_is_in_asm", '"=@cce"', '"=@ccae"'),
    ("difference_less_borrow_in_asm", "sbbq", "subq"),
    ("difference_less_borrow_in_asm", "sbbq %[origin]", "sbbq $0"),
    ("difference_less_borrow_in_asm", "cmpl %[mark], %[half]", "cmpl %[half], %[mark]"),
    ("difference_less_borrow_in_asm", "cmpl %[mark]", "cmpl $1"),
    ("difference_less_borrow_in_asm", '%[address]"', '%[address]\\n\\tdecq %[address]"'),
    ("difference_less_borrow_in_asm", "cmpl %[mark], %[half]", "cmpl %[mark], %[half]\\n\\tcmpl %[mark], %[mark]"),
    ("product_is_at_most_in_asm", '"=@ccae"', '"=@cca"'),
    ("product_is_at_most_in_asm", '"=@ccae"', '"=@ccbe"'),
    ("product_is_at_most_in_asm", "cmpq %[value], %[most]", "cmpq %[most], %[value]"),
    ("product_is_at_most_in_asm", "imulq", "subq"),
    ("count_down_in_asm", '"=@ccbe"', '"=@ccb"'),
    ("count_down_in_asm", '"=@ccbe"', '"=@cce"'),
    ("count_down_in_asm", "cmpq %[value], %[most]", "cmpq %[most], %[value]"),
    ("count_down_in_asm", "decw", "decl"),  # the word beside the count
    ("count_down_in_asm", "decw", "subw $1,"),  # sets the carry, which dec leaves alone
    ("count_down_in_asm", "decw", "subw $2,"),
    ("count_down_in_asm", "decw", "cmpw $1,"),  # stores nothing
    ("count_down_in_asm", "cmpq %[value], %[most]\\n\\tdecw %[count]", "decw %[count]\\n\\tcmpq %[value], %[most]"),
    ("computed_now", '__asm__(""', '__asm__("decq %[value]"'),
    ("half_computed_now", '__asm__(""', '__asm__("decl %[value]"'),
]

# What the program has no model of, and must refuse.
REFUSED = [
    ("difference_less_borrow_in_asm", "sbbq", "decq %[address]\\n\\tsbbq", "without & was written"),
    ("difference_less_borrow_in_asm", "sbbq", "adcq", "instruction adcq"),
    ("word_load", "ldr", "ldar", "instruction ldar"),
    ("byte_load_in_asm", "%k[loaded]", "%[loaded]", "instruction movzbl"),
    ("product_is_at_most_in_asm", "imulq", "imull", "width"),
    ("product_is_at_most_in_asm", '"+&r"', '"+r"', "without & was written"),
    ("product_is_at_most_in_asm", '"=@ccae"', '"=@ccge"', "condition ge"),
    ("word_is_in_asm", '"re"', '"g"', "constraint g"),
    ("word_is_in_asm", "cmpq %[value]", "cmpq %[other]", "operand"),
    ("word_is_in_asm", '"cc"', '"cc", "memory"', "clobbers"),
    ("word_is_in_asm", "cmpq %[value], %[word]", "cmpq %[value], %[word]; cmpq %[value], %[word]", "is read 2 times"),
    ("word_load", "ldr %[loaded], %[word]", "ldr %[word], %[loaded]", "is an output without a value"),
    ("difference_less_borrow_in_asm", "cmpl %[mark], %[half]\\n\\t", "", "the carry is read"),
    ("difference_less_borrow_in_asm", '"+r"(address)', '"=r"(address)', "is an output without a value"),
    ("difference_less_borrow_in_asm", "sbbq %[origin], %[address]", "sbbq %[address], %[origin]", "is an input"),
    ("count_down_in_asm", "decw %[count]", "decq %[value]", "is an input"),
    ("count_down_in_asm", "cmpq %[value], %[most]\\n\\t", "", "no instruction has set"),
    ("count_down_in_c", "value > *most", "value >= *most", "its C form is not"),
    ("count_down_in_asm", "uint16_t *count", "short *count", "declaration"),
    ("count_down_in_asm", "return so;", "return !so;", "return !so"),
]


def seeded(header: str, function: str, old: str, new: str) -> str:
    """The header with another text in the first function of that name."""
    start = header.index(f" {function}(")
    end = header.index("\n}", start)
    if header.count(old, start, end) != 1:
        raise SystemExit(f"{function} has not one time: {old}")
    return header[:start] + header[start:end].replace(old, new) + header[end:]


def refusal(header: str, words: type, function: str) -> str:
    """Why the header is refused; empty: it is not."""
    try:
        prove.proofs(header, words, function)
    except prove.UnknownError as error:
        return str(error)
    return ""


def main() -> int:
    words = prove.Solver if sys.argv[1:] == ["--solver"] else prove.Tables
    header = prove.HEADER.read_text()
    bad = [f"{name}: differs for {inputs}" for name, inputs in prove.proofs(header, words) if inputs]
    for function, old, new in DIFFERENT:
        found = prove.proofs(seeded(header, function, old, new), words, function.removesuffix("_in_asm"))
        if not any(inputs for _, inputs in found):
            bad.append(f"{function}, {new} for {old}: found equal")
    for function, old, new, why in REFUSED:
        said = refusal(seeded(header, function, old, new), words, re.sub("_in_(asm|c)$", "", function))
        if why not in said:
            bad.append(f"{function}, {new} for {old}: refused with '{said}', not '{why}'")
    stray = header.replace("/* The forms", 'static inline void f(void) { __asm__(""); }\n\n/* The forms', 1)
    if "in no known function" not in refusal(stray, words, ""):
        bad.append("a statement of assembler outside of the known functions is not refused")
    print("\n".join([*bad, f"{len(DIFFERENT)} mistakes, {len(REFUSED) + 1} texts to refuse: {len(bad)} were missed"]))
    return 1 if bad else 0


sys.exit(main())

"""What GenMC cannot read is found in a client's LLVM IR, cause by cause, and what it can read is not reported."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/jw"))

import genmc  # noqa: E402

INCLUDES = [f"-I{ROOT}", f"-I{ROOT / 'src'}"]
HEAD = """
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
struct place { void *node; uint32_t unit, slot; };
struct two { void *heap; uint64_t key; };
uint64_t word, other;
char bytes[64], copies[64];
"""
READABLE = {
    "plain": "int main(void) { word = other + 1; assert(word); return 0; }",
    "place": """static inline __attribute__((always_inline)) struct place find(void) {
            return (struct place){&word, 1, 2};
        }
        int main(void) { struct place place = find(); word = place.unit; return 0; }""",
    "thread": """static _Thread_local struct two thread = {&word, 1};
        int main(void) { thread.key = other; word = thread.heap != 0; return 0; }""",
    "choice": """#define GENMC
        #include "verify/checker/checker.h"
        int main(void) { word = checker_choose(3); return 0; }""",
    "half": '#include "verify/platform/genmc.h"\nint main(void) { word = *link_upper_half(&other); return 0; }',
}
CAUSES = {
    "a copy as a whole": "int main(void) { memcpy(bytes, copies, 64); return 0; }",
    "assembler": 'int main(void) { __asm__("nop" : "+r"(word)); return 0; }',
    "a word of 16 bytes": "int main(void) { word = (uint64_t)((unsigned __int128)word * other >> 64); return 0; }",
    "a structure by value": """__attribute__((noinline)) struct place find(void) { return (struct place){&word, 1, 2}; }
        __attribute__((noinline)) void use(struct place *place) { word = place->unit; }
        int main(void) { struct place place = find(); use(&place); return 0; }""",
    "half of a word": """typedef uint32_t __attribute__((aligned(1))) half;
        int main(void) { word = *((half *)&other + 1) + *((half *)&bytes[word] + 1); return 0; }""",
    "arithmetic with overflow": "int main(void) { return __builtin_mul_overflow(word, other, &word); }",
    "a weak name": "extern uint64_t given __attribute__((weak)); int main(void) { return &given && given; }",
    "a thread-local variable": """static _Thread_local struct { uint64_t key[2]; char c; } odd = {{1, 2}, 3};
        int main(void) { odd.key[word] = other; return (int)odd.key[other]; }""",
    "a function that": """void __assert_fail(const char *, const char *, unsigned, const char *);
        int main(void) { __assert_fail("", "", 0, ""); return 0; }""",
    "elsewhere: nothing defines it": "void elsewhere(void); int main(void) { elsewhere(); return 0; }",
    "far: nothing defines it": "extern uint64_t far; int main(void) { return (int)far; }",
    "an assumption": "void __VERIFIER_assume(int); int main(void) { __VERIFIER_assume(word == 1); return 0; }",
}


# Two threads read each other's word; in the first one each reads what the other writes behind its read.
BUFFERED = """<0, 1> a:
\t(1, 1): Rrlx (x, 1) [(2, 2)]
\t(1, 2): Wrlx (y, 1)
<0, 2> b:
\t(2, 1): Rrlx (y, 1) [(1, 2)]
\t(2, 2): Wrlx (x, 1)
Coherence:
x: [ (2, 2): Wrlx (x, 1) ]
"""
PLAIN = BUFFERED.replace("(x, 1) [(2, 2)]", "(x, 0) [INIT]")


def problems(text: str) -> list[str]:
    with tempfile.TemporaryDirectory() as place:
        source, ir = Path(place) / "client.c", Path(place) / "client.ll"
        source.write_text(HEAD + text)
        command = [genmc.CLANG, *genmc.own_headers(None), "-w", *INCLUDES, *genmc.TO_IR, source, "-o", ir]
        subprocess.run(list(map(str, command)), check=True)
        try:
            return genmc.unreadable(genmc.prepared(ir).read_text())
        except SystemExit as reason:
            return [str(reason)]


class GenmcTest(unittest.TestCase):
    def test_readable(self) -> None:
        for name, text in READABLE.items():
            with self.subTest(name):
                self.assertEqual(problems(text), [])

    def test_load_buffering(self) -> None:
        self.assertTrue(genmc.is_buffered(BUFFERED))
        self.assertFalse(genmc.is_buffered(PLAIN))

    def test_each_cause(self) -> None:
        for cause, text in CAUSES.items():
            with self.subTest(cause):
                self.assertTrue(any(cause in problem for problem in problems(text)), problems(text))


if __name__ == "__main__":
    unittest.main()

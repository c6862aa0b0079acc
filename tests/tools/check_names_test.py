"""check_names_test.py - a test of ./jw check layers: a file-local name that another file has, too, is found."""

import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import check_names  # noqa: E402


class Names(unittest.TestCase):
    def complaints(self, files: dict[str, str]) -> list[str]:
        with tempfile.TemporaryDirectory() as directory:
            source = Path(directory)
            for name, text in files.items():
                (source / name).parent.mkdir(exist_ok=True)
                (source / name).write_text(text)
            return check_names.complaints(source)

    def test_the_source_is_clean(self) -> None:
        self.assertEqual(check_names.complaints(ROOT / "src"), [])

    def test_the_same_name_twice(self) -> None:
        body = "static COLD bool give_one(void) {\n    return true;\n}\n"
        found = self.complaints({"a/x.c": body, "b/y.c": "\n" + body})
        self.assertEqual(found, ["src/b/y.c:2: give_one is a name of src/a/x.c, too"])

    def test_a_function_without_an_object(self) -> None:
        found = self.complaints({"a/x.c": "\nstatic COLD bool give(void) {\n}\nbool take(void) {\n}\n"})
        self.assertEqual(found, ["src/a/x.c:2: give() does not name its object"])
        self.assertEqual(self.complaints({"a/x.h": "static inline int mixed(void) {\n}\n"}), [])

    def test_attributes_and_pointers(self) -> None:
        body = "static ALWAYS_INLINE void *take_one(struct list *list,\n                  size_t size) {\n}\n"
        attributed = 'static __attribute__((section(".text.hot"))) struct list *take_one(int a) {\n}\n'
        self.assertEqual(len(self.complaints({"a/x.c": body, "b/y.c": attributed})), 1)

    def test_words_before_static(self) -> None:
        first = "static bool give_one(void) {\n}\n"
        for words in ("NOINLINE static bool", "COLD NOINLINE static bool", "CALLED_AT_EXIT void"):
            found = self.complaints({"a/x.c": first, "b/y.c": f"{words} give_one(void) {{\n}}\n"})
            self.assertEqual(found, ["src/b/y.c:1: give_one is a name of src/a/x.c, too"])

    def test_each_kind(self) -> None:
        files = {
            "a/macros.h": "#define ROW(size) size\n",
            "a/enumerators.h": "enum state {\n    FIRST,\n    REFUSED = 4,\n};\n",
            "a/variables.c": "static _Atomic(uint32_t) *busy = first, body, *last = &body;\n",
            "a/pointers.c": "static void (*handler)(void), (*handlers[3])(int);\n",
            "a/threads.c": "OF_FORKING_THREAD uint64_t locked[2];\n",
            "a/tables.c": "static const struct row rows[] = {\n    {1, 2},\n};\n",
            "a/structs.c": "static const struct {\n    int at;\n} stages[] = {{1}};\n",
        }
        for word in ("ROW", "REFUSED", "busy", "body", "last", "handler", "handlers", "locked", "rows", "stages"):
            for seed in (f"static int {word};\n", f"enum {{ OTHER, {word} }};\n", f"  #  define {word} 1\n"):
                found = self.complaints({**files, "b/y.c": seed})
                self.assertEqual(len(found), 1, (word, seed, found))
                self.assertRegex(found[0], rf"^src/b/y.c:1: {word} is a name of src/a/\w+.[ch], too$")

    def test_macros_that_may_be(self) -> None:
        listed = "#define OPTION(name) name,\n#undef OPTION\n"
        self.assertEqual(self.complaints({"a/x.h": listed, "b/y.h": listed}), [])
        self.assertEqual(self.complaints({"a/x.c": "#define _GNU_SOURCE\n", "b/y.c": "#define _GNU_SOURCE\n"}), [])

    def test_what_may_be(self) -> None:
        declared = "static bool give_one(void);\nstatic int table[] = {1};\n/* static int give_one(void) { */\n"
        files = {"a/x.c": "static bool give_one(void) {\n}\n", "b/y.c": declared}
        self.assertEqual(self.complaints(files), [])
        call = "static long raw_call(int number) {\n}\n"
        self.assertEqual(self.complaints({"p/arch_x.h": call, "p/arch_y.h": call}), [])


if __name__ == "__main__":
    unittest.main()

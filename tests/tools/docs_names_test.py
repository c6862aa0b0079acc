"""docs_names_test.py - a test of ./jw check docs: a name that a document has and the sources do not is found.

Each option is in the table of its build."""

import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/jw"))

import docs  # noqa: E402
import options_table  # noqa: E402


class Names(unittest.TestCase):
    def complaints(self, text: str) -> list[str]:
        with tempfile.TemporaryDirectory() as directory:
            page = Path(directory) / "page.md"
            page.write_text(text)
            with (
                mock.patch.object(docs, "pages", lambda: [page]),
                mock.patch.object(Path, "relative_to", lambda *_: "p"),
            ):
                return docs.unknown_tests() + docs.unknown_names() + docs.unknown_words() + docs.missing_files()

    def test_what_exists(self) -> None:
        text = (
            "`process.limit_huge`, `process.waves_*`, `unit-knit`, `heap_refill`, `core/route.c`, `spare_callers:true`"
        )
        self.assertEqual(self.complaints(text), [])

    def test_what_does_not(self) -> None:
        stale = "heap_re" + "fuel"  # in two parts, since this file is a source, too
        for name in (
            "process.limit_enormous",
            "process.wives_*",
            "unit-knitting",
            stale,
            f"{stale}:true",
            f"{stale}()",
        ):
            self.assertEqual(len(self.complaints(f"see `{name}`.")), 1, name)
        self.assertEqual(self.complaints("see `core/root.c`."), ["p: there is no file core/root.c"])

    def test_words(self) -> None:
        table = "| word | from, to |\n| --- | --- |\n| `{}` | 0 to `root` |\n"
        for name in ("root_walkers", "closed_parts[]", "heap->reopened", "abandoned_stacks[]", "cached[2]"):
            self.assertEqual(self.complaints(table.format(name)), [], name)
        for name in ("walkers", "closed[]"):
            self.assertEqual(len([line for line in self.complaints(table.format(name)) if "word" in line]), 1, name)


class Options(unittest.TestCase):
    def test_tables(self) -> None:
        plain, hardened = ({row[0] for row in rows} for rows in options_table.rows())
        self.assertEqual(hardened, {"guard_rate", "quarantine", "tags", "zero_on_free"})
        self.assertEqual(plain & hardened, set())
        self.assertLessEqual({"reclaim_interval", "init", "stats_file"}, plain)


if __name__ == "__main__":
    unittest.main()

"""check_rows_test.py - a test of ./jw check rows: a row that is older than the sources of its client is found."""

import sys
import unittest
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/jw"))

import verify_rows  # noqa: E402
from verify_rows import Name  # noqa: E402

CLIENT, TIER = Name("verify/clients/zero_size.c"), Name("src/backend/knit.c")
ROWS = "- **{}**: 5 executions, 0 dead ends, 1 s, complete; rejects 0 mutants; 2026-11-23 {}.\n  Bound: none.\n"


def report(commit: str, then: dict | None, shallow: bool = False, notes: bool = True) -> tuple[bool, str]:
    """What the check says of rows of a commit that had these files; None: the clone does not have it."""
    document = mock.Mock()
    document.read_text.return_value = "".join(ROWS.format(name, commit) for name in ("zero_size", "id_stack_push_take"))
    missing = [] if notes else ["zero_size"]
    with (
        mock.patch.object(verify_rows.verify_table, "DOCUMENT", document),
        mock.patch.object(verify_rows, "of_commit", lambda _: then),
        mock.patch.object(verify_rows, "git", lambda *_: b"true\n" if shallow else b"false\n"),
        mock.patch.object(verify_rows, "without_transcript", lambda _: missing),
        redirect_stdout(StringIO()) as said,
    ):
        good = verify_rows.check()
    return good, said.getvalue()


def with_change(name: Name, old: str, new: str) -> dict:
    text = verify_rows.today()[name]
    assert old in text
    return verify_rows.today() | {name: text.replace(old, new, 1)}


class Rows(unittest.TestCase):
    def test_tokens(self) -> None:
        same = "int  a; /* b */\n#define X \\\n  1 // c\n", "int a; // d\n\n#define X 1\n"
        self.assertEqual(*map(verify_rows.tokens, same))
        for one in ("a", "b"), ('"//x"', '"//y"'), ("#if A\nb", "#if A b"), ('#define A "//x"', '#define A ""'):
            self.assertNotEqual(*map(verify_rows.tokens, one))

    def test_same_code(self) -> None:
        self.assertTrue(report("1234567", verify_rows.today())[0])
        self.assertTrue(report("1234567", with_change(TIER, "/* ", "/* another comment,  "))[0])

    def test_changed_tier(self) -> None:
        good, said = report("1234567", with_change(TIER, "#include", "#include <x.h>\n#include"))
        self.assertFalse(good)
        self.assertIn("2 rows of 1234567: older than src/backend/knit.c", said)

    def test_changed_client(self) -> None:
        good, said = report("1234567", with_change(CLIENT, "int main(", "int other;\nint main("))
        self.assertFalse(good)
        self.assertIn("1 row of 1234567: of today's sources", said)
        self.assertIn("./jw verify zero_size --table", said)

    def test_new_file(self) -> None:
        then = dict(verify_rows.today())
        del then[TIER]
        self.assertFalse(report("1234567", then)[0])

    def test_moved_file(self) -> None:
        moved = verify_rows.Name("src/base/slab_links.h")
        then = {
            name: text.replace("frontend/slab_links.h", "base/slab_links.h")
            for name, text in verify_rows.today().items()
        }
        then[moved] = then.pop(Name("src/frontend/slab_links.h"))
        self.assertTrue(report("1234567", then)[0])
        then[moved] += "int other;"
        self.assertIn("older than src/frontend/slab_links.h", report("1234567", then)[1])

    def test_changed_mutant(self) -> None:
        said = report("1234567", with_change(Name("verify/mutants/knit.toml"), "new = '''", "new = '''0 + "))[1]
        self.assertIn("of today's sources", said)  # no mutant of these two clients
        path = Name("verify/mutants/hardened.toml")
        self.assertIn("its mutants", report("1234567", with_change(path, '"zero_size"', '"zero_sizes"'))[1])

    def test_changed_constant(self) -> None:
        path = Name("tools/jw/clients.py")
        self.assertFalse(report("1234567", with_change(path, '"JW_NEST_SLOTS": 2', '"JW_NEST_SLOTS": 3'))[0])

    def test_commit_that_is_not_here(self) -> None:
        self.assertFalse(report("1234567", None)[0])
        self.assertFalse(report("1234567+", None, shallow=True)[0])
        good, said = report("1234567", None, shallow=True)
        self.assertTrue(good)
        self.assertIn("NOT LOOKED AT", said)

    def test_transcript(self) -> None:
        self.assertFalse(report("1234567", verify_rows.today(), notes=False)[0])


if __name__ == "__main__":
    unittest.main()

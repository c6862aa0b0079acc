"""check_table_test.py - a test of ./jw check table: a row by which a client shows little is found."""

import sys
import unittest
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/jw"))

import verify_table  # noqa: E402
from clients import Client  # noqa: E402

HEAD = "1 mutants: 1 killed, 0 excused.\n\n"
ROW = "- **one**: {} executions, 0 dead ends, 1 s, complete; rejects {} mutant; 2026-11-24 1234567.\n  Bound: none.\n"


def report(executions: int, rejects: int, bound: str = "2 threads", few: str = "") -> tuple[bool, str]:
    """What the check says of one client with that row."""
    document = mock.Mock()
    document.read_text.return_value = HEAD + ROW.format(executions, rejects)
    document.relative_to.return_value = "clients.md"
    client = Client("one", Path("one.c"), bound, "none", (), slow=False, few=few)
    with (
        mock.patch.object(verify_table, "DOCUMENT", document),
        mock.patch.object(verify_table, "clients", lambda: [client]),
        mock.patch.object(verify_table, "all_mutants", lambda: [None]),
        redirect_stdout(StringIO()) as said,
    ):
        good = verify_table.check()
    return good, said.getvalue()


class Table(unittest.TestCase):
    def test_client_that_shows_something(self) -> None:
        self.assertTrue(report(3, 1)[0])

    def test_no_mutant(self) -> None:
        good, said = report(3, 0, few="the other thread looks once")
        self.assertFalse(good)
        self.assertIn("reject no mutant: one", said)

    def test_threads_without_a_choice(self) -> None:
        for bound in ("2 threads, 1 call each", "in the child 3 threads"):
            good, said = report(2, 1, bound)
            self.assertFalse(good)
            self.assertIn("fewer than 3 executions of several threads: one", said)

    def test_few_executions_with_a_reason(self) -> None:
        self.assertTrue(report(2, 1, few="the other thread looks once")[0])

    def test_one_thread(self) -> None:
        self.assertTrue(report(1, 1, "1 thread, 1 round")[0])

    def test_mutants_of_a_client_without_a_row(self) -> None:
        client = Client("new", Path("new.c"), "2 threads", "none", (), slow=False, few="")
        results = {"clients": [], "mutants": [{"killed": "new"}], "only_mutants_of": ["new"]}
        with (
            mock.patch.object(verify_table, "clients", lambda: [client]),
            mock.patch.object(verify_table, "all_mutants", list),
        ):
            self.assertIn("0 mutants: 0 killed", verify_table.document(results, HEAD))


if __name__ == "__main__":
    unittest.main()

"""client_constants_test.py - a client that sets a constant which no source asks for is refused: it would run with the
usual constants."""

import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/jw"))

import clients  # noqa: E402

HEADER = "/* client\n *\n * bound     none\n * property  none\n * defines   -D{}=2\n */\n"


class ClientConstants(unittest.TestCase):
    def read(self, name: str, body: str = "") -> clients.Client:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "client.c"
            path.write_text(HEADER.format(name) + body)
            return clients.read_client(path)

    def test_a_constant_of_the_sources_or_of_the_client_is_taken(self) -> None:
        self.assertEqual(self.read("JW_NEST_SLOTS").defines, ("-DJW_NEST_SLOTS=2",))
        self.assertEqual(self.read("OWN_NUMBER", "int number = OWN_NUMBER;\n").defines, ("-DOWN_NUMBER=2",))

    def test_an_old_name_is_refused(self) -> None:
        with self.assertRaises(SystemExit) as refused:
            self.read("JW_OBJECT_CACHE")
        self.assertIn("sets JW_OBJECT_CACHE, which no source asks for", str(refused.exception))


if __name__ == "__main__":
    unittest.main()

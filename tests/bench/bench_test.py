"""bench_test.py - the measuring itself is right: known numbers go in, and must come out."""

import io
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools/jw"))

import bench_count  # noqa: E402
import bench_peers  # noqa: E402
import bench_run  # noqa: E402
import bench_security  # noqa: E402
import traces  # noqa: E402
from bench_peers import Allocator  # noqa: E402
from bench_stats import Ratio, Result, advantage, crossing, geometric_mean, growth  # noqa: E402

MALLOC, FREE = (8, 1), (3, 0)  # instructions and conditional branches of known.c
NATIVE = platform.machine() == "x86_64"


def known(folder: Path, *flags: str) -> Allocator:
    library = folder / "libknown.so"
    command = ["gcc", "-O2", "-shared", "-fPIC", "-fno-builtin", *flags, "-o", library, HERE / "known.c"]
    subprocess.run(command, check=True)
    return Allocator("known", "", library)


class Statistics(unittest.TestCase):
    def result(self, *values: float | None, better: str = "lower") -> Result:
        return Result("b", "c", "m", "u", "a", better, list(values))

    def test_median_and_spread(self) -> None:
        self.assertEqual(self.result(3, 1, 2).median(), 2)
        self.assertEqual(self.result(3, None, 1, 2).median(), 2)
        self.assertEqual(self.result(9, 10, 11).spread(), 0.1)
        self.assertAlmostEqual(self.result(8, 9, 10, 11, 12).spread(), 0.15)
        self.assertIsNone(self.result(5).spread())
        self.assertIsNone(self.result(None).median())

    def test_ratio_is_by_round(self) -> None:
        ours, theirs = self.result(10, 100, 20), self.result(20, 210, 41)
        ratio = advantage(ours, theirs)
        self.assertAlmostEqual(ratio.middle, 2.05)
        self.assertTrue(ratio.ahead())
        self.assertFalse(advantage(self.result(10, 12), self.result(11, 11)).counts())

    def test_a_difference_counts_where_larger_than_the_spread(self) -> None:
        for rounds, counts in (
            ([2.0, 2.0], False),  # by chance, one time in two
            ([1.2, 1.3, 1.4], True),
            ([1.01, 1.5, 1.9], True),
            ([1.01, 1.1, 1.9], False),
            ([1.2, 1.3, 1.4, 1.2, 0.9], False),
            ([1.2, 1.3, 1.4, 1.2, 1.3, 1.3, 1.2, 0.9], True),
        ):
            self.assertEqual(Ratio(rounds).counts(), counts, rounds)
            self.assertEqual(Ratio([1 / one for one in rounds]).ahead(), False, rounds)
        self.assertTrue(Ratio([1.01], exact=True).ahead())
        self.assertFalse(Ratio([1.0], exact=True).counts())

    def test_more_may_be_better(self) -> None:
        ratio = advantage(self.result(30, 30, better="higher"), self.result(10, 10, better="higher"))
        self.assertAlmostEqual(ratio.middle, 3)

    def test_failed_rounds_stay_with_their_round(self) -> None:
        self.assertAlmostEqual(advantage(self.result(1, None, 1), self.result(2, 50, 2)).middle, 2)
        self.assertIsNone(advantage(self.result(None), self.result(2)))

    def test_growth_is_by_round(self) -> None:
        found = growth({8192: self.result(30, 50), 1: self.result(10, 20, 30), 64: self.result(None, 30, 60)})
        self.assertEqual(found, {8192: [3, 2.5], 1: [1, 1, 1], 64: [None, 1.5, 2]})
        self.assertEqual(growth({}), {})

    def test_means_and_curves(self) -> None:
        self.assertAlmostEqual(geometric_mean([1, 4]), 2)
        self.assertIsNone(geometric_mean([]))
        self.assertEqual(crossing([(0, 5), (1, 6), (2, 7)], 1.5), 6)
        self.assertIsNone(crossing([(1, 6)], 0.5))


class Rounds(unittest.TestCase):
    """Interleaving: the order of measurements, and what becomes of failures."""

    def test_order_and_failures(self) -> None:
        allocators = [Allocator(name, "") for name in "abc"]
        session = bench_run.Session(allocators, 3, False, float("inf"), {}, benchmark="b")
        order = []

        def measure(allocator: Allocator) -> dict[str, tuple]:
            order.append(allocator.name)
            if allocator.name == "b" and len(order) < 4:
                raise RuntimeError("once")
            return {"m": (len(order), "u")}

        session.interleave({"c": measure, "d": lambda one: order.append(one.name.upper()) or {}})
        self.assertEqual("".join(order), "abcABCbcaBCAcabCAB")
        self.assertEqual(session.results["b", "c", "m", "a"].values, [1, 9, 14])
        self.assertEqual(session.results["b", "c", "m", "b"].values, [None, 7, 15])
        self.assertEqual([failure["error"] for failure in session.failures], ["once"])

    def test_time_is_up(self) -> None:
        session = bench_run.Session([Allocator("a", "")], 3, True, 0.0, {}, benchmark="b")
        session.interleave({"c": lambda _: self.fail("measured all the same")})
        self.assertEqual(session.skipped, ["b c"])

    def test_as_many_rounds_as_fit(self) -> None:
        session = bench_run.Session([Allocator("a", "")], 100, True, 1.0, {}, benchmark="b")
        count, clock = Counter(), [0.0]

        def measure(name: str, seconds: float) -> dict[str, tuple]:
            count[name] += 1
            clock[0] += seconds
            return {}

        with mock.patch.object(bench_run, "time", SimpleNamespace(monotonic=lambda: clock[0])):
            session.interleave({"long": lambda _: measure("long", 0.4), "short": lambda _: measure("short", 0.03)})
        self.assertEqual(count, {"long": 2, "short": 6})

    def test_what_allocators_may_do_to_us(self) -> None:
        """Hang, print nonsense, crash: a failure each, said once, and the others go on."""
        allocators = [Allocator(name, "") for name in ("good", "hangs", "prints", "lacks")]
        session = bench_run.Session(allocators, 5, False, float("inf"), {}, benchmark="b")
        hangs = []

        def measure(allocator: Allocator) -> dict[str, tuple]:
            if allocator.name == "hangs":
                hangs.append(1)
                raise bench_run.HungError("for hours")
            if allocator.name == "prints":
                bench_run.results("hello\n{}")
            if allocator.name == "lacks":
                bench_run.results("{}")[-1]["operations"]
            return {"m": (1, "u")}

        session.interleave({case: measure for case in "cdefg"})
        self.assertEqual(len(hangs), bench_run.HANGS)
        self.assertEqual(len(session.failures), bench_run.HANGS + 5 + 5)
        self.assertEqual(session.results["b", "g", "m", "good"].values, [1] * 5)


class Counting(unittest.TestCase):
    def test_calls_from_steps(self) -> None:
        branch = bench_count.CONDITIONAL
        places = {"program": [100, 200], "mark": [110], "malloc": [500], "free": [600]}
        words = [110, 120, 500, 501 | branch, 502, 121, 500, 503, 122, 110, 600, 123, 110, 700]
        calls = bench_count.calls_in(words, places, ["malloc", "free"])
        self.assertEqual(calls, [[(3, 1), (2, 0)], [(1, 0)]])

    def test_callgrind_file(self) -> None:
        text = ["ob=(1) /bin/driver", "fn=(1) main", "0 100", "cob=(2) /lib/own.so", "cfn=(2) malloc", "calls=2 0",
                "0 50", "+1 7", "ob=(2)", "fn=(2)", "0 30", "cob=(3) /lib/c.so", "cfn=(3) memset", "calls=1 0", "* 20",
                "ob=(3)", "fn=(3)", "0 20", "ob=(2)", "fn=(4) start", "0 1", "cob=(1)", "cfn=(5) work", "calls=1 0",
                "* 900", "totals: 158"]  # fmt: skip
        profile = bench_count.Profile("\n".join(text))
        self.assertEqual(profile.own, {"/bin/driver": 107, "/lib/own.so": 31, "/lib/c.so": 20})
        self.assertEqual(profile.of_libraries("/bin/driver", "/lib/own.so"), 51)
        self.assertEqual(profile.of_calls("/bin/driver", {"malloc"}), 50)

    def test_events_of_a_callgrind_file(self) -> None:
        text = ["events: Ir Bc Bcm Bi Bim", "ob=(1) /bin/driver", "fn=(1) main", "0 100 9 4", "0 5", "cob=(2) /own.so",
                "cfn=(2) malloc", "calls=2 0", "0 50 7 3", "ob=(2)", "fn=(2)", "0 50 7 3"]  # fmt: skip
        text = "\n".join(text)
        self.assertEqual(bench_count.Profile(text).own, {"/bin/driver": 105, "/own.so": 50})
        missed = bench_count.Profile(text, "Bcm")
        self.assertEqual(missed.own, {"/bin/driver": 4, "/own.so": 3})
        self.assertEqual(missed.of_calls("/bin/driver", {"malloc"}), 3)


class Programs(unittest.TestCase):
    """The drivers, and what reads them."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(tempfile.mkdtemp())
        bench_run.OUTPUT = bench_count.OUTPUT = cls.folder
        bench_run.compile_programs(cls.folder)

    @classmethod
    def tearDownClass(cls) -> None:
        shutil.rmtree(cls.folder)

    def replay(self, text: str) -> subprocess.CompletedProcess:
        trace = self.folder / "trace.txt"
        trace.write_text(text)
        return subprocess.run([self.folder / "replay", trace, "sample=1"], capture_output=True, text=True)

    def test_trace(self) -> None:
        text = ["1: malloc 0x10 1000", "2: calloc 0x20 10 50 12345", "1: free 0x99", "1: realloc 0x10 0x10 3000",
                "2: memalign 0x30 4096 10", "1: free 0x20", "1: realloc 0x0 0x30 0", "2: thread_done 0x0",
                "1: free 0x0"]  # fmt: skip
        done = self.replay("\n".join(text))
        self.assertEqual(done.returncode, 0, done.stderr)
        about, measured = map(json.loads, done.stdout.splitlines())
        self.assertEqual(about["threads"], 2)
        self.assertEqual(about["live_kb"], (3000 + 500 + 10) // 1024)
        self.assertEqual(about["ignored"], 2)
        self.assertEqual(measured["operations"], 7)

    def test_bad_traces(self) -> None:
        lines = ["nonsense", "1 malloc 0x10 5", "1: mallok 0x10 5", "1: malloc 0x10", "1: malloc 0x1g 5", "1:",
                 "1: free", "1: malloc 0x10 99999999999999999999", "1: calloc 0x10 0xffffffffffff 0xffffffffff",
                 "1: malloc 0x10 -1", "1: memalign 0x10 3 5", "1: malloc 0x5 5", "", "1: malloc"]  # fmt: skip
        for line in lines:
            done = self.replay(f"1: malloc 0x5 1\n{line}\n1: free 0x5\n")
            self.assertEqual(done.returncode, 2, line)
            self.assertIn("trace.txt:2: ", done.stderr, line)
        self.assertEqual(self.replay("").returncode, 2)
        missing = subprocess.run([self.folder / "replay", "/nowhere"], capture_output=True)
        self.assertEqual(missing.returncode, 2)

    def prepared(self, name: str, content: bytes) -> str:
        """What is said about a trace that cannot be replayed; empty when it can."""
        trace = self.folder / name
        trace.write_bytes(content)
        try:
            traces.prepared([trace], self.folder)
        except SystemExit as error:
            return str(error)
        return ""

    def test_traces_are_refused_before_anything_is_measured(self) -> None:
        good = b"1: malloc 0x10 100\n"
        self.assertEqual(self.prepared("good.txt", good), "")
        self.assertIn("bad.txt: line 2: not an operation", self.prepared("bad.txt", good + b"1: mallok 0x20 5\n"))
        self.assertIn("empty.txt", self.prepared("empty.txt", b""))
        self.assertIn("MB alive at a time", self.prepared("huge.txt", b"1: malloc 0x10 99999999999999\n"))
        self.assertIn("no archive", self.prepared("none.zip", good))
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("folder/", "")
        self.assertIn("it has no file", self.prepared("folder.zip", packed.getvalue()))
        with zipfile.ZipFile(packed, "a") as archive:
            archive.writestr("folder/trace.txt", good + b"1: free\n")
        self.assertIn("folder.zip: line 2: not an operation", self.prepared("folder.zip", packed.getvalue()))
        self.assertIn("unnamed: line 2: not an operation", self.prepared("unnamed", packed.getvalue()))

    def test_traces_of_one_name(self) -> None:
        paths = []
        for number in (1, 2):
            (self.folder / str(number)).mkdir(exist_ok=True)
            paths.append(self.folder / str(number) / "trace.zip")
            with zipfile.ZipFile(paths[-1], "w") as archive:
                archive.writestr("t", f"1: malloc 0x{number}0 100\n")
        texts = traces.prepared(paths, self.folder)
        self.assertEqual([text.read_text()[10:14] for text in texts.values()], ["0x10", "0x20"])

    def compiled(self, name: str, source: str, *flags: str) -> Path:
        program = self.folder / name
        command = ["gcc", *bench_run.FLAGS, *flags, "-xc", "-", f"-I{bench_run.SOURCES}", "-o", program]
        subprocess.run(command, input=f'#include "bench.h"\n{source}', text=True, check=True)
        return program

    def test_contents_are_checked(self) -> None:
        """Both tags, the size, a byte in each page."""
        program = self.compiled(
            "contents",
            """int main(int count, char **arguments) {
                char *object = object_make(65536);
                if (count > 1) object[atoi(arguments[1])] ^= 1;
                object_end(object);
                return 0;
            }""",
        )
        self.assertEqual(subprocess.run([program]).returncode, 0)
        for place in (0, 4, *range(4096, 65536, 4096), 65535):
            done = subprocess.run([program, str(place)], capture_output=True, text=True)
            self.assertEqual(done.returncode, 3, place)
            self.assertIn("failed", done.stderr)

    def test_sizes_are_those_that_are_said(self) -> None:
        program = self.compiled(
            "sizes",
            """int main(int count, char **arguments) {
                struct random random = random_from((uint64_t)count);
                size_t least = SIZE_MAX, most = 0, sum = 0, octaves = (size_t)atoi(arguments[1]), times = 2000000;
                for (size_t i = 0; i < times; i++) {
                    size_t size = random_size(&random, (uint32_t)octaves);
                    least = size < least ? size : least;
                    most = size > most ? size : most;
                    sum += size;
                }
                printf("%zu %zu %f", least, most, (double)sum / (double)times / (double)mean_size((uint32_t)octaves));
                return 0;
            }""",
        )
        for octaves, most in ((4, 128), (9, 4096), (17, 1 << 20)):
            done = subprocess.run([program, str(octaves)], capture_output=True, text=True)
            found = done.stdout.split()
            self.assertEqual(found[0], "8")
            self.assertAlmostEqual(int(found[1]), most, delta=most / 10000)
            self.assertAlmostEqual(float(found[2]), 1, delta=0.01)

    def test_the_ablation_follows_the_backend(self) -> None:
        """It serves all that backend.c and large_object.c do for others, as backend.h has it today."""
        served = []
        for sources in (["bench/ablation/backend_jemalloc.c"], ["src/backend/backend.c", "src/backend/large_object.c"]):
            built = self.folder / "backend.o"
            flags = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-Isrc", "-Iinclude", "-DJW_CHECKED=0"]
            command = ["gcc", "-r", *flags, *sources, "-o", built]
            subprocess.run(command, cwd=HERE.parents[1], check=True)
            symbols = subprocess.run(["nm", "--defined-only", "-g", built], capture_output=True, text=True, check=True)
            served.append({line.split()[-1] for line in symbols.stdout.splitlines()})
        self.assertEqual(served[0], served[1] - {"range_fetch", "range_cut"})

    def test_a_peer_that_is_none(self) -> None:
        whose = self.folder / "whose"
        (self.folder / "text.so").write_text("no library")
        self.assertIn("text.so", bench_peers.serves(Allocator("p", "", self.folder / "text.so"), whose))
        command = ["gcc", "-shared", "-fPIC", "-xc", "-", "-o"]
        for name, source, said in (
            ("other", "int other;", "has its malloc from"),
            ("crash", "void *malloc(unsigned long n) { (void)n; return *(void **)8; }", "status -11"),
            ("refuse", "void *malloc(unsigned long n) { (void)n; return 0; }", "status 1"),
        ):
            library = self.folder / f"{name}.so"
            subprocess.run([*command, library], input=source, text=True, check=True)
            self.assertIn(said, bench_peers.serves(Allocator("p", "", library), whose), name)
        for text in ("name", "=x.so", "a=/nowhere.so", "glibc=/bin/true", "sp ace=/bin/true"):
            with self.assertRaises(SystemExit, msg=text):
                bench_peers.added([text])
        with self.assertRaises(SystemExit):
            bench_peers.added(["a=/bin/true", "a=/bin/true"])

    def test_operations_are_as_many_as_wanted(self) -> None:
        system = Allocator("glibc", "")
        for program in ("rptest", "xmalloc", "mstress", "mleak", "scale"):
            for threads in (1, 3):
                line = bench_run.driver(system, program, f"threads={threads}", "work=20000", "live=1000000")[-1]
                self.assertGreaterEqual(line["operations"], 19000, program)
                self.assertLess(line["operations"], 50000, program)
        with self.assertRaises(RuntimeError):
            bench_run.driver(system, "rptest", "threads=0")

    def test_who_put_a_thread_off_is_told(self) -> None:
        program = self.compiled("put-off", (HERE / "put_off.c").read_text(), "-DBENCH_LATENCY")
        done = subprocess.run([program], capture_output=True, text=True, check=True, timeout=60)
        if done.stdout == "not known here\n":
            self.skipTest("the C library has no restartable sequences")
        self.assertEqual(done.stdout, "waits: 0 off, 5 slow\nspins: 5 off, 0 slow\n")

    def test_memory_is_as_large_as_it_is(self) -> None:
        line = self.replay("1: malloc 0x10 33554432\n")
        self.assertAlmostEqual(json.loads(line.stdout.splitlines()[0])["growth_kb"], 32768, delta=256)

    @unittest.skipUnless(NATIVE, "known.c is for x86-64")
    def test_steps_of_known_functions(self) -> None:
        cases = bench_count.per_call(known(self.folder), quick=True)
        for case, values in cases.items():
            wanted = MALLOC if case.startswith("malloc") else FREE
            self.assertEqual((values["instructions"][0], values["branches"][0]), wanted, case)
            self.assertEqual(values["mean"][0], wanted[0], case)

    @unittest.skipUnless(NATIVE and shutil.which("valgrind"), "needs x86-64 and valgrind")
    def test_callgrind_of_known_functions(self) -> None:
        allocator = known(self.folder)
        profile, printed = bench_count.profile(allocator, "rptest", "work=20000", "live=100000")
        own = bench_count.allocator_side(profile, allocator, "rptest")
        # As many calls of malloc as of free, and a few of the C library.
        wanted = json.loads(printed)["operations"] * (MALLOC[0] + FREE[0]) / 2
        self.assertAlmostEqual(own, wanted, delta=wanted * 0.02)

    @unittest.skipUnless(NATIVE, "known.c is for x86-64")
    def test_a_broken_allocator_is_noticed(self) -> None:
        broken = known(self.folder, "-DBROKEN")
        for program in ("rptest", "mstress", "mleak", "scale"):
            with self.assertRaises(RuntimeError, msg=program):
                bench_run.driver(broken, program, "work=20000", "live=1000000")


class Security(unittest.TestCase):
    """Attacks: which ends of a program are a stopped attack, and what the document says."""

    def ends(self, name: str, script: str) -> bool:
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / name
            program.write_text(f"#!/bin/sh\n{script}\n")
            program.chmod(0o755)
            return bench_security.is_stopped(Allocator("a", ""), program, "case")

    def test_ends(self) -> None:
        for name in ("misuses", "attack"):
            self.assertTrue(self.ends(name, "kill -ABRT $$"))
            self.assertTrue(self.ends(name, "kill -SEGV $$"))
            with self.assertRaises(RuntimeError):
                self.ends(name, "echo x.c:1: CHECK failed: bytes >&2; exit 1")
        self.assertTrue(self.ends("misuses", "exit 40"), "a property is there")
        self.assertFalse(self.ends("misuses", "exit 0"))
        self.assertFalse(self.ends("attack", "exit 40"), "the attacker has gained")
        self.assertTrue(self.ends("attack", "exit 0"))

    def test_real_ones(self) -> None:
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(bench_run, "OUTPUT", Path(folder)):
            programs = bench_security.compile_attacks()
            self.assertGreater(len(programs), 40)
            system = Allocator("glibc", "")
            self.assertTrue(bench_security.is_stopped(system, programs["double_free_small"], "double_free_small"))
            self.assertFalse(bench_security.is_stopped(system, programs["read_zero_size"], "read_zero_size"))

    def test_document(self) -> None:
        """Each number is in its place, and only what is between the marks changes."""
        allocators = [Allocator("jw-secure", "1"), Allocator("peer", "2.5")]
        session = bench_run.Session(allocators, 1, True, 0, {}, benchmark="security")
        for name, stopped in (("jw-secure", [1, 1]), ("peer", [1, 0])):
            for case, one in zip(("first", "second"), stopped, strict=True):
                session.note(case, name, {"stopped": (one, "1: stopped", "higher")})
            share = {"share stopped": (50 * sum(stopped), "%", "higher"), "attacks": (2, "tried", "higher")}
            session.note(bench_security.TABLE_CASE, name, share)
        session.note("malloc x 64", "peer", {"mean": (7, "instructions")})
        session.note("malloc x 4096", "peer", {"mean": (8, "instructions")})
        with tempfile.TemporaryDirectory() as folder:
            document = Path(folder) / "page.md"
            document.write_text(f"before\n{bench_security.BEGIN}old\n{bench_security.END}after\n")
            with mock.patch.object(bench_security, "DOCUMENT", document):
                bench_security.write_table(session)
            lines = document.read_text().splitlines()
        self.assertEqual((lines[0], lines[-1]), ("before", "after"))
        self.assertNotIn("old", lines)
        self.assertTrue(any("commit 1;" in line for line in lines))
        self.assertIn("| attacks stopped, % | 100 | 50 |", lines)
        self.assertIn("| instructions, malloc(64) | - | 8 |", lines)
        self.assertIn("Not stopped by jw-secure: none.", lines)
        self.assertEqual(bench_security.not_stopped(session, "peer"), ["second"])


if __name__ == "__main__":
    os.environ.pop("LD_PRELOAD", None)
    unittest.main()

"""exploration_test.py - each execution once, by however many processes; bounds that cut, limits that stop."""

import unittest
from pathlib import Path
from random import Random

import harness
from litmus import read_program
from programs import batch, random_program

TARGET = harness.Target("gcc", "-O1")
COUNTS = {
    "Ax1 | Ax1 | Ax1 | Ax1": 24,  # 4! orders
    "Ax1 | Ax1 | Ax1 | Ax1 | Ax1": 120,
    "Wx1.rel | Wy1.rel | Rx.acq Ry.acq | Ry.acq Rx.acq": 16,  # each read reads either of two
    "Wx1 | Wx2 | Wx3": 6,
    "Wx1 | Rx | Rx | Rx": 8,
    "Wx1 | Rx Rx": 3,
    "Rx Wx1 | Rx Wx2": 4,  # both read 0, in 2 orders; or one reads the other's
    "Lm Um | Lm Um | Lm Um": 6,
    "Wx1 Fsc Ry | Wy1 Fsc Rx": 3,
    "Cx01 | Cx02": 2,  # the second one fails
    "Rx Wy1 | Ry Wx1": 3,
    "Wx1 Wy1.rel | Ry.acq Rx": 3,
}
# Two threads that may stop before each of two updates: they stop early, late or not at all, in each order of updates.
STOPS = """
#include "verify/clients/client.h"
static _Atomic(int) count;
static void *adding(void *unused) {
    checker_may_stop(1);
    atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    return unused;
}
int main(void) {
    pthread_t a = start(adding, NULL), b = start(adding, NULL);
    void *ends[2];
    pthread_join(a, &ends[0]);
    pthread_join(b, &ends[1]);
    checker_outcome(2, (int[]){ends[0] == PTHREAD_CANCELED, ends[1] == PTHREAD_CANCELED});
    return 0;
}
"""
# A compare-exchange that fails reads a released word with its order of failure; with that of success it acquires.
FAILING = """
#include "verify/clients/client.h"
static _Atomic(int) data, flag;
static void *writing(void *unused) {
    atomic_store_explicit(&data, 1, memory_order_relaxed);
    atomic_store_explicit(&flag, 1, memory_order_release);
    return unused;
}
int main(void) {
    pthread_t writer = start(writing, NULL);
    int flag_seen = 2; /* never there: the exchange fails */
    atomic_compare_exchange_strong_explicit(&flag, &flag_seen, 3, memory_order_ORDER, memory_order_relaxed);
    int data_seen = atomic_load_explicit(&data, memory_order_relaxed);
    finish(writer);
    checker_outcome(2, (int[]){flag_seen, data_seen});
    return 0;
}
"""
LARGE = [
    "Wx1 Ay1 Rz | Wy2 Az1 Rx | Wz3 Ax1 Ry",
    "Rx Ry Wz1 | Ry Rz Wx1 | Rz Rx Wy1",
    "Ax1 Wy1 Rx | Cx12 Ry Wx5 | Wx3 Ay2 Ry",
    "Lm Qz Pz1 Um Ax1 | Lm Qz Pz2 Um Rx | Lm Qz Pz3 Um Wx7",
]


def build(name: str, texts: list[str]) -> Path:
    chosen = [read_program(text)[0] for text in texts]
    random = Random(5)
    chosen += [random_program(random) for _ in range(20)] if texts is LARGE else []
    source = harness.BUILD / f"{name}.c"
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text(batch(chosen))
    return harness.build(source, TARGET, name)


class Exploration(unittest.TestCase):
    large: Path
    size: int

    @classmethod
    def setUpClass(cls) -> None:
        cls.large = build("large", LARGE)
        cls.size = len(LARGE) + 20

    def test_counts_are_those_of_theory(self) -> None:
        program = build("counts", list(COUNTS))
        for number, (text, count) in enumerate(COUNTS.items()):
            with self.subTest(text):
                result = harness.run(program, TARGET, "--audit", PROGRAM=number)
                self.assertEqual((result.status, result.report.get("executions")), (0, count), result.output)

    def test_threads_stop_at_each_of_their_steps(self) -> None:
        source = harness.BUILD / "stops.c"
        source.write_text(STOPS)
        result = harness.run(harness.build(source, TARGET, "stops"), TARGET, "--audit", "--outcomes")
        orders = [1, 1, 1, 1, 2, 3, 1, 3, 6]  # of i and j updates, i and j from 0 to 2
        self.assertEqual((result.status, result.report.get("executions")), (0, sum(orders)), result.output)
        self.assertEqual({(0, 0), (0, 1), (1, 0), (1, 1)}, result.outcomes)

    def test_a_failing_exchange_has_its_own_order(self) -> None:
        for order in ("relaxed", "release", "acquire", "acq_rel", "seq_cst"):
            source = harness.BUILD / f"failing_{order}.c"
            source.write_text(FAILING.replace("ORDER", order))
            program = harness.build(source, TARGET, f"failing_{order}")
            options = (["--outcomes"], ["--outcomes", "--failing-as-success"])
            own, as_success = (harness.run(program, TARGET, *chosen) for chosen in options)
            with self.subTest(order):
                self.assertEqual({(0, 0), (0, 1), (1, 0), (1, 1)}, own.outcomes)
                ordered = order in ("acquire", "acq_rel", "seq_cst")
                self.assertEqual(own.outcomes - ({(1, 0)} if ordered else set()), as_success.outcomes)

    def test_no_graph_comes_twice(self) -> None:
        for number in range(self.size):
            result = harness.run(self.large, TARGET, "--audit", PROGRAM=number)
            with self.subTest(number):
                self.assertIn(result.status, (harness.COMPLETE, harness.FAILED), result.output)
                self.assertTrue(result.status == harness.COMPLETE or result.kind == "race", result.output)

    def test_two_processes_find_what_one_finds(self) -> None:
        for number in range(self.size):
            one = harness.run(self.large, TARGET, "--outcomes", "--jobs", 1, PROGRAM=number)
            two = harness.run(self.large, TARGET, "--outcomes", "--jobs", 2, "--audit", PROGRAM=number)
            with self.subTest(number):
                self.assertEqual((one.status, one.kind), (two.status, two.kind), two.output)
                if one.status == harness.COMPLETE:
                    self.assertEqual(one.report["executions"], two.report["executions"])
                    self.assertEqual(one.outcomes, two.outcomes)

    def bounded(self, number: int) -> tuple[list[set], set]:
        """The outcomes of one bound after the other, until the bound cuts nothing off, and those without a bound."""
        found = []
        for bound in range(40):
            result = harness.run(self.large, TARGET, "--outcomes", "--bound", bound, PROGRAM=number)
            self.assertIn(result.status, (harness.COMPLETE, harness.INCOMPLETE), result.output)
            found.append(result.outcomes)
            if result.status == harness.COMPLETE:
                break
        return found, harness.run(self.large, TARGET, "--outcomes", PROGRAM=number).outcomes

    def test_outcomes_grow_with_the_bound(self) -> None:
        for number in range(len(LARGE)):
            with self.subTest(number):
                found, all_outcomes = self.bounded(number)
                self.assertTrue(all(less <= more for less, more in zip(found, found[1:], strict=False)))
                self.assertEqual(found[-1], all_outcomes)
                self.assertLess(len(found), 40)
                self.assertLess(len(found[0]), len(all_outcomes))

    def test_deepening_ends_with_everything(self) -> None:
        for number in range(len(LARGE)):
            plain = harness.run(self.large, TARGET, "--outcomes", PROGRAM=number)
            deepened = harness.run(self.large, TARGET, "--outcomes", "--deepen", "--budget", 60, PROGRAM=number)
            with self.subTest(number):
                self.assertEqual(deepened.status, harness.COMPLETE, deepened.output)
                self.assertEqual(deepened.outcomes, plain.outcomes)

    def test_limits_end_a_run_without_a_verdict(self) -> None:
        for limit in (("--max", 3), ("--max", 0), ("--bound", 0)):
            result = harness.run(self.large, TARGET, *limit, PROGRAM=0)
            with self.subTest(limit):
                self.assertEqual(result.status, harness.INCOMPLETE, result.output)
                self.assertEqual(result.report.get("verdict"), "incomplete")

    def test_wrong_use_is_told(self) -> None:
        for wrong in (["--no-such-option"], ["--jobs", "many"], ["--bound"], ["--replay", "/no/such/file"]):
            with self.subTest(wrong):
                self.assertEqual(harness.run(self.large, TARGET, *wrong, PROGRAM=0).status, harness.USAGE)


if __name__ == "__main__":
    unittest.main()

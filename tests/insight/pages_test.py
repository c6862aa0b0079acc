"""pages_test.py - the pages of report and replay in headless Chromium, as wide as a desk's window and as a phone's.

usage: pages_test.py BUILD"""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import started

TOOLS = started.with_packages()
BUILD = sys.argv[1]

import browser  # noqa: E402
import numpy as np  # noqa: E402

import traceio  # noqa: E402
from traceio import DEFINITION, EVENT, FRAMES, FREE, MALLOC, STACK  # noqa: E402

SKIPPED = 77
MS, BASE = 1_000_000, 0x7F0000000000
OBJECTS = 20000
LEAST = 150  # coloured points of a plot; its axes, its legend and the line at 4 KB do not count

# Nothing may reach beyond the window. What is drawn in a picture does not count.
TOO_WIDE = """[...document.body.querySelectorAll("*:not(svg *)")]
    .filter(one => one.getBoundingClientRect().right > document.documentElement.clientWidth + 1 ||
        one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX == "auto")
    .map(one => one.outerHTML.slice(0, 120))"""
# Of each picture, how many points inside of its axes have a colour.
COLOURED = """Promise.all([...document.images].map(async image => {
    await image.decode();
    const canvas = document.createElement("canvas"), wide = image.naturalWidth, high = image.naturalHeight;
    canvas.width = wide, canvas.height = high;
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    const points = context.getImageData(wide * 0.15, high * 0.2, wide * 0.6, high * 0.65).data;
    let found = 0;
    for (let at = 0; at < points.length; at += 4) {
        const [red, green, blue] = points.slice(at, at + 3), line = Math.abs(red - blue) < 12 && green > red;
        found += Math.max(red, green, blue) - Math.min(red, green, blue) > 60 && !line;
    }
    return [image.alt, found];
}))"""
# Of each flame graph, its parts, and the letters in them.
FLAMES = """[...document.querySelectorAll(".flame")].map(one =>
    [one.querySelectorAll("svg .slice path").length, one.querySelectorAll("svg .slicetext").length])"""
WORDS = "document.body.innerText"


def stacks() -> np.ndarray:
    """Four of a few calls, and one of many."""
    lines = []
    for number in range(1, 6):
        frames = [*range(2, 70), 1] if number == 5 else [10 * number, 10 * number + 1, 1]
        lines.append((len(frames), 0, number, STACK))
        padded = [*frames, 0]
        lines += [(padded[at], padded[at + 1], number, FRAMES) for at in range(0, len(frames), 2)]
    return np.array(lines, DEFINITION)


def write(path: Path, seed: int, kept: int = 500) -> None:
    """Two threads for three seconds; the second one frees much of what the first one has allocated. Long names."""
    chance = np.random.default_rng(seed)
    words = ["/usr/bin/" + "a-program-of-a-long-name-" * 8, "x" * 3000, "<b>&amp;"]
    writer = traceio.Writer(path, {"command": words, "date": "2026-01-01T00:00:00+0000", "made_by": "jw record"})
    long = "std::map<std::string, std::vector<b>, std::less<i> >::" + "insert_or_assign_with_a_hint" * 3
    names = {at: [f"{('put<b>', long)[at % 2]}_{at}(int, <img src=x>) (file.cc:{at})"] for at in range(2, 70)}
    writer.record("names", names={1: ["main"], **names})
    writer.record("process", process=1, pid=1, parent_pid=0, parent=0, bits=64, time=0, command=words[0])
    for thread in (1, 2):
        writer.record("thread", process=1, thread=thread, tid=thread, time=0, name="a-thread's-name")
    writer.definitions(1, 1, stacks())
    birth = np.sort(chance.integers(0, 2500 * MS, OBJECTS))
    death = birth + (10 ** chance.uniform(3, 8.6, OBJECTS)).astype(np.int64)
    by_second = chance.random(OBJECTS) < birth / birth[-1]
    made, freed = np.zeros(OBJECTS, EVENT), np.zeros(OBJECTS, EVENT)
    made["address"] = freed["address"] = BASE + 4096 * np.arange(OBJECTS)
    made["time"], made["size"], made["kind"] = birth, 2 ** chance.uniform(3, 12, OBJECTS), MALLOC
    made["stack"] = chance.integers(1, 6, OBJECTS)
    freed["time"], freed["kind"] = death, FREE
    by_second[:kept] = False
    for thread, events in ((1, np.concatenate([made, freed[kept:][~by_second[kept:]]])), (2, freed[by_second])):
        writer.events(1, thread, events[np.argsort(events["time"], kind="stable")])
    writer.record("memory", samples=[(1, at * 100 * MS, (10 + at) << 20) for at in range(28)])
    writer.close()


class Pages(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.first, self.second = (self.folder / f"{'long-name-' * 12}{number}.jwt" for number in (1, 2))
        write(self.first, 1)
        write(self.second, 2)
        self.browser = browser.Browser()
        self.addCleanup(self.browser.close)

    def page(self, *words: object) -> Path:
        path = self.folder / "page.html"
        command = [sys.executable, "-B", str(TOOLS), "--build", BUILD, *map(str, words), "-o", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=200)
        self.assertEqual(done.returncode, 0, done.stderr)
        return path

    def looked_at(self, path: Path, size: tuple[int, int], pictures: int, flames: int) -> browser.Page:
        page = browser.Page(self.browser, path, size)
        if flames:
            self.assertEqual(page.value("typeof Plotly"), "undefined", "the page waits for the library")
        page.scroll_through()
        self.assertEqual(page.said, [])
        self.assertEqual(page.value(TOO_WIDE), [])
        self.assertLessEqual(page.value("document.documentElement.scrollWidth"), size[0])
        drawn = page.value(COLOURED)
        self.assertEqual(len(drawn), pictures)
        self.assertEqual([one for one in drawn if one[1] < LEAST], [])
        parts = page.value(FLAMES)
        self.assertEqual(len(parts), flames)
        for slices, texts in parts:
            self.assertGreater(slices, 5)
            self.assertGreater(texts, 3)
        return page

    def test_a_report(self) -> None:
        path = self.page("report", self.first)
        for size in (browser.WIDE, browser.PHONE):
            with self.subTest(size=size):
                page = self.looked_at(path, size, 10, 4)
                self.assertIn("What this means for tuning", page.value(WORDS))
                shown = 'document.querySelector(".flame output").value'
                before, texts = page.value(shown), 'document.querySelector(".flame:has(input) svg").textContent'
                self.assertIn("more than 64 calls", page.value(texts))
                self.assertIn("put<b>_20", page.value(texts))
                page.value("""(knob => { knob.value = 0; knob.dispatchEvent(new Event("input")) })
                    (document.querySelector(".flame input"))""")
                self.assertNotEqual(page.value(shown), before)
                self.assertEqual(page.said, [])

    def test_a_program_that_frees_all(self) -> None:
        """There is no empty graph of what is alive at the end."""
        write(self.first, 1, kept=0)
        page = self.looked_at(self.page("report", self.first), browser.PHONE, 10, 3)
        self.assertIn("Alive at the end. 0 B in 0 objects.", page.value(WORDS))

    def test_a_comparison(self) -> None:
        path = self.page("report", self.first, self.second)
        for size in (browser.WIDE, browser.PHONE):
            with self.subTest(size=size):
                self.looked_at(path, size, 5, 0)

    def test_a_replay(self) -> None:
        path = self.page("replay", self.first, "--rest", 0)
        for size in (browser.WIDE, browser.PHONE):
            with self.subTest(size=size):
                self.looked_at(path, size, 1, 0)


if browser.PROGRAM is None:
    print("skipped: chromium is not installed (Debian's package: chromium)")
    sys.exit(SKIPPED)
unittest.main(argv=sys.argv[:1])

#!/usr/bin/env python3
"""seeded.py COMPILER HARDENED MISUSES [MISTAKE...] - tests the tests: with a mistake in, its case must fail.

HARDENED and MISUSES are the programs on the system's malloc; the library that is built with the mistake is preloaded.
"""

import concurrent.futures
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "reliability"))

import seeded  # noqa: E402


def seed(file: str, text: str, instead: str, case: str) -> tuple[seeded.Mistake, str]:
    return seeded.Mistake(file, text, instead, f"{case} ", secure=True), case


SLOW, STEPS, OPEN = "hardened/entry_slow.c", "hardened/entry_steps.h", "hardened/open.h"
QUARANTINE, LARGE = "hardened/quarantine.c", "hardened/large.c"
MISTAKES = {
    "trailer": seed(
        OPEN,
        "    return LIKELY(right) && LIKELY(slack <= slot - TRAILER_SIZE);",
        "    if (slack > slot - TRAILER_SIZE) opened->slack = 0;\n    return true;",
        "overflow_small",
    ),
    "fill": seed(
        OPEN,
        "    uint8_t fill = (uint8_t)opened->trailer.canary;\n",
        "    uint8_t fill = (uint8_t)opened->trailer.canary;\n    if (behind) return true;\n",
        "overflow_small_slack",
    ),
    "neighbour": seed(
        OPEN, "trailer_may_be(trailer_word_of(object - slot, slot), canary)", "true", "overflow_into_next"
    ),
    "guard": seed(
        "hardened/guard.c",
        "if (!platform_protect(guard, bytes, false))",
        "if (!guard)",
        "overflow_into_guard",
    ),
    "quarantine": seed(QUARANTINE, "return limit ?", "return !limit ?", "quarantine_delays"),
    "written": seed(STEPS, "!is_zero_but_last(object, slot)", "!object", "write_after_free_small"),
    "link": seed("frontend/slab_links.c", "UNLIKELY(!may_lead(object, distance))", "!object", "forged_link"),
    "order": seed(
        "frontend/slab_lists.c", "unsigned other = next_below(&state, i + 1);", "unsigned other = i;", "order_small"
    ),
    "mid order": seed("midend/mid_word.h", "random_less((uint32_t)__builtin_popcount(bits))", "0", "order_mid"),
    "seed": seed("platform/random.c", "secret[i] = platform_random();", "secret[i] = i;", "order_small"),
    "children": seed("core/fork.c", "if (JW_SECURE) hardened_hooks.child_begins();", "", "order_of_children"),
    "written first": seed(QUARANTINE, "left != size", "left > size", "write_after_free_start_many"),
    "cleared": seed(
        QUARANTINE,
        "    memset(object, option(&options.zero_on_free)",
        "    if (slot < 64) memset(object, 0",
        "zero_on_free",
    ),
    "cleared at once": seed(STEPS, "    clear_but_last(object, slot);\n", "", "contents_go"),
    "emptied": seed(LARGE, "waiting.untouched = empty_large(&waiting, kept);", "", "contents_go"),
    "closed": seed(LARGE, "waiting.closed = closes &&", "waiting.closed = !object &&", "read_after_free_large"),
    "closed longer": seed(LARGE, "keeps_guard(waiting) && guards_may_wait()", "!waiting", "read_after_free_large_late"),
    "kept": seed(LARGE, "if (!empty) check_zero(object, object_size(object));", "", "write_after_free_kept"),
    "kept for others": seed(
        "hardened/regions.c", "if (!*zeroed && region", "if (!range && region", "write_after_free_kept_mid"
    ),
    "closed without a quarantine": seed(
        LARGE, "bool closes = guarded &&", "bool closes = waits &&", "write_after_free_unkept"
    ),
    "kept with its guard": seed(LARGE, "rings && guarded && !waiting.huge &&", "!rings && guarded &&", "large_is_kept"),
    "guard again": seed(
        "hardened/regions.c",
        "bytes_of(range) - LARGE_GUARD, true)",
        "bytes_of(range), true)",
        "overflow_far_large_again",
    ),
    "guard behind": seed(
        LARGE,
        "if (platform_protect(object + slot, huge ? huge_guard() : LARGE_GUARD, false)) return true;",
        "",
        "overflow_far_large",
    ),
    "classes mixed": seed(
        "hardened/regions.c",
        "region_push(region, given ? WITHOUT_PAGES : fresh_age(), range);",
        "guarded_place(range, weight_without_guard(region, range), MAPPED);",
        "types_stay_apart",
    ),
    "large mixed": seed("hardened/regions.c", "if (!may_wait()) guarded", "if (region) guarded", "types_stay_apart"),
    "pool mixed": seed(
        "frontend/heap_pool.c", "CLASSES_APART && slab && slab->class != class", "false", "types_stay_apart_in_pool"
    ),
    "zero size": seed(
        SLOW, "return allocator_start() ? zero_size_allocate(alignment) : NULL;", "return NULL;", "write_zero_size"
    ),
    "shuffled": seed(
        QUARANTINE, "(uint16_t)random * most >> 16", "(uint16_t)random * 0 * most >> 16", "quarantine_is_random"
    ),
    "aligned": seed(
        SLOW, "size == 0) ? allocate_nothing(alignment)", "size == SIZE_MAX) ? NULL", "write_zero_size_aligned"
    ),
    "cut": seed("hardened/entry_realloc.c", "0, end - kept)", "0, filled(old->slack))", "uninitialized_read_cut"),
    "before a fork": seed(
        QUARANTINE,
        "leave_object(object, size_classes[class].size, old->clears)",
        "free_object(object)",
        "write_after_free_before_fork",
    ),
    "delivery": seed(
        STEPS,
        "UNLIKELY(trailer_word_of(object, slot) != freed)",
        "UNLIKELY(!object)",
        "free_end_written",
    ),
}


class Builds:
    """Objects of the right sources, made once. A mistake needs only those anew that read its file."""

    def __init__(self, compiler: str, directory: Path):
        self.compiler, self.right, self.wrong = compiler, directory / "right", directory / "wrong"
        shutil.copytree(seeded.ROOT / "src", self.right, ignore=shutil.ignore_patterns("sim*"))
        shutil.copytree(self.right, self.wrong)
        self.sources = [path.relative_to(self.right) for path in self.right.rglob("*.c")]
        self.compile(self.right, self.sources)

    def compile(self, tree: Path, sources: list[Path]) -> None:
        command = [self.compiler, *seeded.FLAGS, "-DJW_SECURE=1", "-DJW_CHECKED=0", "-MMD", "-c"]
        includes = [f"-I{tree}", f"-I{seeded.ROOT / 'include'}"]

        def one(source: Path) -> None:
            file = tree / source
            subprocess.run([*command, *includes, file, "-o", file.with_suffix(".o")], check=True)

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(one, sources))

    def reads(self, source: Path, file: str) -> bool:
        return str(self.right / file) in (self.right / source).with_suffix(".d").read_text().split()

    def library(self, mistake: seeded.Mistake) -> Path:
        file, library = self.wrong / mistake.file, self.wrong / "libseeded.so"
        right = (self.right / mistake.file).read_text()
        if right.count(mistake.old) != 1:
            sys.exit(f"{mistake.file}: the text to be replaced stands there {right.count(mistake.old)} times")
        file.write_text(right.replace(mistake.old, mistake.new))
        changed = {source for source in self.sources if self.reads(source, mistake.file)}
        self.compile(self.wrong, sorted(changed))
        file.write_text(right)
        trees = [self.wrong if source in changed else self.right for source in self.sources]
        objects = [(tree / source).with_suffix(".o") for tree, source in zip(trees, self.sources, strict=True)]
        subprocess.run([self.compiler, *seeded.FLAGS, *objects, "-o", library], check=True)
        return library


def is_found(name: str, builds: Builds, hardened: str, misuses: str) -> bool:
    mistake, case = MISTAKES[name]
    program = hardened if f" {case}(" in (HERE / "hardened.c").read_text() else misuses
    library = builds.library(mistake)
    command = [HERE / "promises.py", "caught", case, "env", f"LD_PRELOAD={library}", program]
    done = subprocess.run([sys.executable, "-B", *command], stdout=subprocess.PIPE, text=True, errors="replace")
    found = done.returncode == 1 and mistake.finding in done.stdout and "WRONG" in done.stdout
    print(f"{name}: {'found' if found else 'NOT FOUND'}: {done.stdout.strip()}", flush=True)
    return found


def main() -> int:
    compiler, hardened, misuses, *chosen = sys.argv[1:]
    if not (Path(hardened).is_file() and Path(misuses).is_file()):
        sys.exit("seeded.py: no such program")  # else each mistake would seem to be found
    names = chosen or list(MISTAKES)
    with tempfile.TemporaryDirectory() as directory:
        builds = Builds(compiler, Path(directory))
        found = [is_found(name, builds, hardened, misuses) for name in names]
    return 0 if all(found) else 1


if __name__ == "__main__":
    sys.exit(main())

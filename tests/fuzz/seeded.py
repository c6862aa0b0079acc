#!/usr/bin/env python3
"""seeded.py COMPILER OBJCOPY - a test of the tests: with a mistake in the source, replaying the corpus must fail.

Each mistake is a replacement of text that stands once in its file. The programs are built here, from the sources, with
small roots and without the allocator's own checks; without a mistake they must pass.
"""

import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "tests/fuzz"
READER = ROOT / "bench/trace.c"
FLAGS = "-std=gnu11 -O1 -D_GNU_SOURCE -DJW_CHECKED=0 -DJW_OVERRIDE=0 -fno-builtin -fno-stack-protector -w".split()
FLAGS += ["-DJW_ROOT_SHIFT=17", *(f"-I{ROOT / folder}" for folder in ("src", "include", "bench"))]
RENAMED = {".bss": "jw_zero", ".data": "jw_data", ".data.rel": "jw_local", ".data.rel.local": "jw_local"}
CALLS = [HERE / name for name in ("api.c", "steps.c", "contents.c", "objects.c", "kernel.c")]


class Mistake(NamedTuple):
    target: str
    file: str
    old: str
    new: str


MISTAKES = {
    "realloc copies a byte too few": Mistake(
        "api", "src/core/realloc.c", "memcpy(new, object, length);", "memcpy(new, object, length - 1);"
    ),
    "the last small class is taken too late": Mistake(
        "api",
        "src/config/size_classes.c",
        "{SIZE_CLASS_INDEX};",
        "{SIZE_CLASS_INDEX, [FRONTEND_MAX / 8 - 1] = SIZE_CLASS_COUNT - 2};",
    ),
    "a middle class is off by one": Mistake(
        "api",
        "src/midend/mid_shapes.c",
        "mid_class_index[unit] =",
        "mid_class_index[(unit + 1) % (BACKEND_MIN >> UNIT_SHIFT)] =",
    ),
    "a large object is a granule short": Mistake(
        "api",
        "src/backend/large_object.c",
        "granules_for(size + large_slack(alignment) + LARGE_GUARD)",
        "granules_for(size + large_slack(alignment) + LARGE_GUARD - 1)",
    ),
    "usable size is too large": Mistake(
        "api", "src/core/object_size.c", "leaf, &size)) return size;", "leaf, &size)) return size + 8;"
    ),
    "calloc trusts used memory": Mistake("api", "src/backend/backend.c", "*zeroed = state == UNMAPPED &&", "*zeroed ="),
    "a large alignment is forgotten": Mistake(
        "api",
        "src/backend/large_object.c",
        "align_up((uintptr_t)granule_address(range), alignment)",
        "granule_address(range)",
    ),
    "errno stays": Mistake("api", "src/core/route.c", "    errno = ENOMEM;\n", ""),
    "posix_memalign sets errno": Mistake("api", "src/api/malloc.c", "    errno = before;\n", "    errno = ENOMEM;\n"),
    "a good size is above what an object can have": Mistake(
        "api",
        "src/backend/huge.c",
        "    return size <= PTRDIFF_MAX && size >> JW_GRANULE_SHIFT <= UINT32_MAX ? size : 0;\n",
        "    return size;\n",
    ),
    "empty slabs are lost": Mistake(
        "api", "src/frontend/heap_pool.c", "    slab_place(slab->class, record_id(slab), 1);\n", ""
    ),
    "a word is taken for a trace of a free object": Mistake(
        "contents",
        "src/core/object_size.c",
        "    if (size == 0) misuse(INVALID_POINTER",
        "    if (size == 0 || *(const char *)object == 1) misuse(INVALID_POINTER",
    ),
    "a refused madvise is taken for done": Mistake(
        "faults",
        "src/backend/give_back.c",
        "bool given = platform_discard((void *)from, to - from);",
        "bool given = platform_discard((void *)from, to - from) || true;",
    ),
    "a refused munmap is forgotten": Mistake(
        "faults",
        "src/platform/deferred_unmap.c",
        "    pointer_stack_push(&refused_mappings, &mapping->link, &mapping->link);\n",
        "",
    ),
    "an option's upper bound is not checked": Mistake("options", "src/config/options.c", " && *value <= row->most", ""),
    "an option's number overflows": Mistake(
        "options", "src/config/options.c", "    if (*value > UINT64_MAX >> shift) return false;\n", ""
    ),
    "an alignment of 0 is taken over": Mistake("trace", "bench/trace.c", " && first != 0) line->al", ") line->al"),
    "a freed pointer keeps its slot": Mistake("trace", "bench/trace.c", "    known->slot = NO_SLOT;\n", ""),
}


def sources(target: str) -> list[Path]:
    """All that the program consists of."""
    if target == "options":
        under_test = [ROOT / "src/config/options.c", ROOT / "src/base/print.c"]
    elif target == "trace":
        under_test = [READER]
    else:
        unwanted = "linux" if target == "faults" else "sim"
        unwanted = rf"/src/platform/{unwanted}|/src/hardened/|/(linux_tags|random|pthread_create)\.c"
        under_test = [path for path in sorted((ROOT / "src").rglob("*.c")) if not re.search(unwanted, str(path))]
    return under_test


def harness(target: str) -> list[Path]:
    return [HERE / "replay.c", *(CALLS if target in ("api", "contents", "faults") else [HERE / f"{target}.c"])]


class Workshop:
    def __init__(self, compiler: str, objcopy: str, directory: Path) -> None:
        self.compiler, self.objcopy, self.directory = compiler, objcopy, directory

    def compile(self, source: Path, target: str, changed: Path | None = None) -> Path:
        """One object; `changed` is read in the place of the source."""
        name = "_".join(source.relative_to(ROOT).parts)
        result = self.directory / f"{target}-{name}{'.changed' if changed else ''}.o"
        if changed or not result.exists():
            special = ["-DJW_FUZZ_SIM=1", "-DJW_WINDOW_SHIFT=28"] if target == "faults" else ["-DJW_WINDOW_SHIFT=30"]
            special += ["-DJW_FUZZ_CONTENTS=1"] if target == "contents" else []
            special += ["-DJW_FUZZ_TRACE=1", "-include", HERE / "trace_target.h"] if source == READER else []
            here = ["-iquote", source.parent, "-c", changed or source, "-o", result]
            subprocess.run([self.compiler, *FLAGS, *special, *here], check=True)
        return result

    def program(self, target: str, file: Path | None = None, changed: Path | None = None) -> Path:
        objects = [self.compile(path, target, changed if path == file else None) for path in sources(target)]
        if target == "faults":
            objects = self.resettable(objects)
        result = self.directory / f"fuzz-{target}"
        own = [self.compile(path, target) for path in harness(target)]
        subprocess.run([self.compiler, "-pthread", "-o", result, *objects, *own], check=True)
        return result

    def resettable(self, objects: list[Path]) -> list[Path]:
        """As tests/fuzz/CMakeLists.txt does it."""
        whole = self.directory / "faults.o"
        simulator = [path for path in objects if path.name.endswith("platform_sim.c.o")]
        rest = [path for path in objects if path not in simulator]
        subprocess.run([self.compiler, "-r", "-nostdlib", "-o", whole, *rest], check=True)
        renaming = [word for old, new in RENAMED.items() for word in ("--rename-section", f"{old}={new}")]
        subprocess.run([self.objcopy, *renaming, whole], check=True)
        return [whole, *simulator]


def replay(program: Path, target: str) -> tuple[bool, str]:
    """Whether all inputs pass, and what was said."""
    corpus = sorted((HERE / "corpus").glob(f"{target}*.txt"))
    try:
        done = subprocess.run([program, *corpus], capture_output=True, text=True, errors="replace", timeout=60)
    except subprocess.TimeoutExpired:
        return False, "it does not end"
    lines = [line for line in done.stderr.split("\n") if "EXPECT" in line or "jwmalloc: " in line]
    return done.returncode == 0, lines[0] if lines else f"exit code {done.returncode}"


def main() -> int:
    bad = 0
    with tempfile.TemporaryDirectory() as directory:
        shop = Workshop(sys.argv[1], sys.argv[2], Path(directory))
        targets = ["api", "contents", "faults", "options", "trace"]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            jobs = [(path, target) for target in targets for path in [*sources(target), *harness(target)]]
            list(pool.map(lambda job: shop.compile(*job), jobs))
        for target in targets:
            passed, said = replay(shop.program(target), target)
            print(f"{target:8} without a mistake: {'passes' if passed else f'FAILS: {said}'}", flush=True)
            bad += not passed
        for name, mistake in MISTAKES.items():
            source = ROOT / mistake.file
            text = source.read_text()
            if text.count(mistake.old) != 1:
                raise SystemExit(
                    f"{mistake.file}: the text to be replaced stands there {text.count(mistake.old)} times"
                )
            changed = Path(directory) / "changed.c"
            changed.write_text(text.replace(mistake.old, mistake.new))
            program = shop.program(mistake.target, source, changed)
            passed, said = replay(program, mistake.target)
            print(f"{mistake.target:8} {name}: {'NOT FOUND' if passed else said}", flush=True)
            bad += passed
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""layers_test.py COMPILER - tools/check_layers.py passes a small correct tree and a copy of ours, and tells each seeded
mistake. In the copy the check's lists of exceptions and of words count, which the small tree has none of."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CHECK = ROOT / "tools/check_layers.py"

GOOD = {
    "base/base.h": "int base(void);\n",
    "base/base.c": '#include "base/base.h"\nint base(void) { return 1; }\n',
    "base/mitigations.h": "enum { JW_SECURE = 1, TRAILERS = JW_SECURE };\n",
    "platform/stop.h": '/* asm (x) */\nstatic inline void stop(void) { __asm__ volatile("" ::: "memory"); }\n',
    "backend/range.h": "int range(void);\n",
    "backend/range.c": '#include "backend/range.h"\n#include "base/base.h"\nint range(void) { return base(); }\n',
    "hardened/guard.h": "int guard(void);\n",
    "hardened/guard.c": "int guard(void) { return 2; }\nint (*const hardened_hooks)(void) = guard;\n",
    "core/start.c": '#include "base/mitigations.h"\nextern int (*const hardened_hooks)(void);\n'
    "int start(void) { return TRAILERS && JW_SECURE ? hardened_hooks() : 0; }\n",
    "api/serve.h": '#include "hardened/guard.h"\n',
    "api/name.c": 'int second(void) __asm__("_second") __attribute__((weak));\nint (*first)(void) = second;\n',
}

# Name of the mistake: files in the place of others or beside them, and what the check says.
MISTAKES = {
    "a round's function of libc": (
        {"backend/range.c": "char *strstr();\nchar *range(char *x) { return strstr(x, x); }\n"},
        "uses strstr, which no round may call",
    ),
    "upward include": ({"base/base.h": '#include "backend/range.h"\nint base(void);\n'}, "which is above it"),
    "no layer": ({"base/free.h": '#include "range.h"\n'}, "does not name its layer"),
    "system header": ({"backend/range.h": "#include <sys/mman.h>\nint range(void);\n"}, "for the platform layer only"),
    "hardened header": ({"api/name.c": '#include "hardened/guard.h"\n'}, "for hardened/ and api/serve.h only"),
    "build": (
        {"core/start.c": '#include "base/mitigations.h"\nint start(void) { return JW_SECURE; }\n'},
        "asks for JW_SECURE itself",
    ),
    "asm statement": ({"backend/wait.h": 'static void wait(void) {\n    __asm__("nop");\n}\n'}, "has assembler"),
    "asm in the API": ({"api/wait.h": 'static void wait(void) {\n    asm volatile("nop");\n}\n'}, "has assembler"),
    "upward symbol": (
        {"base/base.c": "int range(void);\nint base(void) { return range(); }\n"},
        "src/base/base.c: uses range of src/backend/range.c, which is above it",
    ),
    "upward variable": (
        {"backend/range.c": "int range(void) { return 0; }\nint limit;\n",
         "base/base.c": "extern int limit;\nint base(void) { return limit; }\n"},
        "uses limit of",
    ),
    "weak use": (
        {"base/base.c": "int range(void) __attribute__((weak));\nint base(void) { return range ? range() : 0; }\n"},
        "the symbol range is weak",
    ),
    "weak body in the platform": (
        {"platform/stop.c": "__attribute__((weak)) int stopped(void) { return 0; }\n"},
        "the symbol stopped is weak",
    ),
    "header whose body is above it": (
        {"base/base.h": "int base(void);\nint started(int of);\n",
         "core/begin.c": '#include "base/base.h"\nint started(int of) { return of; }\n'},
        "src/base/base.h: names started of src/core/begin.c, which is above it",
    ),
    "weak body": ({"base/base.c": "__attribute__((weak)) int base(void) { return 0; }\n"}, "the symbol base is weak"),
    "circle of headers": (
        {"backend/a.h": '#include "backend/b.h"\n', "backend/b.h": '#include "backend/a.h"\n'},
        "include one another in a circle",
    ),
    "circle by the sources": (
        {"backend/range.c": '#include "backend/nest.h"\nint range(void) { return 0; }\n',
         "backend/nest.h": "", "backend/nest.c": '#include "backend/range.h"\n'},
        "backend/nest backend/range: a header and its source taken together, include one another in a circle",
    ),
    "circle of symbols": (
        {"backend/range.c": "int nest(void);\nint range(void) { return nest(); }\n",
         "backend/nest.c": "int range(void);\nint nest(void) { return range(); }\n"},
        "backend/nest backend/range: use symbols of one another in a circle",
    ),
}  # fmt: skip


# In a copy of our tree, all at once: a line that is added to a file, and what the check says of it.
SEEDS = {
    "raw mask as a number": (
        "midend/midend_round.c",
        "static unsigned in_list(unsigned link) { return (link & 0x7f000000u) >> 24; }",
        "types POSITION_MASK as a number",
    ),
    "raw mask by name": (
        "core/fork.c",
        "static unsigned trace(unsigned word) { return word & LEAF_TRACE_HERE; }",
        "names bits of a word",
    ),
    "raw word": (
        "hardened/regions.c",
        "static unsigned shifted(struct leaf_word leaf) { return leaf.raw >> 28; }",
        "names the raw word",
    ),
    "upward include by a header": ("backend/knit.h", '#include "midend/midend.h"', "which is above it"),
    "upward include by a source": ("frontend/pool.c", '#include "core/route.h"', "which is above it"),
    "upward include by brackets": ("backend/weights.h", "#include <midend/midend.h>", "not of the form"),
    "upward include by a folder": ("backend/knit.c", '#include "../frontend/heap.h"', "not of the form"),
    "upward include by a macro": ("backend/nest.c", "#include ABOVE", "cannot follow"),
    "upward include behind a comment": (
        "backend/watermark.c",
        '#include /* x */ "core/route.h"',
        "which is above it",
    ),
    "upward include on two lines": ("backend/headroom.c", '#include \\\n"core/fork.h"', "which is above it"),
    "system header in a tier": ("backend/root.c", "#include <dlfcn.h>", "for the platform layer only"),
    "hardened/ from below": ("midend/mid_slab.c", '#include "hardened/secret.h"', "which is above it"),
    "hardened/ from above": ("api/malloc.c", '#include "hardened/secret.h"', "for hardened/ and api/serve.h only"),
    "circle of two headers": (
        "config/geometry.h",
        '#include "config/policy.h"',
        "config/geometry.h config/policy.h: include one another in a circle",
    ),
    "circle by a source": (
        "hardened/secret.c",
        '#include "hardened/trailer.h"',
        "hardened/secret hardened/trailer: a header and its source taken together, include one another in a circle",
    ),
}


def said(compiler: str, directory: Path, files: dict[str, str]) -> tuple[int, str]:
    for name, text in files.items():
        path = directory / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for path in sorted(directory.rglob("*.c")):
        result = directory / "objects/src" / f"{path.relative_to(directory / 'src')}.o"
        result.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([compiler, "-O1", "-c", f"-I{directory / 'src'}", path, "-o", result], check=True)
    command = [sys.executable, "-B", CHECK, "--source", directory / "src", directory / "objects"]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def said_of_copy(seeds: dict[str, str]) -> str:
    with tempfile.TemporaryDirectory() as directory:
        source = Path(directory) / "src"
        shutil.copytree(ROOT / "src", source)
        for file, line in seeds.items():
            with (source / file).open("a") as end:
                end.write(f"\n{line}\n")
        command = [sys.executable, "-B", CHECK, "--source", source]
        return subprocess.run(command, capture_output=True, text=True).stdout


def unnoticed() -> list[str]:
    """Seeds in our tree that no line tells, with their file; and what is said of the tree without them."""
    told = said_of_copy({file: line for file, line, _ in SEEDS.values()}).splitlines()
    bad = [
        f"{name}: not noticed"
        for name, (file, _, finding) in SEEDS.items()
        if not any(line == finding or (line.startswith(f"src/{file}:") and finding in line) for line in told)
    ]
    return bad + said_of_copy({}).splitlines()


def main() -> int:
    compiler, bad = sys.argv[1], 0
    cases = {"no mistake": ({}, None), **MISTAKES}
    for name, (files, finding) in cases.items():
        with tempfile.TemporaryDirectory() as directory:
            status, text = said(compiler, Path(directory), {**GOOD, **files})
        right = status == 0 and not text if finding is None else status == 1 and finding in text
        print(f"{name}: {'as expected' if right else 'WRONG'}: {text.strip()}")
        bad += not right
    for complaint in unnoticed():
        print(f"our tree: WRONG: {complaint}")
        bad += 1
    return 1 if bad else 0


sys.exit(main())

#!/usr/bin/env python3
"""seeded.py MISTAKE COMPILER PROGRAM [ARGUMENT...] - a test of a test: with the mistake in, the program must fail.

The mistake is a replacement in the source, whose text must stand there once; the library built from it is preloaded.
`locks` is no change but another allocator: the system's, which has locks.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
FLAGS = (
    "-std=gnu11 -O1 -g -fPIC -shared -pthread -fvisibility=hidden -ftls-model=initial-exec -fno-stack-protector "
    "-fno-builtin-malloc -fno-builtin-calloc -fno-builtin-realloc -fno-builtin-free -fno-semantic-interposition "
    "-DJW_OVERRIDE=1 -Wl,-z,nodelete"
).split()


class Mistake(NamedTuple):
    file: str
    old: str
    new: str
    finding: str  # what the program must print
    secure: bool = False  # in the hardened build
    checked: bool = False  # in the checked one


MISTAKES = {
    "locks": Mistake("", "", "", "a hang"),
    "waits": Mistake(
        "backend/nest.c",
        "    if (!list_try_lock(class, &first)) return false;\n    set_previous(range, 0);\n",
        "    while (!list_try_lock(class, &first)) {}\n    set_previous(range, 0);\n",
        "a hang: the others run in circles",
    ),
    "left": Mistake(
        "backend/thrift_buffers.c",
        "cached > watermark_renew());",
        "cached > watermark_renew()) && reclaimer_state() != RUNNING;",
        "above the watermark",
    ),
    "dirty": Mistake(
        "platform/linux_pages.c", "MADV_DONTNEED) == 0;", "MADV_DONTNEED) <= 0;", "CHECK failed: bytes_are_zero"
    ),
    "unkept": Mistake(
        "platform/deferred_unmap.c",
        "    pointer_stack_push(&refused_mappings, &mapping->link, &mapping->link);\n",
        "",
        "CHECK failed: back",
    ),
    "stays": Mistake(
        "backend/ownership.c",
        "    note_rollback(); /* the next round tries again */\n",
        "",
        "CHECK failed: back",
    ),
    "leak": Mistake("backend/slab_source.h", "    else backend_place_known(range, weight);\n", "", "CHECK failed: "),
    "short": Mistake(
        "core/realloc.c",
        "memcpy(new, object, length);",
        "memcpy(new, object, length - 1);",
        "CHECK failed: pattern_holds",
    ),
    # Misuse that goes unseen, or is told wrongly (tests/death).
    "lists": Mistake(
        "core/free_suspect.c",
        "if (heap_search_lists(heap, object)) misuse(DOUBLE_FREE, object, 0);",
        "",
        "WRONG",
    ),
    "handed": Mistake(
        "frontend/heap_collect.c", "    if (heap_has_suspects(heap)) heap_settle_suspects(heap);\n", "", "WRONG"
    ),
    "forged": Mistake(
        "frontend/slab_links.c",
        "    if (JW_LINK_CHECK && UNLIKELY(!may_lead(object, distance))) misuse(WRITE_AFTER_FREE, object, 0);\n",
        "",
        "WRONG",
    ),
    "forged_mid": Mistake(
        "midend/mid_cache.h",
        "    if (UNLIKELY(!cached_may_lead_fast(next, cache->class_plus_1))) misuse(WRITE_AFTER_FREE, object, 0);\n",
        "",
        "WRONG",
    ),
    "bit": Mistake("midend/mid_word.c", "        if (mid_has_free(*word, bit)) return false;\n", "", "WRONG"),
    "trace": Mistake("backend/large_object.c", "if (weight > 1) leaf_set(", "if (weight == 0) leaf_set(", "WRONG"),
    "gone": Mistake("backend/huge.c", "&word, huge_word_with_gone(word)", "&word, 0", "WRONG"),
    "owner": Mistake("frontend/heap_lifecycle.c", "    heap_note_thread();\n", "", "WRONG"),
    "size": Mistake("core/sized.c", " && !has_size(&found, alignment, size))", " && false)", "WRONG"),
    "class": Mistake(
        "core/sized.c",
        "size_class_serves(slab->class, size);\n    if (LIKELY(right && !slab",
        "true;\n    if (LIKELY(right && !slab",
        "WRONG",
    ),
    "alignment": Mistake("core/sized.c", "if (((uintptr_t)object | alignment) &", "if (0 &", "WRONG"),
    "shrunk": Mistake("core/sized.c", " || was_shrunk(found, size)", "", "WRONG"),
    "fill": Mistake("platform/fill.h", "    misuse(WRITE_AFTER_FREE, object, from);\n", "", "WRONG", checked=True),
}


def build(mistake: Mistake, compiler: str, directory: str) -> str:
    copy = Path(directory) / "src"
    shutil.copytree(ROOT / "src", copy, ignore=shutil.ignore_patterns("sim*"))
    text = (copy / mistake.file).read_text()
    if text.count(mistake.old) != 1:
        raise SystemExit(f"{mistake.file}: the text to be replaced stands there {text.count(mistake.old)} times")
    (copy / mistake.file).write_text(text.replace(mistake.old, mistake.new))
    library = f"{directory}/libseeded.so"
    hardening = {*(copy / "hardened").iterdir(), copy / "platform/linux_tags.c", copy / "platform/random.c"}
    sources = [path for path in copy.rglob("*.c") if mistake.secure or path not in hardening]
    flags = [*FLAGS, f"-DJW_SECURE={int(mistake.secure)}", f"-DJW_CHECKED={int(mistake.checked)}"]
    subprocess.run([compiler, *flags, f"-I{copy}", f"-I{ROOT / 'include'}", *sources, "-o", library], check=True)
    return library


def main() -> int:
    mistake, compiler, command = MISTAKES[sys.argv[1]], sys.argv[2], sys.argv[3:]
    with tempfile.TemporaryDirectory() as directory:
        environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        if mistake.file:
            environment["LD_PRELOAD"] = build(mistake, compiler, directory)
        done = subprocess.run(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        )
    print(done.stdout)
    if done.returncode == 77:
        return 77
    found = done.returncode != 0 and mistake.finding in done.stdout
    print(f"{'found' if found else 'NOT FOUND'}: {mistake.finding}")
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main())

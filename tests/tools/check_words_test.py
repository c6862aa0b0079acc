"""check_words_test.py - a test of ./jw check layers: a raw word, a table or a mask outside its header is found,
and a shared word that changes outside its owner's files."""

import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import check_words  # noqa: E402

SEEDS = {
    "backend/knit.c": ("static uint32_t bits(struct range_link link) { return link.raw; }", "names the raw word"),
    "midend/midend.c": ("static bool held(struct mid_state *state) { return state->raw >> 31; }", "names the raw word"),
    "backend/ownership.c": (
        "static uint32_t word(granule_id id) { return page_map.link[id]; }",
        "names a table of words",
    ),
    "frontend/heap.c": ("static uint32_t next(uint32_t word) { return word & 0x00ffffffu; }", "types ALL_CODES"),
    "frontend/remote_reclaim.c": (
        "static bool marked(struct slab *slab) { return slab->cross.raw >> 31; }",
        "names the raw word",
    ),
    "frontend/suspect.c": ("static uint32_t full(uint32_t word) { return word & CROSS_FULL; }", "names bits"),
    "backend/huge.c": ("static bool gone(uintptr_t word) { return word & HUGE_GONE; }", "names bits"),
    "core/describe.c": ("static bool gone(uintptr_t word) { return word & SLOT_GONE; }", "names bits"),
    "backend/page_map_slots.c": (
        "static bool held(uintptr_t word) { return !(word & SLOT_DISOWNED); }",
        "names bits",
    ),
    "backend/range_cache.c": ("static bool is_old(uint32_t word) { return word & RANGE_CACHE_OLD; }", "names bits"),
    "backend/root.c": ("static granule_id first(granule_id id) { return id & ~(ROOT_GRANULES - 1); }", "names bits"),
    "frontend/heap_table.h": (
        "static uint32_t low(uintptr_t key) { return (uint32_t)key & ((1u << KEY_NUMBER_BITS) - 1); }",
        "names bits",
    ),
    "midend/mid_cache.h": (
        "static uint64_t link(const void *object) { return *(const link_word *)object; }",
        "names bits",
    ),
    "hardened/quarantine.c": (
        "static uint64_t size(struct quarantine_entry entry) { return entry.raw >> 48; }",
        "names the raw word",
    ),
    "backend/thrift_buffers.c": (
        "static uint32_t place(uint32_t word) { return word & 0x7f000000u; }",
        "types POSITION_MASK",
    ),
    "backend/thrift_rounds.c": (
        "static void end(void) { atomic_store_explicit(&reclaimer->state, NO_THREAD, memory_order_release); }",
        "changes a word of reclaimer->",
    ),
    "backend/mapping_cache.c": (
        "static void swap(void) {\n    atomic_fetch_xor_explicit(\n        &ownership.active, 1, relaxed);\n}",
        "changes a word of ownership.",
    ),
    "core/route.c": ("static void swap(void) { ownership.active ^= 1; }", "changes a word of ownership."),
    "backend/backend.c": (
        "static void later(granule_id range) { id_stack_push(&ownership.deferred, range, range_set_next); }",
        "changes a word of ownership.",
    ),
    "core/fork.c": (
        "static void count(void) { atomic_fetch_add(&thrift_counters.huge_bytes, 1); }",
        "changes a word of thrift_counters.",
    ),
}
# A mask that names neither the raw word nor one of its bits.
MASKS = [
    ("core/object_size.c", "static bool a(granule_id id) { return mid_word_at(id) & (1u << 31); }"),
    ("backend/headroom.c", "static uint32_t a(uint32_t copy) { return copy >> 28; }"),
    ("statistics/statistics.c", "static bool a(uintptr_t word) { return word & 2; }"),
    ("backend/root.c", "static uint32_t a(struct node_word *n) { return *(uint32_t *)n & 16777215; }"),
    ("backend/watermark.c", "static uint32_t a(uint32_t word) { return word & 0X7F000000U; }"),
    ("frontend/suspect.c", "static uint32_t a(uint32_t key) { return key & 0x1ffff; }"),
    ("frontend/heap_lifecycle.c", "static uint64_t a(struct versioned_stack *s) { return s->word >> 32; }"),
    ("frontend/pool.c", "static uint64_t a(void *o, uint64_t key) { return *(uint64_t *)o ^ key; }"),
    ("core/realloc.c", "static uint32_t a(uint32_t word) { return ~word; }"),
    ("api/mallopt.c", "static uint32_t a(uint32_t word) { return word | 8; }"),
    ("frontend/heap_refill.c", "static struct cross_word a(void) { return (struct cross_word){5}; }"),
    ("backend/thrift.h", "static uint32_t a(struct leaf_word leaf) { return leaf. raw; }"),
    ("core/zeroed.c", "static struct leaf_word a(void) { struct leaf_word w = {5}; return w; }"),
    ("core/aligned.c", "static uint32_t a(uint32_t word) {\n    return word &\n           12;\n}"),
    ("core/start.c", "static void a(unsigned n) { ownership.nests[n + 1].first = 0; }"),
]
RENAMED = {
    "backend/slot_word.h": ("SLOT_DISOWNED", "SLOT_LEAVING"),
    "frontend/cross_list.h": ("CROSS_", "REMOTE_"),
    "backend/page_map.h": ("page_map.node", "page_map.tree"),
    "backend/reclaimer_words.c": ("reclaimer->", "thread->"),
    "backend/range_link.h": (".raw", ".bits"),
}
READING = "static bool runs(void) { return atomic_load(&reclaimer->state) == RUNNING && ownership.active == 1; }"
COMMENT = "/* .raw, page_map.link and 0x7f000000u in a comment */"


def found_after(seed: str, file: str) -> list[str]:
    with tempfile.TemporaryDirectory() as directory:
        source = Path(directory) / "src"
        shutil.copytree(ROOT / "src", source)
        with (source / file).open("a") as end:
            end.write(f"\n{seed}\n")
        return check_words.complaints(source, Path(file).name)


def unnoticed_renames() -> list[str]:
    """Files in which a guarded word got another name in a copy, and the check did not say so."""
    found = []
    for file, (before, after) in RENAMED.items():
        with tempfile.TemporaryDirectory() as directory:
            source = Path(directory) / "src"
            shutil.copytree(ROOT / "src", source)
            for path in source.rglob("*.[ch]"):
                path.write_text(path.read_text().replace(before, after))
            said = [line for line in check_words.stale(source) if line.startswith(f"src/{file}: has no ")]
            found += [] if said else [file]
    return found


def main() -> int:
    clean = check_words.complaints(ROOT / "src") + check_words.stale(ROOT / "src")
    if clean:
        print("\n".join(clean))
        return 1
    for file, (seed, text) in SEEDS.items():
        found = found_after(seed, file)
        if not any(text in line for line in found) or not all(f"src/{file}:" in line for line in found):
            print(f"{file}: {seed}: found {found}")
            return 1
    missed = [seed for file, seed in MASKS if not any(f"src/{file}:" in line for line in found_after(seed, file))]
    if missed:
        print("not found:", *missed, sep="\n")
        return 1
    if unnoticed_renames():
        print("not noticed:", *unnoticed_renames())
        return 1
    return 1 if found_after(COMMENT, "backend/knit.c") or found_after(READING, "backend/huge.c") else 0


sys.exit(main())

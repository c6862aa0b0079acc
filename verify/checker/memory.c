/* memory.c - the client's memory: where it lies, and how it gets back to its first state before each run.
 *
 * The engine is a shared library and the client the executable, linked at a fixed address, so [begin, end) of the
 * executable's data is exactly the client's globals. Addresses of stacks, thread-local storage and heap blocks are
 * fixed, too: each is a function of what its thread did.
 *
 * Only pages that instrumented code wrote are put back. Should other code (libc) write into the data, the first run
 * shows it, and from then on everything is put back.
 */
#include "engine.h"

#include <string.h>
#include <sys/mman.h>

uint64_t data_begin, data_end, image_begin;
uint8_t *data_dirty;

static uint8_t *saved;
static size_t pages;
static enum { UNTRIED, TRACKED, EVERYTHING } how;

void *memory_map(uint64_t at, size_t size, bool shared_with_children) {
    int flags = MAP_ANONYMOUS | MAP_NORESERVE | (shared_with_children ? MAP_SHARED : MAP_PRIVATE);
    if (at) flags |= MAP_FIXED_NOREPLACE;
    void *got = mmap((void *)at, size, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (got == MAP_FAILED || (at && got != (void *)at)) stop_unable("no memory for %zu bytes", size);
    return got;
}

void memory_start(char *const bounds[3]) {
    image_begin = (uint64_t)bounds[0];
    data_begin = (uint64_t)bounds[1] & ~(uint64_t)7;
    data_end = (uint64_t)bounds[2];
    pages = ((data_end - data_begin) >> DATA_PAGE_SHIFT) + 1;
    saved = memory_map(0, data_end - data_begin + 1, false);
    memcpy(saved, (void *)data_begin, data_end - data_begin);
    data_dirty = memory_map(0, pages, false);
    memory_map(ARENA, ARENA_END - ARENA, false);
}

static void restore_page(size_t page) {
    size_t from = page << DATA_PAGE_SHIFT, size = data_end - data_begin;
    size_t length = size - from < (size_t)1 << DATA_PAGE_SHIFT ? size - from : (size_t)1 << DATA_PAGE_SHIFT;
    memcpy((uint8_t *)data_begin + from, saved + from, length);
    data_dirty[page] = 0;
}

void memory_restore(void) {
    static unsigned runs;
    for (size_t page = 0; page < pages; page++)
        if (data_dirty[page] || how == EVERYTHING) restore_page(page);
    if (how != UNTRIED || runs++ == 0) return;
    how = memcmp((void *)data_begin, saved, data_end - data_begin) ? EVERYTHING : TRACKED;
    if (how == EVERYTHING) memory_restore();
}

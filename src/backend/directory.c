/* directory.c - the directory's tables of three levels: lookup, insertion of tables, search for the object before. */
#include "backend/directory.h"

#include "base/align.h"
#include "base/published.h"
#include "platform/fence.h"

enum {
    LAST_SHIFT = JW_DIRECTORY_SHIFT,
    MIDDLE_SHIFT = JW_DIRECTORY_MIDDLE_SHIFT,
    LAST_WORDS = 1 << (LAST_SHIFT - JW_GRANULE_SHIFT),
    MIDDLE_TABLES = 1 << (MIDDLE_SHIFT - LAST_SHIFT),
    TOP_TABLES = 1 << (JW_ADDRESS_BITS - MIDDLE_SHIFT)
};

struct last {
    huge_word words[LAST_WORDS];
};

struct middle {
    _Atomic(void *) tables[MIDDLE_TABLES];
};

struct directory directory;
PUBLISHED(directory);

/* Takes 64 bits on every processor: where MIDDLE_SHIFT is 32, an address of 32 bits cannot be shifted by it. */
static size_t top_of(uint64_t address) {
    return (size_t)(address >> MIDDLE_SHIFT);
}

static size_t middle_of(uint64_t address) {
    return (size_t)(address >> LAST_SHIFT) % MIDDLE_TABLES;
}

static size_t last_of(uint64_t address) {
    return (size_t)(address >> JW_GRANULE_SHIFT) % LAST_WORDS;
}

static void *load_table(_Atomic(void *) *entry) {
    /* [HD1] acquire: the table's zeros; pairs [HD2]; client directory_tables */
    return atomic_load_explicit(entry, memory_order_acquire);
}

static void *made_table(_Atomic(void *) *entry, size_t size) {
    void *known = load_table(entry);
    if (known) return known;
    size = align_up(size, platform_page_size());
    void *made = fenced_reserve(size, "jwmalloc: directory");
    if (!made) return load_table(entry);
    /* [HD2] release: the zeros of the table, whose memory may be used memory; pairs [HD1]; client directory_tables */
    if (atomic_compare_exchange_strong_explicit(entry, &known, made, memory_order_release, memory_order_relaxed))
        return made;
    fenced_unmap(made, size);
    return load_table(entry);
}

static struct middle *middle_table(uint64_t address) {
    return top_of(address) < TOP_TABLES ? load_table(&directory.top[top_of(address)]) : NULL;
}

static struct last *last_table(uint64_t address) {
    struct middle *middle = middle_table(address);
    return middle ? load_table(&middle->tables[middle_of(address)]) : NULL;
}

huge_word *directory_make_word(const void *object) {
    uint64_t address = (uintptr_t)object;
    if (top_of(address) >= TOP_TABLES) return NULL;
    struct middle *middle = made_table(&directory.top[top_of(address)], sizeof *middle);
    if (!middle) return NULL;
    struct last *last = made_table(&middle->tables[middle_of(address)], sizeof *last);
    return last ? &last->words[last_of(address)] : NULL;
}

huge_word *directory_word(const void *object) {
    return &last_table((uintptr_t)object)->words[last_of((uintptr_t)object)];
}

uintptr_t directory_get(const void *object) {
    struct last *last = last_table((uintptr_t)object);
    if (!last || (uintptr_t)object & (GRANULE_SIZE - 1)) return 0;
    return atomic_load_explicit(&last->words[last_of((uintptr_t)object)], memory_order_relaxed);
}

/* The last address before the aligned block of 2^shift bytes that contains the address. */
static uint64_t address_before(uint64_t address, unsigned shift) {
    return (address >> shift << shift) - 1;
}

char *directory_before(const void *object, bool gone, uintptr_t *word) {
    uint64_t at = (uintptr_t)object;
    if (top_of(at) >= TOP_TABLES) return NULL;
    for (; at != UINT64_MAX;) {
        struct last *last = last_table(at);
        if (!last) {
            at = address_before(at, middle_table(at) ? LAST_SHIFT : MIDDLE_SHIFT);
            continue;
        }
        *word = atomic_load_explicit(&last->words[last_of(at)], memory_order_relaxed);
        // NOLINTNEXTLINE(performance-no-int-to-ptr)
        if (*word && gone == huge_word_is_gone(*word)) return (char *)align_down((uintptr_t)at, GRANULE_SIZE);
        at = address_before(at, JW_GRANULE_SHIFT);
    }
    return NULL;
}

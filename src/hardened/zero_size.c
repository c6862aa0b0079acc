/* zero_size.c - the addresses of objects of size 0 (zero_size.h). */
#include "hardened/zero_size.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/align.h"
#include "config/policy.h"
#include "platform/misuse.h"
#include "platform/platform.h"
#include "platform/random.h"

enum { ZERO_UNIT = 16, ZERO_WORD_BITS = 32, ZERO_WORDS = JW_ZERO_SIZE_OBJECTS / ZERO_WORD_BITS };

static uintptr_t zero_region; /* 0: there is none */
static _Atomic(uint32_t) zero_bits[ZERO_WORDS];

void zero_size_start(void) {
    size_t size = (size_t)JW_ZERO_SIZE_OBJECTS * ZERO_UNIT;
    char *region = (char *)platform_reserve(size, platform_page_size(), "jwmalloc: zero size");
    if (region && platform_protect(region, size, false)) zero_region = (uintptr_t)region;
    else if (region) platform_unmap(region, size);
}

/* The region begins at a page: its addresses are aligned to no more. */
void *zero_size_allocate(size_t alignment) {
    if (!zero_region || alignment > platform_page_size()) return NULL;
    uint32_t units = (uint32_t)align_up(alignment, ZERO_UNIT) / ZERO_UNIT; /* from one possible address to the next */
    uint32_t words = (uint32_t)align_up(units, ZERO_WORD_BITS) / ZERO_WORD_BITS;
    uint32_t first = random_less(ZERO_WORDS), chosen = random_less(ZERO_WORD_BITS);
    for (uint32_t i = 0; i < ZERO_SIZE_TRIES; i++) {
        uint32_t word = align_down(first + i * words, words) % ZERO_WORDS;
        for (uint32_t j = 0; j < ZERO_WORD_BITS; j++) {
            uint32_t index = (chosen + j) % ZERO_WORD_BITS, bit = (uint32_t)1 << index;
            if (index % units != 0) continue;
            if (atomic_load_explicit(&zero_bits[word], memory_order_relaxed) & bit) continue;
            /* [ZS1] acquire: what the thread that freed the address did before; pairs [ZS2]; client zero_size */
            if (atomic_fetch_or_explicit(&zero_bits[word], bit, memory_order_acquire) & bit) continue;
            return (void *)(zero_region + ((uintptr_t)word * ZERO_WORD_BITS + index) * ZERO_UNIT); // NOLINT
        }
    }
    return NULL;
}

bool zero_size_owns(const void *address) {
    return zero_region && (uintptr_t)address - zero_region < (uintptr_t)JW_ZERO_SIZE_OBJECTS * ZERO_UNIT;
}

/* Returns the number of the address. Reports an address at which no object begins. */
static uint32_t zero_index(const void *address) {
    uintptr_t offset = (uintptr_t)address - zero_region;
    if (offset % ZERO_UNIT != 0) misuse(INVALID_POINTER, address, 0);
    return (uint32_t)(offset / ZERO_UNIT);
}

void zero_size_free(const void *address) {
    uint32_t index = zero_index(address), bit = (uint32_t)1 << index % ZERO_WORD_BITS;
    /* [ZS2] release: pairs [ZS1]; client zero_size */
    uint32_t before = atomic_fetch_and_explicit(&zero_bits[index / ZERO_WORD_BITS], ~bit, memory_order_release);
    if (!(before & bit)) misuse(DOUBLE_FREE, address, 0);
}

void zero_size_check(const void *address) {
    uint32_t index = zero_index(address), bit = (uint32_t)1 << index % ZERO_WORD_BITS;
    if (!(atomic_load_explicit(&zero_bits[index / ZERO_WORD_BITS], memory_order_relaxed) & bit))
        misuse(INVALID_POINTER, address, 0);
}

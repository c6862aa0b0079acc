/* quarantine.c - the ring of a heap's quarantine: clearing or filling objects, and checking them when they leave. */
#include "hardened/quarantine.h"

#include <string.h>

#include "base/misuse.h"
#include "config/options.h"
#include "config/policy.h"
#include "core/allocator.h"
#include "hardened/trailer.h"
#include "platform/fence.h"

/* The ring has an entry for so many bytes of the limit. If the objects are smaller on average, some leave early. */
enum { BYTES_PER_ENTRY = 64, LEAST_ENTRIES = 64 };

struct quarantine {
    size_t limit, bytes; /* the option's value when the ring was made; bytes of the objects in it */
    uint32_t entries, first, count;
    uint8_t fill; /* of the objects in it */
    char *ring[];
};

static size_t size_for(uint32_t entries) {
    size_t page = platform_page_size(), size = sizeof(struct quarantine) + entries * sizeof(char *);
    return (size + page - 1) & ~(page - 1);
}

static struct quarantine *make(size_t limit, uint8_t fill) {
    size_t wanted = limit / BYTES_PER_ENTRY;
    uint32_t entries = LEAST_ENTRIES;
    while (entries < wanted) entries *= 2;
    struct quarantine *made = (struct quarantine *)fenced_reserve(size_for(entries), "jwmalloc: quarantine");
    if (!made) return NULL;
    made->limit = limit;
    made->entries = entries;
    made->fill = fill;
    return made;
}

/* The calling thread's quarantine, made for the present options. NULL: not wanted, or no memory. */
static struct quarantine *current(uint8_t fill) {
    if (thread.heap == &no_heap && (heap_thread_has_ended() || !heap_attach())) return NULL;
    struct heap *heap = thread.heap;
    size_t limit = option(&options.quarantine);
    struct quarantine *old = heap->quarantine;
    if (LIKELY(old && old->limit == limit && old->fill == fill)) return old;
    quarantine_leave(heap);
    return limit ? heap->quarantine = make(limit, fill) : NULL;
}

static size_t checked(size_t slot) {
    size_t size = slot - TRAILER_SIZE;
    return size < CHECKED_MOST ? size : CHECKED_MOST;
}

/* Gives the object to the allocator. Reports if the program wrote to it after its free. */
static void leave(char *object, size_t slot, uint8_t fill) {
    struct trailer trailer;
    size_t left = fill_left(object, checked(slot), fill);
    if (UNLIKELY(left != checked(slot))) misuse(WRITE_AFTER_FREE, object, left);
    uint64_t word = atomic_load_explicit(trailer_of(object, slot), memory_order_relaxed);
    if (UNLIKELY(trailer_read(object, word, &trailer) != FREED)) misuse(WRITE_AFTER_FREE, object, slot - TRAILER_SIZE);
    deallocate(object);
}

static void leave_first(struct quarantine *quarantine) {
    char *object = quarantine->ring[quarantine->first];
    size_t slot = object_size(object);
    quarantine->first = (quarantine->first + 1) & (quarantine->entries - 1);
    quarantine->count--;
    quarantine->bytes -= slot;
    leave(object, slot, quarantine->fill);
}

/* Zeroes an object up to its trailer. The pages of a huge one go back to the OS if it takes them: the program may never
 * have touched most of them. */
static void clear(char *object, size_t slot) {
    size_t discarded = 0;
    if (UNLIKELY(slot > BACKEND_MAX)) {
        discarded = (slot - TRAILER_SIZE) & ~(platform_page_size() - 1);
        if (!platform_discard(object, discarded)) discarded = 0;
    }
    memset(object + discarded, 0, slot - TRAILER_SIZE - discarded);
}

void quarantine_push(char *object, size_t slot) {
    bool clears = option(&options.zero_on_free);
    struct quarantine *quarantine = current(clears ? 0 : secrets.fill);
    bool waits = quarantine && slot <= quarantine->limit / QUARANTINE_PART;
    if (clears && (waits || slot <= BACKEND_MAX)) clear(object, slot); /* a huge one that passes by is unmapped */
    if (!waits) {
        deallocate(object);
        return;
    }
    if (!clears) memset(object, quarantine->fill, checked(slot));
    while (quarantine->count == quarantine->entries || quarantine->bytes + slot > quarantine->limit)
        leave_first(quarantine);
    quarantine->ring[(quarantine->first + quarantine->count) & (quarantine->entries - 1)] = object;
    quarantine->count++;
    quarantine->bytes += slot;
}

void quarantine_leave(struct heap *heap) {
    struct quarantine *quarantine = heap->quarantine;
    if (!quarantine) return;
    while (quarantine->count > 0) leave_first(quarantine);
    heap->quarantine = NULL;
    fenced_release(quarantine, size_for(quarantine->entries));
}

/* open.c - checks an object that is in no slab of the frontend (open.h). */
#include "hardened/open.h"

#include "core/allocator.h"

/* Size of the slot in use at the address; 0: there is none. */
static ALWAYS_INLINE size_t slot_elsewhere(const char *object, enum object_tier *tier) {
    struct leaf_word leaf = leaf_of(object);
    bool ours = page_map_owns(object);
    bool mid = ours && object_kind(object, leaf) == MID;
    *tier = ours && leaf_is_slab(leaf) ? IN_SLAB : mid ? IN_MID_SLAB : WITH_PAGES;
    return *tier == IN_SLAB ? 0 : size_if_live(object);
}

bool open_elsewhere(const void *pointer, struct opened *opened, enum misuse freed) {
    opened->object = (char *)with_tag(pointer, 0);
    opened->slot = slot_elsewhere(opened->object, &opened->tier);
    if (UNLIKELY(opened->slot == 0)) return false;
    check_in_use(pointer, opened, freed, keyed_way());
    return true;
}

/* Looks again for what is wrong: another thread may have repaired it meanwhile. */
LAST_STEP void free_refused(const void *pointer, size_t slot) {
    struct opened opened = {.object = (char *)with_tag(pointer, 0), .slot = slot, .tier = IN_SLAB};
    check_neighbour(opened.object, slot);
    check_in_use(pointer, &opened, DOUBLE_FREE, keyed_way());
    misuse(OVERFLOW, opened.object, slot - TRAILER_SIZE);
}

LAST_STEP void free_overflowed(const char *object, size_t size, size_t slack) {
    report_overflow(object, size, slack);
}

LAST_STEP void *slot_refused(const char *object, size_t slot, bool cleared) {
    if (cleared) check_zero(object, slot);
    misuse(WRITE_AFTER_FREE, object, slot - TRAILER_SIZE);
}

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
    check_in_use(pointer, opened, freed, keyed_way(), address_byte(opened->object));
    return true;
}

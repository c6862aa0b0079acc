/* sealed.h - sealed roots: no page of a root that existed at a seal is allocated from or written to any more, by this
 * process and by the children that it forks. docs/protocols/seal.md.
 *
 *   before the seal              after it
 *   a root, with its words       stays claimed, but page_map_owns() is false: no list, heap, count or walk has it
 *   a slab's record              key 0: free takes its slow path
 *   leaf of what has objects     SEALED: their tier and size. Other leaves stay
 *   the root's word              | address of the root's bitmap, shifted |
 *
 *   bitmap   a bit for each 8 bytes of the root: an object in use begins there. The seal sets the bits while the
 *            process has one thread. A free clears its bit by one fetch_and, relaxed: nothing is used again, so nothing
 *            else passes from one thread to another. Of two frees of one object, one finds the bit clear, and is
 *            reported. Client sealed_free_twice
 *
 * Huge objects have mappings of their own and are not sealed. The hardened build has no seal. Threads: any, but for
 * jw_seal. Progress: wait-free, but for jw_seal.
 */
#ifndef JW_SEALED_H
#define JW_SEALED_H

#include <stdbool.h>
#include <stddef.h>

#include "backend/page_map.h"
#include "config/size_classes.h"
#include "platform/misuse.h"

/* SHIFT: so that an address fits in 32 bits; then UNIT is its alignment. */
enum { SEALED_BITS = 32, BITMAP_SHIFT = JW_ADDRESS_BITS > 32 ? JW_ADDRESS_BITS - 32 : 0 };
#define SEALED_BITMAP_UNIT (BITMAP_SHIFT > 0 ? (size_t)1 << BITMAP_SHIFT : GRANULE_SIZE)
#define SEALED_BITMAP_BYTES (ROOT_SIZE / SMALLEST_OBJECT / 8)
#define SEALED_BITMAP_SIZE ((SEALED_BITMAP_BYTES + SEALED_BITMAP_UNIT - 1) / SEALED_BITMAP_UNIT * SEALED_BITMAP_UNIT)

/* Gives a root its bitmap, of SEALED_BITMAP_SIZE zero bytes. */
static inline void sealed_give_bitmap(granule_id root, uintptr_t bitmap) {
    atomic_store_explicit(root_word_at(root), (uint32_t)(bitmap >> BITMAP_SHIFT), memory_order_relaxed);
}

/* Notes an object in use in a root that has its bitmap: an iterate_function, by a thread that is alone. */
void sealed_note(uintptr_t object, size_t size, void *unused);

/* Frees an object of a sealed root. False: no object in use begins at the address in such a root. */
wide_bool sealed_free(void *object);

/* Usable bytes of an object of a sealed root; 0: as above. */
size_t sealed_size(const void *object);

/* Describes an address in a sealed root. */
void sealed_describe(const void *address, struct found *found);

/* Bytes of the objects in use in sealed roots. */
size_t sealed_bytes(void);

#endif

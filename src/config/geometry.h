/* geometry.h - the sizes that shape every structure, each in one place with its reason. policy.h has the numbers that
 * could be others without a change to any structure.
 *
 * Shifts come first and sizes follow from them. All can be set from outside (-DJW_...), so that a model-checking client
 * can shrink them without touching the logic. A root of 8 granules of 256 B is a normal configuration.
 */
#ifndef JW_GEOMETRY_H
#define JW_GEOMETRY_H

#include <stddef.h>
#include <stdint.h>

#include "base/mitigations.h"

/* A granule is the unit of the backend and the size of a frontend slab: one OS page of the most common kernels. */
#ifndef JW_GRANULE_SHIFT
#define JW_GRANULE_SHIFT 12
#endif

/* The backend takes memory from the OS in roots; a root is also the largest range. */
#ifndef JW_ROOT_SHIFT
#define JW_ROOT_SHIFT 22
#endif

/* The window: these low address bits tell roots apart (backend/page_map.h). 64 GB of ranges are more than any phone
 * has. The tables cost only address space: 76 B for each granule, untouched until used. A smaller window is the whole
 * address space of 32 bits, or a test's. It does not grow, and large objects may have all of it. */
#define LARGE_WINDOW_SHIFT 36
#ifndef JW_WINDOW_SHIFT
#if UINTPTR_MAX > 0xffffffffu
#define JW_WINDOW_SHIFT LARGE_WINDOW_SHIFT
#else
#define JW_WINDOW_SHIFT 32
#endif
#endif

/* The tables cover a window of this size at first, and double in place up to JW_WINDOW_SHIFT. If the two are equal, the
 * tables are made at once. They begin small because limits of address space, data or locked memory count all that is
 * mapped, used or not. */
#ifndef JW_FIRST_WINDOW_SHIFT
#if JW_WINDOW_SHIFT >= LARGE_WINDOW_SHIFT
#define JW_FIRST_WINDOW_SHIFT (JW_GRANULE_SHIFT + 13)
#else
#define JW_FIRST_WINDOW_SHIFT JW_WINDOW_SHIFT
#endif
#endif

/* The directory of huge objects (backend/directory.h): bits of the addresses that a last table and a middle table
 * cover, and bits of an address. A last table has 256 KB of words for 128 MB; an object touches one page of it. */
#ifndef JW_DIRECTORY_SHIFT
#define JW_DIRECTORY_SHIFT 27
#endif
#ifndef JW_DIRECTORY_MIDDLE_SHIFT
#define JW_DIRECTORY_MIDDLE_SHIFT (UINTPTR_MAX > 0xffffffffu ? 38 : 32)
#endif
#ifndef JW_ADDRESS_BITS
#define JW_ADDRESS_BITS (UINTPTR_MAX > 0xffffffffu ? 48 : 32)
#endif

/* Slots of a Nest's bounded bitmap: one machine word of summary bits. */
#ifndef JW_NEST_SLOTS
#define JW_NEST_SLOTS (sizeof(uintptr_t) * 8)
#endif

/* Unit of the midend's size classes. */
#ifndef JW_MIDEND_UNIT_SHIFT
#define JW_MIDEND_UNIT_SHIFT 8
#endif

/* The frontend's data of a slab is in a table beside the slabs, one record for each granule. A record is one cache
 * line, so that free touches no other (frontend/slab.h). */
#define RECORD_SHIFT 6
#define RECORD_SIZE ((size_t)1 << RECORD_SHIFT)

#define GRANULE_SIZE ((size_t)1 << JW_GRANULE_SHIFT)

/* Bytes at the end of a slot that do not change while the slot is free: the hardened build's trailer. */
#define SLOT_TAIL (TRAILERS ? 8 : 0)
#define ROOT_SIZE ((size_t)1 << JW_ROOT_SHIFT)

/* A link to an object in the same block of this size is near (sync/free_link.h). Sixteen roots: with one, each fifth
 * malloc of a program that replaces objects of up to 1 KB met a far link, as cached objects of several roots stand in
 * one list. Each doubling takes one from the bits of the key that a forged link must have right. On 32 bits, and with
 * roots of other sizes, as clients and fuzzers have, the block is the root. */
#ifndef JW_NEAR_SHIFT
#define JW_NEAR_SHIFT (UINTPTR_MAX > 0xffffffffu && JW_ROOT_SHIFT == 22 ? 26 : JW_ROOT_SHIFT)
#endif
#define NEAR_SIZE ((size_t)1 << JW_NEAR_SHIFT)
#define ROOT_GRANULES (1u << (JW_ROOT_SHIFT - JW_GRANULE_SHIFT))

/* Requests of at least this many bytes get ranges. Four granules of 4 KB: for less, rounding up to granules would waste
 * over a quarter. With larger granules the midend's bound decides (sixteen classes, 28 objects in a slab). */
#ifndef JW_BACKEND_MIN_SHIFT
#define JW_BACKEND_MIN_SHIFT (JW_GRANULE_SHIFT == 12 ? 14 : JW_GRANULE_SHIFT == 14 ? 15 : 16)
#endif
#define BACKEND_MIN ((size_t)1 << JW_BACKEND_MIN_SHIFT)

/* Requests of more bytes than this get a mapping of their own. */
#define BACKEND_MAX ROOT_SIZE

/* The end of a large object's range that the program may not use: the hardened build's guard. */
#define LARGE_GUARD (GUARDED ? GRANULE_SIZE : 0)

_Static_assert(JW_GRANULE_SHIFT >= 8 && JW_GRANULE_SHIFT <= 16, "slab offsets must fit in 16 bits");
_Static_assert(ROOT_GRANULES >= 8, "a root must have room for an inner node of eight slots");
_Static_assert(JW_ROOT_SHIFT - JW_GRANULE_SHIFT <= 13, "the unit of a node must fit in four bits, 15 being taken");
_Static_assert(JW_WINDOW_SHIFT - JW_GRANULE_SHIFT <= 24, "a granule's number must fit in 24 bits of a record");
_Static_assert(JW_WINDOW_SHIFT > JW_ROOT_SHIFT, "the window must hold more than one root");

#endif

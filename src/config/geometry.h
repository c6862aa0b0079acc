/* geometry.h - the sizes that shape every structure, each in one place with its reason. policy.h has the numbers that
 * could be others without a change to any structure.
 *
 * Shifts come first and sizes follow from them. All can be set from outside (-DJW_...), so that a model-checking client
 * can shrink them without touching the logic: a root of 8 granules of 256 B is a normal configuration.
 */
#ifndef JW_GEOMETRY_H
#define JW_GEOMETRY_H

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* A granule is the unit of the backend and the size of a frontend slab: one OS page of the most common kernels. */
#ifndef JW_GRANULE_SHIFT
#define JW_GRANULE_SHIFT 12
#endif

/* A root is what the backend takes from the OS at a time, and the largest range it serves. */
#ifndef JW_ROOT_SHIFT
#define JW_ROOT_SHIFT 22
#endif

/* The window: roots are told apart by these low address bits (see backend/page_map.h). 64 GB of ranges
 * is more than any phone has; the tables behind it cost address space only: 76 B per granule, untouched until used. */
#ifndef JW_WINDOW_SHIFT
#if UINTPTR_MAX > 0xffffffffu
#define JW_WINDOW_SHIFT 36
#else
#define JW_WINDOW_SHIFT 32
#endif
#endif

/* What the tables cover at first; they double where they are, up to the window. Equal: all at once. A limit of the
 * address space, of data or of locked memory counts all that is mapped, used or not. */
#ifndef JW_FIRST_WINDOW_SHIFT
#if JW_WINDOW_SHIFT >= 36
#define JW_FIRST_WINDOW_SHIFT 25
#else
#define JW_FIRST_WINDOW_SHIFT JW_WINDOW_SHIFT
#endif
#endif

/* The directory of huge objects (backend/directory.h): addresses that a last table covers, and a middle one, and bits
 * of an address. 256 KB of words for 128 MB, of which an object touches a page. */
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

/* The midend's size classes count in this unit: sixteen to the frontend's largest object and more. */
#ifndef JW_MIDEND_UNIT_SHIFT
#define JW_MIDEND_UNIT_SHIFT 8
#endif

/* What the frontend keeps of a slab stands in a table beside the slabs, a record for each granule: one cache line, so
 * that free touches no other (frontend/slab.h). */
#define RECORD_SHIFT 6
#define RECORD_SIZE ((size_t)1 << RECORD_SHIFT)

#define GRANULE_SIZE ((size_t)1 << JW_GRANULE_SHIFT)

/* Bytes at the end of a slot that stay as they are while it is free: the hardened build's trailer. */
#define SLOT_TAIL (JW_SECURE ? 8 : 0)
#define ROOT_SIZE ((size_t)1 << JW_ROOT_SHIFT)
#define ROOT_GRANULES (1u << (JW_ROOT_SHIFT - JW_GRANULE_SHIFT))

/* Requests from here on are whole ranges. Four granules of 4 KB: below, rounding up to granules would waste over a
 * quarter. With larger granules that bound gives way to the midend's (sixteen classes, 28 objects in a slab). */
#ifndef JW_BACKEND_MIN_SHIFT
#define JW_BACKEND_MIN_SHIFT (JW_GRANULE_SHIFT == 12 ? 14 : JW_GRANULE_SHIFT == 14 ? 15 : 16)
#endif
#define BACKEND_MIN ((size_t)1 << JW_BACKEND_MIN_SHIFT)

/* Requests above a root get a mapping of their own. */
#define BACKEND_MAX ROOT_SIZE

_Static_assert(JW_GRANULE_SHIFT >= 8 && JW_GRANULE_SHIFT <= 16, "slab offsets must fit in 16 bits");
_Static_assert(ROOT_GRANULES >= 8, "a root must have room for an internal node of eight slots");
_Static_assert(JW_ROOT_SHIFT - JW_GRANULE_SHIFT <= 13, "the unit of a node must fit in four bits, 15 being taken");
_Static_assert(JW_WINDOW_SHIFT - JW_GRANULE_SHIFT <= 24, "a granule's number must fit in 24 bits of a record");
_Static_assert(JW_WINDOW_SHIFT > JW_ROOT_SHIFT, "the window must hold more than one root");

#endif

/* geometry.h - the sizes that shape every structure, each in one place with its reason.
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

/* Bytes of freed objects of the midend that a thread keeps to itself, for each of four classes at a time: of those that
 * it goes on allocating from. More is hardly faster, and each of them keeps a slab from going back. */
#ifndef JW_MID_CACHE_OBJECTS
#define JW_MID_CACHE_OBJECTS (JW_GRANULE_SHIFT == 12 ? 16u << 10 : 2u << JW_GRANULE_SHIFT)
#endif

/* Heaps come from the OS by so many: enough that starting threads seldom ask it. */
#ifndef JW_HEAPS_PER_CHUNK
#define JW_HEAPS_PER_CHUNK 32
#endif

/* Of how few objects a slab must be for those of full ones to be cached (frontend/object_cache.h), and how many of a
 * class may: above sixteen a slab a full one is rare, and twice as many cost a real trace 100 KB at its peak. */
#ifndef JW_OBJECT_CACHE_CAPACITY
#define JW_OBJECT_CACHE_CAPACITY 16
#endif
#ifndef JW_OBJECT_CACHE
#define JW_OBJECT_CACHE 16
#endif

/* Frees into a class's local list, where none is cached, that count as a refill does: for a thread that always frees
 * what it has just allocated, and so needs none. */
#ifndef JW_LOCAL_FREES
#define JW_LOCAL_FREES 128
#endif

/* One of so many of a full slab's objects comes back before malloc has the slab again: with each first one a program
 * that replaces objects at random had a refill for every fifth. Half as many cost a real trace 300 KB at its peak. */
#ifndef JW_REOPEN_SHARE
#define JW_REOPEN_SHARE 8
#endif

/* Roots that may be mapped ahead (backend/root.h): at most so many, a share of those that there are, and a share of the
 * memory that the process may have. */
#ifndef JW_SPARE_ROOTS
#define JW_SPARE_ROOTS 15
#endif
#ifndef JW_SPARE_PERCENT
#define JW_SPARE_PERCENT 25
#endif
#ifndef JW_SPARE_SHIFT
#define JW_SPARE_SHIFT 7
#endif

/* How often a range is tried again, taken or placed, before who tries goes elsewhere. */
#ifndef JW_RANGE_TRIES
#define JW_RANGE_TRIES 4
#endif

/* How often fork tries for the lock of a list: a bounded wait for the few instructions of another thread. */
#ifndef JW_FORK_TRIES
#define JW_FORK_TRIES 1000
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

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

/* The backend takes memory from the OS in roots; a root is also the largest range. */
#ifndef JW_ROOT_SHIFT
#define JW_ROOT_SHIFT 22
#endif

/* The window: these low address bits tell roots apart (backend/page_map.h). 64 GB of ranges are more than any phone
 * has. The tables cost only address space: 76 B for each granule, untouched until used. */
#ifndef JW_WINDOW_SHIFT
#if UINTPTR_MAX > 0xffffffffu
#define JW_WINDOW_SHIFT 36
#else
#define JW_WINDOW_SHIFT 32
#endif
#endif

/* The tables cover this at first, and double in place up to the window. Equal: all at once. They begin small because
 * limits of address space, data or locked memory count all that is mapped, used or not. */
#ifndef JW_FIRST_WINDOW_SHIFT
#if JW_WINDOW_SHIFT >= 36
#define JW_FIRST_WINDOW_SHIFT 25
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

/* Bytes of freed mid objects that a thread caches, for each of the four classes that it allocates from most recently.
 * More is hardly faster, and each cached object keeps its slab from going back. */
#ifndef JW_MID_CACHE_OBJECTS
#define JW_MID_CACHE_OBJECTS (JW_GRANULE_SHIFT == 12 ? 16u << 10 : 2u << JW_GRANULE_SHIFT)
#endif

/* Heaps that come from the OS at a time: enough that starting threads seldom make a system call. */
#ifndef JW_HEAPS_PER_CHUNK
#define JW_HEAPS_PER_CHUNK 32
#endif

/* Classes with at most so many objects in a slab cache the objects of full slabs (frontend/object_cache.h), and how
 * many objects of a class may be cached. With more than 16 in a slab, full slabs are rare. Twice as many cached objects
 * cost a real trace 100 KB at its peak. */
#ifndef JW_OBJECT_CACHE_CAPACITY
#define JW_OBJECT_CACHE_CAPACITY 16
#endif
#ifndef JW_OBJECT_CACHE
#define JW_OBJECT_CACHE 16
#endif

/* So many frees into the local list of a class without cached objects count as one refill: a thread that always frees
 * the object that it has just allocated needs no refills. */
#ifndef JW_LOCAL_FREES
#define JW_LOCAL_FREES 128
#endif

/* A full slab is reopened when one of so many of its objects has been freed. If the first free reopened it, a program
 * that replaces objects at random would have a refill for every fifth. Half the value cost a real trace 300 KB at its
 * peak. */
#ifndef JW_REOPEN_SHARE
#define JW_REOPEN_SHARE 8
#endif

/* Limits of the roots that are mapped ahead (backend/root.h): a number, a share of the existing roots, and a share of
 * the memory that the process may have. */
#ifndef JW_SPARE_ROOTS
#define JW_SPARE_ROOTS 15
#endif
#ifndef JW_SPARE_PERCENT
#define JW_SPARE_PERCENT 25
#endif
#ifndef JW_SPARE_SHIFT
#define JW_SPARE_SHIFT 7
#endif

/* How often a thread tries to take or place a range before it goes elsewhere. */
#ifndef JW_RANGE_TRIES
#define JW_RANGE_TRIES 4
#endif

/* How often fork tries for the lock of a list: a bounded wait for the few instructions of another thread. */
#ifndef JW_FORK_TRIES
#define JW_FORK_TRIES 1000
#endif

/* The frontend's data of a slab is in a table beside the slabs, one record for each granule. A record is one cache
 * line, so that free touches no other (frontend/slab.h). */
#define RECORD_SHIFT 6
#define RECORD_SIZE ((size_t)1 << RECORD_SHIFT)

#define GRANULE_SIZE ((size_t)1 << JW_GRANULE_SHIFT)

/* Bytes at the end of a slot that do not change while the slot is free: the hardened build's trailer. */
#define SLOT_TAIL (JW_SECURE ? 8 : 0)
#define ROOT_SIZE ((size_t)1 << JW_ROOT_SHIFT)
#define ROOT_GRANULES (1u << (JW_ROOT_SHIFT - JW_GRANULE_SHIFT))

/* Requests from here on are whole ranges. Four granules of 4 KB: below, rounding up to granules would waste over a
 * quarter. With larger granules that bound gives way to the midend's (sixteen classes, 28 objects in a slab). */
#ifndef JW_BACKEND_MIN_SHIFT
#define JW_BACKEND_MIN_SHIFT (JW_GRANULE_SHIFT == 12 ? 14 : JW_GRANULE_SHIFT == 14 ? 15 : 16)
#endif
#define BACKEND_MIN ((size_t)1 << JW_BACKEND_MIN_SHIFT)

/* Larger requests get a mapping of their own. */
#define BACKEND_MAX ROOT_SIZE

_Static_assert(JW_GRANULE_SHIFT >= 8 && JW_GRANULE_SHIFT <= 16, "slab offsets must fit in 16 bits");
_Static_assert(ROOT_GRANULES >= 8, "a root must have room for an internal node of eight slots");
_Static_assert(JW_ROOT_SHIFT - JW_GRANULE_SHIFT <= 13, "the unit of a node must fit in four bits, 15 being taken");
_Static_assert(JW_WINDOW_SHIFT - JW_GRANULE_SHIFT <= 24, "a granule's number must fit in 24 bits of a record");
_Static_assert(JW_WINDOW_SHIFT > JW_ROOT_SHIFT, "the window must hold more than one root");

#endif

/* policy.h - how often, how many, how long: the numbers that the allocator decides by. Each stands here once, with its
 * unit and its reason. None is part of a layout (geometry.h has those). They trade speed for memory: the allocator is
 * right with any of them that the assertions here accept. What a user may set is an option (options.def). The platform,
 * a layer below, keeps its own numbers.
 *
 * A number with JW_ before its name can be set from outside (-DJW_...), for the model-checking clients.
 */
#ifndef JW_POLICY_H
#define JW_POLICY_H

#include "config/geometry.h"

/* ---- Caches of objects ---- */

/* Bytes of freed midend objects that a thread caches, for each of MID_CACHES classes. More is hardly faster, and each
 * of them keeps a slab from going back. */
#ifndef JW_MID_CACHE_OBJECTS
#define JW_MID_CACHE_OBJECTS (JW_GRANULE_SHIFT == 12 ? 16u << 10 : 2u << JW_GRANULE_SHIFT)
#endif

enum {
    /* Classes of the midend that a thread caches objects of. A class uses the cache of its number modulo this: up to
     * 4 KB, where most requests are, each class has its own. */
    MID_CACHES = 4,
    /* Frees in a row that find no room before a cache is drained. A thread that allocates and frees in random order
     * seldom frees so often in a row. */
    MID_MISSES_UNTIL_DRAIN = 8,
};

/* Objects of a slab up to which those of full slabs are cached (frontend/object_cache.h), and objects of a class that
 * may be. With more than sixteen objects in a slab a full slab is rare; a cache of twice the size cost a real trace
 * 100 KB at its peak. */
#ifndef JW_OBJECT_CACHE_CAPACITY
#define JW_OBJECT_CACHE_CAPACITY 16
#endif
#ifndef JW_OBJECT_CACHE
#define JW_OBJECT_CACHE 16
#endif

/* Ranges of each class that a thread keeps at hand (backend/at_hand.h). With four a thread that replaces sixteen
 * objects of 4 to 64 KB at random misses fewer requests than with two. Inside a C library there are none: a thread has
 * one word there. */
#ifndef JW_AT_HAND_WAYS
#ifdef JW_HOST
#define JW_AT_HAND_WAYS 0
#else
#define JW_AT_HAND_WAYS (QUARANTINED ? 0 : 4)
#endif
#endif

enum {
    /* Granules at hand of a thread: one object of the largest size. Where many threads share what may wait, each has
     * less. */
    AT_HAND_MOST = ROOT_GRANULES,
    /* Ranges put between two looks at that share, and at whether a round is due. */
    AT_HAND_PERIOD = 32,
};

/* ---- Slabs ---- */

/* Slabs of a coarse size class (config/size_classes.h) that a heap has in use when the finer classes open. Eight for
 * all classes cost a real trace of fifteen threads 200 KB at its peak. 0: the finer classes are open at once, as in the
 * hardened build, whose trailer is in each object anyway. */
#ifndef JW_COARSE_SLABS
#define JW_COARSE_SLABS (TRAILERS ? 0 : JW_GRANULE_SHIFT == 12 ? 4 : 2)
#endif

/* What JW_OBJECT_CACHE is until then: a thread with few objects is to hold few slabs. */
#ifndef JW_FIRST_OBJECT_CACHE
#define JW_FIRST_OBJECT_CACHE 4
#endif

enum {
    /* Objects of a slab up to which that takes twice as many slabs: they are as many objects as one or two finer
     * classes have. */
    COARSE_FEW_OBJECTS = 4,
    /* Objects that a mid slab has at least; and the part of it that its tail may be. */
    MID_LEAST_OBJECTS = 4,
    MID_TAIL_PART = 16,
};

/* One of so many of a full slab's objects comes back before malloc has the slab again: with each first one a program
 * that replaces objects at random had a refill for every fifth. Half as many cost a real trace 300 KB at its peak. */
#ifndef JW_REOPEN_SHARE
#define JW_REOPEN_SHARE 8
#endif

/* ---- A heap's periodic maintenance ---- */

/* Frees into a class's local list, where no object is cached, that count as one refill: for a thread that always frees
 * what it has just allocated, and so needs no refill. */
#ifndef JW_LOCAL_FREES
#define JW_LOCAL_FREES 128
#endif

enum {
    /* Refills between two looks at slabs that other threads may have emptied, each time of another class. */
    COLLECT_PERIOD = 16,
    /* Slabs, or objects of a list, that such a look is at; and refills between two that may be longer. */
    COLLECT_STEPS = 16,
    COLLECT_LONG_PERIOD = 256,
    /* Refills between two looks at what else the heap keeps: its mid slabs and its pool. */
    KEEP_PERIOD = 128,
    /* Slabs given back, and reopened slabs taken, in one go while a program waits for malloc or free. */
    GIVE_AT_ONCE = 2,
    TAKE_AT_ONCE = 4,
    /* The part of its share that a pool may hold while the program grows beyond its peak. */
    POOL_PART_AT_PEAK = 4,
    /* In the child of a fork: the most slabs that its first heap takes at random before the first one that it uses, so
     * that siblings differ; and inherited heaps from which they are drained, so that they do not grow in number where
     * each child forks the next one. */
    SCATTER_SLABS = 16,
    INHERITED_HEAPS = 8,
    /* Notes of suspects that wait in a heap. Each keeps a slab. */
    SUSPECTS_MAX = 64,
};

_Static_assert(COLLECT_LONG_PERIOD % COLLECT_PERIOD == 0 && KEEP_PERIOD % COLLECT_PERIOD == 0,
               "both are looked at only in a refill that collects");

/* ---- When a round of reclamation is asked for, and what it does ---- */

enum {
    /* Slabs in a pool from which the reclamation thread should know of it; slabs that other threads have freed into,
     * and full mid slabs that were freed into, for each of which a round is asked for. */
    POOL_ROUND_FROM = 32,
    REMOTE_ROUND_FROM = 32,
    MID_ROUND_FROM = 32,
    /* Uses of a pool between two rounds below which it is given back. */
    POOL_LITTLE_USE = 4,
    /* Granules given back by one system call of a round. */
    GIVE_MOST_GRANULES = 64,
    /* Passes over the abandoned heaps in a round. Each drains half of what is left, and threads that end meanwhile add
     * to it. */
    DRAIN_PASSES = 32,
    /* Interval, shifted right by this, that a round waits for a thread that takes an abandoned heap as it is: an eighth
     * of 500 ms is more than a thread takes to start, and too short to count for memory. */
    SUCCESSOR_SHIFT = 3,
    /* Rounds without work before the thread ends. The wait doubles with each: 500 ms become half a minute. */
    QUIET_ROUNDS = 6,
    /* What may be cached above the recent peak where memory without pages comes into use: percent of that peak, and at
     * least a part of cache_min. With nothing above it a program whose use goes up and down had five times the page
     * faults (rptest). */
    PERCENT_BESIDE_NEW = 3,
    PART_BESIDE_NEW = 8,
};

/* Frees between two looks at the clock, or two tries to start the thread, where it was refused. */
#ifndef JW_RETRY_PERIOD
#define JW_RETRY_PERIOD 64
#endif

/* ---- What is asked of the OS ---- */

/* Heaps that are mapped at a time: enough that starting threads seldom ask the OS. */
#ifndef JW_HEAPS_PER_CHUNK
#define JW_HEAPS_PER_CHUNK 32
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

enum {
    /* Bytes of the first root that are mapped at first: what a program without much data needs, in few mappings. */
    FIRST_PART = 1 << 20,
    /* A huge object that had to move gets room to grow: this part of its size, and at most so many bytes. */
    HUGE_ROOM_PART = 8,
    HUGE_ROOM_MOST = 1 << 28,
    /* The largest mapping that waits for the next huge object, in bytes: above, page faults outweigh what it saves.
     * Bounds the addresses that wait without memory. */
    WAITING_MOST = 128 << 20,
};

/* Freed mappings that may wait. In the hardened build a freed huge object is unmapped at once. */
#ifndef JW_WAITING_MAPPINGS
#define JW_WAITING_MAPPINGS (QUARANTINED ? 0 : 16)
#endif

/* ---- Tries, each a bounded wait for a few instructions of another thread ---- */

/* Tries to take or place a range before the thread goes elsewhere. */
#ifndef JW_RANGE_TRIES
#define JW_RANGE_TRIES 4
#endif

/* Tries of fork for the lock of a list. */
#ifndef JW_FORK_TRIES
#define JW_FORK_TRIES 1000
#endif

enum {
    /* Tries to count while no root goes, a millisecond apart. */
    WALK_TRIES = 100,
    /* Tries for an address region for the tables, as something else may be there. */
    REGION_TRIES = 4,
};

/* ---- The hardened build ---- */

/* Objects of size 0 that a process can have without memory: 1 MB of addresses. */
#ifndef JW_ZERO_SIZE_OBJECTS
#define JW_ZERO_SIZE_OBJECTS (1u << 16)
#endif

enum {
    /* Guard pages of a process. Each costs it two of its mappings, of which Linux allows 65,530. */
    MOST_GUARDS = 16384,
    /* The part of the quarantine's limit above which an object is too large: it would drive all others out. */
    QUARANTINE_PART = 4,
    /* The newest part of a quarantine in which a new entry changes places with another one, and at least so many
     * entries. A larger part would be less predictable, but then some objects would leave sooner. */
    QUARANTINE_SHUFFLED_PART = 8,
    QUARANTINE_SHUFFLED_LEAST = 4,
    /* Objects above 16 KB that a thread keeps back, their bytes of addresses, and the part of a limited address space
     * that these may be. They have no memory; but on 64 bits large objects of all threads share a window of 64 GB. */
    LARGE_WAITING = 64,
    LARGE_ADDRESSES = UINTPTR_MAX > 0xffffffffu ? 64 << 20 : 2 << 20,
    LARGE_ADDRESSES_SHARE = 64,
    /* Empty slabs of the classes for which a round is asked for. */
    REGION_ROUND_FROM = 32,
    /* Words of bits that malloc(0) looks at. */
    ZERO_SIZE_TRIES = 4,
};

#endif

/* policy.h - how often, how many, how long: the numbers that the allocator decides by. Each stands here once, with its
 * unit and its reason. None is part of a layout (geometry.h has those). They trade speed for memory: the allocator is
 * right with any of them that the assertions here accept. What a user may set is an option (options.def). The platform,
 * a layer below, has its numbers in platform/platform_policy.h.
 *
 * docs/protocols/thrift.md has all limits on unused memory in one table.
 *
 * A number with JW_ before its name can be set from outside (-DJW_...), for the model-checking clients.
 */
#ifndef JW_POLICY_H
#define JW_POLICY_H

#include "base/mitigations.h"
#include "config/geometry.h"

/* ---- Caches of objects ---- */

/* Bytes of a midend class's slabs that are kept in the Nest until the next round though they are empty, besides one
 * slab. With one slab alone, a pair of malloc and free in a burst of 64 objects of 4 KB took 725 instead of 351
 * instructions. */
#ifndef JW_MID_KEPT_BYTES
#define JW_MID_KEPT_BYTES (sizeof(void *) > 4 ? 256u << 10 : 0) /* on 32 bits 60 MB in waves peaked at 75 MB */
#endif

/* Bytes of freed midend objects that a thread keeps in each of its MID_CACHES caches. More bytes are hardly faster, and
 * each cached object keeps a slab from going back. */
#ifndef JW_MID_CACHE_BYTES
#define JW_MID_CACHE_BYTES (JW_GRANULE_SHIFT == 12 ? 16u << 10 : 2u << JW_GRANULE_SHIFT)
#endif

enum {
    /* Classes of the midend that a thread caches objects of. Up to 4 KB, where most requests are, each class has its
     * own cache (mid_cache_of). */
    MID_CACHES = 4,
    /* Frees in a row that find no room before a cache is drained. A thread that allocates and frees in random order
     * seldom frees so often in a row. */
    MID_MISSES_UNTIL_DRAIN = 8,
};

/* Classes with at most this many objects a slab cache objects of full slabs (frontend/object_cache.h). With more
 * objects in a slab a full slab is rare. */
#ifndef JW_CACHED_SLAB_OBJECTS
#define JW_CACHED_SLAB_OBJECTS 16
#endif

/* Entries of the object cache of a class that has one. Twice as many cost a real trace 100 KB at its peak. */
#ifndef JW_OBJECT_CACHE_ENTRIES
#define JW_OBJECT_CACHE_ENTRIES 16
#endif

enum {
    /* Divisor: when the budget of a class with an object cache is spent, so many cached objects stay. If all went back,
     * the next mallocs would have to refill from slabs of one free object each. */
    OBJECT_CACHE_KEPT_PART = 2,
};

/* Ranges of each class that a thread caches (backend/range_cache.h). With four a thread that replaces sixteen
 * objects of 4 to 64 KB at random misses fewer requests than with two. Inside a C library there are none: a thread has
 * one word there. */
#ifndef JW_RANGE_CACHE_WAYS
#ifdef JW_HOST
#define JW_RANGE_CACHE_WAYS 0
#else
#define JW_RANGE_CACHE_WAYS (QUARANTINED ? 0 : 4)
#endif
#endif

enum {
    /* Granules that a thread's range cache may have: as many as the largest object. Where many threads share what may
     * wait, each may have less. */
    RANGE_CACHE_MOST = ROOT_GRANULES,
    /* So many granules may wait elsewhere before they lessen the share. Else what waits in the Nest left the cache no
     * room: half of the requests of a thread that replaces objects of 16 KB to 1 MB found nothing there. */
    RANGE_CACHE_BESIDE = ROOT_GRANULES,
    /* When the thread needs memory without pages, and no range in the cache is long enough, ranges of at least
     * RANGE_CACHE_FREED_FROM go to the Nest until RANGE_CACHE_KEPT granules are left. If all stayed, the thread would
     * take new pages while as many waited. If small ones went first, objects of 16 to 1,024 KB had 80,000 instead of
     * 64,000 page faults (the note of 30 November 2026). All go in a process with at most RANGE_CACHE_LITTLE granules
     * in use, where 2 MB would be half of its memory: a phone's trace of 2 MB grows by 2,800 KB instead of 3,148. */
    RANGE_CACHE_KEPT = ROOT_GRANULES / 2,
    RANGE_CACHE_LITTLE = ROOT_GRANULES,
    RANGE_CACHE_FREED_FROM = (ROOT_GRANULES + 15) / 16,
    /* A request of at most so many granules takes a cached range of its class or the next two, which is less than three
     * quarters larger. A larger request takes one of its class or the next, less than a half larger. With the next
     * three up to this size, a program of objects from 8 B to 1 MB (rptest) has a peak 9 % higher, instead of 4. */
    RANGE_CACHE_SMALL = ROOT_GRANULES / 4,
    /* Ranges that a thread pushes between two looks at its share, and at whether a round is due. */
    RANGE_CACHE_PERIOD = 32,
};

/* ---- Slabs ---- */

/* Slabs of a coarse size class (config/size_classes.h) that a heap has in use when the finer classes open. Eight for
 * all classes cost a real trace of fifteen threads 200 KB at its peak. 0: the finer classes are open at once, as in the
 * hardened build, whose trailer is in each object anyway. */
#ifndef JW_COARSE_SLABS
#define JW_COARSE_SLABS (TRAILERS ? 0 : JW_GRANULE_SHIFT == 12 ? 4 : 2)
#endif

/* The sizes of coarse classes: powers of two. With slabs larger than 4 KB the class of 64 B also serves 9 to 32 B: a
 * slab for so few bytes is nearly empty. Twenty threads of 200 objects had 4,272 KB with slabs of 16 KB, and 3,520 so.
 * With each second power only, they had 4,560: larger objects fill two slabs at once, and the finer classes open. */
#ifndef JW_COARSE_SIZES
#define JW_COARSE_SIZES (JW_GRANULE_SHIFT == 12 ? SIZE_MAX : SIZE_MAX - 16 - 32)
#endif

/* Whether the first heap has coarse classes, too. That heap is mostly of a program's only thread, and its slabs are few
 * compared with the program. With granules of 16 KB they are not: 200 objects of 48 KB had 534 KB, and 310 so. */
#ifndef JW_COARSE_FIRST
#define JW_COARSE_FIRST (JW_GRANULE_SHIFT > 12)
#endif

/* Entries of the object cache while the finer classes are closed: a thread with few objects is to hold few slabs. */
#ifndef JW_FIRST_OBJECT_CACHE
#define JW_FIRST_OBJECT_CACHE 4
#endif

enum {
    /* Coarse classes with at most this many objects a slab need twice as many slabs. So many have as many objects as
     * one or two finer classes. */
    COARSE_FEW_OBJECTS = 4,
    /* Bytes of a slab whose objects are linked at a time. The rest of a slab above 4 KB stays untouched until the
     * objects there are needed. */
    LINKED_BYTES = 4096,
    /* Objects of a slab that are linked at a time: 512 objects of 8 B in one malloc took 4,255 instructions. */
    LINKED_OBJECTS = 128,
    /* Objects that a mid slab has at least. With fewer, more allocations need another slab. With more, slabs are
     * heavier, and one live object keeps more memory from other classes. Not measured. */
    MID_LEAST_OBJECTS = 4,
    /* Divisor: the tail of a mid slab, which no object can use, is a sixteenth of the slab at most. */
    MID_TAIL_PART = 16,
};

/* Divisor: the owner reopens a full slab when it has freed an eighth of its objects. When the first free reopened it,
 * a program that replaces objects at random had a refill for every fifth malloc. A quarter cost a real trace 300 KB at
 * its peak. */
#ifndef JW_REOPEN_SHARE
#define JW_REOPEN_SHARE 8
#endif

/* ---- A heap's periodic maintenance ---- */

/* In classes without an object cache: after this many frees to a local list without a refill the heap gets a tick. A
 * thread that always frees what it has just allocated needs no refill. */
#ifndef JW_LOCAL_FREES
#define JW_LOCAL_FREES 128
#endif

enum {
    /* Ticks (heap_collect.h) between two looks at slabs that other threads may have emptied. Each look is at another
     * class. A refill from a full slab counts as a tick, but never looks. Looks at eight classes in one refill took 2
     * to 20 us. With more ticks, memory that other threads have freed waits longer. */
    COLLECT_PERIOD = 16,
    /* Slabs, or objects of a local list, that such a look goes through: a program waits for it in malloc or free. */
    COLLECT_STEPS = 16,
    /* Ticks between two looks that go through a longer local list, of up to so many objects, which are all of a slab
     * from 32 B on. The walk takes 13 instructions an object while a program waits. */
    COLLECT_LONG_PERIOD = 256,
    COLLECT_LONG_STEPS = 128,
    /* Ticks between two looks at what else the heap keeps: its mid slabs and its pool. With fewer ticks, a slab goes
     * back that the next refill needs. With more, a heap without rounds keeps unused slabs longer. Not measured. */
    KEEP_PERIOD = 128,
    /* Slabs given back in one go while a program waits for malloc or free. */
    GIVE_AT_ONCE = 2,
    /* Reopened slabs taken back in one go while a program waits for malloc or free. Hundreds, after a thread's end,
     * took up to 50 us. Two were no faster than four. */
    TAKE_AT_ONCE = 4,
    /* The same for each slab that becomes REOPENING. If the owner only frees, then sleeps, such slabs stay while they
     * are in the stack: at most one of 25 of its slabs. With 4 here, 20 of 100 MB stayed. */
    TAKE_FOR_REOPENING = 24,
    /* Divisor: while the program grows beyond its peak, a pool may hold a quarter of its share. */
    POOL_PART_AT_PEAK = 4,
    /* Divisor: a pool gives back a half of the slabs that it has not needed for a while, then a half of the rest. The
     * program may grow again. */
    POOL_UNUSED_PART = 2,
    /* Slabs, in use or in the pool, of an ended thread's heap that one may leave as they are: 256 KB. A thread that
     * allocated 500 objects of 8 to 128 B spent 12,000 instructions at its end on a look for free slabs, and the next
     * thread had to fetch and link slabs anew. */
    FEW_SLABS = (256 << 10) >> JW_GRANULE_SHIFT,
    /* Granules that a refill fetches at a time: an eighth of the slabs that the heap has in use (divisor), at most 16,
     * if a free range has as many. The others wait in the pool. Untouched ones have no pages until they are used. A new
     * slab among 60,000 objects of 16 to 900 B costs 316 instructions, and 73 more with eight at most. With 32 it costs
     * 36 less, but 31 would wait: the next slab that becomes empty would ask for a round (POOL_ROUND_FROM). */
    FETCHED_PART = 8,
    FETCHED_MOST = 16,
    /* The first heap of a fork's child takes a random number of slabs ahead, below this, so that siblings differ. */
    SCATTER_SLABS = 16,
    /* Above this number of inherited heaps, all are drained. Else there would be more and more of them where each child
     * forks the next one. */
    INHERITED_HEAPS = 8,
    /* Notes of suspects that wait in a heap. Each keeps a slab. */
    SUSPECTS_MOST = 64,
    /* One of this many failing allocations looks for memory everywhere, although nothing seems to have come back. With
     * 100 MB in use such a look takes a millisecond, and each other failure some microseconds. */
    SHORTAGE_PERIOD = 1024,
    /* Where memory is short and the OS refuses to take pages: one of this many purges is made, although nothing
     * has changed since the last one. With 15,000 free ranges a purge takes 5 ms. */
    VAIN_PERIOD = 64,
};

_Static_assert(COLLECT_LONG_PERIOD % COLLECT_PERIOD == 0 && KEEP_PERIOD % COLLECT_PERIOD == 0,
               "both are looked at only in a refill that collects");

/* ---- realloc ---- */

enum {
    /* Divisor: an object that shrinks stays in its place while it uses more than half of the place. A larger part would
     * mean more copies; a smaller part would leave more than half of the place unused. */
    IN_PLACE_PART = 2,
    /* Bytes of a place in which an object always stays: a smaller place would hardly save memory. */
    IN_PLACE_MOST = 32,
};

/* ---- When a round of reclamation is asked for, and what it does ---- */

enum {
    /* Each time that a pool has so many slabs more, a round is asked for: with granules of 4 KB as much as
     * `reclaim_start`. */
    POOL_ROUND_FROM = 32,
    /* Each time that other threads have freed into this many slabs at which their owners do not look, a round is asked
     * for. With fewer, the reclamation thread wakes for less than `reclaim_start`. Also the owners' frees between two
     * rounds after which there is a third one (remote_reclaim.h). */
    REMOTE_ROUND_FROM = POOL_ROUND_FROM,
    /* Slabs of which other threads have freed most, and the owner not the rest, for which more rounds come: 1 MB. */
    REMOTE_WAITING_FROM = (1 << 20) >> JW_GRANULE_SHIFT,
    /* Each time that this many full mid slabs were freed into, a round is asked for. As many free objects of 2 to 14 KB
     * are 64 to 448 KB, about `reclaim_start`. A patient wait compares what there is (ask_for_round): with each such
     * count an app that freed 200 KB of these objects every 400 ms was woken 170 times a minute. */
    MID_ROUND_FROM = 32,
    /* A pool with fewer uses than this between two rounds is given back. With 1, a thread that wakes now and then keeps
     * all of its pool. With many, a busy thread fetches its slabs anew after each round. */
    POOL_LITTLE_USE = 4,
    /* Ranges that a round takes from one list: other threads may fill the list as fast as the round empties it. 256 MB
     * of the smallest ranges. */
    ROUND_TAKES = 1 << 16,
    /* Granules given back by one system call of a round. Their slabs are GIVING meanwhile, so that no thread can use
     * them. More granules make that time longer, fewer make more calls. */
    GIVE_MOST_GRANULES = 64,
    /* Passes over the abandoned heaps in a round. Each drains half of all abandoned heaps. Two are enough, but for
     * threads that end meanwhile. */
    DRAIN_PASSES = 32,
    /* A round after a thread's end waits for a successor thread: the interval, shifted right by this. An eighth of
     * 500 ms is more than a thread takes to start, and too short to count for memory. */
    SUCCESSOR_SHIFT = 3,
    /* Quiet rounds in a row that the thread runs while work is left for later rounds, as after a refused madvise. The
     * wait doubles with each, from 500 ms to 16 s: half a minute together. Without such work the thread ends or sleeps
     * after the first one. */
    QUIET_ROUNDS = 6,
    /* Where a program uses the same memory again and again, the reclamation thread waits ever longer between two
     * rounds. The wait doubles with each round that leaves something for the next one, PATIENT_ROUNDS times: from
     * 500 ms to two minutes. What may wait meanwhile is at most 2^PATIENCE times `reclaim_start`, divided by the wait
     * in intervals: 8 MB for 1 s, 512 KB for 16 s; and 256 KB for longer ones. An app that allocated and freed 200 KB
     * every 400 ms was woken 120 times a minute. */
    PATIENCE = 7,
    PATIENT_ROUNDS = 8,
    /* Rounds after a wait that ended early, until the thread may wait patiently again. */
    IMPATIENT_ROUNDS = 8,
    /* Granules that may wait in a process without threads whose threads come and go, for the next thread: 64 MB, on 32
     * bits 16. They stay if the program then neither allocates nor frees. With only cache_min, threads that ended and
     * began with 64 MB alive (mleak) had eight times the page faults. */
    KEPT_MOST = (UINTPTR_MAX > 0xffffffffu ? 64 << 20 : 16 << 20) >> JW_GRANULE_SHIFT,
    /* Brief stops of the reclamation thread (reclaimer_words.h) in a row, after which it is not started beside a lone
     * thread: to start and stop it took 80 us of the processor for each thread of a program that makes one after the
     * other. A program that only begins with some short threads has the reclamation thread. */
    BRIEF_STOPS_MOST = 4,
    /* Rounds by freeing threads come four times as often as those of our thread: a program with one thread may fall
     * quiet at any time, and no round comes after that. One that freed what ended threads had made kept 125 MB instead
     * of 52, in most runs (./jw demo). */
    ROUNDS_BY_FREES_SHIFT = 2,
    /* Factor: without our thread, what comes into use counts twice against what was freed before. So where objects are
     * replaced, hardly anything counts as freed, whatever their sizes. With 1, 20 objects of 100 to 4,000 KB that were
     * replaced at random took half more page faults; more than 2 gained nothing. */
    USE_AGAINST_FREED = 2,
    /* Percent of the recent peak that may be cached above it where memory without pages comes into use. With nothing
     * above the peak, a program whose use goes up and down had five times the page faults (rptest, 8 B to 1 MB). With
     * three percent the program had half more than with eight, which cost it 5 % of its peak. */
    PERCENT_BESIDE_NEW = 8,
    /* Option pressure. Divisor: caches shrink when an eighth of the control group's limit is left. Percent of the last
     * 10 s in which tasks waited for memory, from which nothing is cached: on an idle machine it is 0. Rounds in
     * the time of one: where one came in half a second, a program had filled its group before the second. */
    PRESSURE_RESERVE = 8,
    PRESSURE_STALLED = 10,
    PRESSURE_ROUNDS = 4,
    /* Ranges that a thread gives back at most when it takes memory without pages into use; and one more for each so
     * many granules that it takes, as many page faults take longer. A range takes 1,100 instructions and a system call:
     * without a limit a malloc of at most 64 KB gave back 75 ranges. With one for each 16 granules, 60 MB of 5,120 B
     * that are freed, then 60 MB of 2 MB objects, peaked at 96 MB: each of these drove out 48 ranges of 20 KB. */
    HEADROOM_RANGES = 16,
    /* Divisor: these ranges have more than an eighth of the granules that it takes, if such ranges are cached. Where
     * the smallest of all went first, a malloc of up to 1 MB gave back up to 80 ranges. A sixteenth, for up to 15
     * ranges instead of 8, saved 3 % of the page faults of rptest, 8 B to 1 MB; a quarter had 1.7 times as many. */
    HEADROOM_PART = 8,
    HEADROOM_GRANULES = 4,
    /* Divisor: where memory without pages comes into use, at least a 64th of cache_min, 128 KB, may be cached above the
     * recent peak. With an eighth a program with 2 MB alive (SurfaceFlinger's trace) took 8 % more memory at its peak,
     * and one with 2 MB in objects of up to 128 KB 8 % more. With a 64th the first has 3,000 page faults instead of
     * 2,600, the second 6,900 instead of 4,000. */
    PART_BESIDE_NEW = 64,
};

/* Without the reclamation thread: frees that find work for a round between two looks at the clock. A round that is due
 * also tries to start the thread. */
#ifndef JW_RETRY_PERIOD
#define JW_RETRY_PERIOD 64
#endif

/* ---- What is asked of the OS ---- */

/* Heaps that are mapped at a time: enough that starting threads seldom ask the OS. */
#ifndef JW_HEAPS_PER_CHUNK
#define JW_HEAPS_PER_CHUNK 32
#endif

enum {
    /* Mappings of heaps in a process, at most: together as many heaps as keys can tell apart (frontend/heap_key.h). */
    HEAP_CHUNKS = 4096,
};

/* The records may lag behind the other tables (backend/page_map.c) while these cover no more granules: 2 GB. */
#ifndef JW_RECORDS_LAG_SHIFT
#define JW_RECORDS_LAG_SHIFT (JW_GRANULE_SHIFT + 19)
#endif
#define RECORDS_LAG ((size_t)1 << (JW_RECORDS_LAG_SHIFT - JW_GRANULE_SHIFT))

/* Ranges that may lose their addresses (backend/root.h): up to four of the first root, and others where the records
 * lack addresses. Each takes an entry for good; single granules suffice for all records that may lag behind. */
enum {
    FIRST_CLOSED_PARTS = 4,
    CLOSED_PARTS = FIRST_CLOSED_PARTS +
                   (JW_FIRST_WINDOW_SHIFT < JW_WINDOW_SHIFT ? RECORDS_LAG >> (JW_GRANULE_SHIFT - RECORD_SHIFT) : 16),
};
/* A thread closes at most so many granules at a time: what one root's records need. */
enum { CLOSED_MOST = 16 };

/* Roots that may be mapped ahead (backend/root.h): 60 MB of addresses. */
#ifndef JW_SPARE_ROOTS
#define JW_SPARE_ROOTS 15
#endif

/* Spare roots are at most so many quarters of the roots that exist: limits and mlockall count spare roots. */
#ifndef JW_SPARE_QUARTERS
#define JW_SPARE_QUARTERS 1
#endif

/* There are at most as many spare roots as fit in the process's limit of memory, shifted right by this: in less than a
 * hundredth of the limit. With 0, spare roots could take the memory that the program needs for itself. */
#ifndef JW_SPARE_SHIFT
#define JW_SPARE_SHIFT 7
#endif

enum {
    /* Bytes of the first root that are mapped at first: what a program without much data needs, in few mappings. */
    FIRST_PART = 1 << 20,
    /* A huge object that had to move gets room to grow: an eighth of its size (HUGE_ROOM_PART, a divisor), but at most
     * HUGE_ROOM_MOST bytes. A cached mapping may be larger than its request by the same eighth. The hardened build
     * fills and checks the room: growth by 4 KB to 48 MB takes a tenth of the time with little room. */
    HUGE_ROOM_PART = 8,
    HUGE_ROOM_MOST = GUARDED ? 1 << 18 : 1 << 28,
    /* A cached mapping of another size is cut for a request. Factor: it is at most twice as large. A program that
     * replaced objects of 5 to 25 MB had 2.6 times the page faults without. A larger factor would cut what the next
     * large request needs. 1: none is, as on 32 bits: a move needs addresses at both places. */
    HUGE_FITTING = sizeof(void *) > 4 ? 2 : 1,
    /* Divisor: a cached mapping grows for a request if it has a 16th of the size. Of a freed one only the start may
     * wait, 8 MB of at most 128: this one serves the next object of that size. A smaller start is unmapped. With a half
     * instead, 60 MB that were written and freed again and again took 15 % more page faults. */
    HUGE_START_PART = sizeof(void *) > 4 ? 16 : 1,
    /* Bytes of a huge object's old memory that calloc clears itself. A program that writes all of an object saves the
     * page faults. One that writes little would get pages for all of it: five objects of 60 to 100 MB with one byte
     * written took 381 MB instead of 41. */
    CLEARED_MOST = 8 << 20,
    /* Roots may fill this part of a window of full size: a half. From then on large objects get mappings of their own.
     * The other half is left for slabs, which can be nowhere else. */
    LARGE_WINDOW_PART = 2,
    /* Bytes of an object from which on it counts as reserved, not as used, where a share of the peak may wait without
     * our thread: a program with 4 GB in an object would keep all that it frees. glibc, too, keeps freed objects of up
     * to 32 MB. */
    VAST_FROM = (32 << 20) + 1,
    /* Bytes of the largest mapping that waits for the next huge object: for a larger one, page faults outweigh what the
     * wait saves. */
    MAPPING_CACHE_MOST = 128 << 20,
    /* Bytes of freed mappings that may wait with spare_callers where no reclamation thread comes. Then the program's
     * threads unmap them: else there would be no bound. As much as waits after brief stops. */
    SPARED_MOST = 64 << 20,
};

/* Freed mappings that may wait. In the hardened build a freed huge object is unmapped at once. */
#ifndef JW_CACHED_MAPPINGS
#define JW_CACHED_MAPPINGS (QUARANTINED ? 0 : 16)
#endif

/* Bytes of a large object from which on a waiting mapping serves it, if no range with pages is long enough. A quarter
 * of a root: a quarter as much, or twice as much, made little difference. Not where mappings of another size serve
 * none. */
#ifndef JW_MAPPED_FROM
#define JW_MAPPED_FROM (JW_CACHED_MAPPINGS > 0 && HUGE_FITTING > 1 && JW_ROOT_SHIFT == 22 ? ROOT_SIZE / 4 : SIZE_MAX)
#endif

/* ---- Tries: after the last one the thread goes elsewhere ---- */

/* Tries to take or place a range before the thread goes elsewhere. A try fails only where another thread has half of
 * the range. With one try, a short overlap already splits a larger range, or defers the range. Many tries would be as
 * bad as a wait. */
#ifndef JW_RANGE_TRIES
#define JW_RANGE_TRIES 4
#endif

/* Tries of fork for the lock of a list, which a running thread soon gives up. With few tries, the child may lose the
 * ranges of a list whose holder was about to give up the lock. With more, a stopped holder delays fork. */
#ifndef JW_FORK_TRIES
#define JW_FORK_TRIES 1000
#endif

enum {
    /* Tries of the statistics to count slabs while no root is unmapped: 0.1 s together. With few tries, a report while
     * roots are unmapped lacks the slabs. With more, a stopped thread delays the report longer. */
    WALK_TRIES = 100,
    /* Milliseconds between two of these tries: another thread's munmap of a root ends meanwhile. */
    WALK_WAIT = 1,
    /* Milliseconds that malloc_trim waits for rounds of other threads, and how often it purges if there was one. A
     * round that holds 80 MB took more than 100 beside three busy threads on two processors. */
    TRIM_WAIT = 1000,
    TRIM_PASSES = 3,
    /* Milliseconds after which a disabled thread looks again, whatever became of its wake. */
    DISABLED_WAIT = 1000,
    /* Tries for an address region for the tables, as something else may be there. */
    REGION_TRIES = 4,
};

/* ---- The hardened build ---- */

/* Objects of size 0 that a process can have without memory: 1 MB of addresses. */
#ifndef JW_ZERO_SIZE_OBJECTS
#define JW_ZERO_SIZE_OBJECTS (1u << 16)
#endif

enum {
    /* Bytes behind the end of a request that are filled and compared. More would cost malloc and free time
     * on each object; most overflows write close to the end. Not measured. */
    FILLED_MOST = 32,
    /* Objects of each class that have left a quarantine and are in no list of the allocator yet: at most READY_MOST,
     * with at most READY_BYTES bytes. With more, malloc takes a list's object less often. */
    READY_MOST = 32,
    READY_BYTES = 6144,
    /* Bytes of the largest slot that free clears by stores of its own. For a larger one, a call of memset takes less.
     * Not measured. */
    CLEARED_INLINE = 512,
    /* Most guard pages of a process. Each guard costs the process two mappings, of which Linux allows 65,530. */
    GUARDS_MOST = 16384,
    /* Heaps whose quarantine has a fence, which costs two mappings or three. */
    RINGS_FENCED = 1024,
    /* A process with more than GUARDS_BEFORE_KEPT guards keeps KEPT_MAPPINGS mappings, and gives them up when the OS
     * refuses a guard. Else it could map nothing from then on, not even for a small object. Two of these mappings cost
     * one system call, and 4 KB of data. */
    KEPT_MAPPINGS = 64,
    GUARDS_BEFORE_KEPT = 64,
    /* The quarantine's ring has an object for each QUARANTINE_ENTRY_BYTES of its limit, and at least
     * QUARANTINE_LEAST_ENTRIES. If the objects are smaller on average, some of them leave early. */
    QUARANTINE_ENTRY_BYTES = 64,
    QUARANTINE_LEAST_ENTRIES = 64,
    /* Divisor: an object above a quarter of the quarantine's limit is too large: it would drive all others out. */
    QUARANTINE_PART = 4,
    /* Divisor: when a quarantine is full, such a part of its bytes or entries leaves at once. So few frees have that
     * work. */
    QUARANTINE_SPARE_PART = 64,
    /* What leaves a quarantine is a random one of its oldest entries: an eighth of all (divisor), and
     * QUARANTINE_SHUFFLED_LEAST more. With a larger part the order would be less predictable, but some objects would
     * leave sooner. */
    QUARANTINE_SHUFFLED_PART = 8,
    QUARANTINE_SHUFFLED_LEAST = 4,
    /* A thread keeps back at most LARGE_WAITING freed large and huge objects, with at most LARGE_ADDRESSES bytes of
     * addresses. LARGE_ADDRESSES_SHARE is a divisor: these bytes are at most a 64th of a limited address space. The
     * objects have no memory; but on 64 bits large objects of all threads share a window of 64 GB. */
    LARGE_WAITING = 64,
    LARGE_ADDRESSES = UINTPTR_MAX > 0xffffffffu ? 64 << 20 : 2 << 20,
    LARGE_ADDRESSES_SHARE = 64,
    /* Of large objects with a guard the thread keeps the pages, cleared: as many bytes as its quarantine may have, but
     * at most LARGE_KEPT. More would stay with threads that sleep. With its guard, such an object has LARGE_OPEN bytes
     * at most. It waits with access: with two calls of mprotect a pair of 32 KB took 5.5 us, and now 1.2. */
    LARGE_KEPT = 256 << 10,
    LARGE_OPEN = LARGE_KEPT / QUARANTINE_PART,
    /* Divisor: a new one of these objects changes places with one of the newest half, as there are few. */
    LARGE_SHUFFLED_PART = 2,
    /* Large objects' ranges with guards wait with pages: one of each class, and more while all have GUARDED_PAGES bytes
     * or a sixteenth of what is in use (divisor GUARDED_PAGES_PART). With one alone, rptest up to 32 KB had four times
     * the page faults. With 1 MB git had 2 % fewer, and a peak 0.4 MB higher. */
    GUARDED_PAGES = 256 << 10,
    GUARDED_PAGES_PART = 16,
    /* Each time that this many empty slabs have gone back to the regions, a round is asked for. */
    REGION_ROUND_FROM = 32,
    /* Addresses of empty slabs and ranges that classes keep before a large object's go to the backend, for any size: a
     * quarter (divisor REGION_ADDRESSES_SHARE) of a limited address space, or of the window. */
    REGION_ADDRESSES_SHARE = 4,
    /* Words that malloc(0) searches for the bit of a free address: 32 bits each. */
    ZERO_SIZE_TRIES = 4,
};

/* Bytes that a call may add to the reserve of real-time threads: it writes to all of them, and a phone has no more. */
#define RESERVE_MOST ((size_t)1 << 30)

#endif

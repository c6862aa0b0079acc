/* platform_policy.h - how often and how long the platform tries, and how much it maps: each number with its unit and
 * its reason. config/policy.h, a layer above, has those of the allocator. */
#ifndef JW_PLATFORM_POLICY_H
#define JW_PLATFORM_POLICY_H

#include <stddef.h>
#include <stdint.h>

enum {
    /* Tries to ask whether a word is still mapped: the OS may refuse this call, too. */
    HOLDS_TRIES = 16,
    /* Looks whether the kernel still counts a thread that has ended, one each millisecond. After a second the kernel
     * may have given the thread's number to a thread of the program. */
    THREAD_GONE_TRIES = 1000,
    /* Milliseconds between two looks whether a thread has left its stack: a start that fails wakes no waiter. */
    STACK_LEFT_WAIT = 10,
    /* Bytes of the reclamation thread's stack, rounded up to whole OS pages, beside its guard of one. */
    STACK_SIZE = 28 * 1024,
    /* The thread's stacks: the next thread can start while the last one has returned but not left its stack. */
    STACKS = 2,
    /* Deferred mappings that a thread in need of one looks at, a cache miss each: 0.1 ms. While they are offered to the
     * OS, each refusal counts as a part of these (JW_DEFERRED_UNMAP_TRIES). */
    DEFERRED_LOOKS = 1024,
    /* Least number of a descriptor that we keep: programs expect to get the low ones, in order. */
    OUT_OF_THE_WAY = 100,
};

/* Bytes from which a control group's limit is none: the first version writes the largest number of pages. */
#define NO_GROUP_LIMIT (sizeof(size_t) > 4 ? (uint64_t)1 << 60 : (uint64_t)SIZE_MAX)

/* Bytes, at least, of a freed mapping whose place the next aligned mapping tries. Smaller places are too many. */
#define WORTH_RETURNING ((size_t)1 << 20)

/* Bytes of addresses for the mappings of platform_reserve_apart, which lie one behind the other below the region. On 32
 * bits no more can be spared. */
#define APART_ROOM ((uintptr_t)1 << (sizeof(uintptr_t) > 4 ? 30 : 20))

/* Refusals that one call of unmap_deferred takes: the OS may refuse each of many deferred mappings for ever. */
#ifndef JW_DEFERRED_UNMAP_TRIES
#define JW_DEFERRED_UNMAP_TRIES 8
#endif

#endif

/* tries.h - how often and how long the platform tries: its numbers beside those of config/policy.h, a layer above. */
#ifndef JW_TRIES_H
#define JW_TRIES_H

enum {
    /* Tries to ask whether a word is still mapped: the OS may refuse this call, too. */
    HOLDS_TRIES = 16,
    /* Looks whether the kernel still counts a thread that has ended, one each millisecond. After a second the kernel
     * may have given the thread's number to a thread of the program. */
    THREAD_GONE_TRIES = 1000,
    /* Milliseconds between two looks whether a thread has left its stack: a start that fails wakes no waiter. */
    STACK_LEFT_WAIT = 10,
};

/* Deferred mappings that one call of unmap_deferred offers to the OS, which may refuse each of them for ever. */
#ifndef JW_DEFERRED_UNMAP_TRIES
#define JW_DEFERRED_UNMAP_TRIES 8
#endif

#endif

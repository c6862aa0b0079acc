/* frozen.h - what the tracer and the process it traces know of each other: see frozen.c. */
#ifndef JW_TESTS_RELIABILITY_FROZEN_H
#define JW_TESTS_RELIABILITY_FROZEN_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

enum order { ORDER_WORK, ORDER_FORK, ORDER_FILL, ORDER_START, ORDER_VICTIM, ORDER_JOIN, ORDER_QUIT };

/* Shared memory of the two processes. Orders are numbered; each is done before the next is given. */
struct shared {
    _Atomic(uint32_t) ordered, done; /* futexes */
    _Atomic(uint32_t) seized;        /* futex: 1 when the victim is traced */
    enum order order;
    uint32_t scene, operations_each; /* the orders' arguments */
    _Atomic(pid_t) victim, child;    /* thread; a fork's child while there is one, else 0 */
    _Atomic(uint64_t) operations, forks, most_cached, most_resident;
};
extern struct shared *shared;

/* What a victim does. `prepare` is run by the main thread, `set_up` by the victim before it is stepped. */
struct scene {
    const char *name;
    void (*prepare)(void);
    void (*set_up)(void);
    void (*run)(void);
};
extern const struct scene scenes[];
extern const uint32_t scene_count;

/* Up to this many of the victim's objects are freed by the others at every stop. */
void scenes_take_gifts(unsigned most);
void scenes_clean_up(void);

/* The traced process: never returns. */
_Noreturn void traced_process(void);

void futex_wait(_Atomic(uint32_t) *word, uint32_t expected, uint32_t milliseconds);
void futex_wake(_Atomic(uint32_t) *word);

#endif

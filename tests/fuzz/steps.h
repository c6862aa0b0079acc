/* steps.h - what a step of api.c does, and what is expected of it. */
#ifndef JW_TESTS_FUZZ_STEPS_H
#define JW_TESTS_FUZZ_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPERATIONS(_)                                                                                                  \
    _(MALLOC, 14)                                                                                                      \
    _(CALLOC, 8)                                                                                                       \
    _(REALLOC, 12)                                                                                                     \
    _(REALLOCARRAY, 6)                                                                                                 \
    _(ALIGNED_ALLOC, 6)                                                                                                \
    _(POSIX_MEMALIGN, 5)                                                                                               \
    _(MEMALIGN, 4)                                                                                                     \
    _(VALLOC, 2)                                                                                                       \
    _(PVALLOC, 2)                                                                                                      \
    _(FREE, 22)                                                                                                        \
    _(FREE_SIZED, 4)                                                                                                   \
    _(FREE_ALIGNED_SIZED, 4)                                                                                           \
    _(CFREE, 2)                                                                                                        \
    _(USE_ALL, 5)                                                                                                      \
    _(GOOD_SIZE, 4)                                                                                                    \
    _(TRIM, 4)                                                                                                         \
    _(MALLOPT, 4)                                                                                                      \
    _(STATISTICS, 3)                                                                                                   \
    _(END_THREAD, 4)                                                                                                   \
    _(REFUSE, 6)                                                                                                       \
    _(RELIEVE, 3)                                                                                                      \
    _(WAIT, 4)

#define OPERATION(name, weight) name,
enum operation { OPERATIONS(OPERATION) OPERATION_COUNT };
#undef OPERATION

struct step {
    enum operation operation;
    bool second;
    unsigned slot, count, stride;
    size_t size, alignment;
    uint8_t extra;
};

/* The weights above add up to 128. */
enum operation operation_of(uint8_t byte);

void step_perform(const struct step *step);
void step_show(const struct step *step);

#endif

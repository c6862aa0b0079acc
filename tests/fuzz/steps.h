/* steps.h - what a step of api.c does, and what is expected of it. */
#ifndef JW_TESTS_FUZZ_STEPS_H
#define JW_TESTS_FUZZ_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How often, of 128: in the targets api and faults, and in the target contents. */
#define OPERATIONS(_)                                                                                                  \
    _(MALLOC, 14, 24)                                                                                                  \
    _(CALLOC, 8, 4)                                                                                                    \
    _(REALLOC, 12, 16)                                                                                                 \
    _(REALLOCARRAY, 6, 0)                                                                                              \
    _(ALIGNED_ALLOC, 6, 4)                                                                                             \
    _(POSIX_MEMALIGN, 5, 0)                                                                                            \
    _(MEMALIGN, 4, 0)                                                                                                  \
    _(VALLOC, 2, 0)                                                                                                    \
    _(PVALLOC, 2, 0)                                                                                                   \
    _(FREE, 22, 24)                                                                                                    \
    _(FREE_SIZED, 4, 0)                                                                                                \
    _(FREE_ALIGNED_SIZED, 4, 0)                                                                                        \
    _(CFREE, 2, 0)                                                                                                     \
    _(USE_ALL, 5, 6)                                                                                                   \
    _(GOOD_SIZE, 4, 0)                                                                                                 \
    _(COPY, 0, 14)                                                                                                     \
    _(REMEMBER, 0, 10)                                                                                                 \
    _(PUT, 0, 18)                                                                                                      \
    _(TRIM, 4, 2)                                                                                                      \
    _(MALLOPT, 4, 0)                                                                                                   \
    _(STATISTICS, 3, 0)                                                                                                \
    _(END_THREAD, 4, 6)                                                                                                \
    _(REFUSE, 6, 0)                                                                                                    \
    _(RELIEVE, 3, 0)                                                                                                   \
    _(WAIT, 4, 0)

#define OPERATION(name, weight, with_contents) name,
enum operation { OPERATIONS(OPERATION) OPERATION_COUNT };
#undef OPERATION

struct step {
    enum operation operation;
    bool second;
    unsigned slot, count, stride;
    size_t size, alignment;
    uint8_t extra;
};

enum operation operation_of(uint8_t byte);

void step_perform(const struct step *step);
void step_show(const struct step *step);

#endif

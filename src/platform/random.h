/* random.h - random numbers for each thread of the hardened build. Not for keys: enough of a thread's numbers tell its
 * next one. Not on the reclamation thread, which has no thread-local variables. In a host (host.h), which has none
 * either, all threads draw from one sequence.
 */
#ifndef JW_RANDOM_H
#define JW_RANDOM_H

#include <stdint.h>

#include "base/compiler.h"
#include "base/mixed.h"
#include "platform/host.h"

/* The next number of the process's sequence. */
uint64_t random_of_process(void);

#if JW_HOSTED
static inline uint64_t random_word(void) {
    return random_of_process();
}
#else
extern _Thread_local uint64_t random_state HIDDEN __attribute__((tls_model("initial-exec")));

static inline uint64_t random_word(void) {
    if (UNLIKELY(random_state == 0)) random_state = random_of_process() | 1;
    return mixed(random_state += 0x9e3779b97f4a7c15u);
}
#endif

/* A number below `bound`, which must be small: only then the distribution is even enough. */
static inline uint32_t random_less(uint32_t bound) {
    return (uint32_t)((uint64_t)(uint32_t)random_word() * bound >> 32);
}

/* Draws the secret of all seeds: at the start, and in the child of a fork, which must not repeat its parent's numbers.
 * Other threads ask the kernel for nothing, because a sandbox may kill for the call. */
void random_begin(void);

#endif

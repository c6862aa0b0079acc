/* random.h - random numbers of a thread, for the hardened build. Not for keys: a program that sees enough of a thread's
 * numbers can tell the next one. Not on the reclamation thread, which has no thread-local variables.
 */
#ifndef JW_RANDOM_H
#define JW_RANDOM_H

#include <stdint.h>

#include "base/compiler.h"
#include "base/mixed.h"

extern _Thread_local uint64_t random_state HIDDEN __attribute__((tls_model("initial-exec")));
uint64_t random_seed(void); /* not 0 */

static inline uint64_t random_word(void) {
    if (UNLIKELY(random_state == 0)) random_state = random_seed();
    return mixed(random_state += 0x9e3779b97f4a7c15u);
}

/* Below `bound`, which is small: evenly enough. */
static inline uint32_t random_less(uint32_t bound) {
    return (uint32_t)((uint64_t)(uint32_t)random_word() * bound >> 32);
}

/* The next number begins a new row: in the child of a fork, so that it has not the parent's. */
static inline void random_forget(void) {
    random_state = 0;
}

#endif

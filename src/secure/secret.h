/* secret.h - what the hardened build knows and an attacker does not: the keys of a process, and random numbers. */
#ifndef JW_SECRET_H
#define JW_SECRET_H

#include <stdint.h>

#include "base/compiler.h"

/* Drawn once, by the first slow path; a fork's child keeps its parent's, as its objects do. */
struct secrets {
    uint64_t trailer[2], link;
    uint32_t mask; /* of trailers; no byte of it is 0 */
    uint8_t fill;  /* of freed objects: a word of it is no address */
};

extern struct secrets secrets HIDDEN;

void secrets_start(void);

/* A word that says nothing about another one's (splitmix64's last steps). */
static ALWAYS_INLINE uint64_t mixed(uint64_t word) {
    word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9u;
    word = (word ^ word >> 27) * 0x94d049bb133111ebu;
    return word ^ word >> 31;
}

extern _Thread_local uint64_t random_state HIDDEN __attribute__((tls_model("initial-exec")));
uint64_t random_seed(void); /* not 0 */

/* Not for keys: who sees enough of a thread's numbers can tell the next. Not on the reclamation thread. */
static inline uint64_t random_word(void) {
    if (UNLIKELY(random_state == 0)) random_state = random_seed();
    return mixed(random_state += 0x9e3779b97f4a7c15u);
}

/* Below `bound`, which is small: evenly enough. */
static inline uint32_t random_less(uint32_t bound) {
    return (uint32_t)((uint64_t)(uint32_t)random_word() * bound >> 32);
}

#endif

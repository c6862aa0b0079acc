/* heap_key.h - the keys of heaps: the links of small free objects are written with them (sync/free_link.h).
 *
 *   lower half   | 31 keeps it from being 0 | 30..17 the heap's own bits | 16..0 number of the heap |  ^ frontend_key
 *   upper half   the heap's own bits (64-bit platforms; 32-bit ones have no room for it in a slab)
 *
 * A heap's own bits are made from the secret of its generation (heap_fork.h). A child of a fork gets a secret that it
 * cannot make for its siblings. The seed of these secrets is in memory that no child can read (MADV_WIPEONFORK):
 *
 *   word           before a fork                            after it, in the parent   after it, in the child
 *   child_secret   SipHash(seed, number of the fork)        0                         moves to heap_secret, then 0
 *   fork_seeds     `forks` + 1: no two forks use a number   stays                     wiped; filled from the new secret
 *
 * Several threads may fork at once, so child_secret is thread-local. No step makes a system call, except where
 * the platform has no such memory: there each fork draws a random secret.
 */
#ifndef JW_HEAP_KEY_H
#define JW_HEAP_KEY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "config/geometry.h"

#define KEY_NUMBER_BITS 17
#define KEY_NUMBER_MASK ((1u << KEY_NUMBER_BITS) - 1)
#define KEY_NEVER_ZERO (1u << 31)
_Static_assert((KEY_NUMBER_MASK & KEY_NEVER_ZERO) == 0, "no heap's number changes the bit");
_Static_assert(JW_ADDRESS_BITS <= 48, "no address has the bits of LINK_MARK (sync/free_link.h)");

/* A part of each heap's key. On 32-bit platforms it has the upper half of all keys, because a slab has no room for it.
 * Drawn once, at the start. */
extern uint64_t frontend_key HIDDEN;

/* Only the next two functions know the bits of a key's lower half. */
static inline uint32_t key_number(uintptr_t key) {
    return (uint32_t)(key ^ frontend_key) & KEY_NUMBER_MASK;
}

/* The lower half, with the heap's own bits. */
static inline uint32_t key_made(uint32_t number, uint32_t own) {
    uint32_t common = (uint32_t)frontend_key;
    return common ^ (number | (own & ~(KEY_NEVER_ZERO | KEY_NUMBER_MASK)) | (~common & KEY_NEVER_ZERO));
}

/* The purpose of a derived number: the lowest byte of the hashed message. */
enum heap_purpose { FOR_KEY, FOR_SCATTER, FOR_CHILD, FOR_CHILD_TOO, FOR_SEEDS, FOR_SEEDS_TOO, FOR_MIDEND };

_Static_assert(FOR_CHILD_TOO == FOR_CHILD + 1 && FOR_SEEDS_TOO == FOR_SEEDS + 1, "a secret's second word comes next");
_Static_assert(FOR_MIDEND <= UINT8_MAX, "a purpose is the lowest byte");

/* Derives a number that only this generation of this process can make. */
uint64_t heap_derived(uint64_t number, enum heap_purpose purpose);

/* The key of the heap with that number, in this generation. Its lower half differs from all other heaps' and is never
 * 0. */
uint64_t heap_key(uint32_t number);

/* Draws frontend_key and the first secret. Called once, by the first slow path. */
void heap_keys_start(void);

/* Called before and after a fork, by the thread that forks. */
void heap_keys_before_fork(void);
void heap_keys_after_fork(bool child);

#endif

/* slot_word.h - the word that says which root has claimed a slot of the window.
 *
 *   word   | address of the root that has or had the slot | sealed (2) | disowned (1) | gone (0) |
 *          0: before the first claim
 *
 * The word is the address while the slot is claimed. Before the root is unmapped the word becomes `disowned`: the slot
 * stays claimed, but another mapping may come to the address at once, and is not ours. After the unmapping the word is
 * `gone`, for the message about a second free (docs/misuse.md). A sealed root keeps its slot, but is none of ours any
 * more for all code but core/sealed.c: nothing is allocated there, and no walk comes there.
 * Only this file knows the bits. The words are in page_map.h.
 */
#ifndef JW_SLOT_WORD_H
#define JW_SLOT_WORD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "config/geometry.h"

#define SLOT_GONE 1u
#define SLOT_DISOWNED 2u
#define SLOT_SEALED 4u
_Static_assert((SLOT_GONE | SLOT_DISOWNED | SLOT_SEALED) < ROOT_SIZE, "the bits stand below a root's alignment");

static inline uintptr_t slot_disowned(const char *root) {
    return (uintptr_t)root | SLOT_DISOWNED;
}

static inline uintptr_t slot_gone(const char *root) {
    return (uintptr_t)root | SLOT_GONE;
}

static inline uintptr_t slot_sealed(const char *root) {
    return (uintptr_t)root | SLOT_SEALED;
}

static inline bool slot_is_claimed(uintptr_t word) {
    return word && !(word & SLOT_GONE);
}

/* 1 where slot_is_claimed is false, else 0. */
static inline uintptr_t slot_is_unclaimed(uintptr_t word) {
    return (word & SLOT_GONE) | (word == 0);
}

static inline bool slot_is_sealed(uintptr_t word) {
    return JW_SEAL && word & SLOT_SEALED;
}

/* Whether the address lies in the sealed root that has the slot. */
static inline bool slot_has_sealed(uintptr_t word, const void *address) {
    return slot_is_sealed(word) && (word ^ (uintptr_t)address) < ROOT_SIZE;
}

/* Whether the address lies in a root that had the slot and is unmapped. */
static inline bool slot_is_gone(uintptr_t word, const void *address) {
    return word & SLOT_GONE && (word ^ (uintptr_t)address) < ROOT_SIZE;
}

#endif

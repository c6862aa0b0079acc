/* directory.h - which huge object begins at an address: three levels of tables, made when they are needed.
 *
 *   address   47 ...... 38 | 37 ......... 27 | 26 ........ 12 | 11 ... 0     (with granules of 4 KB; 31.. on 32 bits)
 *               top        |  middle table   |  last table    | 0 for a huge object
 *
 *   top, middle   table of the next level, NULL: none yet      a thread that needs the table, by compare-exchange. The
 *                                                              loser unmaps its own table. Tables stay.
 *   last          | granules of the object | 0 gone |, 0: none a thread that has the addresses: after mapping them, and
 *                                                              before unmapping. A free: live -> gone, compare-exchange
 *
 * The words of the last tables are relaxed. An object's word is written before the program gets the object. The word
 * is marked gone before another mapping can have the addresses (the kernel's order of unmapping and mapping: UM1, UM2).
 * The size of a freed object stays in its word, for the message about a second free. */
#ifndef JW_DIRECTORY_H
#define JW_DIRECTORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/geometry.h"

typedef _Atomic(uintptr_t) huge_word;

struct directory {
    _Atomic(void *) top[1 << (JW_ADDRESS_BITS - JW_DIRECTORY_MIDDLE_SHIFT)];
};

extern struct directory directory;

#define HUGE_GONE ((uintptr_t)1)
_Static_assert(JW_ADDRESS_BITS - JW_GRANULE_SHIFT < sizeof(uintptr_t) * 8, "a number of granules fits beside the bit");

/* Only this file knows the bits of a word. */
static inline uintptr_t huge_word_of(size_t granules) {
    return (uintptr_t)granules << 1;
}

static inline size_t huge_word_granules(uintptr_t word) {
    return word >> 1;
}

static inline bool huge_word_is_gone(uintptr_t word) {
    return word & HUGE_GONE;
}

/* Whether an object in use begins there. */
static inline wide_bool huge_word_is_live(uintptr_t word) {
    return word && !(word & HUGE_GONE);
}

static inline uintptr_t huge_word_with_gone(uintptr_t word) {
    return word | HUGE_GONE;
}

/* The word of an address at a granule's start. Makes missing tables. NULL when the OS refuses memory for them, or the
 * address is beyond the directory. */
huge_word *directory_make_word(const void *object);

/* The value of the address's word. 0: the address has no tables, or is not a granule's start. */
uintptr_t directory_get(const void *object);

/* The word of an address for which directory_make_word has made the tables. */
huge_word *directory_word(const void *object);

/* Returns where the last object begins that is not behind the address. `gone`: looks for a freed object, else for one
 * in use. *word: the object's word. NULL: there is none. */
char *directory_before(const void *object, bool gone, uintptr_t *word);

#endif

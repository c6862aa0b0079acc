/* cross_list.h - the objects of a slab that other threads have freed: one word.
 *
 *   cross   | 31 full | 30 watched | 29..16 count | 15..0 distance of the first object from the origin, 0: none |
 *
 *   transition   by                           word
 *   push         any other thread; the owner  count + 1, distance = the object's, full = watched = 0; its link leads on
 *                a suspect (suspect.h)
 *   drain        owner, to refill or empty    0: one exchange moves the whole list; no thread walks it
 *   format       owner                        full = 1, as a new slab is marked
 *   mark full    owner, nothing left and      only from 0: full = 1. The first push after that clears the bit: that
 *                not marked (slab.h)          thread, and no other, must return the slab to its owner (heap_reopened.h)
 *   watch        a round                      watched = 1; the next push, or the owner, clears the bit
 *   giving       a round                      only from watched: the distance becomes GIVING
 *   given, kept  that round                   GIVING becomes GIVEN, or KEPT where the OS refuses
 *   unwatch      owner                        watched = 0
 *   watch again  owner, if the slab is taken  watched = 1, after its own unwatch
 *   empty        owner, after given or kept   0
 *
 * A slab is taken while a round has put GIVING, GIVEN or KEPT in the place of the distance. These are even; a distance
 * is odd. remote_reclaim.h says why that is right. The objects are linked (sync/free_link.h). The origin is the address
 * before the slab: odd, so that the origin ends a list. The count alone answers the periodic question whether all
 * objects of the slab are free. Only this file knows the bits. Progress: lock-free.
 */
#ifndef JW_CROSS_LIST_H
#define JW_CROSS_LIST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/size_classes.h"
#include "frontend/remote_work.h"
#include "platform/instructions.h"
#include "platform/misuse.h"
#include "sync/free_link.h"

/* The shared word, and a value of it. */
struct cross_list {
    _Atomic(uint32_t) raw;
};
struct cross_word {
    uint32_t raw;
};

#define CROSS_FULL 0x80000000u
#define CROSS_WATCHED 0x40000000u
#define CROSS_MARKS (CROSS_FULL | CROSS_WATCHED)
#define CROSS_ONE 0x10000u

_Static_assert(GRANULE_SIZE / SMALLEST_OBJECT < CROSS_WATCHED / CROSS_ONE, "the count fits below the marks");
_Static_assert(GRANULE_SIZE <= CROSS_ONE && GRANULE_SIZE % 8 == 0, "a distance fits below the count, and is odd");

/* What a round has done with a slab that it has taken. The count and WATCHED stay. */
enum { CROSS_GIVING = 2, CROSS_GIVEN = 4, CROSS_KEPT = 6, CROSS_TAKEN = 6 };

static inline unsigned cross_count_of(struct cross_word word) {
    return (word.raw & ~CROSS_MARKS) / CROSS_ONE;
}

static inline bool cross_is_full(struct cross_word word) {
    return word.raw & CROSS_FULL;
}

static inline bool cross_is_watched(struct cross_word word) {
    return word.raw & CROSS_WATCHED;
}

/* Whether a round has taken the slab. It then has no object in use, so only a double free would push to it. */
static inline bool cross_is_taken(struct cross_word word) {
    return !(word.raw & 1) && word.raw & CROSS_TAKEN;
}

static inline bool cross_is_giving(struct cross_word word) {
    return (word.raw & CROSS_TAKEN) == CROSS_GIVING && cross_is_taken(word);
}

static inline bool cross_is_kept(struct cross_word word) {
    return (word.raw & CROSS_TAKEN) == CROSS_KEPT && cross_is_taken(word);
}

static ALWAYS_INLINE struct cross_word cross_without_marks(struct cross_word word) {
    return (struct cross_word){word.raw & ~CROSS_MARKS};
}

static ALWAYS_INLINE char *cross_first(char *origin, struct cross_word word) {
    return origin + (uint16_t)word.raw;
}

/* Returns the word after a push onto a list without marks: one more object, and the distance of `object`. */
static ALWAYS_INLINE uint32_t cross_word_after_push(struct cross_word old, const char *first, const char *object) {
    return old.raw + CROSS_ONE + ((uint32_t)(uintptr_t)object - (uint32_t)(uintptr_t)first);
}

/* Makes the word of a slab that a round has taken: GIVING, GIVEN or KEPT. */
static inline struct cross_word cross_word_in_phase(struct cross_word word, uint32_t phase) {
    return (struct cross_word){CROSS_WATCHED | cross_count_of(word) * CROSS_ONE | phase};
}

static inline struct cross_word cross_get(const struct cross_list *list) {
    return (struct cross_word){atomic_load_explicit(&list->raw, memory_order_relaxed)};
}

static inline void cross_init(struct cross_list *list, struct cross_word word) {
    atomic_init(&list->raw, word.raw);
}

static inline unsigned cross_count(const struct cross_list *list) {
    return cross_count_of(cross_get(list));
}

/* Reads the word in order to follow the links. */
static inline struct cross_word cross_get_linked(const struct cross_list *list) {
    /* [CL5] acquire: the links; pairs [CL1] [CL2]; client suspect_own */
    return (struct cross_word){atomic_load_explicit(&list->raw, memory_order_acquire)};
}

/* One try to push onto a list without marks. False: use cross_push_slowly. */
static ALWAYS_INLINE bool cross_push(struct cross_list *list, char *origin, void *object, uint64_t key) {
    struct cross_word word = cross_without_marks(cross_get(list));
    char *first = cross_first(origin, word);
    /* now: then the link is made in the register of `first` */
    uint32_t old = word.raw, new = half_computed_now(cross_word_after_push(word, first, object));
    link_write(object, first, key);
    /* [CL1] release: the link, and the freeing thread's last use of the object; pairs [CL3] [CL5] [RR6];
     * client cross_push_drain */
    return atomic_compare_exchange_strong_explicit(&list->raw, &old, new, memory_order_release, memory_order_relaxed);
}

/* The general push. True: the slab was marked full, and the caller must return it to its owner. */
static inline bool cross_push_slowly(struct cross_list *list, char *origin, void *object, uint64_t key) {
    struct cross_word old = cross_get(list);
    uint32_t new;
    do {
        char *first = cross_first(origin, old);
        if (UNLIKELY(cross_is_taken(old))) misuse(DOUBLE_FREE, object, 0); /* it has no object in use */
        link_write(object, first, key);
        new = cross_word_after_push(cross_without_marks(old), first, object);
        /* [CL2] release: as CL1; acquire: the owner is done with the slab's last return; pairs [CL3] [CL4]
         * [CL5] [RR6]; client cross_push_drain; kept acquire: what it orders is a relaxed word, and the
         * checker does not explore load buffering */
    } while (
        !atomic_compare_exchange_weak_explicit(&list->raw, &old.raw, new, memory_order_acq_rel, memory_order_relaxed));
    if (cross_is_watched(old)) remote_work_note();
    return cross_is_full(old);
}

/* Takes the whole list. Returns its first object, or the origin if there is none. *count: the number of objects. */
static inline void *cross_drain(struct cross_list *list, char *origin, unsigned *count) {
    *count = 0;
    if (!cross_count(list)) return origin; /* a mark stays */
    /* [CL3] acquire: the links, and the last uses of the objects; pairs [CL1] [CL2]; client cross_push_drain */
    struct cross_word old = {atomic_exchange_explicit(&list->raw, 0, memory_order_acquire)};
    *count = cross_count_of(old);
    return cross_first(origin, old);
}

/* Marks a new slab full. No thread has an object of the slab yet. */
static inline void cross_format(struct cross_list *list) {
    atomic_store_explicit(&list->raw, CROSS_FULL, memory_order_relaxed);
}

/* Marks the slab full. False: other threads have freed objects of the slab meanwhile. */
static inline bool cross_mark_full(struct cross_list *list) {
    uint32_t expected = 0;
    /* [CL4] release: done with the slab's last return; pairs [CL2]; kept: as CL2 */
    return atomic_compare_exchange_strong_explicit(&list->raw, &expected, CROSS_FULL, memory_order_release,
                                                   memory_order_relaxed);
}

/* Marks the slab watched. False: the word has changed. By a round: there is one at a time. */
static inline bool cross_watch(struct cross_list *list, struct cross_word *word) {
    /* [RR6] acquire: the objects' last uses, and the owner's state; pairs [CL1] [CL2] [RR5]; client remote_leave */
    if (!atomic_compare_exchange_strong_explicit(&list->raw, &word->raw, word->raw | CROSS_WATCHED,
                                                 memory_order_acquire, memory_order_relaxed))
        return false;
    word->raw |= CROSS_WATCHED;
    return true;
}

/* Takes a watched slab. False: the word has changed. By that round. Relaxed: nothing has changed since RR6, or WATCHED
 * would be gone. */
static inline bool cross_begin_giving(struct cross_list *list, struct cross_word word) {
    uint32_t giving = cross_word_in_phase(word, CROSS_GIVING).raw;
    return atomic_compare_exchange_strong_explicit(&list->raw, &word.raw, giving, memory_order_relaxed,
                                                   memory_order_relaxed);
}

/* Writes what has become of the slab's memory. `given`: the OS has taken the memory. By the round that gives it
 * back. */
static inline void cross_end_giving(struct cross_list *list, bool given) {
    struct cross_word word = cross_word_in_phase(cross_get(list), given ? CROSS_GIVEN : CROSS_KEPT);
    /* [RR9] release: the memory is gone; pairs [RR8]; client remote_owner */
    atomic_store_explicit(&list->raw, word.raw, memory_order_release);
}

/* Ends the watch. True: a round had watched the slab. By the owner, after it has written the slab's state. */
static inline bool cross_unwatch(struct cross_list *list) {
    /* [RR5] release: the state; pairs [RR6]; client remote_leave */
    return atomic_fetch_and_explicit(&list->raw, ~CROSS_WATCHED, memory_order_release) & CROSS_WATCHED;
}

/* Sets WATCHED again after cross_unwatch, because a round has taken the slab. Returns the word as it was. By the
 * owner. */
static inline struct cross_word cross_watch_again(struct cross_list *list) {
    return (struct cross_word){atomic_fetch_or_explicit(&list->raw, CROSS_WATCHED, memory_order_relaxed)};
}

/* Reads what a round has done. By the owner. */
static inline struct cross_word cross_get_after_round(const struct cross_list *list) {
    /* [RR8] acquire: its memory is given back; pairs [RR9]; client remote_owner */
    return (struct cross_word){atomic_load_explicit(&list->raw, memory_order_acquire)};
}

/* Empties the list. By the owner: no round looks, and no object is in use. */
static inline void cross_empty(struct cross_list *list) {
    atomic_store_explicit(&list->raw, 0, memory_order_relaxed);
}

#endif

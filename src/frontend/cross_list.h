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
 * objects of the slab are free. Only this file and cross_list.c know the bits. Inline are free's hit path (cross_push)
 * and what reads a value. Progress: lock-free.
 */
#ifndef JW_CROSS_LIST_H
#define JW_CROSS_LIST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "config/size_classes.h"
#include "platform/instructions.h"
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
static ALWAYS_INLINE bool cross_is_taken(struct cross_word word) {
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

static ALWAYS_INLINE struct cross_word cross_get(const struct cross_list *list) {
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
    /* now: then the word is loaded into the register that the compare-exchange needs */
    struct cross_word word = {half_computed_now(cross_get(list).raw)};
    char *first = cross_first(origin, word);
    word = cross_without_marks(word);
    /* now: then the link is made in the register of `first` */
    uint32_t old = word.raw, new = half_computed_now(cross_word_after_push(word, first, object));
    link_write(object, first, key);
    /* [CL1] release: the link, and the freeing thread's last use of the object; pairs [CL3] [CL5] [RR6];
     * client cross_push_drain */
    return atomic_compare_exchange_strong_explicit(&list->raw, &old, new, memory_order_release, memory_order_relaxed);
}

/* The general push. True: the slab was marked full, and the caller must return it to its owner. */
bool cross_push_slowly(struct cross_list *list, char *origin, void *object, uint64_t key);

/* Takes the whole list. Returns its first object, or the origin if there is none. *count: the number of objects. */
void *cross_drain(struct cross_list *list, char *origin, unsigned *count);

/* Marks a new slab full. No thread has an object of the slab yet. */
void cross_format(struct cross_list *list);

/* Marks the slab full. False: other threads have freed objects of the slab meanwhile. */
bool cross_mark_full(struct cross_list *list);

/* Marks the slab watched. False: the word has changed. By a round: there is one at a time. */
bool cross_watch(struct cross_list *list, struct cross_word *word);

/* Takes a watched slab. False: the word has changed. By that round. Relaxed: nothing has changed since RR6, or WATCHED
 * would be gone. */
wide_bool cross_begin_giving(struct cross_list *list, struct cross_word word);

/* Writes what has become of the slab's memory. `given`: the OS has taken the memory. By the round that gives it
 * back. */
void cross_end_giving(struct cross_list *list, bool given);

/* Ends the watch. True: a round had watched the slab. By the owner, after it has written the slab's state. */
bool cross_unwatch(struct cross_list *list);

/* Sets WATCHED again after cross_unwatch, because a round has taken the slab. Returns the word as it was. By the
 * owner. */
struct cross_word cross_watch_again(struct cross_list *list);

/* Reads what a round has done. By the owner. */
struct cross_word cross_get_after_round(const struct cross_list *list);

/* Empties the list. By the owner: no round looks, and no object is in use. */
void cross_empty(struct cross_list *list);

#endif

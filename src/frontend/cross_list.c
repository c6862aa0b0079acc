/* cross_list.c - the transitions of the cross word that no hit path needs. */
#include "frontend/cross_list.h"

#include "frontend/remote_work.h"
#include "platform/misuse.h"

bool cross_push_slowly(struct cross_list *list, char *origin, void *object, uint64_t key) {
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

void *cross_drain(struct cross_list *list, char *origin, unsigned *count) {
    *count = 0;
    if (!cross_count(list)) return origin; /* a mark stays */
    /* [CL3] acquire: the links, and the last uses of the objects; pairs [CL1] [CL2]; client cross_push_drain */
    struct cross_word old = {atomic_exchange_explicit(&list->raw, 0, memory_order_acquire)};
    *count = cross_count_of(old);
    return cross_first(origin, old);
}

void cross_format(struct cross_list *list) {
    atomic_store_explicit(&list->raw, CROSS_FULL, memory_order_relaxed);
}

bool cross_mark_full(struct cross_list *list) {
    uint32_t expected = 0;
    /* [CL4] release: done with the slab's last return; pairs [CL2]; kept: as CL2 */
    return atomic_compare_exchange_strong_explicit(&list->raw, &expected, CROSS_FULL, memory_order_release,
                                                   memory_order_relaxed);
}

bool cross_watch(struct cross_list *list, struct cross_word *word) {
    /* [RR6] acquire: the objects' last uses, and the owner's state; pairs [CL1] [CL2] [RR5]; client remote_leave */
    if (!atomic_compare_exchange_strong_explicit(&list->raw, &word->raw, word->raw | CROSS_WATCHED,
                                                 memory_order_acquire, memory_order_relaxed))
        return false;
    word->raw |= CROSS_WATCHED;
    return true;
}

/* Makes the word of a slab that a round has taken: GIVING, GIVEN or KEPT. */
static inline struct cross_word cross_word_in_phase(struct cross_word word, uint32_t phase) {
    return (struct cross_word){CROSS_WATCHED | cross_count_of(word) * CROSS_ONE | phase};
}

wide_bool cross_begin_giving(struct cross_list *list, struct cross_word word) {
    uint32_t giving = cross_word_in_phase(word, CROSS_GIVING).raw;
    return atomic_compare_exchange_strong_explicit(&list->raw, &word.raw, giving, memory_order_relaxed,
                                                   memory_order_relaxed);
}

void cross_end_giving(struct cross_list *list, bool given) {
    struct cross_word word = cross_word_in_phase(cross_get(list), given ? CROSS_GIVEN : CROSS_KEPT);
    /* [RR9] release: the memory is gone; pairs [RR8]; client remote_owner */
    atomic_store_explicit(&list->raw, word.raw, memory_order_release);
}

bool cross_unwatch(struct cross_list *list) {
    /* [RR5] release: the state; pairs [RR6]; client remote_leave */
    return atomic_fetch_and_explicit(&list->raw, ~CROSS_WATCHED, memory_order_release) & CROSS_WATCHED;
}

struct cross_word cross_watch_again(struct cross_list *list) {
    return (struct cross_word){atomic_fetch_or_explicit(&list->raw, CROSS_WATCHED, memory_order_relaxed)};
}

struct cross_word cross_get_after_round(const struct cross_list *list) {
    /* [RR8] acquire: its memory is given back; pairs [RR9]; client remote_owner */
    return (struct cross_word){atomic_load_explicit(&list->raw, memory_order_acquire)};
}

void cross_empty(struct cross_list *list) {
    atomic_store_explicit(&list->raw, 0, memory_order_relaxed);
}

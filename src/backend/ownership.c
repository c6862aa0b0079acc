/* ownership.c - acquiring and placing ranges: both halves, Nest's and Knit's, with the rollback of a failed step. */
#include "backend/ownership.h"

#include <string.h>

#include "backend/thrift_counters.h"
#include "base/published.h"
#include "config/policy.h"
#include "platform/assert.h"

struct ownership ownership;
PUBLISHED(ownership);

enum { TRIES = JW_RANGE_TRIES };

void free_granules_add(enum slot_code state, intptr_t granules) {
    /* [OW1] acquire: a thread that adds after the reclamation thread's last look sees that it has ended; pairs [TH1];
     * client thread_end_free */
    atomic_fetch_add_explicit(&ownership.cached[state == UNMAPPED], granules, memory_order_acquire);
}

bool ownership_last_look_has_mapped(size_t granules) {
    /* [TH1] release: a thread that adds ranges after this look sees what was announced before it; pairs [OW1];
     * client thread_end_free */
    return atomic_fetch_add_explicit(&ownership.cached[0], 0, memory_order_release) > (intptr_t)granules;
}

bool ownership_last_look_has_deferred(void) {
    return !id_stack_last_look_is_empty(&ownership.deferred); /* client thread_end_deferred */
}

void ownership_forget_sealed(void) {
    memset(ownership.nests, 0, sizeof ownership.nests);
    id_stack_take_all(&ownership.deferred);
    for (unsigned i = 0; i < 2; i++) atomic_store_explicit(&ownership.cached[i], 0, memory_order_relaxed);
}

unsigned ownership_swap_buffers(void) {
    /* relaxed: a thread that still fills the old buffer only shortens that range's wait */
    return atomic_fetch_xor_explicit(&ownership.active, 1, memory_order_relaxed);
}

static void note_rollback(void) {
    atomic_fetch_add_explicit(&ownership.rollbacks, 1, memory_order_relaxed);
}

/* Puts a range on the deferred list. `acquired`: the caller holds Knit's half, too. */
static void defer_range(granule_id range, enum slot_code state, bool acquired) {
    leaf_set(range, leaf_deferred(state == UNMAPPED, acquired));
    atomic_fetch_add_explicit(&ownership.deferrals, 1, memory_order_relaxed);
    id_stack_push(&ownership.deferred, range, range_set_next);
}

/* How much of the weight counts as free in that state: mapped memory of the reserve does not. The caller holds the
 * range. */
static NOINLINE intptr_t counted_weight(granule_id range, enum slot_code state, uint32_t weight) {
    return state == MAPPED && root_use(range) == FOR_RESERVE ? 0 : (intptr_t)weight;
}

granule_id range_acquire_from(unsigned nest, unsigned class) {
    enum slot_code state = nest_is_unmapped(nest) ? UNMAPPED : MAPPED;
    granule_id range, failed[TRIES];
    int tries = 0;
    while ((range = nest_take(&ownership.nests[nest], class)) && knit_acquire(range) == IN_USE) {
        failed[tries++] = range;
        range = 0;
        if (tries == TRIES) break;
    }
    if (range) {
        free_granules_add(state, -counted_weight(range, state, weight_of_class(class)));
        leaf_set(range, leaf_held());
    }
    /* the ranges that failed go back only now: else the next try would have found the same range again */
    while (tries > 0) {
        note_rollback();
        if (!nest_place(&ownership.nests[nest], class, failed[--tries])) defer_range(failed[tries], state, false);
    }
    return range;
}

/* The Nest for a range of that state. */
static unsigned nest_of(enum root_use use, enum slot_code state) {
    return nest_of_use(use, state == UNMAPPED ? UNMAPPED_NEST : ownership_active());
}

granule_id range_acquire(enum root_use use, enum slot_code state, uint32_t weight) {
    unsigned range_class = class_of_weight(weight);
    unsigned first = nest_of(use, state), second = first;
    if (state == MAPPED) second = nest_of_use(use, 0) + nest_of_use(use, 1) - first; /* the other buffer */
    for (;; range_class++) {
        unsigned in_first = nest_next_class(&ownership.nests[first], range_class);
        unsigned in_second = nest_next_class(&ownership.nests[second], range_class);
        range_class = in_first < in_second ? in_first : in_second;
        if (range_class == RANGE_CLASSES) return 0;
        granule_id range = in_first == range_class ? range_acquire_from(first, range_class) : 0;
        if (!range && in_second == range_class && second != first) range = range_acquire_from(second, range_class);
        if (range) return range;
    }
}

/* Takes the Nest half of a sibling whose Knit half the caller holds. If that fails, gives the Knit half back. */
static wide_bool take_sibling(granule_id sibling, uint32_t weight, enum slot_code state, enum slot_code was) {
    struct leaf_word leaf = leaf_get(sibling);
    unsigned nest = leaf_nest(leaf);
    if (leaf_kind(leaf) == FREE && nest_is_unmapped(nest) == (state == UNMAPPED) &&
        nest_take_this(&ownership.nests[nest], class_of_weight(weight), sibling, leaf_free(nest)))
        return true;
    note_rollback();
    if (was == LEFT || !knit_release(sibling, was)) knit_relinquish(sibling);
    return false;
}

NOINLINE uint32_t range_join_right(granule_id range, enum slot_code state) {
    enum slot_code was;
    granule_id sibling = knit_acquire_sibling(range, ON_THE_RIGHT, state, &was);
    if (!sibling) return 0;
    uint32_t more = knit_weight(sibling);
    if (!take_sibling(sibling, more, state, was)) return 0;
    free_granules_add(state, -counted_weight(range, state, more));
    knit_join(range, sibling);
    return more;
}

granule_id range_acquire_below(enum root_use use, uint32_t weight) {
    granule_id range = 0;
    unsigned i = 2 * class_of_weight(weight); /* class and buffer */
    while (!range && i-- > 0)
        if (nest_may_have(&ownership.nests[nest_of_use(use, i % 2)], i / 2))
            range = range_acquire_from(nest_of_use(use, i % 2), i / 2);
    return range;
}

/* Adds the weight of the joined siblings to *weight. */
static granule_id join_siblings(granule_id range, uint32_t *weight, enum slot_code state) {
    enum slot_code was;
    granule_id sibling;
    for (unsigned sides = ON_THE_LEFT | ON_THE_RIGHT; (sibling = knit_acquire_sibling(range, sides, state, &was));) {
        unsigned side = sibling < range ? ON_THE_LEFT : ON_THE_RIGHT;
        uint32_t more = knit_weight(sibling);
        if (!take_sibling(sibling, more, state, was)) {
            sides &= ~side;
            continue;
        }
        sides = ON_THE_LEFT | ON_THE_RIGHT;
        *weight += more;
        if (side == ON_THE_RIGHT) knit_join(range, sibling);
        else leaf_set(range = knit_join(sibling, range), leaf_held());
    }
    return range;
}

/* A whole unmapped root goes back to the OS. False: the OS refuses, or there is a walker. */
static bool destroy_root(granule_id root) {
    if (root_destroy(root, true)) return true;
    note_rollback(); /* the next round tries again */
    return false;
}

enum placing { PLACED, REFUSED_BY_NEST, REFUSED_BY_KNIT };

/* Gives both halves of a held range up, first Nest's; a root has no Knit half. If either refuses, the caller still
 * holds the range. */
static enum placing place_halves(granule_id range, uint32_t weight, bool root, enum slot_code state) {
    unsigned nest = nest_of(root_use(range), state);
    struct leaf_word leaf = leaf_free(nest);
    leaf_set(range, leaf);
    if (!nest_place(&ownership.nests[nest], class_of_weight(weight), range)) return REFUSED_BY_NEST;
    if (root || knit_release(range, state)) return PLACED;
    note_rollback();
    if (!nest_take_this(&ownership.nests[nest], class_of_weight(weight), range, leaf)) {
        knit_relinquish(range);
        return PLACED;
    }
    leaf_set(range, leaf_held());
    return REFUSED_BY_KNIT;
}

void range_place_known(granule_id range, uint32_t weight, enum slot_code state) {
    intptr_t own = counted_weight(range, state, weight); /* the joined siblings are counted already */
    enum placing result = REFUSED_BY_KNIT;
    for (int tries = 0; result == REFUSED_BY_KNIT && tries < TRIES; tries++) {
        invariant(leaf_same(leaf_get(range), leaf_held()));
        range = join_siblings(range, &weight, state); /* after Knit's refusal: with the neighbour that became free */
        bool root = knit_is_root(range);
        if (root && state == UNMAPPED && destroy_root(range)) return free_granules_add(state, own - (intptr_t)weight);
        result = place_halves(range, weight, root, state);
    }
    free_granules_add(state, own); /* a deferred range is cached memory, too */
    if (result != PLACED) defer_range(range, state, true);
}

NOINLINE granule_id range_join_unmapped(granule_id range, uint32_t *weight) {
    uint32_t own = *weight;
    range = join_siblings(range, weight, UNMAPPED);
    free_granules_add(UNMAPPED, (intptr_t)own - (intptr_t)*weight);
    return range;
}

uint32_t range_place_refused(granule_id range, uint32_t weight, bool joins) {
    if (joins) range = range_join_unmapped(range, &weight);
    if (knit_is_root(range) && root_destroy(range, false)) {
        thrift_count_given_back(ROOT_SIZE);
        return 0;
    }
    range_place_known(range, weight, MAPPED);
    return weight;
}

wide_bool range_place_deferred(void) {
    granule_id range = id_stack_take_all(&ownership.deferred);
    if (!range) return false;
    for (granule_id next; range; range = next) {
        next = range_next(range);
        struct leaf_word leaf = leaf_get(range);
        enum slot_code state = leaf_is_unmapped(leaf) ? UNMAPPED : MAPPED;
        if (!leaf_is_acquired(leaf) && knit_acquire(range) == IN_USE) {
            defer_range(range, state, false);
            continue;
        }
        free_granules_add(state, -counted_weight(range, state, knit_weight(range)));
        leaf_set(range, leaf_held());
        range_place(range, state);
    }
    return true;
}

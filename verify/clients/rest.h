/* rest.h - what must hold of the backend whenever no thread is at work. The counts are those of the free ranges that
 * there are, signed and exact. No slot of a Nest keeps a range that was taken.
 */
#ifndef JW_REST_H
#define JW_REST_H

#include "backend/backend.h"
#include "backend/knit.h"
#include "backend/ownership.h"
#include "backend/reserve.h"
#include "verify/clients/client.h"

/* Granules of the class that wait in the Nest; a slot that its summary does not have must be empty. */
static inline intptr_t granules_waiting(const struct nest_class *class, unsigned number) {
    uintptr_t summary = atomic_load_explicit(&class->summary, memory_order_relaxed);
    intptr_t count = 0;
    for (unsigned slot = 0; slot < JW_NEST_SLOTS; slot++) {
        bool there = summary >> slot & 1;
        assert(there == (atomic_load_explicit(&class->slots[slot], memory_order_relaxed) != 0));
        count += there;
    }
    granule_id range = atomic_load_explicit(&class->list, memory_order_relaxed) & ID_MASK;
    for (; range; range = range_next(range)) count++;
    return count * (intptr_t)weight_of_class(number);
}

static inline void expect_exact_counts(void) {
    intptr_t granules[2]; /* not initialised as a whole, which GenMC cannot read */
    granules[0] = granules[1] = 0;
    for (unsigned nest = 0; nest < nests_in_use(); nest++)
        for (unsigned class = 0; class < RANGE_CLASSES; class ++)
            granules[nest_is_unmapped(nest)] += granules_waiting(&ownership.nests[nest].classes[class], class);
    granule_id range = atomic_load_explicit(&ownership.deferred.first, memory_order_relaxed);
    for (; range; range = range_next(range))
        granules[leaf_is_unmapped(leaf_get(range))] += (intptr_t)knit_weight(range);
    for (unsigned state = 0; state < 2; state++)
        assert(atomic_load_explicit(&ownership.cached[state], memory_order_relaxed) == granules[state]);
}

#endif

/* table.h - the objects in use that were sampled, by address.
 *
 *   filter[address / 256 % 65536]   how many of these objects are there; 0: free need not look
 *   keys[slot]   0 -> address   the thread that has allocated the object   rows[slot]: 0 -> its row
 *                address -> 0   the thread that frees it                   before: rows[slot] -> 0
 *
 * A thread has an address only between the object's allocation and its free, and the program passes it on to other
 * threads with an order of its own. So no two threads insert or remove one address at a time, and a free finds what the
 * allocation has inserted. Each step is one atomic operation, so nobody waits. The memory is private: a child of fork
 * has what its parent had at that moment. */
#ifndef JW_PROFILE_TABLE_H
#define JW_PROFILE_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { FILTER_SHIFT = 8, FILTER_SIZE = 1 << 16 };

__attribute__((visibility("hidden"))) extern _Atomic uint8_t filter[FILTER_SIZE];

static inline _Atomic uint8_t *filter_of(const void *object) {
    return &filter[(uintptr_t)object >> FILTER_SHIFT & (FILTER_SIZE - 1)];
}

/* False: this object was not sampled. */
static inline bool filter_has(const void *object) {
    return __builtin_expect(atomic_load_explicit(filter_of(object), memory_order_relaxed) != 0, 0);
}

/* Makes frees look at an object, also at one that is in no table. False: no more fit there. */
bool filter_add(const void *object);
void filter_remove(const void *object);

bool table_insert(const void *object, uint32_t row); /* false: full */
uint32_t table_remove(const void *object);           /* its row; 0: not sampled */
void table_each(void (*visit)(uint32_t row));

#endif

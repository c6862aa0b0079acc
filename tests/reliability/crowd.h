/* crowd.h - the other threads' work: random operations over all tiers, cheap enough for 10,000 of them at every stop.
 *
 * An object carries words at its head, at its tail and at every granule's start: whatever else is given out on top of
 * it, an object, or another range, begins at one of these.
 */
#ifndef JW_TESTS_RELIABILITY_CROWD_H
#define JW_TESTS_RELIABILITY_CROWD_H

#include <stdatomic.h>
#include <stdlib.h>

#include "check.h"
#include "entry_points.h"

enum { CROWD_HELD = 256, CROWD_BOXES = 64, WORD = 8 };

struct object {
    char *bytes;
    size_t size;
    uint64_t seed;
};

/* A thread of the crowd. */
struct member {
    uint64_t random;
    struct object held[CROWD_HELD];
};

/* Where objects change hands. No thread waits for a busy box. */
struct box {
    atomic_flag busy;
    struct object object;
};
static struct box boxes[CROWD_BOXES];

static inline size_t next_word(const struct object *object, size_t offset) {
    size_t stride = object->size < 256 << 10 ? 4096 : 65536, tail = (object->size - WORD) & ~(size_t)7;
    size_t next = (((uintptr_t)object->bytes + offset) / stride + 1) * stride - (uintptr_t)object->bytes;
    return offset >= tail ? object->size : next < tail ? next : tail;
}

static inline void object_write(const struct object *object) {
    pattern_fill(object->bytes, object->size < WORD ? object->size : WORD, object->seed);
    for (size_t at = 0; object->size > WORD && at < object->size; at = next_word(object, at))
        pattern_fill(object->bytes + at, WORD, object->seed + at);
}

static inline void object_check(const struct object *object) {
    CHECK(pattern_holds(object->bytes, object->size < WORD ? object->size : WORD, object->seed));
    for (size_t at = 0; object->size > WORD && at < object->size; at = next_word(object, at))
        CHECK(pattern_holds(object->bytes + at, WORD, object->seed + at));
}

static inline size_t crowd_size(uint64_t *random) {
    uint64_t kind = random_below(random, 10000);
    if (kind < 7000) return random_below(random, (size_t)16 << random_below(random, 8)) + 1;
    if (kind < 9000) return 2000 + random_below(random, 13000);
    if (kind < 9960) return 14000 + random_below(random, (size_t)1 << (12 + random_below(random, 5)));
    if (kind < 9995) return (size_t)64 << (10 + random_below(random, 6));
    return (size_t)5 << 20;
}

static inline void object_new(struct object *object, uint64_t *random) {
    uint64_t kind = random_below(random, 8);
    object->size = crowd_size(random);
    object->seed = random_next(random);
    if (kind == 0) object->bytes = calloc(1, object->size);
    else if (kind == 1) object->bytes = aligned_alloc((size_t)16 << random_below(random, 10), object->size);
    else object->bytes = malloc(object->size);
    CHECK(object->bytes != NULL);
    if (kind == 0) CHECK(bytes_are_zero(object->bytes, object->size < 4096 ? object->size : 4096));
    object_write(object);
}

static inline void object_free(struct object *object) {
    if (object->bytes == NULL) return;
    object_check(object);
    free(object->bytes);
    object->bytes = NULL;
}

static inline void object_resize(struct object *object, uint64_t *random) {
    size_t size = crowd_size(random);
    uint64_t head = 0;
    object_check(object);
    memcpy(&head, object->bytes, object->size < WORD ? object->size : WORD);
    object->bytes = realloc(object->bytes, size);
    CHECK(object->bytes != NULL);
    size_t kept = size < object->size ? size : object->size;
    CHECK(memcmp(object->bytes, &head, kept < WORD ? kept : WORD) == 0);
    object->size = size;
    object_write(object);
}

static inline void object_exchange(struct object *object, struct box *box) {
    if (atomic_flag_test_and_set_explicit(&box->busy, memory_order_acquire)) return;
    struct object other = box->object;
    box->object = *object;
    *object = other;
    atomic_flag_clear_explicit(&box->busy, memory_order_release);
}

static inline void crowd_work(struct member *member, size_t operations) {
    for (size_t i = 0; i < operations; i++) {
        struct object *object = &member->held[random_below(&member->random, CROWD_HELD)];
        uint64_t kind = random_below(&member->random, 100);
        if (kind < 10) object_exchange(object, &boxes[random_below(&member->random, CROWD_BOXES)]);
        else if (object->bytes == NULL) object_new(object, &member->random);
        else if (kind < 15) object_resize(object, &member->random);
        else object_free(object);
    }
}

static inline void crowd_rest(struct member *member) {
    for (size_t i = 0; i < CROWD_HELD; i++) object_free(&member->held[i]);
}

#endif

/* tiers.h - a little work in every tier: what a child, a destructor or a handler does to show that the heap is
 * alive. */
#ifndef JW_TESTS_PROCESS_TIERS_H
#define JW_TESTS_PROCESS_TIERS_H

#include <stdlib.h>

#include "check.h"
#include "entry_points.h"

static const size_t tier_sizes[] = {1, 24, 100, 560, 2048, 2100, 5000, 16000, 20000, 150000, 1500000, 5000000};
enum { TIERS = sizeof tier_sizes / sizeof *tier_sizes };

/* One object of every tier, written and checked; the huge ones only at their ends, for many do this at a time. */
struct tiers {
    char *objects[TIERS];
};

static inline size_t tier_checked(size_t size) {
    return size < 4096 ? size : 4096;
}

static inline void tiers_allocate(struct tiers *tiers, uint64_t seed) {
    for (size_t i = 0; i < TIERS; i++) {
        char *object = (char *)(i % 3 == 0 ? calloc(1, tier_sizes[i]) : malloc(tier_sizes[i]));
        CHECK(object != NULL);
        size_t part = tier_checked(tier_sizes[i]);
        if (i % 3 == 0) CHECK(bytes_are_zero(object, part));
        pattern_fill(object + tier_sizes[i] - part, part, seed + i);
        pattern_fill(object, part, seed + i + 100);
        tiers->objects[i] = object;
    }
}

static inline void tiers_check(const struct tiers *tiers, uint64_t seed) {
    for (size_t i = 0; i < TIERS; i++) {
        size_t part = tier_checked(tier_sizes[i]);
        CHECK(pattern_holds(tiers->objects[i], part, seed + i + 100));
        if (tier_sizes[i] >= 2 * part) CHECK(pattern_holds(tiers->objects[i] + tier_sizes[i] - part, part, seed + i));
    }
}

static inline void tiers_free(struct tiers *tiers, uint64_t seed) {
    tiers_check(tiers, seed);
    for (size_t i = 0; i < TIERS; i++) free(tiers->objects[i]);
}

static inline void tiers_work(uint64_t seed) {
    struct tiers tiers;
    tiers_allocate(&tiers, seed);
    tiers_free(&tiers, seed);
}

#endif

/* tagging.h - which objects of a plain core have memory tags (tagged.h), where the last tag of a free one is, and which
 * tags a new one may get.
 *
 * The rule word says what malloc does:
 *
 *   63 .. 33 | 32 unusual | 31 .. 16 excluded tags of an odd number | 15 .. 0 of an even one |
 *
 *   0         there are no tags: the plain entry points serve
 *   unusual   not started yet; or tags are switched off; or new objects have chosen contents (core/new_contents.h)
 *
 * It is written by the start, and when something is switched; relaxed, since each object is right under any rule. */
#ifndef JW_TAGGING_H
#define JW_TAGGING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "config/size_classes.h"
#include "platform/features.h"

/* A small or mid object, free or in use. */
struct tagged_place {
    char *object; /* with tag 0 */
    uint8_t *last;
    size_t size;
    uint32_t number;
    bool small;
};

/* Where a free object has its last tag: behind its link; of a mid object, behind the number of the heap that caches it
 * (midend/mid_cache.h). */
enum { LAST_TAG_OF_SMALL = 8, LAST_TAG_OF_MID = 16 };

#if TAGGED_ENTRIES

#define TAGS_UNUSUAL ((uint64_t)1 << 32)

extern _Atomic(uint64_t) tag_rules HIDDEN;

static ALWAYS_INLINE uint64_t tag_rules_now(void) {
    return NEAR_LOAD(tag_rules);
}

static ALWAYS_INLINE bool tag_rules_unusual(uint64_t rules) {
    return rules & TAGS_UNUSUAL;
}

/* The number in its slab of a small object. */
static ALWAYS_INLINE uint64_t tagged_number(const void *object, const struct size_class *shape) {
    size_t offset = (uintptr_t)object & (GRANULE_SIZE - 1);
    return (uint64_t)((unsigned __int128)offset * shape->reciprocal >> 64);
}

/* The tags that an object of this number does not get, with this one last: a bit for each, and other bits. Any byte may
 * stand for `last`; one above 15 excludes nothing. */
static ALWAYS_INLINE uint64_t tags_excluded(uint64_t rules, uint64_t number, uint8_t last) {
    return rules >> (number << 4 & 16) | (uint64_t)1 << (last & 63);
}

/* Writes the rule word anew: what it comes from has changed. */
void tag_rules_choose(void);

/* False: no small or mid object begins there. The pointer may have any tag. */
bool tagged_place_find(const void *pointer, struct tagged_place *place);

/* The pointer that the program has to an object, for what tells of objects. */
uintptr_t tagged_address(uintptr_t object);

/* The byte that has a free object's last tag; NULL: an object there gets no tag. What fills a new object leaves it
 * alone. */
uint8_t *tagged_last(const void *object);

#else

static inline void tag_rules_choose(void) {
}
static inline uintptr_t tagged_address(uintptr_t object) {
    return object;
}
static inline uint8_t *tagged_last(const void *object) {
    (void)object;
    return NULL;
}

#endif

#endif

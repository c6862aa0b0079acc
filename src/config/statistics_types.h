/* statistics_types.h - what each tier tells about itself; filled by the tiers, printed by insight/statistics.c.
 *
 * Memory is in bytes, everything else counts. Values are read without stopping anyone: each is right for a moment of
 * its own, and sums over several are close, not exact.
 */
#ifndef JW_STATISTICS_TYPES_H
#define JW_STATISTICS_TYPES_H

#include <stdint.h>

/* Ranges of whole granules: the backend. A class is a power-of-two-like step of range sizes, as its Nest keeps them. */
struct backend_statistics {
    uint64_t roots;           /* mappings taken from the OS and not released */
    uint64_t in_use;          /* in ranges handed out, to programs and to the tiers above */
    uint64_t cached_mapped;   /* free, with memory behind it */
    uint64_t cached_unmapped; /* free, its memory given back, its addresses kept */
    uint64_t given_back;      /* ever discarded or released, in all */
    uint64_t metadata;        /* tables and records */
    uint64_t rounds;          /* of reclamation */
    uint64_t deferred;        /* ranges put on a deferred list, as another thread was at work on them */
    uint64_t rolled_back;     /* claims of a range given up for another thread's */
    uint64_t sync_reclaims;   /* ranges given back by the freeing thread itself */
    struct {
        uint32_t granules; /* of the class's smallest range */
        uint64_t mapped_ranges, unmapped_ranges;
    } classes[64];
    unsigned class_count;
};

/* Objects in slabs: the midend and the frontend. `size` is an object's, `capacity` counts the places of all slabs. */
struct slab_class_statistics {
    uint64_t size, slabs, objects, capacity;
};

struct midend_statistics {
    struct slab_class_statistics classes[24];
    unsigned class_count;
    uint64_t in_use;   /* in objects */
    uint64_t reserved; /* in slabs */
};

struct frontend_statistics {
    struct slab_class_statistics classes[64];
    unsigned class_count;
    uint64_t heaps;           /* of living threads */
    uint64_t abandoned_heaps; /* of ended threads, waiting for new ones */
    uint64_t pooled_slabs;    /* empty, kept by their threads */
    uint64_t in_use;          /* in objects */
    uint64_t reserved;        /* in slabs, pooled ones included; not those whose memory a round has given back */
    uint64_t given_back;      /* in these: of threads that have not come to them since */
    uint64_t metadata;
};

/* Objects with a mapping of their own. */
struct huge_statistics {
    uint64_t mappings;
    uint64_t bytes;        /* in these mappings now */
    uint64_t mapped_total; /* ever mapped, in all */
};

#endif

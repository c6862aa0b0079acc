/* statistics_types.h - the statistics of each tier; filled by the tiers, printed by statistics/statistics.c.
 *
 * Memory is in bytes; all other values are counts. No thread is stopped while the values are read: each is right for
 * its own moment, and sums over several values are close, not exact.
 */
#ifndef JW_STATISTICS_TYPES_H
#define JW_STATISTICS_TYPES_H

#include <stdint.h>

/* Room for classes; each tier asserts that its own fit. */
enum { RANGE_CLASSES_MOST = 64, MID_CLASSES_MOST = 24, SMALL_CLASSES_MOST = 64 };

/* Ranges of whole granules: the backend. All ranges of a class have one weight of S(3) (backend/weights.h). */
struct backend_statistics {
    uint64_t roots;           /* mappings taken from the OS and not unmapped */
    uint64_t in_use;          /* in ranges that programs and the tiers above have */
    uint64_t cached_mapped;   /* free, with memory behind it */
    uint64_t cached_unmapped; /* free, its memory given back, its addresses kept */
    uint64_t given_back;      /* total of bytes that ranges, slabs and cached mappings have given back */
    uint64_t sealed;          /* in objects of sealed roots, of all sizes; these roots count nowhere else */
    uint64_t metadata;        /* tables and records */
    uint64_t rounds;          /* of reclamation */
    uint64_t deferred;        /* ranges put on the deferred list, because another thread was in the way */
    uint64_t rolled_back;     /* steps undone: another thread had half of a range, or a root could not be unmapped */
    uint64_t sync_reclaims;   /* ranges that the freeing thread itself gave back */
    struct {
        uint64_t granules; /* of each range */
        uint64_t mapped_ranges, unmapped_ranges;
    } classes[RANGE_CLASSES_MOST];
    unsigned class_count;
};

/* Objects in slabs: the midend and the frontend. `size`: of an object; `capacity`: objects that all slabs can have. */
struct slab_class_statistics {
    uint64_t size, slabs, objects, capacity;
};

struct midend_statistics {
    struct slab_class_statistics classes[MID_CLASSES_MOST];
    unsigned class_count;
    uint64_t in_use;   /* in objects */
    uint64_t reserved; /* in slabs */
};

struct frontend_statistics {
    struct slab_class_statistics classes[SMALL_CLASSES_MOST];
    unsigned class_count;
    uint64_t heaps;           /* of living threads */
    uint64_t abandoned_heaps; /* of ended threads, waiting for new ones */
    uint64_t pooled_slabs;    /* empty, kept by their threads */
    uint64_t in_use;          /* in objects */
    uint64_t reserved;        /* in slabs, also pooled ones; without those whose memory a round has given back */
    uint64_t given_back;      /* in slabs whose memory a round has given back, until their thread processes them */
    uint64_t metadata;
};

/* Objects with a mapping of their own. */
struct huge_statistics {
    uint64_t mappings;
    uint64_t bytes;        /* in these mappings now */
    uint64_t mapped_total; /* total that was ever mapped */
};

#endif

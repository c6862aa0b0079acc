/* timed_purge.h - where a purge with a limit of time is, and when it must end (core/purge.h).
 *
 * A step of the purge does its work piece by piece. `place` is the next piece; the step counts it. After each piece the
 * step asks whether the time is over.
 */
#ifndef JW_TIMED_PURGE_H
#define JW_TIMED_PURGE_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/granule_id.h"

struct purge {
    uint64_t until; /* microseconds; NO_LIMIT: it does all */
    uint32_t place;
};

#define NO_LIMIT UINT64_MAX

/* Whether the time is over. */
wide_bool purge_is_over(const struct purge *purge);

/* Calls `visit` for root by root: the place is the next root's slot. False: the time is over. */
wide_bool purge_walk(struct purge *purge, void (*visit)(granule_id root, void *context), void *context);

#endif

/* thrift_buffers.h - Thrift's two buffers of mapped ranges: placing into the active one, emptying the standby one. */
#ifndef JW_THRIFT_BUFFERS_H
#define JW_THRIFT_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>

#include "backend/granule_id.h"

/* Empties the standby buffer into the unmapped Nest. Ranges that cannot be given back go to the active buffer; returns
 * the granules of these ranges. `room`: they join their unmapped siblings first, and whole roots can be unmapped. */
size_t thrift_reclaim(unsigned buffer, bool room);

struct purge;

/* A step of a purge (core/purge.h): gives back the ranges and mappings of both buffers, the larger ones first. */
wide_bool thrift_purge_ranges(struct purge *purge);

/* Places all unmapped ranges once more: neighbours join, and whole roots are offered again. There are two reasons.
 * After rollbacks, unmapped neighbours may have stayed apart (LEFT, see ownership.h), so that a root is not whole. Or
 * the OS has refused to take a root. thrift_reclaim does the same for mapped ranges. */
void thrift_rejoin_unmapped(void);

/* Whether a later round must try again: the OS has refused something since the last call, or a step was rolled back
 * since ranges were last rejoined. */
bool thrift_take_refusals(void);

/* Places a held range as thrift_place_freed does, but does not call thrift_notice. */
void thrift_place(granule_id range, uint32_t weight);

#endif

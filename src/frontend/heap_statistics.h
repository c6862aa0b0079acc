/* heap_statistics.h - the heaps' part of the statistics: what is in use, and what heaps and their caches keep. */
#ifndef JW_HEAP_STATISTICS_H
#define JW_HEAP_STATISTICS_H

#include "config/statistics_types.h"

void frontend_statistics(struct frontend_statistics *statistics);

/* Takes off the objects of the midend that other threads cache: these objects are free. */
void heap_subtract_cached_objects(struct midend_statistics *statistics);

/* Counts the ranges in the heaps' range caches as cached memory, not as memory in use. */
void heap_subtract_cached_ranges(struct backend_statistics *statistics);

#endif

/* heap_statistics.h - what the heaps have in use and keep. */
#ifndef JW_HEAP_STATISTICS_H
#define JW_HEAP_STATISTICS_H

#include "config/statistics_types.h"

void frontend_statistics(struct frontend_statistics *statistics);

/* Other threads' cached objects of the midend are free, too: as many as their caches count. */
void heap_subtract_cached_objects(struct midend_statistics *statistics);

/* Ranges in the heaps' caches are cached memory. */
void heap_subtract_cached_ranges(struct backend_statistics *statistics);

#endif

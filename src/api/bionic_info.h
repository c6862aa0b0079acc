/* bionic_info.h - malloc_info in the form that Android's tools and tests read. */
#ifndef JW_BIONIC_INFO_H
#define JW_BIONIC_INFO_H

#include "platform/features.h"
#include "statistics/statistics.h"

/* One heap; a bin for each size class of the frontend and of the midend. The bytes of bins, large and huge objects
 * together are uordblks of a mallinfo at the same moment. Calls are not counted: nmalloc is the objects that live,
 * ndalloc 0. */
void bionic_print_info(print_sink *sink, void *cookie);

#endif

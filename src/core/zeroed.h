/* zeroed.h - calloc. */
#ifndef JW_ZEROED_H
#define JW_ZEROED_H

#include <stddef.h>

void *allocate_zeroed(size_t size);

#endif

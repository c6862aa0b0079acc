/* zeroed.h - calloc. */
#ifndef JW_ZEROED_H
#define JW_ZEROED_H

#include <stddef.h>

/* As allocate; all bytes that the program may use are 0. */
void *allocate_zeroed(size_t size);

#endif

/* route.h - allocating above the frontend's sizes, for the other files of core/. */
#ifndef JW_ROUTE_H
#define JW_ROUTE_H

#include <stdbool.h>
#include <stddef.h>

/* Allocates from the first tier that has memory. *used: bytes at its start that may not be 0; SIZE_MAX: all may. NULL
 * and ENOMEM: no tier has memory. */
void *allocate_large(size_t size, size_t alignment, size_t *used);

/* NULL, and ENOMEM in errno. */
void *out_of_memory(void);

#endif

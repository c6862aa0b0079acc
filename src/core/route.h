/* route.h - allocating above the frontend's sizes, for the other files of core/. */
#ifndef JW_ROUTE_H
#define JW_ROUTE_H

#include <stdbool.h>
#include <stddef.h>

/* Allocates from the first tier that has memory. *zeroed: whether it is known to be 0. NULL and ENOMEM: no tier has. */
void *allocate_large(size_t size, size_t alignment, bool *zeroed);

/* NULL, and ENOMEM in errno. */
void *out_of_memory(void);

#endif

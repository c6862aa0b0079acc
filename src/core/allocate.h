/* allocate.h - malloc: the hit path of small objects. All other requests go on to route.c. */
#ifndef JW_ALLOCATE_H
#define JW_ALLOCATE_H

#include <stddef.h>

#include "base/compiler.h"

/* Allocates `size` bytes; 0 counts as 1. NULL and ENOMEM: there is no memory. */
void *allocate(size_t size);

#if !JW_SECURE
/* The exported name: the same function; in the hardened build that of hardened/entry.h, which calls it. */
void *jw_malloc(size_t size);
#endif

#endif

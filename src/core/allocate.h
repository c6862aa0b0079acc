/* allocate.h - malloc: the hit path of small objects. All other requests go on to route.c. */
#ifndef JW_ALLOCATE_H
#define JW_ALLOCATE_H

#include <stddef.h>

#include "base/compiler.h"

/* Allocates `size` bytes; 0 counts as 1. NULL and ENOMEM: there is no memory. */
void *allocate(size_t size);

#if !JW_SECURE
/* The exported name of allocate. The hardened build has its own jw_malloc, which calls allocate (hardened/entry.h). */
void *jw_malloc(size_t size);
#endif

#endif

/* deallocate.h - free: the hit paths of small objects. All other addresses go on to route.c. */
#ifndef JW_DEALLOCATE_H
#define JW_DEALLOCATE_H

#include "base/compiler.h"

/* Frees an object, or reports what is wrong with the address and aborts. NULL: does nothing. */
void deallocate(void *object);

#if !JW_SECURE
/* The exported name of deallocate. The hardened build has its own jw_free (hardened/entry.h). */
void jw_free(void *object);
#endif

#endif

/* route_free.h - the slow path of free: the tier of an address. */
#ifndef JW_ROUTE_FREE_H
#define JW_ROUTE_FREE_H

#include "backend/page_map.h"

/* Frees that the hit path cannot do: NULL, objects of the other tiers, misuse. `leaf`: the address's leaf word. */
void free_slowly(void *object, struct leaf_word leaf);

#endif

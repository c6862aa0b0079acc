/* containers.h - C++'s containers, filled and emptied: each function makes about `objects` objects. */
#ifndef CONTAINERS_H
#define CONTAINERS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void containers(uint64_t objects, uint32_t seed);
containers fill_vectors, fill_strings, fill_maps, fill_lists, fill_sets;

#ifdef __cplusplus
}
#endif

#endif

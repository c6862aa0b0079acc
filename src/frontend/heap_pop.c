/* heap_pop.c - takes the first object of a local list, for the slow paths. */
#include "frontend/heap_pop.h"

void *heap_pop_slowly(struct heap *heap, size_t list_index) {
    return heap_pop(&heap->first[list_index], heap->key);
}

/* malloc.h - names beside C's own. */
#ifndef JW_MOCK_MALLOC_H
#define JW_MOCK_MALLOC_H

#include <stddef.h>

void *memalign(size_t alignment, size_t size);
void *valloc(size_t size);
void *pvalloc(size_t size);
void *reallocarray(void *object, size_t count, size_t size);
size_t malloc_usable_size(const void *object);
int malloc_trim(size_t pad);

#endif

/* stdlib.h - numbers from text, and what the tests call by malloc's names. */
#ifndef JW_MOCK_STDLIB_H
#define JW_MOCK_STDLIB_H

#include <stddef.h>

void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *object, size_t size);
void *aligned_alloc(size_t alignment, size_t size);
int posix_memalign(void **object, size_t alignment, size_t size);
void free(void *object);
long atol(const char *text);
unsigned long long strtoull(const char *text, char **end, int base);

#endif

/* operators.h - what operators.c needs of the library that it is in. */
#ifndef JW_SHARED_OPERATORS_H
#define JW_SHARED_OPERATORS_H

#include <stddef.h>
#include <stdint.h>

/* An operator of the allocator found an object. The operator may have called our malloc for it. Then operators_mark()
 * gives another value than before the call. Alignment 0: none asked for. */
uint64_t operators_mark(void);
void operators_found(const void *object, uint64_t mark, size_t size, size_t alignment);
#endif

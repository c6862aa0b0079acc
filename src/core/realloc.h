/* realloc.h - changes an object's size, in place if it can. */
#ifndef JW_REALLOC_H
#define JW_REALLOC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "config/policy.h"

/* Changes the size of an object. `object` is not NULL, `size` not 0. NULL: there is no memory for a larger one, and the
 * object has not changed. */
void *reallocate(void *object, size_t size);

/* Whether realloc has ever left an object in a larger class than that of its new size. From then on a sized free must
 * accept such objects. relaxed: the thread that frees the object knows of its realloc. */
extern _Atomic(bool) shrunk_in_place HIDDEN;

/* Whether realloc has ever left an object in place since there was no memory for a smaller copy. From then on a sized
 * free must accept any smaller size. relaxed: as above */
extern _Atomic(bool) shrunk_without_memory HIDDEN;

/* realloc leaves an object in place if the new size fits and uses more than half of it. A very small object stays, too:
 * a copy would save nothing. */
static ALWAYS_INLINE bool may_keep_in_place(size_t old, size_t size) {
    return size <= old && (size > old / IN_PLACE_PART || old <= IN_PLACE_MOST);
}

#endif

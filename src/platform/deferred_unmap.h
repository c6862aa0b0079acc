/* deferred_unmap.h - mappings that the OS has refused to unmap: their pages are discarded, and they are offered again.
 * Where the OS refuses a new mapping, too, a deferred one serves instead.
 *
 *   refused_mappings   stack of them; each mapping begins with the next one's address, its own size, and the address of
 *                      the last one of those that were pushed together, of which it is the first
 *
 * The OS refuses munmap to a process with too many mappings, if it would split one; filters may refuse it, too. The
 * mappings are in a stack (sync/pointer_stack.h). A thread that tries again, or that wants one, takes all and pushes
 * the others back: so no other thread reads a mapping that is being unmapped or used. No thread waits: while that
 * thread is stopped, others defer and try later mappings.
 */
#ifndef JW_DEFERRED_UNMAP_H
#define JW_DEFERRED_UNMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* Gives the mapping back, now or later. The caller must not use it any more. False: later. */
wide_bool unmap_or_defer(void *address, size_t size);

/* The same for a mapping that can only be read. Its addresses are lost if the OS refuses to make it writable, too. */
void unmap_readable(void *address, size_t size);

/* Bytes of all deferred mappings, but for those that a thread has in its hands. */
size_t deferred_bytes(void);

/* Looks at some of the deferred mappings, up to the first one of at least `size` bytes. Returns that one, which is the
 * caller's then, or whether some are left. For SIZE_MAX, which none has, each is offered to the OS again. */
uintptr_t search_deferred(size_t size);

/* Offers some of the deferred mappings again. True: some are left. */
static inline wide_bool unmap_deferred(void) {
    return (wide_bool)search_deferred(SIZE_MAX);
}

/* Takes a deferred mapping of at least *size bytes, and sets *size to its own size. It is as a new one: zero, readable
 * and writable. NULL: there is none, or another thread has them in its hands. */
void *take_deferred(size_t *size);

#endif

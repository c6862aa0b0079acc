/* deferred_unmap.h - mappings that the OS would not take back: emptied, kept, and offered again until it does.
 *
 *   kept   first of them, 0: none; each begins with its size and the next one's address
 *
 * munmap is refused to a process with too many mappings when it would split one, and by filters. The mappings are in a
 * stack (sync/pointer_stack.h); a thread that tries again takes all, so nobody else reads what is being unmapped.
 * Nobody waits: while that thread is stopped, the others keep and try what comes later.
 */
#ifndef JW_DEFERRED_UNMAP_H
#define JW_DEFERRED_UNMAP_H

#include <stdbool.h>
#include <stddef.h>

/* Gives the mapping back, now or later; who had it is rid of it in either case. False: later. */
bool unmap_or_defer(void *address, size_t size);

/* Offers some of what is kept. True: there is more. */
bool unmap_deferred(void);

#endif

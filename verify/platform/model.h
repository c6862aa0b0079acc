/* model.h - the operating system as the model checkers see it: what a client may set and ask.
 *
 * Roots come from a static arena of a few roots' size. One atomic word claims and frees each slot of it. Its release
 * and acquire are the order that a kernel gives to an unmapping and a later mapping. Released memory is forbidden: a
 * thread that touches it fails. Tables and heaps come from a second arena that only grows.
 */
#ifndef JW_MODEL_H
#define JW_MODEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What each draw of a random number gives. */
#ifndef MODEL_RANDOM
#define MODEL_RANDOM 42
#endif

/* Reservations that still succeed; negative: all of them. A client's main sets this first: before, the allocator's
 * constructor has found an OS that gives nothing, so that the client may choose the thread that starts it. */
extern int model_reservations_left;

/* Reservations that are refused first. Plain, as whatever a failed start may leave behind. */
extern int model_refusals_left;

/* Releases of roots that are refused first, in any thread. */
extern _Atomic(int) model_unmaps_refused;

/* Calls that the OS may refuse yet. While this is above 0, both answers are explored at each unmapping, discarding,
 * protection, growth and move of roots, and at each start of a thread. */
extern _Atomic(int) model_faults_left;

/* Misuses that the client makes on purpose: each ends its thread, and counts one down. Any other is a failure. */
extern _Atomic(int) model_misuses_expected;

/* Whether discarded memory of roots keeps its contents. In some clients the owner of a slab may still have a link to
 * write when the page goes, which does no harm (remote_reclaim.h). */
extern bool model_keeps_discarded;

/* Whether a mapping below a root's size is a part of a root, not the rest of a huge object. */
extern bool model_has_parts;

/* Whether a futex wait with a limit may end before the word changes, as by its time; otherwise the waiting thread
 * gives way until the word has changed. A wait without a limit ends when a thread wakes the sleeping one, and only
 * then, or at once where the word has changed: a thread that sleeps in vain is a livelock for the checker. */
extern bool model_waits_end;

/* Whether pages of the second arena that are unmapped are counted. No memory of it is used again. */
extern bool model_counts_pages;

/* What the allocator gave to platform_thread_start, which says "started" if there is room for it here; the client
 * runs it in a thread of its own, or not at all. */
extern bool model_starts_threads;
extern void (*_Atomic model_thread_body)(void);

/* What the end of a thread brings about: a client's thread calls it last. */
void model_thread_exit(void);

/* Roots that are reserved now. */
unsigned model_reserved_roots(void);

/* Bytes of the second arena that are mapped now, if they are counted. */
size_t model_mapped_pages(void);

/* Waits until another thread has given this root back to the OS: a livelock for the checker if no thread will. */
void model_await_unmap(const void *root);

/* The process ends: a thread that sleeps without limit, or will, goes with it. */
void model_ends(void);

/* The clock: 0, until a client sets it. */
extern _Atomic(uint64_t) model_milliseconds;

#endif

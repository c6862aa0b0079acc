/* model.h - the operating system as the model checkers see it: what a client may set and ask.
 *
 * Roots come from a static arena of a few roots' size; each slot of it is claimed and released by one atomic word,
 * whose release and acquire are the order that a kernel gives to an unmapping and a later mapping. Released memory is
 * forbidden: a thread that touches it fails. Tables and heaps come from a second arena that only grows.
 */
#ifndef JW_MODEL_H
#define JW_MODEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Reservations that still succeed; negative: all of them. A client's main sets this first: before, the allocator's
 * constructor has found an OS that gives nothing, so that the client may choose the thread that starts it. */
extern int model_reservations_left;

/* Reservations that are refused first. Plain, as whatever a failed start may leave behind. */
extern int model_refusals_left;

/* Releases of roots that are refused first, whoever makes them. */
extern _Atomic(int) model_releases_refused;

/* Whether discarded memory of roots keeps its contents: for clients where the owner of a slab may still have a link to
 * write when the page goes, which harms nobody (remote_reclaim.h). */
extern bool model_keeps_discarded;

/* Whether a futex wait may end before the word changes, as by its time; otherwise the waiting thread gives way until
 * the word has changed. */
extern bool model_waits_end;

/* What the allocator gave to platform_thread_start, which says "started" if there is room for it here; the client
 * runs it in a thread of its own, or not at all. */
extern bool model_starts_threads;
extern void (*_Atomic model_thread_body)(void);

/* What the end of a thread brings about: a client's thread calls it last. */
void model_thread_exit(void);

/* Roots that are reserved now. */
unsigned model_reserved_roots(void);

#endif

/* heap_shortage.h - a malloc that fails again costs little: what was looked at in vain is not looked at again.
 *
 * To look at everything (heap_collect_at_shortage, thrift_make_room) takes time in proportion to the memory in use.
 * After that a failed malloc notes signs of what could make the next one succeed. A malloc that finds no memory and the
 * same signs fails at once.
 *
 *   came back                             sign
 *   own objects of full slabs             none needed: from then on full slabs are WANTED, so the first free reopens
 *                                         one. A slab whose last object comes back goes to the pool: malloc looks there
 *   own objects in local lists            the lists' first objects and budgets
 *   own objects of the midend             whether a mid cache is in use
 *   own ranges                            how many were pushed to the range cache
 *   objects freed by others               reopened slabs, suspects; remote_work.h
 *   other threads' slabs, ended threads   each pool's uses, each heap's thread
 *   ranges, roots, mappings               thrift_change_stamp
 *
 * No sign tells of objects in other threads' lists, nor that others have freed the rest of a partial slab. So each
 * SHORTAGE_PERIOD-th failure looks at everything; so do rounds. In the hardened build a malloc that finds no memory
 * first empties its thread's quarantine, and tries again: what comes from there has the signs above.
 * Only the heap's thread calls these functions.
 */
#ifndef JW_HEAP_SHORTAGE_H
#define JW_HEAP_SHORTAGE_H

#include "frontend/heap.h"

/* Whether the signs are those of the last failure, so that a look at everything would be in vain. Counts the failures
 * with the same signs. Called after a refill has failed. */
wide_bool heap_fails_at_once(struct heap *heap);

/* Notes the signs. Called when a refill has failed although everything was looked at. */
void heap_note_shortage(struct heap *heap);

#endif

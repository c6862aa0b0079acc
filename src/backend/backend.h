/* backend.h - the backend: ranges of whole granules, for large objects (large_object.h) and for the slabs of both tiers
 * above.
 *
 * fetch takes a free range and splits it to size (Figure 11, lines 1-8); place joins the range and frees it (lines
 * 10-15). Threads: any. Signals: safe where malloc is. Progress: lock-free. The backend enters the kernel for a new
 * root, above the watermark, and to start or wake the reclamation thread.
 */
#ifndef JW_BACKEND_H
#define JW_BACKEND_H

#include "backend/range_cache.h"
#include "backend/thrift.h"
#include "config/statistics_types.h"

/* Fetches a range of at least `weight` granules (1 to ROOT_GRANULES) at a multiple of GRANULE_SIZE, if possible in a
 * root of that use. Its leaf word is HELD. *zeroed: whether its memory is known to be zero. NULL when there is no
 * memory. A caller that has no other way gives back what is cached (thrift_make_room), and asks again. */
void *backend_fetch(enum root_use use, uint32_t weight, bool *zeroed);

/* Fetches a granule for a slab; of a larger free range up to *count adjacent ones, each a range of its own. *count is
 * rounded up to a weight, and set to their number. Their leaf words are HELD or NONE. 0: there is no memory. */
granule_id backend_fetch_granules(uint32_t *count, bool *zeroed);

/* Gives back a range from backend_fetch; all leaf words inside it but the first must be NONE again. */
void backend_place(granule_id range);

/* The same, where the caller knows the weight. */
void backend_place_known(granule_id range, uint32_t weight);

void backend_before_fork(void);
void backend_after_fork(bool child);

/* Begins anew, after all roots were sealed (core/sealed.h). By a thread that is alone in the process. */
void backend_forget_sealed(void);
void backend_statistics(struct backend_statistics *statistics);

#endif

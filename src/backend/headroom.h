/* headroom.h - cached memory makes room for new memory: what is cached above our limit is given back first. A limit
 * that we do not know of, such as a cgroup's, may have no room for both. */
#ifndef JW_HEADROOM_H
#define JW_HEADROOM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

/* Announces that `granules` unmapped granules will be used. Gives back cached memory above the watermark and the limits
 * (limits.h). False: the hard limit does not allow these granules. */
bool thrift_make_headroom(size_t granules);

/* Whether cached memory would go back if so many granules without pages came into use. */
bool thrift_lacks_headroom(size_t granules);

/* Whether the last new memory made the peak of what is in use higher, since a round: then heap pools keep a part of
 * their share (POOL_PART_AT_PEAK). */
wide_bool thrift_is_at_peak(void);

/* Called by a round: until more memory comes into use, pools may keep their whole share. */
void thrift_forget_peak(void);

/* Gives back what is cached above the soft limit if the pressure limit is exceeded. */
void thrift_yield_to_pressure(void);

/* Gives back what is cached above the watermark of a process without the reclamation thread. `freed`: granules that the
 * caller frees, which bound the number of ranges. 0: no bound. */
void thrift_give_back_above_watermark(size_t freed);

/* Unmaps cached mappings while more than `limit` granules are cached, in a process without the reclamation thread: no
 * round may come after this free. */
void thrift_give_back_mappings(size_t limit);

#endif

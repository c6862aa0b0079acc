/* watermark.h - how many free granules may wait mapped: the recent peak of what is in use, and the limits above it.
 *
 *   watermark_minimum       option cache_min: these granules may always wait, but for the soft limit (limits.h)
 *   watermark_without_thread    a share of the peak less what was freed in a row; after a brief stop KEPT_MOST at least
 *   watermark_renew         where ranges are freed: the peak, and cache_percent of it; without our thread as above
 *   watermark_beside_new    where memory without pages comes into use: the peak, and PERCENT_BESIDE_NEW of it
 *
 * With our thread the last two limit what waits and what is in use together; they return the part that may wait. The
 * peak is the most that threads have noted since the round before last. watermark_note_peak and watermark_renew note;
 * watermark_age_peak begins a new one; the others only read.
 */
#ifndef JW_WATERMARK_H
#define JW_WATERMARK_H

#include <stdbool.h>
#include <stddef.h>

/* Granules in use: all, and those of huge objects among them. Without our thread only those of vast objects count as
 * huge (VAST_FROM). */
struct usage {
    size_t all, huge;
};

/* Notes in the peak what is in use now, and returns that. */
struct usage watermark_note_peak(void);

/* Begins a new peak of what is in use. The peak until now becomes that of the round before. */
void watermark_age_peak(void);

size_t watermark_minimum(void);

/* Granules that may wait while there is no reclamation thread. */
size_t watermark_without_thread(void);

/* Returns the watermark. With the reclamation thread notes the peak first, unless cache_percent is 0 or the soft limit
 * is exceeded. */
size_t watermark_renew(void);

/* The same for a free of a huge object. Without the reclamation thread huge objects in use count there, as the next one
 * is likely to be as large. */
size_t watermark_of_mappings(void);

/* Whether so many more granules in use would be more than the peak. */
bool watermark_rises(struct usage usage, size_t granules);

/* Granules that may wait where memory without pages comes into use. `usage`: what is in use now. */
size_t watermark_beside_new(struct usage usage);

/* Bytes that may wait under this watermark, besides the free mapped memory that waits already. */
size_t watermark_room(size_t watermark);

#endif

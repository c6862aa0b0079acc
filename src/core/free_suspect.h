/* free_suspect.h - frees of objects whose first word looks like a link (frontend/suspect.h).
 *
 * True: the object is in use, and its first word is no link any more; the caller frees it now. False: another heap's
 * thread has got a note, and frees the object where its lists do not have it. What is wrong with the address is
 * reported, and ends the process.
 */
#ifndef JW_FREE_SUSPECT_H
#define JW_FREE_SUSPECT_H

#include <stdbool.h>

#include "base/compiler.h"

/* `object`: an address of ours in a slab, where a small object in use may begin. */
wide_bool small_suspect_may_be_freed(void *object);

/* `object`: a mid object whose first word is a link. */
wide_bool mid_suspect_may_be_freed(void *object);

#endif

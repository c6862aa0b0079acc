/* new_contents.h - fills objects that are given out: with zeros for calloc, and with what the option `init` says.
 *
 * Where the option is on, each heap's map sends all sizes to DISABLED (frontend/disable.h). So malloc's hit path has no
 * instruction for it; each request takes the slow path, which fills.
 */
#ifndef JW_NEW_CONTENTS_H
#define JW_NEW_CONTENTS_H

#include <stddef.h>

enum { FILL_PATTERN = 0xab }; /* no address has such bytes */

/* Sets all bytes that the program may use (malloc_usable_size), so that the program sees no old bytes. In the hardened
 * build it may use only `size`. All but the byte with the object's last memory tag, which core/tagged.c sets. */
void *fill_object(char *object, size_t size, int byte);

/* Sets all bytes to zero that may not be zero. dirty_bytes: as in route.h. Of more than CLEARED_MOST the OS takes the
 * pages, and clears those that the program comes to. */
void *clear_object(char *object, size_t size, size_t dirty_bytes);

/* Fills a new object as the option says, if it says so. NULL stays NULL. dirty_bytes: as in route.h. */
void *with_new_contents(void *object, size_t size, size_t dirty_bytes);

/* The same for what realloc has added in place to an object of `old` bytes. Returns the object's size now. */
size_t with_new_end(char *object, size_t old);

#endif

/* describe.h - what an address is: for the last words of a process that misused it (base/misuse.h), and for a free that
 * says how large the object is.
 */
#ifndef JW_DESCRIBE_H
#define JW_DESCRIBE_H

#include "base/misuse.h"

/* A moment's view, of what other threads may be changing. */
void describe(const void *address, struct found *found);

#endif

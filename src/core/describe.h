/* describe.h - finds what an address is: for messages about misuse (platform/misuse.h), and for a free with a size. */
#ifndef JW_DESCRIBE_H
#define JW_DESCRIBE_H

#include "platform/misuse.h"

/* A racy snapshot: other threads may change the words. */
void describe(const void *address, struct found *found);

#endif

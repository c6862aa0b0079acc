/* fill.h - checked builds: free memory holds a pattern, which must still be there when the memory is given out again.
 *
 * So a write to a freed object is reported when the memory is next given out (docs/misuse.md).
 */
#ifndef JW_FILL_H
#define JW_FILL_H

#include <string.h>

#include "base/mitigations.h"
#include "platform/misuse.h"

#ifndef JW_FILL
#define JW_FILL (JW_CHECKED && !QUARANTINED) /* the hardened build has a quarantine instead */
#endif

enum { FILL_BYTE = 0xdf }; /* a word of such bytes is neither an address nor a size */

static inline void fill_write(void *object, size_t from, size_t size) {
    if (JW_FILL && from < size) memset((char *)object + from, FILL_BYTE, size - from);
}

static inline void fill_check(const void *object, size_t from, size_t size) {
    const unsigned char *bytes = object;
    if (!JW_FILL || from >= size) return;
    if (bytes[from] == FILL_BYTE && memcmp(bytes + from, bytes + from + 1, size - from - 1) == 0) return;
    while (bytes[from] == FILL_BYTE) from++;
    misuse(WRITE_AFTER_FREE, object, from);
}

#endif

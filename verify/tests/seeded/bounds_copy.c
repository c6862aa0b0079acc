/* expect: out-of-bounds
 * A copy, by a library function, that is longer than its target.
 */
#include "verify/clients/client.h"
#include <string.h>

#ifdef CORRECTED
enum { LENGTH = 12 };
#else
enum { LENGTH = 13 };
#endif

static const char text[16] = "twelve bytes";

int main(void) {
    volatile size_t length = LENGTH;
    char *block = malloc(12);
    memcpy(block, text, length);
    free(block);
    return 0;
}

/* expect: out-of-bounds
 * The header of a neighbouring block that the program imagines there.
 */
#include "verify/clients/client.h"

#ifdef CORRECTED
enum { FIRST = 0 };
#else
enum { FIRST = -1 };
#endif

int main(void) {
    volatile int first = FIRST;
    volatile long *block = calloc(2, sizeof *block), *other = calloc(2, sizeof *other);
    other[first] = 7;
    free((void *)block);
    free((void *)other);
    return 0;
}

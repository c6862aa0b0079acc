/* expect: out-of-bounds
 * One element too many.
 */
#include "verify/clients/client.h"

#ifdef CORRECTED
enum { LAST = 3 };
#else
enum { LAST = 4 };
#endif

int main(void) {
    volatile int last = LAST;
    volatile int *block = calloc(4, sizeof *block);
    for (int i = 0; i <= last; i++) block[i] = i;
    free((void *)block);
    return 0;
}

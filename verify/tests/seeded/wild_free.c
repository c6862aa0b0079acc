/* expect: wild-free
 * Memory is given back by another address than its own.
 */
#include "verify/clients/client.h"

#ifdef CORRECTED
enum { OFFSET = 0 };
#else
enum { OFFSET = 16 };
#endif

int main(void) {
    volatile int offset = OFFSET;
    volatile char *block = malloc(32);
    block[16] = 1;
    free((void *)(block + offset));
    return 0;
}

/* expect: wild-access
 * An index that leaves the program's data altogether. (What stays inside goes unnoticed: see docs/checker.md.)
 */
#include "verify/clients/client.h"

static volatile int table[4];

#ifdef CORRECTED
enum { INDEX = 3 };
#else
enum { INDEX = -(1 << 24) };
#endif

int main(void) {
    volatile int index = INDEX;
    table[index] = 1;
    return 0;
}

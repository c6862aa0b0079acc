/* expect: uninitialised
 * Memory that was unmapped and mapped again holds nothing: what was written before is gone.
 */
#include "verify/clients/client.h"

static _Alignas(64) char page[64];

int main(void) {
    page[5] = 1;
    checker_forbid(page, sizeof page);
    checker_allow(page, sizeof page, 0);
#ifdef CORRECTED
    page[5] = 1;
#endif
    assert(page[5] == 1);
    return 0;
}

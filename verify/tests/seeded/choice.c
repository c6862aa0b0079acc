/* expect: assertion
 * One of several inputs is bad; an assumption keeps it out.
 */
#include "verify/clients/client.h"

int main(void) {
    unsigned a = checker_choose(4), b = checker_choose(4);
#ifdef CORRECTED
    __VERIFIER_assume(a + b != 5);
#endif
    assert(a + b != 5);
    return 0;
}

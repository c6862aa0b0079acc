/* expect: uninitialised
 * Copying what was never written is no mistake (padding is), looking at the copy is.
 */
#include "verify/clients/client.h"
#include <string.h>

int main(void) {
    int *volatile source = malloc(2 * sizeof *source), *volatile copy = malloc(2 * sizeof *copy);
    source[0] = 1;
    memcpy(copy, source, 2 * sizeof *copy);
#ifdef CORRECTED
    assert(copy[0] == 1);
#else
    assert(copy[0] == 1 && copy[1] != 7);
#endif
    free(source);
    free(copy);
    return 0;
}

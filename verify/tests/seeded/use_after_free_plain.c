/* expect: use-after-free
 * Nothing concurrent: a pointer is used once more after its block is gone.
 */
#include "verify/clients/client.h"

int main(void) {
    int *volatile block = malloc(4 * sizeof *block);
    block[2] = 5;
#ifdef CORRECTED
    assert(block[2] == 5);
    free(block);
#else
    free(block);
    assert(block[2] == 5);
#endif
    return 0;
}

/* expect: use-after-free
 * realloc may move, and here always does.
 */
#include "verify/clients/client.h"

int main(void) {
    int *volatile block = malloc(2 * sizeof *block);
    block[1] = 3;
    int *volatile larger = realloc(block, 4 * sizeof *larger);
#ifdef CORRECTED
    assert(larger[1] == 3);
#else
    assert(block[1] == 3);
#endif
    free(larger);
    return 0;
}

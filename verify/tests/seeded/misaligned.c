/* expect: misaligned
 * An atomic word at an address that no processor promises to access at once.
 */
#include "verify/clients/client.h"

#ifdef CORRECTED
enum { OFFSET = 4 };
#else
enum { OFFSET = 2 };
#endif

static _Alignas(8) char bytes[16];

int main(void) {
    volatile int offset = OFFSET;
    atomic_fetch_add_explicit((_Atomic(uint32_t) *)(bytes + offset), 1, memory_order_relaxed);
    return 0;
}

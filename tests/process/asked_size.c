/* asked_size.c - malloc_usable_size brings no page of an object that was never written. If it read there, the program
 * would have two page faults for each new page: the system's page of zeros comes first, then one of the program's own.
 * Redis asks for the size of each object, and had twice as many page faults as with other allocators. */
#include <malloc.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

static bool has_page(const void *object) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), address = (uintptr_t)object & ~(page - 1);
    unsigned char here = 0;
    CHECK(mincore((void *)address, page, &here) == 0); // NOLINT(performance-no-int-to-ptr)
    return here & 1;
}

/* Asks for the sizes of new objects. Returns how many had no page of their own before. */
static unsigned ask(size_t size) {
    enum { BYTES = 2 << 20 };
    unsigned fresh = 0;
    for (size_t used = 0; used < BYTES; used += size) {
        char *object = malloc(size); /* stays: so new pages are needed */
        CHECK(object != NULL);
        bool before = has_page(object);
        CHECK(malloc_usable_size(object) >= size);
        CHECK(has_page(object) == before);
        fresh += !before;
        if (used / size % 2) object[0] = object[size - 1] = 1;
    }
    return fresh;
}

int main(void) {
    unsigned small = 0, above = 0;
    for (size_t size = 16; size <= 2048; size = size * 3 / 2) small += ask(size);
    for (size_t size = 2500; size < 100000; size = size * 3 / 2) above += ask(size);
    printf("asked for the size of %u small and %u other objects without a page\n", small, above);
    return 0;
}

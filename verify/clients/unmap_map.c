/* unmap_map - a thread unmaps what it has used, and another gets the same addresses mapped: the Linux platform's own
 * text over a kernel of one page.
 *
 * bound     2 threads, 1 mapping and 1 unmapping each
 * property  the last use before the unmapping happens before the first use after the mapping
 */
#define _GNU_SOURCE 1
#include "config/geometry.h"
#include "verify/clients/kernel.h"

#define RAW_MMAP SYS_mmap
#include "platform/linux_pages.c"
#include "verify/clients/client.h"

static _Alignas(GRANULE_SIZE) uint64_t page[GRANULE_SIZE / sizeof(uint64_t)];
static _Atomic(uint32_t) mapped; /* | unmappings when the page was last unmapped | 0: is it mapped? | */

/* The kernel does one call after the other, but says nothing of that in terms of C11: so all here is relaxed. Only
 * those executions count in which the thread that maps later also comes later to the count of unmappings. */
static long kernel_call(long number, const long arguments[ARGUMENTS_MAX]) {
    (void)arguments;
    uint32_t before = atomic_load_explicit(&mapped, memory_order_relaxed);
    if (number == SYS_munmap) {
        uint32_t count = atomic_load_explicit(&unmappings, memory_order_relaxed);
        atomic_store_explicit(&mapped, count << 1, memory_order_relaxed);
        return 0;
    }
    if (number != RAW_MMAP) return -1;
    if ((before & 1) || !atomic_compare_exchange_strong_explicit(&mapped, &before, before | 1, memory_order_relaxed,
                                                                 memory_order_relaxed))
        return -1;
    __VERIFIER_assume(atomic_load_explicit(&unmappings, memory_order_relaxed) >= before >> 1);
    return (long)page;
}

size_t platform_page_size(void) {
    return GRANULE_SIZE;
}

static void *using(void *unused) {
    (void)unused;
    uint64_t *memory = (uint64_t *)pages_map(0, GRANULE_SIZE, pages_writable());
    if (!memory) return NULL;
    fill(memory, GRANULE_SIZE, 1);
    expect(memory, GRANULE_SIZE, 1);
    bool released = platform_unmap(memory, GRANULE_SIZE);
    assert(released);
    return NULL;
}

int main(void) {
    pthread_t a = start(using, NULL), b = start(using, NULL);
    finish(a);
    finish(b);
    return 0;
}

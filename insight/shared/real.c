/* real.c - finds the next allocator's functions. */
#include "real.h"

#include <dlfcn.h>
#include <string.h>

static void first_free(void *object) {
    if (object != NULL && real_resolve()) real.free(object);
}

struct real real = {.free = first_free};

static _Alignas(16) char early[16384];
static size_t early_used;

void *early_allocate(size_t size) {
    size_t needed = (size + 31) / 16 * 16;
    if (size > sizeof early || needed > sizeof early - early_used) return NULL;
    char *object = early + early_used + 16;
    memcpy(object - 16, &size, sizeof size);
    early_used += needed;
    return object;
}

bool is_early(const void *object) {
    return (const char *)object >= early && (const char *)object < early + sizeof early;
}

size_t size_before(const void *object) {
    size_t size;
    memcpy(&size, (const char *)object - 16, sizeof size);
    return size;
}

bool real_resolve(void) {
    static bool resolving;
    if (resolving) return false;
    resolving = true;
    real.calloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
    real.realloc = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
    real.memalign = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "memalign");
    real.aligned_alloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "aligned_alloc");
    real.posix_memalign = (int (*)(void **, size_t, size_t))dlsym(RTLD_NEXT, "posix_memalign");
    real.malloc_usable_size = (size_t(*)(void *))dlsym(RTLD_NEXT, "malloc_usable_size");
    real.free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
    real.malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
    resolving = false;
    return real.malloc != NULL;
}

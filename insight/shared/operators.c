/* operators.c - C++'s operators, in C so that no program gets a C++ library because it is looked at.
 *
 * new is malloc. Where that fails, the allocator's own operator calls the program's new-handler and throws. */
#include "operators.h"
#include "real.h"

#include <dlfcn.h>
#include <stdlib.h>

#if __SIZEOF_SIZE_T__ == 8
#define NAME(before, after) before##m##after
#else
#define NAME(before, after) before##j##after
#endif
#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)

/* The operator may find an object after all, say with the new-handler's help. */
static void *found(void *object, uint64_t mark, size_t size, size_t alignment) {
    if (object != NULL) operators_found(object, mark, size, alignment);
    return object;
}

static void *slow_new(const char *operator_name, size_t size) {
    void *(*next)(size_t) = (void *(*)(size_t))dlsym(RTLD_NEXT, operator_name);
    uint64_t mark = operators_mark();
    return found(next != NULL ? next(size) : NULL, mark, size, 0);
}

static void *slow_aligned_new(const char *operator_name, size_t size, size_t alignment) {
    void *(*next)(size_t, size_t) = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, operator_name);
    uint64_t mark = operators_mark();
    return found(next != NULL ? next(size, alignment) : NULL, mark, size, alignment);
}

#define NEW(name)                                                                                                      \
    EXPORTED void *name(size_t size) {                                                                                 \
        void *object = malloc(size != 0 ? size : 1);                                                                   \
        return object != NULL ? object : slow_new(TEXT(name), size);                                                   \
    }
NEW(NAME(_Znw, ))
NEW(NAME(_Zna, ))

#define NEW_NOTHROW(name)                                                                                              \
    EXPORTED void *name(size_t size, const void *tag) {                                                                \
        (void)tag;                                                                                                     \
        return malloc(size != 0 ? size : 1);                                                                           \
    }
NEW_NOTHROW(NAME(_Znw, RKSt9nothrow_t))
NEW_NOTHROW(NAME(_Zna, RKSt9nothrow_t))

static void *aligned(size_t size, size_t alignment) {
    void *object = NULL;
    if (alignment < sizeof(void *)) alignment = sizeof(void *);
    return posix_memalign(&object, alignment, size != 0 ? size : 1) == 0 ? object : NULL;
}

#define NEW_ALIGNED(name)                                                                                              \
    EXPORTED void *name(size_t size, size_t alignment) {                                                               \
        void *object = aligned(size, alignment);                                                                       \
        return object != NULL ? object : slow_aligned_new(TEXT(name), size, alignment);                                \
    }
NEW_ALIGNED(NAME(_Znw, St11align_val_t))
NEW_ALIGNED(NAME(_Zna, St11align_val_t))

#define NEW_ALIGNED_NOTHROW(name)                                                                                      \
    EXPORTED void *name(size_t size, size_t alignment, const void *tag) {                                              \
        (void)tag;                                                                                                     \
        return aligned(size, alignment);                                                                               \
    }
NEW_ALIGNED_NOTHROW(NAME(_Znw, St11align_val_tRKSt9nothrow_t))
NEW_ALIGNED_NOTHROW(NAME(_Zna, St11align_val_tRKSt9nothrow_t))

/* The further arguments, sizes and alignments, say nothing that free needs. */
#define DELETE(name)                                                                                                   \
    EXPORTED void name(void *object) {                                                                                 \
        free(object);                                                                                                  \
    }
DELETE(_ZdlPv)
DELETE(_ZdaPv)
DELETE(NAME(_ZdlPv, ))
DELETE(NAME(_ZdaPv, ))
DELETE(_ZdlPvRKSt9nothrow_t)
DELETE(_ZdaPvRKSt9nothrow_t)
DELETE(_ZdlPvSt11align_val_t)
DELETE(_ZdaPvSt11align_val_t)
DELETE(NAME(_ZdlPv, St11align_val_t))
DELETE(NAME(_ZdaPv, St11align_val_t))
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t)
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t)

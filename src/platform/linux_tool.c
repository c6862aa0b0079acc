/* linux_tool.c - finds out whether a memory tool has replaced malloc, and takes objects from that malloc (tool.h). */
#include "platform/tool.h"

#if JW_BESIDE_TOOLS

#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef JW_MEMCHECK
#include <valgrind/memcheck.h>
#endif

_Atomic(unsigned char) tool_state;

/* Functions of the sanitizers' runtimes; NULL unless the program is linked with one. */
#define RUNTIME __attribute__((weak, visibility("default")))
extern void __asan_init(void) RUNTIME;
extern void __hwasan_init(void) RUNTIME;
extern void __lsan_init(void) RUNTIME;
extern void __msan_init(void) RUNTIME;
extern void __tsan_init(void) RUNTIME;

/* Whether the calling thread is in a call of malloc, which should be a tool's. If it is the program's own malloc, built
 * on jw_malloc, that call comes back here. */
static _Thread_local bool inside __attribute__((tls_model("initial-exec")));

/* Valgrind's other tools give no answer, as they should: callgrind must count our own instructions. */
static bool is_memcheck(void) {
#ifdef JW_MEMCHECK
    unsigned char byte = 0, bits = 0;
    return VALGRIND_GET_VBITS(&byte, &bits, 1) == 1;
#else
    return false;
#endif
}

bool tool_ask(void) {
    bool there = !inside && (__asan_init != NULL || __hwasan_init != NULL || __lsan_init != NULL ||
                             __msan_init != NULL || __tsan_init != NULL || is_memcheck());
    atomic_store_explicit(&tool_state, there ? TOOL_THERE : TOOL_NONE, memory_order_relaxed);
    return there;
}

static void *tool_result(void *object) {
    inside = false;
    if (object == NULL) errno = ENOMEM; /* not every tool's malloc sets it */
    return object;
}

/* A tool may end the process for a size that is too large for any memory. */
static bool is_too_much(size_t size) {
    if (size <= PTRDIFF_MAX) return false;
    errno = ENOMEM;
    return true;
}

void *tool_allocate(size_t size) {
    if (is_too_much(size)) return NULL;
    inside = true;
    return tool_result(malloc(size));
}

void *tool_allocate_zeroed(size_t size) {
    if (is_too_much(size)) return NULL;
    inside = true;
    return tool_result(calloc(1, size));
}

void *tool_allocate_aligned(size_t alignment, size_t size) {
    void *object = NULL;
    if (is_too_much(size)) return NULL;
    inside = true;
    if (posix_memalign(&object, alignment < sizeof(void *) ? sizeof(void *) : alignment, size) != 0) object = NULL;
    return tool_result(object);
}

void *tool_reallocate(void *object, size_t size) {
    if (is_too_much(size)) return NULL;
    inside = true;
    return tool_result(realloc(object, size));
}

void tool_free(void *object) {
    int before = errno;
    inside = true;
    free(object);
    inside = false;
    errno = before;
}

size_t tool_object_size(const void *object) {
    inside = true;
    size_t size = malloc_usable_size((void *)object);
    inside = false;
    return size;
}

#endif

/* tool.h - whether a tool that finds memory errors has replaced the C library's malloc: a sanitizer's runtime, or
 * Valgrind's memcheck. The prefixed library then takes all its objects from that malloc, so that the tool sees each of
 * them. The first call of one of our functions finds the answer, which stays.
 *
 * The hit paths do not ask: beside a tool no thread ever has a heap, so each malloc and free takes a slow path.
 */
#ifndef JW_TOOL_H
#define JW_TOOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/near.h"
#include "platform/features.h"

#if JW_BESIDE_TOOLS

enum tool_state { TOOL_UNKNOWN, TOOL_NONE, TOOL_THERE };
extern _Atomic(unsigned char) tool_state HIDDEN;

COLD bool tool_ask(void);

static ALWAYS_INLINE bool replaced_by_tool(void) {
    /* relaxed: every thread gets the same answer, and no other data depends on this word */
    return UNLIKELY(NEAR_LOAD(tool_state) != TOOL_NONE) && tool_ask();
}

/* Called only when a tool is there. NULL comes with ENOMEM. */
void *tool_allocate(size_t size);
void *tool_allocate_zeroed(size_t size);
void *tool_allocate_aligned(size_t alignment, size_t size);
void *tool_reallocate(void *object, size_t size);
void tool_free(void *object);
size_t tool_object_size(const void *object);

#else

static inline bool replaced_by_tool(void) {
    return false;
}
static inline void *tool_allocate(size_t size) {
    (void)size;
    return NULL;
}
static inline void *tool_allocate_zeroed(size_t size) {
    return tool_allocate(size);
}
static inline void *tool_allocate_aligned(size_t alignment, size_t size) {
    (void)alignment;
    return tool_allocate(size);
}
static inline void *tool_reallocate(void *object, size_t size) {
    (void)object;
    return tool_allocate(size);
}
static inline void tool_free(void *object) {
    (void)object;
}
static inline size_t tool_object_size(const void *object) {
    (void)object;
    return 0;
}

#endif

#endif

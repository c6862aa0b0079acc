/* new_delete.c - every C++ operator new and delete, in C, by their mangled names; they work without a C++ runtime.
 *
 * A program may replace some forms only, most often new(size) and delete(object). The standard says which form calls
 * which: array forms call those for one object; nothrow and sized forms call those without. So our forms call the
 * program's form where it has one.
 *
 * Compiled with -fexceptions: the exceptions of a new-handler, and std::bad_alloc, pass only through the functions of
 * this file. A nothrow new catches them, as the standard demands (platform/catch.h).
 */
#include "api/override.h"

#if JW_OVERRIDE

#include <stdbool.h>

#include "api/serve.h"
#include "base/compiler.h"
#include "base/print.h"
#include "core/hit_path.h"
#include "core/tracking.h"
#include "platform/catch.h"
#include "platform/instructions.h"
#include "platform/platform.h"

/* size_t in a mangled name. */
#ifdef __LP64__
#define MANGLED(before, after) __asm__(before "m" after)
#define NEW_OBJECT "_Znwm"
#define NEW_ARRAY "_Znam"
#else
#define MANGLED(before, after) __asm__(before "j" after)
#define NEW_OBJECT "_Znwj"
#define NEW_ARRAY "_Znaj"
#endif
#define ALIGNED "St11align_val_t"
#define NOTHROW "RKSt9nothrow_t"

typedef void new_handler(void);

/* Functions of the C++ runtime, if there is one. */
#define CXX_RUNTIME(symbol) __asm__(symbol) __attribute__((weak, visibility("default")))
extern new_handler *get_new_handler(void) CXX_RUNTIME("_ZSt15get_new_handlerv");
extern _Noreturn void throw_bad_alloc(void) CXX_RUNTIME("_ZSt17__throw_bad_allocv");
extern void *begin_catch(void *exception) CXX_RUNTIME("__cxa_begin_catch");
extern void end_catch(void) CXX_RUNTIME("__cxa_end_catch");

static COLD _Noreturn void give_up(size_t size) {
    if (throw_bad_alloc != NULL) throw_bad_alloc();
    char data[128];
    struct print_buffer line = {.data = data, .size = sizeof data};
    print_text(&line, "jwmalloc: operator new: no memory for ");
    print_unsigned(&line, size);
    print_text(&line, " bytes, and no C++ runtime to throw std::bad_alloc\n");
    platform_write(line.data, line.length);
    platform_abort();
}

/* Alignment 1: as malloc. An alignment that is no power of two is undefined: it gets no memory. */
static void *try_once(size_t size, size_t alignment) {
    if (LIKELY(alignment == 1)) return jw_malloc(size);
    if (UNLIKELY(alignment == 0 || (alignment & (alignment - 1)) != 0)) return NULL;
    return serve_aligned(alignment, size);
}

/* False: the function threw an exception, which is caught. */
static bool function_survives(void (*function)(void *argument), void *argument) {
    void *exception = call_catching(function, argument);
    if (exception == NULL) return true;
    if (begin_catch != NULL && end_catch != NULL) {
        begin_catch(exception);
        end_catch();
    }
    return false;
}

static void call_handler(void *handler) {
    ((new_handler *)(uintptr_t)handler)();
}

/* There is no memory: calls the new-handler, as the standard demands. It may free memory, throw, or not return. */
static COLD void *retry_with_handler(size_t size, size_t alignment, bool may_throw) {
    for (;;) {
        new_handler *handler = get_new_handler == NULL ? NULL : get_new_handler();
        if (handler == NULL && may_throw) give_up(size);
        if (handler == NULL) return NULL;
        if (may_throw) handler();
        else if (!function_survives(call_handler, (void *)(uintptr_t)handler)) return NULL;
        void *object = try_once(size, alignment);
        if (object != NULL) return object;
    }
}

static ALWAYS_INLINE void *make_object(size_t size, size_t alignment, bool may_throw) {
    void *object = try_once(size, alignment);
    return LIKELY(object != NULL) ? object : retry_with_handler(size, alignment, may_throw);
}

/* Allocates when the local list has no near object. */
static NOINLINE void *make_slowly(struct heap *heap, size_t size, size_t list_index) {
    if (!PLAIN_ENTRIES) return make_object(size, 1, true);
    void *object = allocate_far(heap, size, list_index);
    return LIKELY(object != NULL) ? object : retry_with_handler(size, 1, true);
}

JW_EXPORT void *new_object(size_t size) MANGLED("_Znw", "");
JW_EXPORT void *new_array(size_t size) MANGLED("_Zna", "");
JW_EXPORT void *new_object_nothrow(size_t size, const void *tag) MANGLED("_Znw", NOTHROW);
JW_EXPORT void *new_array_nothrow(size_t size, const void *tag) MANGLED("_Zna", NOTHROW);
JW_EXPORT void *new_object_aligned(size_t size, size_t alignment) MANGLED("_Znw", ALIGNED);
JW_EXPORT void *new_array_aligned(size_t size, size_t alignment) MANGLED("_Zna", ALIGNED);
JW_EXPORT void *new_object_aligned_nothrow(size_t size, size_t alignment, const void *tag)
    MANGLED("_Znw", ALIGNED NOTHROW);
JW_EXPORT void *new_array_aligned_nothrow(size_t size, size_t alignment, const void *tag)
    MANGLED("_Zna", ALIGNED NOTHROW);

JW_EXPORT void delete_object(void *object) __asm__("_ZdlPv");
JW_EXPORT void delete_array(void *object) __asm__("_ZdaPv");
JW_EXPORT void delete_object_nothrow(void *object, const void *tag) __asm__("_ZdlPv" NOTHROW);
JW_EXPORT void delete_array_nothrow(void *object, const void *tag) __asm__("_ZdaPv" NOTHROW);
JW_EXPORT void delete_object_sized(void *object, size_t size) MANGLED("_ZdlPv", "");
JW_EXPORT void delete_array_sized(void *object, size_t size) MANGLED("_ZdaPv", "");
JW_EXPORT void delete_object_aligned(void *object, size_t alignment) __asm__("_ZdlPv" ALIGNED);
JW_EXPORT void delete_array_aligned(void *object, size_t alignment) __asm__("_ZdaPv" ALIGNED);
JW_EXPORT void delete_object_aligned_nothrow(void *object, size_t alignment,
                                             const void *tag) __asm__("_ZdlPv" ALIGNED NOTHROW);
JW_EXPORT void delete_array_aligned_nothrow(void *object, size_t alignment,
                                            const void *tag) __asm__("_ZdaPv" ALIGNED NOTHROW);
JW_EXPORT void delete_object_sized_aligned(void *object, size_t size, size_t alignment) MANGLED("_ZdlPv", ALIGNED);
JW_EXPORT void delete_array_sized_aligned(void *object, size_t size, size_t alignment) MANGLED("_ZdaPv", ALIGNED);

/* For each operator the function that a call of it reaches: ours, or the program's own. Volatile: else the compiler
 * would assume that it is ours. */
static const volatile struct {
    void *(*new_object)(size_t size);
    void *(*new_array)(size_t size);
    void *(*new_object_aligned)(size_t size, size_t alignment);
    void *(*new_array_aligned)(size_t size, size_t alignment);
    void (*delete_object)(void *object);
    void (*delete_array)(void *object);
    void (*delete_object_aligned)(void *object, size_t alignment);
    void (*delete_array_aligned)(void *object, size_t alignment);
} reached RELOCATED = {.new_object = new_object,
                       .new_array = new_array,
                       .new_object_aligned = new_object_aligned,
                       .new_array_aligned = new_array_aligned,
                       .delete_object = delete_object,
                       .delete_array = delete_array,
                       .delete_object_aligned = delete_object_aligned,
                       .delete_array_aligned = delete_array_aligned};

/* Ours, whatever the program has. */
#define OUR(form, symbol) extern HIDDEN __typeof__(form) our_##form __attribute__((alias(symbol)))
OUR(new_object, NEW_OBJECT);
OUR(new_array, NEW_ARRAY);
OUR(new_object_aligned, NEW_OBJECT ALIGNED);
OUR(new_array_aligned, NEW_ARRAY ALIGNED);
OUR(delete_object, "_ZdlPv");
OUR(delete_array, "_ZdaPv");
OUR(delete_object_aligned, "_ZdlPv" ALIGNED);
OUR(delete_array_aligned, "_ZdaPv" ALIGNED);

#define IS_OURS(form) LIKELY(word_is((const uintptr_t *)&reached.form, (uintptr_t)our_##form))
#define ARE_OURS(form, other) (IS_OURS(form) && IS_OURS(other))

/* The sizes that the hit path of the sized delete accepts: none, until the slow path has seen that the form without a
 * size is ours. So the hit path need not look. */
#if !PLAIN_ENTRIES
static void accept_sizes(void) {
}
static ALWAYS_INLINE bool deletes_at_once(void *object, size_t size) {
    (void)object, (void)size;
    return false;
}
#else
static const struct sizes_served no_sizes;
static _Atomic(const struct sizes_served *) accepted_sizes = &no_sizes;

/* relaxed, both: each thread writes the same value, the address of a constant */
static void accept_sizes(void) {
    atomic_store_explicit(&accepted_sizes, &sizes_served, memory_order_relaxed);
}
static ALWAYS_INLINE bool deletes_at_once(void *object, size_t size) {
    return free_own_of_size(NEAR_LOAD(accepted_sizes), object, size);
}
#endif

HIT_BESIDE void *new_object(size_t size) {
    struct heap *heap = thread_heap();
    size_t list_index = 0;
    void *object = PLAIN_ENTRIES ? allocate_near(heap, size, &list_index) : NULL;
    return LIKELY(object != NULL) ? object : make_slowly(heap, size, list_index);
}

void *new_array(size_t size) {
    return reached.new_object(size);
}

void *new_object_aligned(size_t size, size_t alignment) {
    return make_object(size, alignment, true);
}

void *new_array_aligned(size_t size, size_t alignment) {
    return reached.new_object_aligned(size, alignment);
}

struct request {
    size_t size, alignment; /* alignment 0: a form without one */
    bool array;
    void *object;
};

static void ask_program(void *argument) {
    struct request *wanted = argument;
    if (wanted->alignment == 0) wanted->object = (wanted->array ? reached.new_array : reached.new_object)(wanted->size);
    else
        wanted->object =
            (wanted->array ? reached.new_array_aligned : reached.new_object_aligned)(wanted->size, wanted->alignment);
}

/* Calls the program's form, which may throw. */
static COLD void *make_by_program(size_t size, size_t alignment, bool array) {
    struct request wanted = {.size = size, .alignment = alignment, .array = array};
    return function_survives(ask_program, &wanted) ? wanted.object : NULL;
}

static void *make_nothrow(size_t size, bool array) {
    return ARE_OURS(new_object, new_array) ? make_object(size, 1, false) : make_by_program(size, 0, array);
}

static void *make_aligned_nothrow(size_t size, size_t alignment, bool array) {
    return ARE_OURS(new_object_aligned, new_array_aligned) ? make_object(size, alignment, false)
                                                           : make_by_program(size, alignment, array);
}

void *new_object_nothrow(size_t size, const void *tag) {
    (void)tag;
    return make_nothrow(size, false);
}

void *new_array_nothrow(size_t size, const void *tag) {
    (void)tag;
    return make_nothrow(size, true);
}

void *new_object_aligned_nothrow(size_t size, size_t alignment, const void *tag) {
    (void)tag;
    return make_aligned_nothrow(size, alignment, false);
}

void *new_array_aligned_nothrow(size_t size, size_t alignment, const void *tag) {
    (void)tag;
    return make_aligned_nothrow(size, alignment, true);
}

void delete_object(void *object) {
    jw_free(object);
}

void delete_array(void *object) {
    reached.delete_object(object);
}

void delete_object_nothrow(void *object, const void *tag) {
    (void)tag;
    reached.delete_object(object);
}

void delete_array_nothrow(void *object, const void *tag) {
    (void)tag;
    reached.delete_array(object);
}

/* Size and alignment are only checked: the slab or range has them. */
static NOINLINE void delete_of_size_slowly(void *object, size_t size) {
    if (!IS_OURS(delete_object)) {
        reached.delete_object(object);
        return;
    }
    accept_sizes();
    serve_free_of_size(object, size);
}

HIT_BESIDE void delete_object_sized(void *object, size_t size) {
    if (!deletes_at_once(object, size)) delete_of_size_slowly(object, size);
}

void delete_array_sized(void *object, size_t size) {
    if (ARE_OURS(delete_object, delete_array)) serve_free_of_size(object, size);
    else reached.delete_array(object);
}

void delete_object_aligned(void *object, size_t alignment) {
    serve_free_aligned(object, alignment, SIZE_UNKNOWN);
}

void delete_array_aligned(void *object, size_t alignment) {
    reached.delete_object_aligned(object, alignment);
}

void delete_object_aligned_nothrow(void *object, size_t alignment, const void *tag) {
    (void)tag;
    reached.delete_object_aligned(object, alignment);
}

void delete_array_aligned_nothrow(void *object, size_t alignment, const void *tag) {
    (void)tag;
    reached.delete_array_aligned(object, alignment);
}

void delete_object_sized_aligned(void *object, size_t size, size_t alignment) {
    if (IS_OURS(delete_object_aligned)) serve_free_aligned(object, alignment, size);
    else reached.delete_object_aligned(object, alignment);
}

void delete_array_sized_aligned(void *object, size_t size, size_t alignment) {
    if (ARE_OURS(delete_object_aligned, delete_array_aligned)) serve_free_aligned(object, alignment, size);
    else reached.delete_array_aligned(object, alignment);
}

#endif

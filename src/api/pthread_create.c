/* pthread_create.c - the shared library's pthread_create: calls libc's, then our own thread may start.
 *
 * At any other time our thread could make calls like unshare fail, or a seccomp filter could kill the process when the
 * thread is made. To test whether threads are allowed could have the same end. But if the program has just made a
 * thread, threads are allowed and the process is not single-threaded any more. Not in the archives: a static program
 * has only one pthread_create.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "backend/reclaimer.h"
#include "base/compiler.h"
#include "core/allocator.h"
#include "frontend/heap_lifecycle.h"
#include "jwmalloc.h"
#include "platform/host.h"

#ifdef WITHOUT_STARTFILES
/* pthread_atfork says by it whose the handlers are. It is in the files that are left out (cmake/jwmalloc.cmake). */
HIDDEN void *const __dso_handle = (void *)&__dso_handle; // NOLINT(bugprone-reserved-identifier)
#endif

typedef int create_function(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                            void *argument);

static create_function *find_libcs(void) {
    static _Atomic(uintptr_t) known;
    uintptr_t found = atomic_load_explicit(&known, memory_order_relaxed);
    if (found == 0) {
        found = (uintptr_t)dlsym(RTLD_NEXT, "pthread_create");
        atomic_store_explicit(&known, found, memory_order_relaxed);
    }
    return (create_function *)found;
}

/* dlsym waits for the loader's lock. In dlopen, a plugin's constructor may hold that lock while it waits for a thread
 * that is about to make another one. */
CALLED_AT_START void find_before_threads(void) {
    find_libcs();
}

/* What a new thread runs, in an object of the thread that makes it. That thread has a heap by then: else it would get
 * one in libc's function, and be taken for a thread that libc has made. */
struct beginning {
    void *(*start)(void *);
    void *argument;
};

/* Our thread ends with the last one of the program's threads, also if that one has never allocated. No heap is made for
 * it here: to free needs none, but in the hardened build. */
static void *begin_thread(void *argument) {
    struct beginning beginning = *(struct beginning *)argument;
    heap_thread_starts();
    jw_free(argument);
    return beginning.start(beginning.argument);
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the C library's are reserved */
JW_EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                             void *argument) {
    create_function *libcs = find_libcs();
    if (libcs == NULL) return EAGAIN;
    if (!allocator_start()) return libcs(thread, attributes, start, argument);
    struct beginning *beginning = jw_malloc(sizeof *beginning);
    reclaimer_before_thread_create(); /* before: the new thread may end before libc's function returns */
    int result;
    if (beginning != NULL) {
        *beginning = (struct beginning){start, argument};
        result = libcs(thread, attributes, begin_thread, beginning);
        if (result != 0) jw_free(beginning);
    } else {
        result = libcs(thread, attributes, start, argument); /* counts as one that lives until it has allocated */
    }
    reclaimer_after_thread_create(result == 0);
    return result;
}

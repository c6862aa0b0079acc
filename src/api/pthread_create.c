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
#include "frontend/thread_heap.h"
#include "jwmalloc.h"
#include "platform/host.h"

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

/* libc's function allocates. A caller that gets its heap only then would be taken for a thread that libc has made. */
static void know_caller(void) {
    if (thread_heap() == &no_heap) jw_free(jw_malloc(1));
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the C library's are reserved */
JW_EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                             void *argument) {
    create_function *libcs = find_libcs();
    if (libcs == NULL) return EAGAIN;
    if (!allocator_start()) return libcs(thread, attributes, start, argument);
    know_caller();
    reclaimer_before_thread_create(); /* before: the new thread may end before libc's function returns */
    int result = libcs(thread, attributes, start, argument);
    reclaimer_after_thread_create(result == 0);
    return result;
}

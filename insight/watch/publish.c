/* publish.c - libjwwatch.so, which jwmalloc loads into a process with `watch:true` (src/core/watch.h): makes the page
 * that others read, and counts the times of slow paths in it. Nothing here allocates.
 *
 *   page    NULL -> page            the constructor that loads this library
 *           page -> another, NULL   the thread that forked, in the child: the page is the parent's
 *
 * Other threads only add to counters through the pointer. The kernel has made the page before the pointer leads to it.
 * */
#include "watch/page.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { OUT_OF_THE_WAY = 100 }; /* programs expect to get the low numbers, in order */

static const struct watch_offer *offer;
static _Atomic(struct watch_page *) page;
static int file = -1;
static struct stat file_status;

static uint64_t now(clockid_t clock) {
    struct timespec time = {0};
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* The file of the page, with a high number; -1 if the system refuses. It cannot be cut, so that no access to the page
 * ever fails. */
static int make_file(void) {
    int low = memfd_create(WATCH_FILE, MFD_CLOEXEC | MFD_ALLOW_SEALING), high = -1;
    if (low < 0) return -1;
    if (ftruncate(low, WATCH_BYTES) == 0 && fcntl(low, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        high = fcntl(low, F_DUPFD_CLOEXEC, OUT_OF_THE_WAY);
    close(low);
    return high;
}

static void make_page(void) {
    file = make_file();
    if (file < 0 || fstat(file, &file_status) != 0) return;
    struct watch_page *made = mmap(NULL, WATCH_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (made == MAP_FAILED) return;
    made->version = WATCH_VERSION;
    made->size = sizeof *made;
    memcpy(made->library, offer->library, sizeof made->library);
    made->layout = offer->layout;
    made->pid = (uint32_t)getpid();
    made->started = now(CLOCK_REALTIME);
    made->table = (uintptr_t)offer->table;
    made->entries = (uint32_t)(((uintptr_t)offer->end - (uintptr_t)offer->table) / offer->entry);
    made->slow_paths = SLOW_PATHS;
    atomic_thread_fence(memory_order_release);
    memcpy(made->magic, WATCH_MAGIC, sizeof WATCH_MAGIC);
    /* Yama lets only a process's ancestors read its memory, unless the process says otherwise. */
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    page = made;
}

/* The program may have closed the file, and the number may be another file's by now. */
static void close_parents_file(void) {
    struct stat status;
    if (file >= 0 && fstat(file, &status) == 0 && status.st_ino == file_status.st_ino &&
        status.st_dev == file_status.st_dev)
        close(file);
}

static void child_of_fork(void) {
    int error = errno;
    struct watch_page *parents = atomic_exchange(&page, NULL);
    close_parents_file();
    if (parents) munmap(parents, WATCH_BYTES);
    make_page();
    errno = error;
}

static void *timed_call(enum slow_path path, slow_call function, void *what, size_t number) {
    uint64_t begun = now(CLOCK_MONOTONIC);
    void *result = function(what, number);
    struct watch_page *shared = atomic_load_explicit(&page, memory_order_relaxed);
    if (!shared) return result;
    uint64_t took = now(CLOCK_MONOTONIC) - begun;
    unsigned bit = 63 - (unsigned)__builtin_clzll(took | 1);
    struct slow_times *slow = &shared->slow[path];
    atomic_fetch_add_explicit(&slow->nanoseconds, took, memory_order_relaxed);
    atomic_fetch_add_explicit(&slow->times[bit < WATCH_TIMES ? bit : WATCH_TIMES - 1], 1, memory_order_relaxed);
    return result;
}

static const struct watcher times = {timed_call};

__attribute__((visibility("default"))) void jw_watch(const struct watch_offer *offered) {
    if (offer) return; /* another jwmalloc of this process is watched already */
    offer = offered;
    make_page();
    if (!page) return;
    pthread_atfork(NULL, NULL, child_of_fork);
    if (offered->watcher) atomic_store_explicit(offered->watcher, &times, memory_order_relaxed);
}

/* jwmalloc.h - a memory allocator for phones: its public interface.
 *
 * The library that replaces malloc (libjwmalloc) also exports the functions below without the prefix, and all C++
 * operators new and delete. Only with the prefix: malloc_iterate, malloc_disable, malloc_enable (but for Android),
 * purge, seal, realtime_reserve, on_limit, reclaim_pause, reclaim_resume, stats_print, options_print, version; and ctl,
 * ctl_name_to_mib and ctl_by_mib, which are jemalloc's mallctl, mallctlnametomib and mallctlbymib. A program then needs
 * this header only for what the standards do not have.
 * The library for use beside the system's malloc (libjwmalloc-prefixed) exports the jw_ names only. Beside a sanitizer
 * or Valgrind's memcheck its objects come from the tool's malloc, with the tool's limits and reports.
 *
 * For all functions, unless a comment says otherwise:
 *   Sizes         are bytes. An object may be larger than asked for (jw_malloc_usable_size); all of it may be used.
 *   Alignment     is at least 16; for objects smaller than 16 bytes at least 8. An object of size 0 has a valid, unique
 *                 address, and must be freed like others.
 *   Failure       returns NULL and sets errno to ENOMEM: there is no memory, or the size is above PTRDIFF_MAX, or
 *                 above 16 TB. Objects that were passed stay valid. Success does not change errno.
 *   Objects       come from any allocating function here. They may be passed to any other function here, on any
 *                 thread, and once to a freeing function. If an address is not an object's, or was freed before, and
 *                 the library sees it, it prints one line on standard error and ends the process (SIGABRT).
 *   Threads       may call any function at any time, also in destructors of thread-local objects, in atexit handlers,
 *                 before main, and in the child of a fork. docs/reliability.md (promise 1) names the cases in which
 *                 one thread waits for another one.
 *   Signals       As for malloc: signal handlers must not call these functions, a handler must not leave one of them by
 *                 longjmp, and a thread must not be cancelled asynchronously in one. The heap may be damaged then.
 */
#ifndef JWMALLOC_H
#define JWMALLOC_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define JW_VERSION "0.1.0"

#if defined(__GNUC__)
#define JW_API __attribute__((visibility("default"), nothrow))
#define JW_CHECKS __attribute__((warn_unused_result))
#define JW_SIZED(arguments) __attribute__((warn_unused_result, alloc_size arguments))
#define JW_ALLOCATES(arguments) __attribute__((warn_unused_result, alloc_size arguments, malloc))
#else
#define JW_API
#define JW_CHECKS
#define JW_SIZED(arguments)
#define JW_ALLOCATES(arguments)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* --- C standard ------------------------------------------------------------------------------------------------- */

/* A new object of `size` bytes, its contents undefined. (C11 7.22.3.4) */
JW_API void *jw_malloc(size_t size) JW_ALLOCATES((1));

/* Frees the object; NULL is allowed and does nothing. Keeps errno. (C11 7.22.3.3, POSIX.1-2024) */
JW_API void jw_free(void *object);

/* A new object for `count` elements of `size` bytes each. All usable bytes are zero (jw_malloc_usable_size). ENOMEM if
 * the product overflows. (C11 7.22.3.2) */
JW_API void *jw_calloc(size_t count, size_t size) JW_ALLOCATES((1, 2));

/* Changes the object's size; contents stay up to the smaller of both sizes. The object may move: use only the result.
 * With NULL as the object this is jw_malloc. Size 0 frees the object and returns NULL, as in glibc. On failure the
 * object is unchanged. A smaller size never fails: without memory for a copy the object stays. (C11 7.22.3.5) */
JW_API void *jw_realloc(void *object, size_t size) JW_SIZED((2));

/* A new object at a multiple of `alignment`, a power of two of any size. NULL and EINVAL for another alignment; `size`
 * need not be a multiple of it. (C17 7.22.3.1) */
JW_API void *jw_aligned_alloc(size_t alignment, size_t size) JW_ALLOCATES((2));

/* As jw_free, for an object of jw_malloc, jw_calloc, jw_realloc or jw_reallocarray. `size` is the size last asked for;
 * 0 with NULL. (C23 7.24.3.4) */
JW_API void jw_free_sized(void *object, size_t size);

/* As jw_free, for an object of jw_aligned_alloc with this alignment and size. (C23 7.24.3.5) */
JW_API void jw_free_aligned_sized(void *object, size_t alignment, size_t size);

/* --- POSIX ------------------------------------------------------------------------------------------------------ */

/* Stores in *object a new object at a multiple of `alignment`: a power of two and a multiple of sizeof(void *).
 * Returns 0, or EINVAL for another alignment, or ENOMEM; *object is unchanged then. Never changes errno.
 * (POSIX.1-2001) */
JW_API int jw_posix_memalign(void **object, size_t alignment, size_t size) JW_CHECKS;

/* As jw_realloc to `count` elements of `size` bytes. ENOMEM if the product overflows; the object is unchanged then.
 * (POSIX.1-2024) */
JW_API void *jw_reallocarray(void *object, size_t count, size_t size) JW_SIZED((2, 3));

/* --- Unix and glibc --------------------------------------------------------------------------------------------- */

/* As jw_aligned_alloc, with `alignment` rounded up to a power of two; EINVAL if there is none. */
JW_API void *jw_memalign(size_t alignment, size_t size) JW_ALLOCATES((2));

/* A new object at a multiple of the OS page's size. */
JW_API void *jw_valloc(size_t size) JW_ALLOCATES((1));

/* As jw_valloc, with `size` rounded up to whole OS pages. */
JW_API void *jw_pvalloc(size_t size) JW_ALLOCATES((1));

/* As jw_free. */
JW_API void jw_cfree(void *object);

/* The usable bytes of the object: at least what was asked for. 0 for NULL. */
JW_API size_t jw_malloc_usable_size(const void *object);

/* The least usable bytes that an object of this size has; 0 if no object can have this size. A thread's first objects
 * of up to 2,048 bytes may have more: up to the next power of two. A large one (14 KB to 4 MB) may have up to three
 * quarters more than its size, one above 4 MB an eighth more. */
JW_API size_t jw_malloc_good_size(size_t size);

/* Gives free memory back to the OS at once, also that of sleeping threads, except for what README.md says a thread
 * keeps (Limits). If another thread does the same just then, or a round, the call waits for it, 1 s at most.
 * `pad` is ignored. Returns 1 if some memory was given back, else 0. Free pages that the program has never written
 * count as memory the first time: nothing tells them from written ones. */
JW_API int jw_malloc_trim(size_t pad);

/* Memory in bytes, with glibc's field names. Fields not named here are 0. */
struct jw_mallinfo2 {
    size_t arena;   /* mapped for objects up to 4 MB, whether in use or not */
    size_t ordblks; /* free ranges (a count) */
    size_t smblks;
    size_t hblks;  /* objects with a mapping of their own (a count) */
    size_t hblkhd; /* bytes in these */
    size_t usmblks;
    size_t fsmblks;
    size_t uordblks; /* in all objects, those of `hblks` as well (as Android has it; glibc leaves them out) */
    size_t fordblks; /* in `arena` and not in objects: arena + hblkhd is uordblks + fordblks */
    size_t keepcost; /* in free ranges with memory still behind them; jw_malloc_trim gives back more: also what is free
                        in slabs, which fordblks has */
};
JW_API struct jw_mallinfo2 jw_mallinfo2(void);

/* As jw_mallinfo2, cut to int: a larger value shows as INT_MAX. */
struct jw_mallinfo {
    int arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};
JW_API struct jw_mallinfo jw_mallinfo(void);

/* Writes the statistics as an XML document to `stream`. Returns 0, EINVAL if `options` is not 0, or
 * an error number if writing fails. */
JW_API int jw_malloc_info(int options, FILE *stream);

/* Writes the statistics as text to standard error. */
JW_API void jw_malloc_stats(void);

/* As jw_stats_print, with the arguments of jemalloc's malloc_stats_print (see its manual). `write` receives text with
 * an end mark, several times, and may allocate; NULL: standard error. "J" in `options`: JSON, with the names of
 * jw_stats_print, not jemalloc's. Other letters, and NULL, have no effect. */
JW_API void jw_malloc_stats_print(void (*write)(void *cookie, const char *text), void *cookie, const char *options);

/* Returns 1 if the parameter was accepted, 0 if it is unknown or the value is out of range. glibc's sizes and
 * thresholds are accepted and have no effect: M_MXFAST, M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD, M_MMAP_MAX,
 * M_ARENA_TEST, M_ARENA_MAX. docs/platforms.md lists Android's and OpenHarmony's. Android's for memory: */
JW_API int jw_mallopt(int parameter, int value);

enum {
    JW_M_DECAY_TIME = -100,     /* time between rounds; value 0: a purge now, then 10 ms; 1: 500 ms; -1: 60 s */
    JW_M_PURGE = -101,          /* give unused memory back now */
    JW_M_PURGE_ALL = -104,      /* the same */
    JW_M_PURGE_FAST = -105,     /* jw_purge(JW_PURGE_THREADS, 1000) */
    JW_M_RECLAIM_THREAD = -2001 /* jwmalloc's own. value 0: as jw_reclaim_pause; 1: as jw_reclaim_resume */
};

/* --- jwmalloc --------------------------------------------------------------------------------------------------- */

/* Stop and start the reclamation thread. When pause has returned 0, the process has no reclamation thread. It gets none
 * until as many resumes as pauses were called, by any threads. So fork in a Zygote, unshare, setns or a seccomp filter
 * for all threads may follow. Meanwhile calls of malloc and free give memory back. If none follow, what other threads
 * have freed of a sleeping thread's small objects stays; malloc_trim gives it back. The last resume starts the thread
 * again if a pause has ended it and it would still be there; a resume without a pause does nothing. At most a million
 * pauses may wait for their resume. A fork's child has neither thread nor pause. Pause may wait until a round ends. It
 * asks the kernel (getpid, tgkill) whether the thread is gone, so call it before a filter that forbids these calls.
 * ENOMEM: the allocator could not start; then there is no thread either. */
JW_API int jw_reclaim_pause(void);
JW_API void jw_reclaim_resume(void);

/* Adds `size` bytes, rounded up to whole 4 MB, to the process's reserve for real-time threads, and marks the calling
 * thread as one. 0: ends the mark. Memory of the reserve has its pages from the start. A marked thread's allocations of
 * up to 4 MB come from there first: as long as they find a free piece there, they make no page fault and no system
 * call, nor does the thread's free of such an object. A thread that is stopped in the middle of a free may have such a
 * piece in its hands. What is freed, by whichever thread, goes back to the reserve. A marked thread wakes no other
 * thread and runs no round.
 *     within its size  all marked threads share the reserve. An object takes its slab's share or whole pages (4 KB), of
 *                      2 KB and more whole pages, and free pieces join only with free neighbours: ask for twice of what
 *                      is live at once, and for 4 MB more where objects above 1 MB are among it
 *     beyond it        allocations are served as for any other thread
 *     other objects    a marked thread that frees what it has not allocated itself while marked, an object above 4 MB,
 *                      or resizes one, may enter the kernel. So may locks, and pages of the program: see mlockall
 *     counts           the reserve counts as in use, in statistics and for limits. jw_malloc_trim, jw_purge, rounds and
 *                      pressure leave it alone
 *     its end          a mark also ends with its thread. With the last one the free memory of the reserve goes back,
 *                      and the rest when it is freed. The child of a fork has no marked thread, and its pages are
 *                      copied at the first write: it calls again. So does a process after jw_seal. The pages of the
 *                      parent's threads fault once, too, after a fork while its child lives
 * The call itself writes to all pages of the reserve; call it before the real-time work begins. Not in a signal
 * handler, a handler of pthread_atfork or a child of vfork. Returns 0, or -1 with errno: ENOMEM, no memory (or none
 * within the hard limit, or more than 1 GB), then the mark is as before; ENOTSUP, the build has no reserve (hardened,
 * or in a C library), or a memory tool has the objects. */
JW_API int jw_realtime_reserve(size_t size);

/* Seals all objects of up to 4 MB that exist, for a process that forks children, such as a Zygote: neither this process
 * nor a child allocates from their pages or writes to them any more. A child that only reads and frees what it has
 * inherited shares those pages with its parent. Call it once all is made that the children share, before the first
 * fork; later calls seal what came since.
 *     sealed objects   stay what they are: they may be read, written, freed, and given to all functions here. A free is
 *                      noted in a table of 64 KB for each 4 MB. realloc keeps one in its place if the new size fits,
 *                      else copies. Their memory is never used again and does not go back, nor does what lies free
 *                      between them: unused memory goes back first, as by jw_malloc_trim
 *     counts           sealed objects count as in use in statistics (backend.sealed), until they are freed. Limits do
 *                      not count them (jw_on_limit)
 *     larger objects   have mappings of their own and are not sealed: a free unmaps them, in the process that frees. So
 *                      has an object of 1 MB or more that got the mapping of a freed larger one
 * The process must have no other thread; ours is stopped meanwhile, and starts again as by jw_reclaim_resume. Not in a
 * signal handler, a handler of pthread_atfork, a child of vfork, or a callback of this library. Returns 0; EBUSY: there
 * is another thread, or /proc/self/status cannot be read; ENOMEM: no memory for the tables; ENOTSUP: the build has no
 * seal (hardened, or -DJW_SEAL=OFF), or a memory tool has the objects. Not 0: nothing is sealed.
 * errno is undefined. */
JW_API int jw_seal(void);

/* Gives free memory back to the OS for about `max_us` microseconds, and goes on at the next call, of any thread, where
 * this one has ended. Returns the bytes that went meanwhile. No thread is stopped, and none waits that allocates.
 *     JW_PURGE_SHARED    what is cached for all threads: ranges, mappings, spare address space
 *     JW_PURGE_THREADS   also what each thread caches and is free, even if it sleeps, and the heaps of ended threads
 *     JW_PURGE_ALL       also the slabs of the calling thread whose objects are all free; jw_malloc_trim gives back as
 *                        much, and may unmap the first root, too
 * A call does the rest of the last call, then all of its level at most once. It looks at the time after each piece of
 * work: a system call, a heap, a class of sizes of the calling thread, or 4 MB of addresses. All that waits to be
 * unmapped is one piece. So a call may take one piece longer. With 0 it does one piece. Another level: 0, and nothing
 * is done. */
enum { JW_PURGE_SHARED, JW_PURGE_THREADS, JW_PURGE_ALL };
JW_API size_t jw_purge(int level, unsigned long max_us);

/* Limits. jw_ctl sets opt.limit_soft and opt.limit_hard, at any time, to bytes; 0, as at first: no limit. Both count
 * what stats.committed tells: the memory that the kernel may charge for ours, each object in full. A limit that is set
 * below what is committed gives unused memory back at once.
 *     limit_soft    Above it caches shrink: freed memory goes back at once, and what threads keep goes back by rounds.
 *                   Nothing is refused for it.
 *     limit_hard    A request that needs new pages beyond it fails as if the OS had no memory. Unused memory goes back
 *                   first. Pages that our memory has already are never refused. Threads that ask at the same moment may
 *                   exceed it, each by one request.
 *
 * jw_on_limit registers a callback; NULL: none. It returns the one before. The callback is called once for each request
 * that finds no memory, because of the hard limit or of the OS. It is not called for a size that no object can have, or
 * that is above the whole limit, nor where realloc makes an object smaller.
 *     `size`     what was asked for; a small size is rounded up to a class
 *     it runs    in the thread that asks, and no lock or list of ours is held
 *     it may     call any function here. A request of its own that finds no memory fails at once
 *     it must    return; not fork; not free what the caller passed to realloc; not wait for a lock whose owner may be
 *                in an allocation
 *     result     0: the request fails; else it is made once more
 * A thread has no callback where it has nearly ended: in destructors of thread-local data that run after ours. */
typedef int jw_limit_function(size_t size);
JW_API jw_limit_function *jw_on_limit(jw_limit_function *callback);

/* Calls `callback` for each object in use that begins in [base, base + size), with its usable bytes: what Android
 * calls malloc_iterate. Exact for objects of threads that make no call meanwhile, as those of the parent in a fork's
 * child. Of other threads the newest allocations and frees may be missing. The callback may call any function here, and
 * must not fork. Returns 0; or -1 and errno: ENOTSUP in the hardened build, and beside a memory tool that has the
 * objects; EAGAIN if memory of many objects was going back to the OS all the time. */
JW_API int jw_malloc_iterate(uintptr_t base, size_t size, void (*callback)(uintptr_t base, size_t size, void *arg),
                             void *arg);

/* Makes the allocations of all other threads wait until any thread calls jw_malloc_enable: what Android calls
 * malloc_disable. A thread that allocates meanwhile waits, and so does one that frees an object with a mapping of its
 * own, or calls jw_malloc_disable. Most other frees go on. The calling thread goes on, too. It should wait for no other
 * thread: that thread may wait in malloc. A call that has begun before may end later, one of each thread. In a fork's
 * child all may allocate. Nothing happens beside a memory tool that has the objects, or if there is no memory for a
 * first object of the calling thread. */
JW_API void jw_malloc_disable(void);
JW_API void jw_malloc_enable(void);

/* Receives `length` bytes of text. It is called several times for one report, and may allocate. */
typedef void jw_write_function(void *cookie, const char *text, size_t length);

enum { JW_STATS_TEXT = 0, JW_STATS_JSON = 1 };

/* Writes a report about the memory of each part of the allocator. Other threads go on meanwhile, so sums over several
 * values are close, not exact. */
JW_API void jw_stats_print(jw_write_function *write, void *cookie, unsigned flags);

/* Writes the table of run-time options: name, default, range, unit and meaning. Options are set before the start,
 * in the environment as JWMALLOC_CONF="name:value,name:value", or by the program with
 *     const char *jw_malloc_conf = "name:value,name:value";
 * which the executable must export if the library is shared. */
JW_API void jw_options_print(jw_write_function *write, void *cookie);

/* Reads, sets or does what has this name; with jemalloc's arguments and names, so that mallctl of the library that
 * replaces malloc is this function. `old`, if not NULL, receives *old_size bytes; `value`, if not NULL, is set.
 *     epoch, background_thread, arenas.narenas, arenas.page, version, stats.allocated, .active, .metadata, .mapped,
 *     .resident, .retained                       jemalloc's, with its types; statistics are always of this moment
 *     stats.committed                            what the limits count (jw_on_limit)
 *     stats.callers_calls                        munmap and madvise by other threads than the reclamation thread
 *     arena.<i>.purge, arena.<i>.decay           as jw_malloc_trim; there is one arena; i is 0, arenas.narenas or 4096
 *     thread.tcache.flush                        unused memory of the calling thread becomes free for others
 *     opt.OPTION                                 size_t; numbers and sizes may be set, others are read at the start
 *     frontend., midend., backend., huge.FIELD   size_t; the fields of jw_stats_print
 * Returns 0; ENOENT: no such name; EINVAL: wrong size, or out of range; EPERM: cannot be read or set so. */
JW_API int jw_ctl(const char *name, void *old, size_t *old_size, const void *value, size_t value_size);

/* For a name that is used often (jemalloc's manual, mallctlnametomib). jw_ctl_name_to_mib translates the name into
 * numbers, one for each of its components, which dots separate. With the numbers jw_ctl_by_mib does what jw_ctl does
 * with the name.
 *     *length    on call, the numbers that `mib` has room for: three are enough for any name. On return, the numbers
 *                that were written. If there was room for fewer than all, these are the first ones, and stand for
 *                nothing yet
 *     numbers    hold in this process and its forks, for all threads; another version of the library has others. The
 *                number of an arena is itself; the caller may replace it
 * jw_ctl_name_to_mib returns 0; or ENOENT: there is no such name; then `mib` and *length are unchanged. jw_ctl_by_mib
 * returns what jw_ctl does; ENOENT: the numbers stand for nothing. */
JW_API int jw_ctl_name_to_mib(const char *name, size_t *mib, size_t *length);
JW_API int jw_ctl_by_mib(const size_t *mib, size_t length, void *old, size_t *old_size, const void *value,
                         size_t value_size);

/* "major.minor.patch" of the library, which may differ from this header's JW_VERSION. */
JW_API const char *jw_version(void);

#ifdef __cplusplus
}
#endif

#undef JW_API
#undef JW_CHECKS
#undef JW_SIZED
#undef JW_ALLOCATES

#endif

/* jwmalloc.h - a memory allocator for phones: its public interface.
 *
 * The library that replaces malloc (libjwmalloc) also exports every function below without the prefix, and all C++
 * operators new and delete; a program then needs this header only for what the standards do not have. The library
 * for use beside the system's malloc (libjwmalloc-prefixed) exports the jw_ names alone; beside a sanitizer or
 * Valgrind's memcheck its objects are those of the tool's malloc, with the tool's limits and reports.
 *
 * For all functions, unless said otherwise:
 *   Sizes         are bytes. An object may be larger than asked for (jw_malloc_usable_size); all of it may be used.
 *   Alignment     is at least 16, for objects smaller than 16 bytes at least 8. An object of size 0 is a valid, unique
 *                 pointer to be freed like others.
 *   Failure       is NULL with errno ENOMEM: no memory, or a size above PTRDIFF_MAX. What was passed stays valid.
 *                 Success leaves errno alone.
 *   Objects       come from any allocating function here and may be passed to any other function here, once to a
 *                 freeing one, on any thread. An address that is not an object's, or one freed before, is reported in
 *                 one line on standard error where it is seen, and ends the process (SIGABRT).
 *   Threads       any, at any time, also in destructors of thread-local objects, in atexit handlers, before main, and
 *                 in the child of a fork. No function waits for another thread, except for one it asks libc to call.
 *   Signals       not to be called from a signal handler, as malloc. A handler must not leave one of them by longjmp,
 *                 and a thread must not be cancelled asynchronously in one: the heap may be damaged, as glibc's.
 */
#ifndef JWMALLOC_H
#define JWMALLOC_H

#include <stddef.h>
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

/* A new object for `count` elements of `size` bytes each, all bytes zero, those too that it has beyond them
 * (jw_malloc_usable_size). ENOMEM when the product overflows. (C11 7.22.3.2) */
JW_API void *jw_calloc(size_t count, size_t size) JW_ALLOCATES((1, 2));

/* The object with `size` bytes, its contents kept up to the smaller of both sizes; it may have moved: use only the
 * result. NULL instead of an object is as jw_malloc. Size 0 frees the object and returns NULL, as glibc does. On
 * failure the object is untouched. (C11 7.22.3.5) */
JW_API void *jw_realloc(void *object, size_t size) JW_SIZED((2));

/* A new object at a multiple of `alignment`, a power of two of any size. NULL and EINVAL for another alignment; `size`
 * need not be a multiple of it. (C17 7.22.3.1) */
JW_API void *jw_aligned_alloc(size_t alignment, size_t size) JW_ALLOCATES((2));

/* As jw_free, for an object of jw_malloc, jw_calloc, jw_realloc or jw_reallocarray; `size` is what it was last asked
 * for, or 0 with NULL. (C23 7.24.3.4) */
JW_API void jw_free_sized(void *object, size_t size);

/* As jw_free, for an object of jw_aligned_alloc with this alignment and size. (C23 7.24.3.5) */
JW_API void jw_free_aligned_sized(void *object, size_t alignment, size_t size);

/* --- POSIX ------------------------------------------------------------------------------------------------------ */

/* Stores in *object a new object at a multiple of `alignment`: a power of two and a multiple of sizeof(void *).
 * Returns 0, or EINVAL for another alignment, or ENOMEM; then *object is untouched. Never changes errno.
 * (POSIX.1-2001) */
JW_API int jw_posix_memalign(void **object, size_t alignment, size_t size) JW_CHECKS;

/* As jw_realloc to `count` elements of `size` bytes. ENOMEM when the product overflows: the object is untouched.
 * (POSIX.1-2024) */
JW_API void *jw_reallocarray(void *object, size_t count, size_t size) JW_SIZED((2, 3));

/* --- Unix and glibc --------------------------------------------------------------------------------------------- */

/* As jw_aligned_alloc, with `alignment` rounded up to a power of two; EINVAL when there is none. */
JW_API void *jw_memalign(size_t alignment, size_t size) JW_ALLOCATES((2));

/* A new object at a multiple of the OS page's size. */
JW_API void *jw_valloc(size_t size) JW_ALLOCATES((1));

/* The same, with `size` rounded up to whole OS pages. */
JW_API void *jw_pvalloc(size_t size) JW_ALLOCATES((1));

/* As jw_free. */
JW_API void jw_cfree(void *object);

/* Bytes of the object that may be used: at least what was asked for. 0 for NULL. */
JW_API size_t jw_malloc_usable_size(const void *object);

/* Usable bytes of an object if it were allocated with this size now; 0 for a size that cannot be had. */
JW_API size_t jw_malloc_good_size(size_t size);

/* Gives memory without objects in it back to the OS at once. `pad` is ignored. 1 when some was given back, else 0. */
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
    size_t keepcost; /* free, with memory still behind it: what jw_malloc_trim can give back */
};
JW_API struct jw_mallinfo2 jw_mallinfo2(void);

/* The same cut to int: a larger value shows as INT_MAX. */
struct jw_mallinfo {
    int arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};
JW_API struct jw_mallinfo jw_mallinfo(void);

/* Writes the statistics as an XML document to `stream`. `options` must be 0: EINVAL is returned otherwise; else 0, or
 * an error number when writing fails. */
JW_API int jw_malloc_info(int options, FILE *stream);

/* Writes the statistics as text to standard error. */
JW_API void jw_malloc_stats(void);

/* 1 when the parameter was taken, 0 when it is unknown or the value out of range. glibc's sizes and thresholds
 * (M_MXFAST, M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD, M_MMAP_MAX, M_ARENA_TEST, M_ARENA_MAX) are taken without
 * effect: there is nothing here that they would tune. Android's have their meaning: */
JW_API int jw_mallopt(int parameter, int value);

enum {
    JW_M_DECAY_TIME = -100,     /* value 0: give unused memory back very soon; 1: after the default time; -1: late */
    JW_M_PURGE = -101,          /* give unused memory back now */
    JW_M_PURGE_ALL = -104,      /* the same; sleeping threads keep their few empty slabs in both */
    JW_M_RECLAIM_THREAD = -2001 /* our own. value 0: as jw_reclaim_pause; 1: as jw_reclaim_resume */
};

/* --- Our own ---------------------------------------------------------------------------------------------------- */

/* Pause: when it returns 0, the process has no thread of ours, and gets none until as many resumes as pauses have come,
 * from whichever threads. So fork in a Zygote, unshare, setns or a seccomp filter for all threads may follow. Nothing
 * is lost: freeing threads give memory back meanwhile. The last resume starts the thread again, if a pause ended one; a
 * resume without a pause does nothing. A fork's child has neither thread nor pause. Pause may wait for a round that is
 * going on; it is not for signal handlers, and asks the kernel (getpid, tgkill) whether the thread is gone, so call it
 * before a filter that forbids these. ENOMEM: the allocator could not start; then there is no thread either. */
JW_API int jw_reclaim_pause(void);
JW_API void jw_reclaim_resume(void);

/* Takes `length` bytes of text. Called several times for one report; may allocate. */
typedef void jw_write_function(void *cookie, const char *text, size_t length);

enum { JW_STATS_TEXT = 0, JW_STATS_JSON = 1 };

/* Writes a report about memory in every part of the allocator. Other threads go on meanwhile, so sums over several
 * values are close, not exact. */
JW_API void jw_stats_print(jw_write_function *write, void *cookie, unsigned flags);

/* Writes the table of run-time options: name, default, range, unit and meaning. They are set before start, in the
 * environment as JWMALLOC_CONF="name:value,name:value", or by the program with
 *     const char *jw_malloc_conf = "name:value,name:value";
 * (to be exported from the executable where the library is shared). */
JW_API void jw_options_print(jw_write_function *write, void *cookie);

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

/* platform.h - everything that jwmalloc needs from an operating system; the only way to it.
 *
 * The linux*.c files implement it in production; sim.c (a static zeroed arena, no threads of its own) under the unit
 * tests; verify/platform/model.c under the model checkers. No function may call malloc, take a lock of libc, or touch
 * errno. Each can run inside malloc, inside a signal handler, or on the reclamation thread, which has no thread-local
 * storage.
 */
#ifndef JW_PLATFORM_H
#define JW_PLATFORM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* Bytes of one OS page; read once at start, constant afterwards. */
size_t platform_page_size(void);

/* Bytes that this process may map, or may map to write to (RLIMIT_AS, RLIMIT_DATA: the smaller one); SIZE_MAX where
 * there is no limit. */
size_t platform_address_limit(void);

/* Reserves `size` bytes (whole OS pages) at a multiple of `alignment` (a power of two, at least one OS page). The
 * memory is readable, writable and zero; the kernel charges it only when touched. /proc/self/maps shows it as `name`, a
 * literal: some kernels keep the pointer. NULL when refused, and no deferred mapping serves (deferred_unmap.h). */
void *platform_reserve(size_t size, size_t alignment, const char *name);

/* Reserves without an alignment, and read-only: such memory counts only for the limit of the address space.
 * platform_protect makes parts of it writable. */
void *platform_reserve_readable(size_t size, const char *name);

/* Ends names: mappings made from now on have none. */
void platform_end_names(void);

/* Proposes a random address, a multiple of `alignment`, where `size` bytes are probably free and stay so: the kernel
 * maps nothing there by itself. 0: there is none. Nothing is reserved. */
uintptr_t platform_region(size_t size, size_t alignment);

/* Reserves whole pages in a part of the address space that is chosen at random once, with inaccessible pages on both
 * sides. Where platform_region has found none, it does as platform_reserve. */
void *platform_reserve_apart(size_t size, const char *name);

/* Reserves at exactly this address; without `writes`, read-only. RESERVE_TAKEN: something is mapped there. If a thread
 * of this process has mapped it, the caller sees what that thread did before. */
enum platform_reserved { RESERVED, RESERVE_TAKEN, RESERVE_REFUSED };
enum platform_reserved platform_reserve_at(void *address, size_t size, bool writes, const char *name);

/* Whether all of [address, address + size) is mapped; also true if the kernel does not tell. */
bool platform_is_mapped(void *address, size_t size);

/* Gives the mapping [address, address + size) back. False when the kernel refuses: then it is still mapped. */
wide_bool platform_unmap(void *address, size_t size);

/* Gives back the memory of every whole OS page in [address, address + size) and keeps the addresses: these pages read
 * as zero afterwards. Pages that are only partly inside do not change. False when refused: then the memory is still
 * there, with undefined contents. */
wide_bool platform_discard(void *address, size_t size);

/* SPARED: the OS is asked to unmap or to discard only by the reclamation thread from now on. For other threads
 * platform_unmap and platform_discard are refused, and platform_huge_pages does nothing. SPARE_LIFTED: all threads may,
 * until each thread that has lifted it says SPARE_LOWERED. */
enum platform_spare { SPARED, SPARE_LIFTED, SPARE_LOWERED };
void platform_spare_callers(enum platform_spare spare);

/* Calls of munmap and madvise so far by other threads than the reclamation thread. */
uint64_t platform_callers_calls(void);

/* Tries to change the size of a mapping of platform_reserve in place. */
bool platform_resize(void *address, size_t old_size, size_t new_size);

/* Moves the pages of [from, from + size) to the start of the reserved mapping [to, to + room), without copying, and
 * leaves one mapping of the kernel's there; `from` is unmapped afterwards. When refused, `from` has not changed. `to`
 * is then still reserved, with undefined contents; or the target is lost: it may belong to another mapping. */
enum platform_moved { MOVED, MOVE_REFUSED, MOVE_LOST_TARGET };
enum platform_moved platform_move(void *from, void *to, size_t size, size_t room);

/* Makes whole OS pages of a mapping readable and writable, or inaccessible; their contents stay. False when refused:
 * then none or only some of them have changed. */
bool platform_protect(void *address, size_t size, bool accessible);

/* Asks for transparent huge pages in [address, address + size), or forbids them (for tables, whose use is sparse). */
void platform_huge_pages(void *address, size_t size, bool wanted);

/* Milliseconds of a clock that never goes back. No system call where the kernel has a vDSO. */
uint64_t platform_milliseconds(void);

/* Microseconds of a clock that never goes back. It is exact, and costs more than the other. */
uint64_t platform_microseconds(void);

/* Sleeps until the word differs from `expected`, a wake comes, or `milliseconds` have passed (may wake early). */
void platform_futex_wait(_Atomic(uint32_t) *word, uint32_t expected, uint32_t milliseconds);

/* Sleeps for that time, or less. */
static inline void platform_sleep(uint32_t milliseconds) {
    _Atomic(uint32_t) word = 0;
    platform_futex_wait(&word, 0, milliseconds);
}
void platform_futex_wake(_Atomic(uint32_t) *word);

/* Starts the one reclamation thread on a small stack, with all signals blocked. It uses no pthread_create, which could
 * be our caller. The thread has no thread-local storage: `body` must not use errno, libc's locks or a stack protector.
 * It runs once; when it returns, the thread ends. The system calls are those of libc's pthread_create.
 * START_TOO_EARLY: the last two threads have returned but not left their stacks yet. */
enum platform_start { START_REFUSED, START_STARTED, START_TOO_EARLY };
enum platform_start platform_thread_start(void (*body)(void));

/* The reclamation thread calls this first. In an ordinary user's process this does nothing: a sandbox may kill for the
 * calls. Where real-time priorities are possible, the thread leaves its creator's scheduling class, niceness and
 * processors. With more rights, or `always`, it also gives up every right that a round does not need. False: the OS
 * refuses, and the thread must end. */
bool platform_thread_confine(bool always);

/* Waits until no thread of platform_thread_start is left. `entirely`: until the kernel does not count it any more; this
 * takes system calls that a sandbox may forbid. */
void platform_threads_gone(bool entirely);

/* Calls `at_exit(value)` when the calling thread ends, as late as the platform allows. at_exit may register again (a
 * few times). False when the platform cannot. The value is never NULL; `at_exit` is the same in every call. libc may
 * call malloc in here: the thread's heap must be ready for that. */
wide_bool platform_on_thread_exit(void (*at_exit)(void *value), void *value);

/* Registers the three handlers around fork, once. Only this function, platform_finish_start and platform_call_library
 * may take a lock of libc: constructors call them. */
void platform_on_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void));

/* Called once at the start, before platform_forgotten_by_fork: makes the memory that forks forget. */
void platform_start(void);

/* Gives out a piece of the memory that forks forget. The piece is zero. In the child of any fork, also one that
 * bypasses libc, it reads as zero again; a child by vfork shares it. NULL: there is none. Called only at the start. */
void *platform_forgotten_by_fork(size_t size);

/* Whether the caller is a child by vfork (or CLONE_VM), in its parent's memory. Makes a system call. */
wide_bool platform_in_borrowed_memory(void);

/* Called before main: reads the process's rights, because its sandbox may kill for these system calls later. */
void platform_read_rights(void);

/* Whether a reclamation thread may start beside the program's threads: platform_read_rights has found out which rights
 * the process has, and there is no Valgrind. */
bool platform_allows_thread(void);

/* 64 unpredictable bits. */
uint64_t platform_random(void);

/* A random number for choosing places; 0: the first place will do, as on the simulated platform. */
uint64_t platform_random_place(void);

/* True in a process with more privileges than its user (AT_SECURE): its environment cannot be trusted. */
bool platform_is_privileged(void);

/* The kernel's number of the calling thread, without a system call; 0: libc does not tell. */
uint32_t platform_thread_id(void);

/* Whether the process has a thread of that number. */
wide_bool platform_thread_lives(uint32_t number);

/* The process's environment, ended by NULL. NULL while libc has none yet: the loader allocates before that. */
char **platform_environment(void);

/* Reads the start of the file `path` into `buffer`. Returns the bytes read; 0 if the file cannot be read. */
size_t platform_read_file(const char *path, char *buffer, size_t size);

/* What a control group says of its memory. most: bytes, the lowest of its limits; room: bytes that are left of it, with
 * those of files that nobody reads; both are SIZE_MAX where there is no limit. stalled: percent of the last 10 s in
 * which some of its tasks waited for memory, or of the whole system's; 0 if the kernel does not tell. */
struct group_memory {
    size_t most, room, stalled;
};

/* Finds the control group of the process: the next one with a limit, up to the root. `of_process`: the file that names
 * the process's group, `root`: the folder of all groups. Keeps its files open, and closes those of an earlier call.
 * Called by a constructor, and by a host (core/host_controls.h). */
void platform_watch_group(const char *of_process, const char *root);

/* False without platform_watch_group. A file that the program has closed counts as one that says nothing. */
bool platform_group_memory(struct group_memory *group);

/* Writes all of `text` to standard error. */
void platform_write(const char *text, size_t length);

/* Lets platform_write work after the program has closed its standard error, as coreutils do before they exit. Also
 * opens the file `report` (NULL: none) while the program may still open files. platform_write_report appends to this
 * file. If there is none, it writes to standard error, but only if that is still the file that it was at the start. No
 * signal ends the program when the report goes to a pipe without a reader. */
void platform_keep_output(const char *report);
void platform_write_report(const char *text, size_t length);

/* The process's number; the time in seconds since 1970; the path by which the program was started, or "". */
uint32_t platform_process_id(void);
uint64_t platform_seconds(void);
const char *platform_program(void);

/* Puts the message where crash reporters look for it, if the platform has such a place. */
void platform_abort_message(const char *text, size_t length);

/* Keeps this library's code mapped, and finds the place for the abort message. Called once, by a constructor: may enter
 * the loader, and libc may call malloc in here. */
void platform_finish_start(void);

/* Loads the library `file` and calls its function `name` with the argument. False: there is no such library, or the
 * program is linked statically. Called by a constructor, as platform_finish_start. */
bool platform_call_library(const char *file, const char *name, const void *argument);

/* Ends the process with SIGABRT; the message has already been written. */
_Noreturn void platform_abort(void);

/* System calls that this layer has made since the start, for the statistics. */
uint64_t platform_system_calls(void);

#endif

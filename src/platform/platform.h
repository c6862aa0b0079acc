/* platform.h - everything jwmalloc asks of an operating system; the only door to it.
 *
 * linux.c stands behind it in production, sim.c (a static zeroed arena, no threads of its own) under the unit
 * tests and the model checkers. Nothing here may call malloc, take a lock of libc, or touch errno: each function
 * can run inside malloc, inside a signal handler, or on the reclamation thread, which has no thread-local storage.
 */
#ifndef JW_PLATFORM_H
#define JW_PLATFORM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of one OS page; read once at start, constant afterwards. */
size_t platform_page_size(void);

/* Bytes that this process may map, or may map to write to (RLIMIT_AS, RLIMIT_DATA: the smaller one); SIZE_MAX where
 * there is no limit. */
size_t platform_address_limit(void);

/* Reserves `size` bytes (whole OS pages) at a multiple of `alignment` (a power of two, at least one OS page): readable,
 * writable, zero, charged by the kernel only when touched, and named `name` (a literal: some kernels keep the pointer)
 * in /proc/self/maps. NULL when refused. */
void *platform_reserve(size_t size, size_t alignment, const char *name);

/* The same of a place that the kernel chooses, but only readable: what nobody can write to counts for no limit but that
 * of the address space. platform_protect makes parts of it writable. */
void *platform_reserve_readable(size_t size, const char *name);

/* An address that is a multiple of `alignment`, with room for `size` bytes from there on where nothing is mapped, most
 * likely, nor will be; another one in each call. 0: there is none to be had. Nothing is reserved. */
uintptr_t platform_region(size_t size, size_t alignment);

/* platform_reserve, or platform_reserve_readable, at that very address. PLACE_TAKEN: something is mapped there. If a
 * thread of this process has mapped it, then what that thread has done before is seen by the caller. */
enum platform_place { PLACE_HAD, PLACE_TAKEN, PLACE_REFUSED };
enum platform_place platform_reserve_at(void *address, size_t size, bool writes, const char *name);

/* Whether all of [address, address + size) is mapped; true also where the kernel does not tell. */
bool platform_is_mapped(void *address, size_t size);

/* Gives the mapping [address, address + size) back. False when the kernel refuses: then it is still mapped. */
bool platform_release(void *address, size_t size);

/* Gives back the memory of every whole OS page in [address, address + size), keeping the addresses: those pages read
 * as zero afterwards. Pages only partly inside are left alone. False when refused: then the contents are undefined
 * and the memory is still there. */
bool platform_discard(void *address, size_t size);

/* Tries to change a mapping of platform_reserve from `old_size` to `new_size` bytes where it is. */
bool platform_resize(void *address, size_t old_size, size_t new_size);

/* Moves the pages of [from, from + size) over the start of the reserved mapping at `to`, without copying; `from` is
 * unmapped afterwards. When refused, `from` is as it was, and `to` still reserved (its contents undefined); or
 * [to, to + size) may be another's by now, and nobody can say. */
enum platform_moved { MOVED, MOVE_REFUSED, MOVE_LOST_TARGET };
enum platform_moved platform_move(void *from, void *to, size_t size);

/* Makes whole OS pages of a mapping readable and writable, or takes them out of everybody's reach; their contents stay.
 * False when refused: then they are as they were, or some of them are. */
bool platform_protect(void *address, size_t size, bool accessible);

/* Asks for transparent huge pages in [address, address + size), or keeps them away: tables are touched sparsely. */
void platform_huge_pages(void *address, size_t size, bool wanted);

/* Milliseconds of a clock that never goes back, by no system call. */
uint64_t platform_milliseconds(void);

/* Sleeps until the word no longer holds `expected`, a wake comes, or `milliseconds` pass (may wake early). */
void platform_futex_wait(_Atomic(uint32_t) *word, uint32_t expected, uint32_t milliseconds);
void platform_futex_wake(_Atomic(uint32_t) *word);

/* Starts the one reclamation thread on a small stack of its own, all signals blocked, without pthread_create (which
 * could be our caller) and without thread-local storage: `body` must not use errno, libc's locks or a stack protector.
 * It runs once; when it returns, the thread ends. The calls are those that libc's pthread_create makes. Too early: the
 * two threads before have returned but not left their stacks yet. */
enum platform_start { START_REFUSED, START_STARTED, START_TOO_EARLY };
enum platform_start platform_thread_start(void (*body)(void));

/* Called by the reclamation thread first: it leaves its creator's scheduling class and processors, and gives up every
 * right that a round does not need. False: the OS refuses, and the thread must end. Unless `always`, a process without
 * privileges is left as it is: its sandbox may kill for the calls, and would not get the thread into its own. */
bool platform_thread_confine(bool always);

/* Waits until no thread of platform_thread_start is left. `entirely`: also in the kernel's books, by system calls that
 * a sandbox may forbid. */
void platform_threads_gone(bool entirely);

/* Calls `at_exit(value)` when the calling thread ends, as late as the platform allows; may be asked again from inside
 * at_exit (a few times). False when the platform cannot. The value is never NULL; `at_exit` is the same in every call.
 * libc may call malloc in here: the thread's heap must be ready for that. */
bool platform_on_thread_exit(void (*at_exit)(void *value), void *value);

/* Registers the three handlers around fork, once. The only function here that may take a lock of libc. */
void platform_on_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void));

/* Before anything else: memory that no child has of its own. */
void platform_start(void);

/* A piece of that memory, zero: in the child of any fork, past libc's too, it reads as zero again; a child by vfork
 * shares it. NULL: there is none to be had. Asked for at start only. */
void *platform_forgotten_by_fork(size_t size);

/* Whether the caller is a child by vfork (or CLONE_VM), in its parent's memory. A system call. */
bool platform_in_borrowed_memory(void);

/* Before main: asks for what must be known of the process later, when its sandbox may kill for the question. */
void platform_learn(void);

/* Whether platform_learn has found out which rights the process has. */
bool platform_rights_known(void);

/* 64 unpredictable bits. */
uint64_t platform_random(void);

/* True in a process with more privileges than its user (AT_SECURE): its environment is not to be trusted. */
bool platform_is_privileged(void);

/* Number of the calling thread in the kernel's terms, by no system call; 0: libc does not tell. */
uint32_t platform_thread_id(void);

/* Whether the process has a thread of that number. */
bool platform_thread_lives(uint32_t number);

/* The process's environment, ended by NULL. NULL itself as long as libc has none yet: the loader allocates before. */
char **platform_environment(void);

/* Reads the start of the file `path` into `buffer`: how many bytes, 0 where it cannot be read. */
size_t platform_read_file(const char *path, char *buffer, size_t size);

/* Writes all of `text` to standard error. */
void platform_write(const char *text, size_t length);

/* Makes platform_write go on working when the program closes its standard error, as coreutils do before they exit. And
 * opens the file `report` (NULL: none), while the program may still open files, for platform_write_report, which writes
 * behind what is there; where there is none, to standard error. */
void platform_keep_output(const char *report);
void platform_write_report(const char *text, size_t length);

/* Number of the process, seconds since 1970, and the path that the program was started by, or "". */
uint32_t platform_process_id(void);
uint64_t platform_seconds(void);
const char *platform_program(void);

/* Puts the last words of the process where crash reporters look for them, as far as the platform has such a place. */
void platform_abort_message(const char *text, size_t length);

/* Keeps this library's code where it is, and finds that place. Called once, by a constructor: may enter the loader, and
 * libc may call malloc in here. */
void platform_settle(void);

/* Ends the process with SIGABRT; the message has already been written. */
_Noreturn void platform_abort(void);

/* How many system calls this layer has made since the start, for the statistics. */
uint64_t platform_system_calls(void);

#endif

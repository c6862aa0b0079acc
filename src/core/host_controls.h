/* host_controls.h - what the host sets in its allocator by calls of its own, as Android's C library does beside
 * mallopt: contents of new objects, memory tags, stacks of allocations. In the core inside a C library
 * (platform/host.h), in the hardened build and in libjwmalloc-tags. host_controls.def says which call of Android's each
 * one serves, and how; api/bionic_controls.h is the glue.
 *
 * Each function returns 0 if what is asked for holds from now on. Else it has changed nothing, and returns ENOTSUP
 * (this build, processor or kernel cannot), EINVAL (no such value) or ENOMEM (the allocator cannot start, or the thread
 * gets no heap). errno stays. Threads: any, at any time; of two calls at once, either may be the last. What another
 * thread is doing meanwhile may still be done in the old way. Not for signal handlers. */
#ifndef JW_HOST_CONTROLS_H
#define JW_HOST_CONTROLS_H

#include <stddef.h>

#include "base/compiler.h"

/* New objects of all threads hold zeros, or bytes of 0xab; with 0, whatever was there. One setting: the last call
 * counts. As M_BIONIC_ZERO_INIT, both end a malloc_disable of the calling thread. */
JW_EXPORT int jw_set_zero_contents(int on);
JW_EXPORT int jw_set_pattern_contents(int on);

/* Whether new objects of all threads get memory tags, and when the calling thread's faults come. Threads that it starts
 * inherit that, others need a call of their own. With JW_TAGS_OFF objects keep the tags that they have, and free no
 * longer compares them. Tags may come back; but not if JW_TAGS_OFF was before the first allocation: then no memory is
 * mapped for them. */
enum { JW_TAGS_OFF, JW_TAGS_ASYNC, JW_TAGS_SYNC };
JW_EXPORT int jw_set_memory_tags(int level);

/* Switches on and off whether the host is told of each object, by two functions that it defines:
 *
 *   jw_allocated(object, size)   the calling thread has got an object, for which the program has asked for `size` bytes
 *   jw_freed(address)            the calling thread frees the object, which no thread has got again yet; or what the
 *                                program takes for an object: then the process ends next
 *
 * realloc tells of both, also of an object that stays in its place; if it fails, of the old object again, with its
 * usable size. They are called in the thread that allocates, inside of malloc: so the thread's stack leads to the
 * program. They must not allocate, and must leave errno alone. While it is switched calls may be missing, and later
 * objects end of whose beginning the host has not heard. */
JW_EXPORT int jw_track_objects(int on);
void jw_allocated(void *object, size_t size);
void jw_freed(void *address);

/* More room behind large objects, for programs that write beyond them. Refused. */
JW_EXPORT int jw_set_large_slack(int on);

/* Switches the option pressure on or off, and finds the process's control group anew: for a child of the zygote, after
 * its move to a group of its own. Files that were kept open for another group are closed. ENOTSUP: there is no group
 * to watch, and the option is off. To be called while the process has no other thread. */
JW_EXPORT int jw_watch_group(int on);

#endif

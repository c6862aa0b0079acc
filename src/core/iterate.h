/* iterate.h - tells of each object in use, for tools that look for leaks.
 *
 * Exact for the objects of threads that make no call meanwhile: stopped threads, or those of a fork's parent. It knows
 * a free object by the lists that the object is in, never by what the object holds. An object that a thread is about to
 * allocate or to free may be told of or not. So may one whose second free is a suspect's (frontend/suspect.h), until
 * its heap's thread decides.
 *
 * Threads: any; no other thread is stopped. No root is unmapped while the objects of a tier are told of, except in a
 * child that `tell` forks. No object in use is read: the program may have protected its pages. In the child of a fork
 * it works at once.
 */
#ifndef JW_ITERATE_H
#define JW_ITERATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void iterate_function(uintptr_t object, size_t size, void *argument);

/* Calls `tell` for each object that begins in [from, from + size), with its usable bytes. `tell` may allocate and
 * free. False: not done, as roots were being unmapped all the time; or a tool has the objects (platform/tool.h); or
 * the build is hardened, which hides other threads' objects. */
bool iterate_objects(uintptr_t from, size_t size, iterate_function *tell, void *argument);

/* The same for all objects of roots that are not sealed. By a thread that is alone in the process. */
void iterate_roots(iterate_function *tell, void *argument);

#endif

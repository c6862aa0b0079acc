/* mitigations.h - in what the tiers of the hardened build (JW_SECURE) differ from those of the plain one
 * (docs/hardening.md).
 *
 * Each mitigation is a constant, so that the code of the other build is not there. A tier tests a constant where a call
 * would cost a hit path instructions, or where a single condition differs. All else is in hardened/, behind the hooks
 * (backend/hardened_hooks.h).
 */
#ifndef JW_MITIGATIONS_H
#define JW_MITIGATIONS_H

#include "base/compiler.h"

/* Memory that was a slab of one class becomes a slab of no other class, and no large object; and that of a large object
 * none of another weight. */
#define CLASSES_APART JW_SECURE

/* Pages without access lie behind large and huge objects, behind some slabs, and around the tables. */
#define GUARDED JW_SECURE

/* Freed objects wait in a quarantine (hardened/quarantine.h). No cache gives them out next. */
#define QUARANTINED JW_SECURE

/* No variable holds a function's address, which an attacker could change: slow paths are not timed (core/watch.h). */
#define WITHOUT_WATCHER JW_SECURE

/* What new objects hold may be chosen (config/options.def, init). In the hardened build they are zero. */
#define CHOOSES_CONTENTS (!JW_SECURE)

/* The objects of a slab are given out in random order. */
#define RANDOM_ORDER JW_SECURE

/* The links of free objects have a key for each address. Each link must lead to an object of its own slab, or to an
 * end. */
#define STRICT_LINKS JW_SECURE

/* malloc and free have a second way, for a process in which something is unusual (hardened/entry.c). What is switched
 * on at run time may be there alone: it costs nothing while it is off. */
#define SECOND_WAY JW_SECURE

/* A word at the end of each object tells whether it is free (hardened/trailer.h). It stays while the object is free. */
#define TRAILERS JW_SECURE

#endif

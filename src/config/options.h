/* options.h - what a user can set at start; options.def lists the options.
 *
 * Sources, where a later one overrides an earlier: the defaults; the system-wide file (-DJW_OPTIONS_FILE="path"); the
 * program's symbol `const char *jw_malloc_conf`; the environment's JWMALLOC_CONF. A process with more privileges than
 * its user ignores the environment. All have the form "name:value,name:value", or "name=value". An error in them prints
 * a line to standard error, and the value stays unchanged.
 */
#ifndef JW_OPTIONS_H
#define JW_OPTIONS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/mitigations.h"
#include "base/near.h"
#include "base/print.h"
#include "platform/features.h"

enum { THREAD_FALSE, THREAD_TRUE, THREAD_AUTO };
enum { INIT_NONE, INIT_ZERO, INIT_PATTERN };
enum { STATS_OFF, STATS_EXIT };
enum { STATS_TEXT, STATS_JSON };
enum { TAGS_SYNC, TAGS_ASYNC, TAGS_EITHER, TAGS_OFF };

/* One word for each option, atomic because jw_ctl and mallopt may write one at any time. Values above SIZE_MAX become
 * SIZE_MAX. */
struct options {
#define OPTION(kind, name, initial, least, most, unit, meaning) _Atomic(size_t) name; /* NOLINT: name is a member */
#include "config/options.def"
#undef OPTION
};

extern struct options options; /* the defaults, until read */
static ALWAYS_INLINE size_t option_at(const _Atomic(size_t) *word) {
    return atomic_load_explicit(word, memory_order_relaxed);
}
/* The same of one whose address is a constant. */
static ALWAYS_INLINE size_t option(const _Atomic(size_t) *word) {
    return NEAR_LOAD(*word);
}

/* When a wrong memory tag ends in a fault, where the build has tags. */
static inline size_t option_tags(void) {
#if TAGGED
    return option(&options.tags);
#else
    return TAGS_SYNC;
#endif
}

/* What new objects are filled with; in the hardened build they are zero in any case. */
static inline size_t option_init(void) {
#if CHOOSES_CONTENTS
    return option(&options.init);
#else
    return INIT_NONE;
#endif
}

extern const struct options default_options, least_options, most_options;

/* File for the statistics at exit; empty: standard error. The only option that is not a number. */
enum { OPTIONS_PATH = 256 };
extern char options_stats_file[OPTIONS_PATH];

/* Reads the sources, once. True when this call did it. Does nothing before libc has an environment. */
bool options_read(void);

/* Applies "name:value,..."; `source` is its name in messages. */
void options_apply(const char *source, const char *text, size_t length);

/* Gives the number of the option with this name; false if there is none. */
bool options_find(const char *name, size_t *number);

/* Reads the option of this number, and sets it if `wanted` is given. Returns 0; ENOENT: there is none of this number;
 * EINVAL: out of range; EPERM: read at the start only. Options of kind NUMBER or SIZE before `stats` may change at any
 * time. */
int options_exchange(size_t number, size_t *value, const size_t *wanted);

/* A line for each option: its name, default, range, unit and meaning. */
void options_print(struct print_buffer *out);

/* All values as one line that options_apply understands. */
void options_print_values(struct print_buffer *out);

#endif

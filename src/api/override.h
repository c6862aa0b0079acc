/* override.h - the names without prefix, for the library that replaces malloc. */
#ifndef JW_OVERRIDE_H
#define JW_OVERRIDE_H

#include "base/compiler.h"

#ifndef JW_OVERRIDE
#define JW_OVERRIDE 0
#endif

/* OVERRIDES(name, jw_name): exports `name` as a second symbol of jw_name, defined in the same file. A second symbol,
 * not a second function, so a call costs the same under both names. */
#if JW_OVERRIDE && defined(__has_attribute) && __has_attribute(copy)
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a name being declared */
#define OVERRIDES(name, target) extern JW_EXPORT __typeof__(target) name __attribute__((alias(#target), copy(target)))
#elif JW_OVERRIDE
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a name being declared */
#define OVERRIDES(name, target) extern JW_EXPORT __typeof__(target) name __attribute__((alias(#target)))
#else
#define OVERRIDES(name, target) extern __typeof__(target) target
#endif

/* For a table of pointers to what the program's calls reach: the loader fills it in, then it is read-only. */
#define RELOCATED __attribute__((section(".data.rel.ro")))

#endif

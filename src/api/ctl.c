/* ctl.c - reads, sets and does things by name, or by the numbers of a name: jw_ctl, jw_ctl_name_to_mib, jw_ctl_by_mib;
 * and jemalloc's mallctl, mallctlnametomib and mallctlbymib, which are the same functions. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "api/override.h"
#include "api/serve.h"
#include "backend/limits.h"
#include "backend/reclaimer.h"
#include "base/compiler.h"
#include "config/options.h"
#include "core/allocator.h"
#include "jwmalloc.h"
#include "platform/platform.h"
#include "statistics/statistics.h"

enum control {
#define CONTROL(id, name, depth, type) CONTROL_##id,
#include "api/controls.def"
#undef CONTROL
    CONTROLS
};

static const struct {
    char name[20];
    uint8_t depth, width; /* how many components the name has; bytes of the value */
} controls[CONTROLS] = {
#define CONTROL(id, name, depth, type) {name, depth, sizeof(type)},
#include "api/controls.def"
#undef CONTROL
};

static _Atomic(size_t) control_epoch; /* a word, so that 32-bit machines need no library for it */

enum { ALL_ARENAS = 4096 }; /* jemalloc's; older programs use arenas.narenas, which is 1 */

/* A mib has a word for each component of its name. The last one is the name's number, an arena's number is itself, and
 * the first one of several tells what the last one counts. No control has such a number, so a mib's start is no mib. */
enum { COUNT_CONTROLS = CONTROLS, COUNT_OPTIONS, COUNT_FIELDS, DEEPEST = 3 };

static bool is_arena(size_t number) {
    return number <= 1 || number == ALL_ARENAS;
}

/* The name without "arena." and the arena's number, which it gives; "": no such arena. */
static const char *behind_arena(const char *name, size_t *arena) {
    static const char prefix[] = "arena.";
    if (strncmp(name, prefix, sizeof prefix - 1) != 0) return *name == '.' ? "" : name;
    const char *first = name + sizeof prefix - 1, *end = first;
    for (; *end >= '0' && *end <= '9' && *arena <= ALL_ARENAS; end++) *arena = *arena * 10 + (size_t)(*end - '0');
    return end > first && *end == '.' && is_arena(*arena) ? end : "";
}

static bool is_control(const size_t *mib, size_t length) {
    size_t number = mib[length - 1];
    if (number >= CONTROLS || controls[number].depth != length) return false;
    if (length > 1 && mib[0] != COUNT_CONTROLS) return false;
    return length < DEEPEST || mib[1] == 0 || (*controls[number].name == '.' && is_arena(mib[1]));
}

static size_t control_statistic(size_t number) {
    struct statistics s;
    if (number == CONTROL_COMMITTED) return limits_committed();
    if (number == CONTROL_CALLERS_CALLS) return (size_t)platform_callers_calls();
    statistics_gather(&s);
    uint64_t active = s.backend.in_use + s.huge.bytes, mapped = active + s.backend.cached_mapped;
    uint64_t metadata = s.backend.metadata + s.frontend.metadata;
    switch (number) {
    case CONTROL_ALLOCATED: return (size_t)(s.objects + s.huge.bytes);
    case CONTROL_ACTIVE: return (size_t)active;
    case CONTROL_METADATA: return (size_t)metadata;
    case CONTROL_MAPPED: return (size_t)mapped;
    case CONTROL_RESIDENT: return (size_t)(mapped + metadata);
    default: return (size_t)s.backend.cached_unmapped;
    }
}

static int control_thread(uint64_t *value, const bool *wanted) {
    if (!allocator_start()) return EAGAIN;
    bool allowed = option(&options.reclaim_thread) != THREAD_FALSE, on = allowed && !reclaimer_must_end();
    *value = on;
    if (wanted == NULL || *wanted == on) return 0;
    if (!allowed) return EPERM;
    if (on) reclaimer_pause();
    else reclaimer_resume();
    return 0;
}

static bool control_acts(size_t number) {
    return number >= CONTROL_PURGE && number <= CONTROL_FLUSH;
}

static void control_act(size_t number) {
    if (number == CONTROL_FLUSH) serve_drain();
    else jw_malloc_trim(0);
}

/* Returns 0, or an error if the control does not allow the call: some controls are read, some are set, some are
 * done. */
static int control_refuses(size_t number, bool reads, const void *input, size_t input_size) {
    bool settable = number == CONTROL_EPOCH || number == CONTROL_BACKGROUND_THREAD;
    if (input != NULL && !settable) return EPERM;
    if (input != NULL && input_size != controls[number].width) return EINVAL;
    return control_acts(number) && reads ? EPERM : 0;
}

/* Gives the value, and sets it unless `wanted` is NULL. */
static int control_exchange(size_t number, uint64_t *value, const void *wanted) {
    switch (number) {
    case CONTROL_VERSION: *value = (uintptr_t)JW_VERSION; return 0;
    case CONTROL_EPOCH:
        *value = atomic_fetch_add_explicit(&control_epoch, wanted != NULL, memory_order_relaxed) + (wanted != NULL);
        return 0;
    case CONTROL_BACKGROUND_THREAD: return control_thread(value, wanted);
    case CONTROL_ARENAS: *value = 1; return 0;
    case CONTROL_PAGE: *value = platform_page_size(); return 0;
    default: *value = control_statistic(number); return 0;
    }
}

/* Copies the value to *old. If the sizes differ, copies as many bytes as both have, and returns EINVAL, as jemalloc
 * does. */
static int control_copy(uint64_t value, size_t width, void *old, size_t *old_size) {
    bool fits = *old_size == width;
    size_t given = *old_size < width ? *old_size : width;
    memcpy(old, &value, given); /* low bytes first */
    *old_size = given;
    return fits ? 0 : EINVAL;
}

static int control_do(size_t number, void *old, size_t *old_size, const void *input, size_t input_size) {
    uint64_t value = 0;
    int error = control_refuses(number, old_size != NULL, input, input_size);
    if (error != 0) return error;
    if (control_acts(number)) {
        control_act(number);
        return 0;
    }
    error = control_exchange(number, &value, input);
    return error != 0 || old_size == NULL ? error : control_copy(value, controls[number].width, old, old_size);
}

/* Reads or sets an option, or reads a field. */
static int control_word(const size_t *mib, void *old, const size_t *old_size, const void *input, size_t input_size) {
    size_t value, wanted, *new = NULL;
    bool settable = mib[0] == COUNT_OPTIONS;
    bool fits = (old_size == NULL || *old_size == sizeof value) && (input == NULL || input_size == sizeof wanted);
    if (input != NULL && fits) new = memcpy(&wanted, input, sizeof wanted);
    int error = settable ? options_exchange(mib[1], &value, new) : statistics_read(mib[1], &value);
    if (error != 0) return error;
    if (input != NULL && !settable) return EPERM;
    if (!fits) return EINVAL;
    if (input != NULL && (limits_are_exceeded() || !limits_admit(0))) jw_malloc_trim(0); /* perhaps by the new value */
    if (old_size != NULL) memcpy(old, &value, sizeof value);
    return 0;
}

JW_EXPORT int jw_ctl_name_to_mib(const char *name, size_t *mib, size_t *length) {
    size_t found[DEEPEST] = {COUNT_CONTROLS}, number = 0, depth = 2;
    const char *plain = behind_arena(name, &found[1]);
    while (number < CONTROLS && strcmp(controls[number].name, plain) != 0) number++;
    if (number < CONTROLS) {
        depth = controls[number].depth;
    } else {
        bool is_option = strncmp(name, "opt.", 4) == 0;
        found[0] = is_option ? COUNT_OPTIONS : COUNT_FIELDS;
        if (!(is_option ? options_find(name + 4, &number) : statistics_find(name, &number))) return ENOENT;
    }
    found[depth - 1] = number;
    if (*length > depth) *length = depth;
    for (size_t i = 0; i < *length; i++) mib[i] = found[i];
    return 0;
}

/* NOLINTNEXTLINE(readability-function-size): jemalloc's six arguments */
JW_EXPORT int jw_ctl_by_mib(const size_t *mib, size_t length, void *old, size_t *old_size, const void *input,
                            size_t input_size) {
    if (length == 0 || length > DEEPEST) return ENOENT;
    if (old == NULL) old_size = NULL; /* a value is read where both are given */
    if (is_control(mib, length)) return control_do(mib[length - 1], old, old_size, input, input_size);
    bool is_word = length == 2 && (mib[0] == COUNT_OPTIONS || mib[0] == COUNT_FIELDS);
    return is_word ? control_word(mib, old, old_size, input, input_size) : ENOENT;
}

JW_EXPORT int jw_ctl(const char *name, void *old, size_t *old_size, const void *input, size_t input_size) {
    size_t mib[DEEPEST], length = DEEPEST;
    int error = jw_ctl_name_to_mib(name, mib, &length);
    return error != 0 ? error : jw_ctl_by_mib(mib, length, old, old_size, input, input_size);
}

OVERRIDES(mallctl, jw_ctl);
OVERRIDES(mallctlnametomib, jw_ctl_name_to_mib);
OVERRIDES(mallctlbymib, jw_ctl_by_mib);

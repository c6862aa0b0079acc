/* page.h - the page that a process with `watch:true` shares (docs/formats.md, version 1). All of it but `slow` is
 * written once, before the file has its magic. */
#ifndef JW_WATCH_PAGE_H
#define JW_WATCH_PAGE_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/watch.h"

#define WATCH_MAGIC "jwwatch"
#define WATCH_FILE "jwmalloc-watch" /* the name of the file in memory */
enum { WATCH_VERSION = 1, WATCH_TIMES = 32, WATCH_BYTES = 4096 };

/* The calls of one slow path: times[i] of them took 2^i to 2^(i+1) - 1 ns; the last one counts longer calls, too. */
struct slow_times {
    _Alignas(8) _Atomic(uint64_t) nanoseconds; /* all calls together */
    _Alignas(8) _Atomic(uint64_t) times[WATCH_TIMES];
};

struct watch_page {
    char magic[8];
    uint32_t version, size; /* of this struct */
    char library[16];       /* its version */
    uint32_t layout, pid;   /* watch_layout(); the process's number as it knows it itself */
    uint64_t started;       /* nanoseconds since 1970 */
    uint64_t table;         /* address of the first published variable's entry */
    uint32_t entries, slow_paths;
    struct slow_times slow[SLOW_PATHS];
};

_Static_assert(sizeof(struct watch_page) <= WATCH_BYTES, "a page on every machine");

#endif

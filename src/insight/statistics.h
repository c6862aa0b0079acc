/* statistics.h - one look at every tier, and three ways to print it.
 *
 * Threads: any, without stopping another. Allocates nothing, unless the print buffer's sink does.
 */
#ifndef JW_STATISTICS_H
#define JW_STATISTICS_H

#include "base/print.h"
#include "config/statistics_types.h"

struct statistics {
    struct backend_statistics backend;
    struct midend_statistics midend;
    struct frontend_statistics frontend;
    struct huge_statistics huge;
    uint64_t objects;      /* bytes in objects of the program, those of `huge` left out */
    uint64_t system_calls; /* made by the allocator */
};

void statistics_gather(struct statistics *statistics);

void statistics_print_text(struct print_buffer *out, const struct statistics *statistics);
void statistics_print_json(struct print_buffer *out, const struct statistics *statistics);
void statistics_print_xml(struct print_buffer *out, const struct statistics *statistics);

#endif

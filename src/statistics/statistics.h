/* statistics.h - gathers the statistics of every tier, and prints them in three formats.
 *
 * Threads: any; no other thread is stopped. Allocates nothing, unless the print buffer's sink does.
 */
#ifndef JW_STATISTICS_H
#define JW_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/print.h"
#include "config/statistics_types.h"
#include "platform/host.h"

/* Values of the process, for reports; 0 if the system does not tell. */
struct process_statistics {
    uint64_t pid, time; /* seconds since 1970 */
    uint64_t resident;  /* memory of the whole process now, in bytes */
    uint64_t peak;      /* the most that was resident */
    uint64_t objects;   /* how many: small and mid ones (up to 14 KB), huge ones (above 4 MB) */
};

struct statistics {
    struct process_statistics process;
    struct backend_statistics backend;
    struct midend_statistics midend;
    struct frontend_statistics frontend;
    struct huge_statistics huge;
    uint64_t objects;      /* bytes in objects of the program, without those of `huge` */
    uint64_t system_calls; /* made by the allocator */
};

void statistics_gather(struct statistics *statistics);

/* Also fills in the process's values: makes some system calls and reads a file of /proc. */
void statistics_gather_report(struct statistics *statistics);

/* Gives the number of a TIER.FIELD of the report, such as backend.in_use; false if there is no such field. */
bool statistics_find(const char *name, size_t *number);

/* Reads the present value of the field of this number. Returns 0, or ENOENT. */
int statistics_read(size_t number, size_t *value);

enum statistics_form { AS_TEXT, AS_JSON, AS_XML };

/* Passes the report to the sink, piece by piece. The sink may write one byte behind its text. */
void statistics_print(print_sink *sink, void *cookie, enum statistics_form form, const struct statistics *statistics);

/* Gathers the report, and passes it to the sink in the same way. */
void statistics_report(print_sink *sink, void *cookie, enum statistics_form form);

#if JW_HOSTED
void print_at_exit(void); /* the host calls it (core/host_calls.h) */
#endif

#endif

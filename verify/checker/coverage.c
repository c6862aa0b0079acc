/* coverage.c - which basic blocks of the client's program ran, in any execution of any process.
 *
 * Code that is compiled with -fsanitize-coverage=trace-pc calls __sanitizer_cov_trace_pc at the start of each block.
 * The call's return address stands for the block.
 */
#include "engine.h"

#include <inttypes.h>
#include <stdio.h>

static uint8_t *reached; /* one byte for each address from the program's start to its data; NULL: nobody asked */

void coverage_start(void) {
    if (settings.coverage) reached = memory_map(0, data_begin - image_begin, true);
}

EXPORT void __sanitizer_cov_trace_pc(void);
EXPORT void __sanitizer_cov_trace_pc(void) {
    uint64_t at = (uintptr_t)__builtin_return_address(0) - image_begin;
    if (reached && at < data_begin - image_begin) reached[at] = 1;
}

/* One return address a line, in hexadecimal. */
void coverage_write(void) {
    if (!settings.coverage) return;
    FILE *file = fopen(settings.coverage, "w");
    if (!file) stop_unable("cannot write %s", settings.coverage);
    for (uint64_t at = 0; at < data_begin - image_begin; at++)
        if (reached[at]) fprintf(file, "%" PRIx64 "\n", image_begin + at);
    fclose(file);
}

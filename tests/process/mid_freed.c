/* mid_freed.c - objects of the midend that are freed in any order leave the process, without a reclamation thread too.
 *
 * The even ones are freed first, so the slabs wait partly used, in the Nest's slots and then in its list; then the odd
 * ones, which empty the slabs there.
 */
#include <malloc.h>

#include "check.h"
#include "entry_points.h"

enum { TOTAL = 60 << 20, REST = 16 << 20, MOST = TOTAL / 3000 };
static void *objects[MOST];

static void freed_by_steps(size_t size, size_t step) {
    size_t count = TOTAL / size, before = resident_bytes();
    for (size_t i = 0; i < count; i++) {
        CHECK((objects[i] = malloc(size)));
        pattern_fill(objects[i], size, i);
    }
    for (size_t first = 0; first < step; first++)
        for (size_t i = first; i < count; i += step) free(objects[i]);
    size_t after = resident_bytes();
    printf("%zu B, every %zu.: %zu KB more\n", size, step, after > before ? (after - before) >> 10 : 0);
    CHECK(after <= before + REST);
    malloc_trim(0);
}

int main(void) {
    if (!under_jwmalloc()) check_skip("other mallocs keep what they like");
    resident_bytes();
    static const size_t sizes[] = {3000, 7000, 13000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t step = 1; step <= 3; step++) freed_by_steps(sizes[i], step);
    return 0;
}

/* mixed.c - the mixed work of mixed.h, once.
 *
 *   mixed [THREADS [OPERATIONS [GENERATIONS [SEED]]]]
 *
 * Runs on the program's malloc or, with JW_PREFIXED, on jw_malloc; also under the sanitizers.
 */
#include "stress/mixed.h"

int main(int count, char **arguments) {
    size_t threads = count > 1 ? (size_t)atol(arguments[1]) : 4;
    size_t each = count > 2 ? (size_t)atol(arguments[2]) : 30000;
    size_t generations = count > 3 ? (size_t)atol(arguments[3]) : 6;
    uint64_t seed = count > 4 ? strtoull(arguments[4], NULL, 0) : 1;
    mixed_work(threads, each, generations, seed);
    return 0;
}

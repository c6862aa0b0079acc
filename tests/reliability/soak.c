/* soak.c [SECONDS] - the mixed work of stress/mixed.h, for long, and what is left of it in the end.
 *
 * All byte patterns are checked all the time, threads come and go. When everything has been freed and three rounds of
 * reclamation are over, at most one root and 256 KB are left. It goes on for at least so many seconds, and does a
 * million operations at least.
 */
#include "stress/mixed.h"

#include <time.h>

enum { ROUNDS = 3, TRIES = 100, ROOT = 4 << 20, REST = 256 << 10 };

int main(int count, char **arguments) {
    time_t end = time(NULL) + (count > 1 ? atoi(arguments[1]) : 0);
    int millions = 0;
    setvbuf(stdout, NULL, _IONBF, 0);
    free(malloc(1));
    resident_bytes();
    size_t before = resident_bytes();
    do mixed_work(4, 50000, 5, (uint64_t)millions++ * 1000 + 1);
    while (time(NULL) < end);
    size_t after = 0, mapped = 0;
    int rounds = 0;
    do {
        malloc_trim(0); /* a round */
        after = resident_bytes();
        mapped = under_jwmalloc() ? mallinfo2().arena : 0;
        if (++rounds >= ROUNDS) usleep(20000); /* the reclamation thread, put off the processor, may hold a range */
    } while (rounds < TRIES && (rounds < ROUNDS || mapped > ROOT || after > before + REST));
    printf("%d million operations, %d rounds; then %zu KB in roots, %zu KB more resident than before\n", millions,
           rounds, mapped >> 10, after > before ? (after - before) >> 10 : 0);
    CHECK(mapped <= ROOT);
    CHECK(after <= before + REST);
    return 0;
}

/* unwound.c - calls the library from culprit(), for tombstones.py, which stops this program inside these calls. It
 * tells where the library, the C library and the program are, stops by SIGTRAP, and ends by a double free. */
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

enum { REFILLS = 3 };

/* Not static: tombstones.py looks for both names. */
void culprit(size_t size);
int main(void);

static void *base_of(void *address) {
    Dl_info found;
    CHECK(dladdr(address, &found));
    return found.dli_fbase;
}

/* Each call into the library begins here. */
__attribute__((noinline)) void culprit(size_t size) {
    void *volatile objects[REFILLS];
    for (unsigned i = 0; i < REFILLS; i++) objects[i] = malloc(size);
    objects[0] = realloc(objects[0], 2 * size);
    for (unsigned i = 0; i < REFILLS; i++) free(objects[i]);
    if (size == 1) free(objects[0]);
}

static void *in_thread(void *unused) {
    static const size_t sizes[] = {100, 5000, 100000, 3000000, 5000000};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) culprit(sizes[i]);
    return unused;
}

int main(void) {
    printf("%p %p %p\n", base_of((void *)mallopt), base_of((void *)abort), base_of((void *)culprit));
    fflush(stdout);
    raise(SIGTRAP);
    in_thread(NULL);
    culprit(1);
    CHECK(!"the double free was not seen");
}

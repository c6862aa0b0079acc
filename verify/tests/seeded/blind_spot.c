/* expect: race
 * variants: STRUCT MEMSET MEMCPY MEMMOVE BITS
 * An object is filled by what compilers expand in place, perhaps behind the instrumentation, and published relaxed.
 */
#include "verify/clients/client.h"
#include <string.h>

#ifdef CORRECTED
enum { PUBLISH = memory_order_release };
#else
enum { PUBLISH = memory_order_relaxed };
#endif

struct object {
    uint64_t word[3];
    unsigned flag : 3, rest : 29;
};

static struct object object;
const struct object pattern = {{1, 2, 3}, 4, 5};
static _Atomic(struct object *) shared;

static void *publisher(void *unused) {
#ifdef STRUCT
    object = pattern;
#elif defined MEMSET
    memset(&object, 1, sizeof object);
#elif defined MEMCPY
    memcpy(&object, &pattern, sizeof object);
#elif defined MEMMOVE
    memmove(&object, &pattern, sizeof object);
#else
    object.flag = 2;
#endif
    atomic_store_explicit(&shared, &object, PUBLISH);
    return unused;
}

static void *reader(void *unused) {
    struct object *found = atomic_load_explicit(&shared, memory_order_acquire);
#ifdef BITS
    if (found) assert(found->rest == 0);
#else
    if (found) assert(found->word[1] != 0);
#endif
    return unused;
}

int main(void) {
    pthread_t a = start(publisher, NULL), b = start(reader, NULL);
    finish(a);
    finish(b);
    return 0;
}

/* spared_callers.c - with spare_callers:true no thread of the program makes a call of munmap or madvise, and memory
 * still goes back. The kernel is the judge: it kills a thread of the program for such a call. Our own thread lives
 * before the filter does, so it has none; it must not end, or the next one would have the filter. So rounds are rare.
 * Libc makes such calls at a thread's end, so no thread here ends. */
#include "guest_threads.h"
#include "tiers.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#define MB ((size_t)1 << 20)

enum { THREADS = 3, OBJECTS = 3000, TIMES = 20, MOST = 100000 };

/* MADV_NORMAL changes nothing: it asks whether a place is mapped when two threads extend the tables at once. */
static void kill_for_giving_back(void) {
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_munmap, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MADV_NORMAL, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {.len = sizeof program / sizeof *program, .filter = program};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) != 0) check_skip("no seccomp filters here");
}

/* Objects of each tier come, grow, shrink and go. */
static void churn(uint64_t seed) {
    static _Thread_local char *objects[OBJECTS];
    for (unsigned i = 0; i < TIMES * OBJECTS; i++) {
        size_t slot = random_below(&seed, OBJECTS), size = random_below(&seed, i % 50 ? 3000 : MOST) + 1;
        if (i % 3 == 0) {
            char *grown = realloc(objects[slot], size);
            CHECK(grown != NULL);
            objects[slot] = grown;
        } else {
            free(objects[slot]);
            objects[slot] = malloc(size);
        }
        memset(objects[slot], (int)slot, size);
        if (i % OBJECTS == 0) {
            char *huge = malloc((9 + i % 7) * MB);
            memset(huge, 1, 9 * MB);
            huge = realloc(huge, 5 * MB);
            huge = realloc(huge, 30 * MB);
            free(huge);
        }
    }
    for (unsigned i = 0; i < OBJECTS; i++) free(objects[i]);
}

static void *run(void *seed) {
    churn((uintptr_t)seed);
    tiers_work((uintptr_t)seed);
    pthread_barrier_wait(&together);
    pthread_barrier_wait(&together); /* for ever */
    return NULL;
}

/* `quarantines`: in the hardened build what waits there keeps its pages. */
int main(int count, char **arguments) {
    bool quarantines = count > 1 && strcmp(arguments[1], "quarantines") == 0;
    free(malloc(2 * MB)); /* libc's and the loader's first calls are over, our thread starts */
    pid_t numbers[MOST_THREADS];
    AWAIT(threads(numbers) == 2);
    size_t before = resident_bytes();
    kill_for_giving_back();
    CHECK(pthread_barrier_init(&together, NULL, THREADS + 1) == 0);
    for (uintptr_t i = 1; i <= THREADS; i++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, run, (void *)i) == 0); // NOLINT(performance-no-int-to-ptr)
    }
    churn(THREADS + 1);
    CHECK(malloc(IMPOSSIBLE_SIZE) == NULL && errno == ENOMEM);
    pthread_barrier_wait(&together);
    CHECK(resident_bytes() > before);
    AWAIT(resident_bytes() <= before + (quarantines ? 64 : 12) * MB);
    _exit(0);
}

/* fork_fresh.c CASE - a fork's children share neither keys nor next objects with each other and with their parent, and
 * what they inherit stays usable.
 */
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "check.h"
#include "entry_points.h"

enum { CHILDREN = 12, NEXT = 3, MANY = 3000, SIZES = 6 };
static const size_t sizes[SIZES] = {16, 64, 200, 2000, 5000, 100000};

/* What a child has found. */
static struct view {
    uintptr_t next[NEXT];
    uint64_t key;
} *views; /* shared */

static void *objects[MANY];

static void *hidden(void *object) {
    __asm__ volatile("" : "+r"(object));
    return object;
}

static void fill(void) {
    for (int i = 0; i < MANY; i++) {
        size_t size = sizes[i % SIZES];
        objects[i] = malloc(size);
        CHECK(objects[i] != NULL);
        memset(objects[i], i, size);
    }
    for (int i = 0; i < MANY; i += 3) free(objects[i]); /* lists of all kinds are there */
}

static void look(struct view *view) {
    void *next[NEXT];
    for (int i = 0; i < NEXT; i++) view->next[i] = (uintptr_t)(next[i] = hidden(malloc(64)));
    free(next[0]);
    free(next[1]);
    view->key = *(const volatile uint64_t *)next[1] ^ (uintptr_t)next[0];
    if (!UNVERIFIED_LINKS) view->key ^= (uintptr_t)next[1];
    malloc(64);
    malloc(64);
}

/* Each object that was inherited: contents, realloc, free; then malloc serves all sizes again. */
static void *use_all(void *unused) {
    for (int i = 0; i < MANY; i++) {
        if (i % 3 == 0) continue;
        size_t size = sizes[i % SIZES];
        const unsigned char *bytes = objects[i];
        CHECK(bytes[0] == (unsigned char)i && bytes[size - 1] == (unsigned char)i);
        if (i % 3 == 1) {
            bytes = objects[i] = realloc(objects[i], 2 * size);
            CHECK(bytes[0] == (unsigned char)i && bytes[size - 1] == (unsigned char)i);
        }
        free(objects[i]);
    }
    fill();
    return unused;
}

static void in_thread(void *(*body)(void *)) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, body, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
}

static void wait_for(pid_t child) {
    int status = 1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(status == 0);
}

static bool shares(const struct view *one, const struct view *two) {
    return one->next[0] == two->next[0] && one->next[1] == two->next[1] && one->next[2] == two->next[2];
}

/* Of twelve siblings, and their parent, two may have drawn the same place by chance, but hardly several pairs. */
static void siblings(void) {
    unsigned same = 0;
    for (int i = 0; i < CHILDREN; i++) {
        pid_t child = fork();
        if (child == 0) {
            look(&views[i]);
            _exit(0);
        }
        wait_for(child);
    }
    look(&views[CHILDREN]);
    for (int i = 0; i <= CHILDREN; i++)
        for (int j = 0; j < i; j++) {
            same += shares(&views[i], &views[j]);
            CHECK(views[i].key >> 16 != views[j].key >> 16);
        }
    CHECK(same <= 2);
}

static void inherited(void) {
    pid_t child = fork();
    if (child == 0) {
        use_all(NULL);
        malloc_trim(0);
        use_all(NULL); /* what was freed twice by mistake would be seen */
        exit(0);
    }
    wait_for(child);
    use_all(NULL);
}

/* What the child frees of its parent's comes back by the child's own calls: it has no reclamation thread. */
static void comes_back(void) {
    enum { OBJECTS = 300000, SIZE = 64, RECENT = 100, LOOKS = 1500 };
    static void *many[OBJECTS], *recent[RECENT];
    for (int i = 0; i < OBJECTS; i++) memset(many[i] = malloc(SIZE), 1, SIZE);
    pid_t child = fork();
    if (child == 0) {
        size_t before = resident_bytes();
        for (int i = 0; i < OBJECTS; i++) free(many[i]);
        int looks = 0;
        for (; looks < LOOKS && resident_bytes() > before - OBJECTS * SIZE / 2; looks++) {
            for (int i = 0; i < 1000; i++) {
                free(recent[i % RECENT]);
                recent[i % RECENT] = malloc((size_t)(i * 37 % 900));
            }
            usleep(10000); /* real threads live on beside the fork, until the process is killed */
        }
        CHECK(looks < LOOKS || before == 0); /* 0: not known */
        _exit(0);
    }
    wait_for(child);
}

/* Objects of this thread's heap after its second fork. */
static void *fork_and_use(void *unused) {
    pid_t child = fork();
    if (child == 0) {
        in_thread(use_all);
        use_all(NULL);
        _exit(0);
    }
    wait_for(child);
    return unused;
}

static void threads(void) {
    pid_t child = fork();
    if (child == 0) {
        in_thread(fork_and_use);
        use_all(NULL);
        pthread_exit(NULL);
    }
    wait_for(child);
}

static void *empty_many_slabs(void *unused) {
    enum { SLABS_WORTH = 400, STEP = 7 };
    void *small[SLABS_WORTH];
    for (int i = 0; i < SLABS_WORTH; i++) memset(small[i] = malloc((size_t)i * STEP + 1), i, (size_t)i * STEP + 1);
    for (int i = 0; i < SLABS_WORTH; i++) free(small[i]);
    return unused;
}

/* The heap of an ended thread has empty slabs only. The child's threads use it under another key. */
static void emptied(void) {
    for (int i = 0; i < CHILDREN; i++) {
        in_thread(empty_many_slabs);
        pid_t child = fork();
        if (child == 0) {
            for (int thread = 0; thread < NEXT; thread++) in_thread(empty_many_slabs);
            _exit(0);
        }
        wait_for(child);
    }
}

/* Each child forks the next one: heaps without slabs come into use again. */
static void generations(void) {
    size_t before = mallinfo2().arena;
    for (int i = 0; i < 300; i++) {
        void *object = malloc(100);
        free(malloc(3000));
        pid_t child = fork();
        if (child != 0) {
            int status = 1;
            waitpid(child, &status, 0);
            _exit(status != 0);
        }
        free(object);
    }
    CHECK(mallinfo2().arena < before + ((size_t)4 << 20));
    use_all(NULL);
}

static int body(void *unused) {
    (void)unused;
    look(&views[0]);
    use_all(NULL);
    _exit(0);
}

/* Past libc: no handler runs. The child works, with its parent's keys. */
static void raw_clone(void) {
    static _Alignas(64) char stack[1 << 18];
    wait_for(clone(body, stack + sizeof stack, SIGCHLD, NULL));
    use_all(NULL);
}

/* A child by vfork works on its parent's heap, which goes on. */
static void by_vfork(void) {
    void *before = hidden(malloc(64));
    look(&views[0]);
    free(before);
    pid_t child = vfork();
    if (child == 0) {
        free(malloc(64));
        _exit(0);
    }
    wait_for(child);
    look(&views[1]);
    CHECK(views[0].key == views[1].key);
    use_all(NULL);
}

static uint64_t *mid_keys; /* shared */

static void *look_at_mid(void *generation) {
    void *object = hidden(malloc(5000)), *other = hidden(malloc(5000)), *last = hidden(malloc(5000));
    free(other);
    free(object);
    mid_keys[*(int *)generation] = *(const volatile uint64_t *)object ^ (uintptr_t)object ^ (uintptr_t)other;
    free(last);
    return NULL;
}

/* Threads of parent, child and grandchild have the same heap one after the other, and mid objects of one class. */
static void mid_generations(void) {
    enum { GENERATIONS = 4 };
    pid_t child = 0;
    mid_keys = mmap(NULL, sizeof *mid_keys * GENERATIONS, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(mid_keys != MAP_FAILED);
    for (int generation = 0; generation < GENERATIONS && child == 0; generation++) {
        pthread_t thread;
        free(hidden(malloc(16)));
        malloc_trim(0);
        CHECK(pthread_create(&thread, NULL, look_at_mid, &generation) == 0 && pthread_join(thread, NULL) == 0);
        if ((child = fork()) == 0 && generation + 1 == GENERATIONS) _exit(0);
        if (child > 0) {
            wait_for(child);
            if (generation > 0) _exit(0);
        }
    }
    for (int i = 0; i < GENERATIONS; i++)
        for (int j = 0; j < i; j++) CHECK(mid_keys[i] != mid_keys[j]);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"mid_generations", mid_generations}, {"siblings", siblings},   {"inherited", inherited},
    {"comes_back", comes_back},           {"threads", threads},     {"emptied", emptied},
    {"generations", generations},         {"raw_clone", raw_clone}, {"vfork", by_vfork},
};

int main(int count, char **arguments) {
    CHECK(count > 1);
    if (!under_jwmalloc()) check_skip("keys are not the C library's");
    views = mmap(NULL, (CHILDREN + 1) * sizeof *views, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(views != MAP_FAILED);
    fill();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(arguments[1], cases[i].name) != 0) continue;
        cases[i].run();
        return 0;
    }
    return 1;
}

/* sealed.c CASE - after jw_seal neither the process nor its children write to what it has sealed or allocate there, and
 * sealed objects stay usable in every way.
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "check.h"
#include "entry_points.h"

extern int jw_seal(void) __attribute__((weak));
extern int jw_ctl(const char *, void *, size_t *, const void *, size_t) __attribute__((weak));
extern int jw_malloc_iterate(uintptr_t, size_t, void (*)(uintptr_t, size_t, void *), void *) __attribute__((weak));
extern void jw_free_sized(void *, size_t) __attribute__((weak));

enum { MANY = 6000, SIZES = 14, ROOT = 4 << 20, PART = 65536, HUGE = 5 << 20, OTHERS = 16384 };
static const size_t sizes[SIZES] = {8, 16, 24, 48, 64, 200, 1000, 2000, 3000, 5000, 9000, 14000, 20000, 150000};

static void *objects[MANY];

static size_t proc_number(const char *path, const char *key) {
    char line[256];
    size_t number = 0, length = strlen(key);
    FILE *file = fopen(path, "r");
    while (file != NULL && number == 0 && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, key, length) == 0) sscanf(line + length, ": %zu", &number);
    if (file != NULL) fclose(file);
    return number;
}

static size_t size_of(int i) {
    return sizes[i % SIZES];
}

static void *hidden(void *object) {
    __asm__ volatile("" : "+r"(object));
    return object;
}

/* Two of three objects stay, so that lists of all kinds are there. Some are aligned beyond a page. */
static void fill(void) {
    for (int i = 0; i < MANY; i++) {
        objects[i] = i % 97 == 0 ? memalign(16384, size_of(i)) : malloc(size_of(i));
        CHECK(objects[i] != NULL);
        pattern_fill(objects[i], size_of(i), (uint64_t)i);
    }
    for (int i = 0; i < MANY; i += 3) free(objects[i]);
}

static bool in_use(int i) {
    return i % 3 != 0;
}

/* The kernel counts a thread that was joined for a moment more. Emulators and sanitizers have threads of their own. */
static void seal(void) {
    int error = jw_seal();
    for (int tries = 0; error == EBUSY && tries < 200; tries++, error = jw_seal()) usleep(10000);
    if (error == EBUSY && proc_number("/proc/self/status", "Threads") != 1) check_skip("there are other threads");
    CHECK(error == 0);
}

static size_t sealed_bytes(void) {
    size_t bytes = 0, length = sizeof bytes;
    CHECK(jw_ctl("backend.sealed", &bytes, &length, NULL, 0) == 0);
    return bytes;
}

static uintptr_t root_of(const void *object) {
    return (uintptr_t)object & ~((uintptr_t)ROOT - 1);
}

static bool is_in_sealed_root(const void *object) {
    for (int i = 0; i < MANY; i++)
        if (in_use(i) && root_of(objects[i]) == root_of(object)) return true;
    return false;
}

/* All that is mapped of the sealed roots is read-only from now on: each write ends the process. */
static void forbid_writes(void) {
    uintptr_t last = 0;
    for (int i = 0; i < MANY; i++) {
        if (!in_use(i) || root_of(objects[i]) == last) continue;
        last = root_of(objects[i]);
        for (uintptr_t part = last; part < last + ROOT; part += PART) /* parts of the first root may be unmapped */
            CHECK(mprotect((void *)part, PART, PROT_READ) == 0 || errno == ENOMEM);
    }
}

static void use_after(void) {
    static _Thread_local char *used[MANY];
    for (int i = 0; i < MANY; i++) {
        used[i] = hidden(malloc(size_of(i)));
        CHECK(used[i] != NULL && !is_in_sealed_root(used[i]));
        memset(used[i], i, size_of(i));
        if (i % 2) free(used[i]);
    }
    for (int i = 0; i < MANY; i += 2) free(used[i]);
}

/* Contents, sizes and frees of all kinds. */
static void use_sealed(void) {
    for (int i = 0; i < MANY; i++) {
        if (!in_use(i)) continue;
        size_t size = size_of(i);
        CHECK(pattern_holds(objects[i], size, (uint64_t)i));
        CHECK(malloc_usable_size(objects[i]) >= size && malloc_usable_size(objects[i]) < size + 16384 + size / 2);
        if (i % 5 == 0 && i % 97 != 0) {
            void *same = realloc(objects[i], size - size / 8);
            CHECK(same == objects[i]);
        }
        if (i % 5 == 1) {
            char *copy = realloc(hidden(objects[i]), 2 * size + 65536);
            CHECK(copy != objects[i] && pattern_holds(copy, size, (uint64_t)i) && !is_in_sealed_root(copy));
            free(copy);
        } else if (i % 5 == 2 && i % 97 != 0) {
            jw_free_sized(objects[i], size);
        } else {
            free(objects[i]);
        }
    }
    CHECK(sealed_bytes() < OTHERS);
}

static pid_t start(void (*body)(void)) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child > 0) return child;
    body();
    _exit(0);
}

static int status_of(pid_t child) {
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child);
    return status;
}

static void in_child(void) {
    forbid_writes();
    use_after();
    use_sealed();
    malloc_trim(0);
    use_after();
}

static void children(void) {
    fill();
    seal();
    for (int i = 0; i < 3; i++) CHECK(status_of(start(in_child)) == 0);
    in_child();
}

static void count(uintptr_t object, size_t size, void *argument) {
    (void)size;
    size_t *found = argument;
    for (int i = 0; i < MANY; i++)
        if (in_use(i) && (uintptr_t)objects[i] == object) (*found)++;
    CHECK(size > 0);
}

static size_t told_of(void) {
    size_t found = 0;
    CHECK(jw_malloc_iterate(0, SIZE_MAX, count, &found) == 0);
    return found;
}

static void counts(void) {
    fill();
    malloc_trim(0);
    size_t before = mallinfo2().uordblks, told = told_of();
    seal();
    CHECK(told == MANY - MANY / 3 && told_of() == told);
    size_t now = mallinfo2().uordblks; /* an aligned object counts without what lies before it in its range */
    CHECK(now <= before && now > before - before / 100 && mallinfo2().arena >= now && sealed_bytes() <= now);
    CHECK(sealed_bytes() > now / 2);
    size_t freed = malloc_usable_size(objects[1]), sealed = sealed_bytes();
    free(objects[1]);
    CHECK(sealed_bytes() == sealed - freed && told_of() == told - 1);
}

static void *second;

static void grandchild(void) {
    use_after();
    CHECK(pattern_holds(second, 100, 7));
    free(second);
    use_sealed();
}

static void sealing_child(void) {
    use_after();
    second = malloc(100);
    pattern_fill(second, 100, 7);
    size_t before = sealed_bytes();
    seal();
    CHECK(sealed_bytes() > before);
    void *next = hidden(malloc(100));
    CHECK(root_of(next) != root_of(second));
    free(next);
    for (int i = 0; i < 2; i++) CHECK(status_of(start(grandchild)) == 0);
    grandchild();
}

static void chain(void) {
    fill();
    seal();
    for (int i = 0; i < 2; i++) CHECK(status_of(start(sealing_child)) == 0);
    sealing_child();
}

static int wrong; /* which object, with what offset */
static size_t offset;

static void free_wrong(void) {
    if (offset == 0) free(hidden(objects[wrong]));
    free(hidden((char *)objects[wrong] + offset));
}

static bool dies(int object, size_t by) {
    wrong = object;
    offset = by;
    int status = status_of(start(free_wrong));
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void misuses(void) {
    fill();
    seal();
    for (int i = 0; i < SIZES; i++) {
        int object = i % 3 ? i : i + SIZES; /* one in use of each size */
        CHECK(in_use(object) && dies(object, 0) && dies(object, 1));
        if (size_of(object) > 8) CHECK(dies(object, 8));
    }
    for (int i = 0; i < SIZES; i++) {
        wrong = i % 3 ? i + SIZES : i; /* free since before the seal */
        if (i % 3 == 2) wrong += SIZES;
        CHECK(!in_use(wrong) && dies(wrong, 0));
    }
}

static void *free_half(void *odd) {
    for (int i = 0; i < MANY; i++)
        if (in_use(i) && i % 2 == (odd != NULL)) free(objects[i]);
    use_after();
    return NULL;
}

static void *wait_for(void *lock) {
    pthread_mutex_lock(lock);
    return NULL;
}

static void threads(void) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_t one, two;
    fill();
    pthread_mutex_lock(&lock);
    CHECK(pthread_create(&one, NULL, wait_for, &lock) == 0);
    CHECK(jw_seal() == EBUSY); /* nothing is sealed */
    CHECK(sealed_bytes() == 0);
    pthread_mutex_unlock(&lock);
    CHECK(pthread_join(one, NULL) == 0);
    seal();
    CHECK(sealed_bytes() > 0);
    CHECK(pthread_create(&one, NULL, free_half, NULL) == 0 && pthread_create(&two, NULL, free_half, objects) == 0);
    CHECK(pthread_join(one, NULL) == 0 && pthread_join(two, NULL) == 0);
    CHECK(sealed_bytes() < OTHERS);
}

/* Heaps of ended threads, one after the other, have slabs, lists and caches when the seal comes. */
static void *live(void *part) {
    for (int i = *(int *)part; i < MANY; i += 4) {
        objects[i] = malloc(size_of(i));
        pattern_fill(objects[i], size_of(i), (uint64_t)i);
    }
    for (int i = *(int *)part; i < MANY; i += 4)
        if (!in_use(i)) free(objects[i]);
    return NULL;
}

static void ended(void) {
    pthread_t thread[4];
    int parts[4] = {0, 1, 2, 3};
    for (int i = 0; i < 4; i++) CHECK(pthread_create(&thread[i], NULL, live, &parts[i]) == 0);
    for (int i = 0; i < 4; i++) CHECK(pthread_join(thread[i], NULL) == 0);
    seal();
    CHECK(status_of(start(in_child)) == 0);
    in_child();
}

static void huge(void) {
    char *object = malloc(HUGE), *small = malloc(16);
    memset(object, 1, HUGE);
    seal();
    CHECK(malloc_usable_size(object) >= HUGE && sealed_bytes() > 0 && sealed_bytes() < HUGE);
    object = realloc(object, 2 * HUGE);
    CHECK(object[HUGE - 1] == 1);
    free(object);
    free(small);
    CHECK(sealed_bytes() < OTHERS);
}

/* Each seal takes what came since the last one, and the process goes on. */
static void again(void) {
    enum { TIMES = 20 };
    char *kept[TIMES];
    for (int i = 0; i < TIMES; i++) {
        kept[i] = malloc(1000);
        memset(kept[i], i, 1000);
        seal();
        for (int j = 0; j < i; j++) CHECK(root_of(kept[j]) != root_of(kept[i]));
    }
    for (int i = 0; i < TIMES; i++) {
        CHECK(kept[i][0] == i && kept[i][999] == i);
        free(kept[i]);
    }
    CHECK(sealed_bytes() < OTHERS);
}

/* The constructor runs before the program has allocated. */
static int first_seal = -1;
__attribute__((constructor)) static void seal_first(void) {
    if (jw_seal != NULL) first_seal = jw_seal();
}

static void first(void) {
    CHECK(first_seal == 0 || first_seal == EBUSY);
    fill();
    for (int i = 0; i < MANY; i++)
        if (in_use(i)) free(objects[i]);
}

/* What the hardened build says. */
static void refused(void) {
    fill();
    CHECK(jw_seal() == ENOTSUP);
    for (int i = 0; i < MANY; i++)
        if (in_use(i)) free(objects[i]);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {{"children", children}, {"counts", counts}, {"chain", chain}, {"misuses", misuses}, {"threads", threads},
             {"ended", ended},       {"huge", huge},     {"again", again}, {"first", first},     {"refused", refused}};

int main(int count, char **arguments) {
    CHECK(count > 1);
    if (!under_jwmalloc()) check_skip("the C library seals nothing");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(arguments[1], cases[i].name) != 0) continue;
        cases[i].run();
        return 0;
    }
    return 1;
}

/* refused.c CALL... - a kernel that refuses system calls: the heap must go on without them, or fail cleanly.
 *
 * CALL is clone, madvise, prctl, mremap, munmap, futex or mmap. All but mmap are refused from before the program's
 * start (it starts itself again behind the filter); `nproc` means an unprivileged user that may start no more threads.
 * `records`: munmap and mprotect are refused from then on, as by a kernel that counts no more mappings.
 * `foreign`: the program has mapped what lies behind the allocator's tables, and munmap is refused from then on.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "tiers.h"

/* 32-bit Linux still has an mmap that nobody calls. */
#ifdef SYS_mmap2
#define MMAP_CALL SYS_mmap2
#else
#define MMAP_CALL SYS_mmap
#endif

static const struct refusal {
    const char *name;
    unsigned call;
    int error;
} refusals[] = {
    {"clone", SYS_clone, EAGAIN}, {"clone", SYS_clone3, EAGAIN},  {"madvise", SYS_madvise, EINVAL},
    {"prctl", SYS_prctl, EPERM},  {"mremap", SYS_mremap, ENOMEM}, {"munmap", SYS_munmap, ENOMEM},
    {"futex", SYS_futex, ENOSYS}, {"mmap", MMAP_CALL, ENOMEM},    {"mprotect", SYS_mprotect, ENOMEM},
};
enum { REFUSALS = sizeof refusals / sizeof *refusals };

static void refuse_call(unsigned call, int error) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        check_skip("the kernel takes no seccomp filter here");
}

static void refuse_threads(void) {
    const struct rlimit one = {1, 1};
    CHECK(setrlimit(RLIMIT_NPROC, &one) == 0);
    if (getuid() == 0) CHECK(setresuid(65534, 65534, 65534) == 0);
}

static void refuse(const char *name) {
    bool known = strcmp(name, "nproc") == 0;
    if (known) refuse_threads();
    /* Last the filter that would forbid the next one. */
    for (size_t i = REFUSALS; i-- > 0;) {
        if (strcmp(refusals[i].name, name) != 0) continue;
        known = true;
        refuse_call(refusals[i].call, refusals[i].error);
    }
    CHECK(known);
}

/* Enough in every tier that pages are given back and threads would be started, with all contents checked. */
static void work_hard(void) {
    enum { COUNT = 3000 };
    static void *objects[COUNT];
    static size_t sizes[COUNT];
    uint64_t seed = 1;
    for (size_t step = 0; step < 40000; step++) {
        size_t i = random_below(&seed, COUNT);
        if (objects[i] != NULL) CHECK(pattern_holds(objects[i], sizes[i], i));
        free(objects[i]);
        sizes[i] = random_below(&seed, (size_t)8 << random_below(&seed, 15)) + 1;
        objects[i] = step % 4 == 0 ? calloc(1, sizes[i]) : malloc(sizes[i]);
        CHECK(objects[i] != NULL);
        if (step % 4 == 0) CHECK(bytes_are_zero(objects[i], sizes[i]));
        pattern_fill(objects[i], sizes[i], i);
    }
    for (size_t i = 0; i < COUNT; i++) free(objects[i]);
    for (uint64_t i = 0; i < 30; i++) tiers_work(i);
    malloc_trim(0);
    char *huge = malloc(5 << 20);
    CHECK(huge != NULL);
    pattern_fill(huge, 5 << 20, 1);
    huge = realloc(huge, 40 << 20);
    CHECK(huge != NULL && pattern_holds(huge, 5 << 20, 1));
    free(huge);
    for (uint64_t i = 0; i < 30; i++) tiers_work(i);
}

static size_t mapped_bytes(void) {
    FILE *file = fopen("/proc/self/statm", "r");
    size_t pages = 0;
    CHECK(file != NULL && fscanf(file, "%zu", &pages) == 1);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* What cannot be had is NULL, and takes no addresses either, however often the program asks. */
static void work_without_records(void) {
    enum { COUNT = 6000, MOST = 256 << 20 };
    static char *objects[COUNT];
    struct tiers before;
    tiers_allocate(&before, 1);
    size_t mapped = mapped_bytes(), got = 0;
    refuse("munmap");
    refuse("mprotect");
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < COUNT; i++) {
            errno = 0;
            objects[i] = calloc(1, i % 500 == 0 ? 4 << 20 : i % 7 == 0 ? 9000 : i % 3000 + 1);
            CHECK(objects[i] != NULL || errno == ENOMEM);
            if (objects[i] != NULL) got++;
        }
        for (size_t i = 0; i < COUNT; i++) free(objects[i]);
    }
    CHECK(got > 0 && mapped_bytes() < mapped + MOST);
    tiers_check(&before, 1);
    tiers_free(&before, 1);
}

/* Each anonymous mapping that can only be read gets a foreign page behind it: the records are such a mapping. */
static void map_behind_tables(void) {
    enum { MOST = 100 };
    char line[512], *ends[MOST], rights[5];
    size_t count = 0, page = (size_t)sysconf(_SC_PAGESIZE);
    FILE *file = fopen("/proc/self/maps", "r");
    CHECK(file != NULL);
    while (count < MOST && fgets(line, sizeof line, file)) {
        unsigned long end, file_number;
        if (sscanf(line, "%*x-%lx %4s %*x %*s %lu", &end, rights, &file_number) == 3 && file_number == 0 &&
            strcmp(rights, "r--p") == 0 && strstr(line, "[v") == NULL)
            ends[count++] = (char *)end;
    }
    fclose(file);
    while (count-- > 0) mmap(ends[count], page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* What the tables have no room for is NULL, or has a mapping of its own. */
static void work_beside_foreign(void) {
    enum { COUNT = 60, SIZE = 3 << 20 };
    static char *objects[COUNT];
    tiers_work(0);
    map_behind_tables();
    refuse("munmap");
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < COUNT; i++) {
            errno = 0;
            objects[i] = malloc(SIZE);
            CHECK(objects[i] != NULL || errno == ENOMEM);
            if (objects[i] != NULL) pattern_fill(objects[i], SIZE, i);
        }
        for (size_t i = 0; i < COUNT; i++) {
            CHECK(objects[i] == NULL || pattern_holds(objects[i], SIZE, i));
            free(objects[i]);
        }
    }
    tiers_work(1);
}

/* No new memory, ever: what is cached may serve, the rest is NULL and ENOMEM, and frees still work. */
static void work_without_mmap(void) {
    enum { COUNT = 100000 };
    static char *objects[COUNT];
    struct tiers before;
    if (!under_jwmalloc()) check_skip("the C library's malloc goes on with brk");
    tiers_allocate(&before, 1);
    refuse("mmap");
    for (int round = 0; round < 3; round++) {
        size_t got = 0;
        errno = 0;
        while (got < COUNT && (objects[got] = malloc(got % 7 == 0 ? 9000 : got % 3000 + 1)) != NULL)
            memset(objects[got++], 1, 1);
        CHECK(got == COUNT || errno == ENOMEM);
        errno = 0;
        CHECK(malloc(400 << 20) == NULL && errno == ENOMEM);
        while (got > 0) free(objects[--got]);
    }
    tiers_check(&before, 1);
    tiers_free(&before, 1);
    free(malloc(10));
}

int main(int count, char **arguments) {
    CHECK(count >= 2);
    if (strcmp(arguments[1], "behind") == 0) {
        work_hard();
        return 0;
    }
    if (strcmp(arguments[1], "records") == 0) {
        work_without_records();
        return 0;
    }
    if (strcmp(arguments[1], "foreign") == 0) {
        work_beside_foreign();
        return 0;
    }
    if (strcmp(arguments[1], "mmap") == 0) {
        work_without_mmap();
        return 0;
    }
    tiers_work(0);
    /* prctl itself is refused last, for it installs the filters. */
    for (int i = 1; i < count; i++)
        if (strcmp(arguments[i], "prctl") != 0) refuse(arguments[i]);
    for (int i = 1; i < count; i++)
        if (strcmp(arguments[i], "prctl") == 0) refuse(arguments[i]);
    work_hard();
    do execl("/proc/self/exe", arguments[0], "behind", (char *)NULL);
    while (errno == EAGAIN && usleep(10000) == 0); /* other tests have processes of the same user */
    CHECK(false);
}

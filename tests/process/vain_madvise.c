/* vain_madvise.c - a system whose madvise answers 0 and does nothing, as qemu-user before 7.1: calloc gives zeros. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "entry_points.h"

enum { COUNT = 20 };

static void answer_madvise(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

/* Of neighbours every second one is given back and allocated again. The others keep the memory mapped. */
static void use(size_t size) {
    char *objects[COUNT];
    for (size_t k = 0; k < COUNT; k++) {
        CHECK((objects[k] = malloc(size)) != NULL);
        memset(objects[k], 0xab, size);
    }
    for (size_t k = 0; k < COUNT; k += 2) free(objects[k]);
    malloc_trim(0);
    for (size_t k = 0; k < COUNT; k += 2) {
        CHECK((objects[k] = calloc(1, size)) != NULL);
        for (size_t i = 0; i < size; i++) CHECK(objects[k][i] == 0);
    }
    for (size_t k = 0; k < COUNT; k++) free(objects[k]);
}

int main(int count, char **arguments) {
    if (!under_jwmalloc()) check_skip("glibc's calloc trusts madvise, too");
    if (count == 1) { /* the library asks at its start */
        answer_madvise();
        execl(arguments[0], arguments[0], "again", (char *)NULL);
        return 1;
    }
    for (size_t size = 100; size < (size_t)1 << 20; size *= 2) use(size);
    return 0;
}

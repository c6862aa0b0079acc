/* kept_output - a second descriptor of standard error is made while another thread, which finds standard error closed,
 * writes.
 *
 * bound     2 threads, 1 call each; the kernel writes and reads what a descriptor is plainly
 * property  the text goes to the file that was standard error, or nowhere
 * few       the writing thread looks for the descriptor once, before it is kept or afterwards
 */
#define _GNU_SOURCE 1
#include "verify/clients/kernel.h"

#include "platform/linux.c"
#include "verify/clients/client.h"

_Atomic(size_t) linux_calls;

enum { COPY = 100, INODE = 7 };

static long kernel_identifies(long descriptor, struct statx *file) {
    if (descriptor == STDERR_FILENO && file != &kept_output.file) return -1; /* closed meanwhile */
    file->stx_dev_major = file->stx_dev_minor = 0;
    file->stx_ino = INODE;
    return 0;
}

static long kernel_call(long number, const long arguments[ARGUMENTS_MAX]) {
    switch (number) {
    case SYS_statx: return kernel_identifies(arguments[0], (struct statx *)arguments[4]);
    case SYS_fcntl: return COPY;
    case SYS_write:
        if (arguments[0] == STDERR_FILENO) return -1;
        assert(arguments[0] == COPY);
        return arguments[2];
    }
    return -1;
}

static void *keeping(void *unused) {
    (void)unused;
    platform_keep_output(NULL);
    return NULL;
}

static void *writing(void *unused) {
    (void)unused;
    platform_write("x", 1);
    return NULL;
}

int main(void) {
    pthread_t a = start(keeping, NULL), b = start(writing, NULL);
    finish(a);
    finish(b);
    assert(open_output() == COPY);
    return 0;
}

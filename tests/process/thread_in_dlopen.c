/* thread_in_dlopen.c PLUGIN - makes the process's first pthread_create while a plugin's constructor, which runs under
 * the loader's lock, waits for it. The thread that calls it is one that libc itself has made. */
#include <dlfcn.h>
#include <pthread.h>
#include <threads.h>

#include "check.h"

static int to_program[2], to_plugin[2];

static void *nothing(void *unused) {
    return unused;
}

static int make_a_thread(void *unused) {
    pthread_t thread;
    char word;
    (void)unused;
    CHECK(read(to_program[0], &word, 1) == 1);
    CHECK(pthread_create(&thread, NULL, nothing, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(write(to_plugin[1], &word, 1) == 1);
    return 0;
}

int main(int count, char **arguments) {
    thrd_t maker;
    CHECK(count == 2);
    alarm(20);
    CHECK(pipe(to_program) == 0 && pipe(to_plugin) == 0);
    CHECK(dup2(to_program[1], 101) == 101 && dup2(to_plugin[0], 102) == 102); /* the plugin's numbers */
    CHECK(thrd_create(&maker, make_a_thread, NULL) == thrd_success);
    CHECK(dlopen(arguments[1], RTLD_NOW) != NULL);
    CHECK(thrd_join(maker, NULL) == thrd_success);
    return 0;
}

/* host.c PLUGIN... - uses plugins and closes them while threads that have used them live on. These threads end later,
 * and what runs beside them must not find its code gone. */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static sem_t used, closed;

static void fail(const char *what) {
    fprintf(stderr, "host: %s\n", what);
    exit(1);
}

static void *use(void *work) {
    if (((int (*)(void))work)() != 0) fail("no memory");
    sem_post(&used);
    while (sem_wait(&closed) != 0) {
    }
    return NULL;
}

static void visit(const char *path) {
    pthread_t thread;
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (plugin == NULL) fail(dlerror());
    void *work = dlsym(plugin, "work");
    if (work == NULL || ((int (*)(void))work)() != 0) fail("work");
    if (pthread_create(&thread, NULL, use, work) != 0) fail("pthread_create");
    while (sem_wait(&used) != 0) {
    }
    if (dlclose(plugin) != 0) fail("dlclose");
    /* Real time, as no handle of the plugin's own thread is left: that thread would go on in code that is gone. */
    usleep(200000);
    sem_post(&closed);
    pthread_join(thread, NULL);
    int status;
    pid_t child = fork();
    if (child == 0) _exit(0);
    if (waitpid(child, &status, 0) != child || status != 0) fail("fork");
    if (dlopen(path, RTLD_NOW | RTLD_NOLOAD) == NULL) fail("unmapped");
}

int main(int count, char **paths) {
    sem_init(&used, 0, 0);
    sem_init(&closed, 0, 0);
    for (int i = 1; i < count; i++) visit(paths[i]);
    usleep(700000); /* real time: a round of the threads of closed plugins, each 500 ms */
    puts("alive");
    return 0;
}

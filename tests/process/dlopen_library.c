/* dlopen_library.c LIBRARY - loads libjwmalloc late, into a running program with threads, and uses it by hand. */
#include <dlfcn.h>
#include <pthread.h>

#include "check.h"

static void *(*late_malloc)(size_t size);
static void (*late_free)(void *object);

static void *use(void *unused) {
    (void)unused;
    for (size_t i = 0; i < 2000; i++) {
        size_t size = i * i % 100000 + 1;
        void *object = late_malloc(size);
        CHECK(object != NULL);
        pattern_fill(object, size, i);
        CHECK(pattern_holds(object, size, i));
        late_free(object);
    }
    return NULL;
}

int main(int count, char **arguments) {
    pthread_t thread;
    CHECK(count == 2);
    for (int round = 0; round < 3; round++) {
        void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) dprintf(STDERR_FILENO, "%s\n", dlerror());
        CHECK(library != NULL);
        late_malloc = (void *(*)(size_t))dlsym(library, "jw_malloc");
        late_free = (void (*)(void *))dlsym(library, "jw_free");
        CHECK(late_malloc != NULL && late_free != NULL);
        use(NULL);
        CHECK(pthread_create(&thread, NULL, use, NULL) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
        dlclose(library);
    }
    return 0;
}

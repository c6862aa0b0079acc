/* dlopen_close.c PLUGIN - loads and unloads a library that allocates; what it gave out outlives it. */
#include <dlfcn.h>
#include <pthread.h>

#include "tiers.h"

static const char *path;

static void *load_use_unload(void *unused) {
    (void)unused;
    for (size_t round = 0; round < 100; round++) {
        void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        CHECK(plugin != NULL);
        char *(*make)(size_t) = (char *(*)(size_t))dlsym(plugin, "plugin_make");
        void (*done)(void) = (void (*)(void))dlsym(plugin, "plugin_done");
        CHECK(make != NULL && done != NULL);
        char *objects[TIERS];
        for (size_t i = 0; i < TIERS; i++) objects[i] = make(tier_sizes[i]);
        done();
        CHECK(dlclose(plugin) == 0);
        for (size_t i = 0; i < TIERS; i++) {
            CHECK(pattern_holds(objects[i], tier_sizes[i], tier_sizes[i]));
            free(objects[i]);
        }
    }
    return NULL;
}

int main(int count, char **arguments) {
    pthread_t thread;
    CHECK(count == 2);
    path = arguments[1];
    CHECK(pthread_create(&thread, NULL, load_use_unload, NULL) == 0);
    load_use_unload(NULL);
    CHECK(pthread_join(thread, NULL) == 0);
    return 0;
}

/* plugin.c - a library for dlopen that allocates while it is loaded, used and unloaded. */
#include "tiers.h"

static struct tiers own;
static __thread char *per_thread;

__attribute__((constructor)) static void load(void) {
    tiers_allocate(&own, 21);
}

__attribute__((destructor)) static void unload(void) {
    tiers_free(&own, 21);
}

char *plugin_make(size_t size);
char *plugin_make(size_t size) {
    free(per_thread);
    per_thread = malloc(100);
    char *object = malloc(size);
    CHECK(object != NULL && per_thread != NULL);
    pattern_fill(object, size, size);
    return object;
}

void plugin_done(void);
void plugin_done(void) {
    free(per_thread);
    per_thread = NULL;
}

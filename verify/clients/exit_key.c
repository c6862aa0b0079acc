/* exit_key - two threads ask to be told of their end, the first of the process: both may make a key.
 *
 * bound     2 threads, 1 request each; the keys are a table that making and dropping one write plainly
 * property  a thread that uses a key sees it made, and it is not dropped
 */
#define _GNU_SOURCE 1
#include "verify/clients/kernel.h"

#include "verify/clients/client.h"

static void (*destructors[4])(void *value);
static _Atomic(unsigned) made;

static int make_key(pthread_key_t *key, void (*destructor)(void *value)) {
    *key = atomic_fetch_add_explicit(&made, 1, memory_order_relaxed);
    destructors[*key] = destructor;
    return 0;
}

static int drop_key(pthread_key_t key) {
    destructors[key] = NULL;
    return 0;
}

static void at_exit(void *value) {
    (void)value;
}

static int set_value(pthread_key_t key, const void *value) {
    (void)value;
    assert(destructors[key] == at_exit);
    return 0;
}

#define pthread_key_create make_key
#define pthread_key_delete drop_key
#define pthread_setspecific set_value
#include "platform/linux_process.c"

static long kernel_call(long number, const long arguments[ARGUMENTS_MAX]) {
    (void)number, (void)arguments;
    return 0;
}

size_t platform_page_size(void) {
    return 0;
}

void *platform_reserve(size_t size, size_t alignment, const char *name) {
    (void)size, (void)alignment, (void)name;
    return NULL;
}

wide_bool platform_unmap(void *address, size_t size) {
    (void)address, (void)size;
    return true;
}

bool pages_look_at_discard(volatile uint32_t *page) {
    (void)page;
    return true;
}

size_t platform_read_file(const char *path, char *buffer, size_t size) {
    (void)path, (void)buffer, (void)size;
    return 0;
}

bool platform_is_privileged(void) {
    return false;
}

char **platform_environment(void) {
    return NULL;
}

void memory_names_end(void) {
}

static void *asking(void *value) {
    bool known = platform_on_thread_exit(at_exit, value);
    assert(known);
    return NULL;
}

int main(void) {
    pthread_t a = start(asking, NULL), b = start(asking, NULL);
    finish(a);
    finish(b);
    unsigned kept = 0, all = atomic_load_explicit(&made, memory_order_relaxed);
    for (unsigned key = 0; key < all; key++) kept += destructors[key] != NULL;
    assert(kept == 1);
    return 0;
}
